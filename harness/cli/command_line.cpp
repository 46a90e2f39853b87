#include "harness/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

// What a command may overwrite: only what this program can have written, and nothing that the same
// command reads.

namespace fs = std::filesystem;

/// What resume and report read of a run folder; people put reports next to them.
constexpr std::string_view kFilesOfASweep[] = {"journal.jsonl", "sweep.json", "environment.json",
                                               "results.json"};

/// The run folder that keeps `file`: in its first level by name, below that whatever is there.
fs::path run_folder_keeping(const fs::path& file) {
  std::error_code ignored;
  const fs::path parent = fs::weakly_canonical(file, ignored).parent_path();
  for (fs::path folder = parent; folder.has_relative_path(); folder = folder.parent_path()) {
    if (!fs::exists(folder / "journal.jsonl", ignored)) continue;
    const bool kept =
        folder != parent || std::ranges::count(kFilesOfASweep, file.filename().string()) > 0;
    return kept ? folder : fs::path();
  }
  return {};
}

/// Whether a file has a mark that this program's have: the name of a schema, of a page's generator
/// or of JUnit's suites, Prometheus' gauges, the columns of CSV, DLPerf's keys, the last line of
/// Markdown or of an archive.
bool looks_like_ours(const std::string& path) {
  constexpr std::streamsize kPart = 4096;  // bytes at either end
  std::ifstream file(path, std::ios::binary);
  const auto next = [&] {
    std::string part(kPart, '\0');
    file.read(part.data(), kPart);
    part.resize(static_cast<std::size_t>(file.gcount()));
    return part;
  };
  const std::string head = next();
  const auto has = [](const std::string& text, const char* mark) {
    return text.find(mark) != std::string::npos;
  };
  if (has(head, "\"bertbench") || has(head, " bertbench_") || has(head, "\"average_speed\"") ||
      head.starts_with("log,trial,") || head.starts_with("key,kind,")) {
    return true;
  }
  file.clear();
  file.seekg(0, std::ios::end);
  file.seekg(std::max<std::streamoff>(0, file.tellg() - std::streamoff{kPart}));
  constexpr std::string_view kName = "\nbertbench ";  // its version follows
  const std::string tail = next();
  const std::size_t at = tail.rfind(kName);
  return (at != std::string::npos && is_digit(tail[at + kName.size()])) ||
         path.ends_with(".dlperf.txt");
}

// Refuses `path`, the value of `option`, where a file is there that is one of the command's other
// `arguments` (by any name or link), one that a sweep keeps in its run folder, or one that does not
// look like a file of this program. What does not exist, is empty, or is no regular file passes.
Result<void> guard_output(const std::string& option, const std::string& path,
                          const std::vector<std::string>& arguments) {
  if (path.empty()) return fail(option, "names no file", "name one, or leave the option out");
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) == 0) return {};
  for (const std::string& argument : arguments) {
    std::error_code other;  // most arguments are no files
    if (fs::equivalent(path, argument, other)) {
      return fail(option, fmt::format("{} is a file that this command reads", path),
                  "name another file");
    }
  }
  if (const fs::path folder = run_folder_keeping(path); !folder.empty()) {
    return fail(option, fmt::format("{} belongs to the sweep in {}", path, folder.string()),
                "name another file");
  }
  if (looks_like_ours(path)) return {};
  return fail(option,
              fmt::format("{} exists and does not look like a file that bertbench wrote", path),
              "name another file, or remove this one first");
}

// "(formats, reports ... or notices)": the first sentence of an option's description, for who left
// its value out.
std::string what_it_is(const CLI::App& app, const std::string& name) {
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (option == nullptr) return {};
  std::string text = option->get_description();
  text.resize(std::min(text.size(), text.find(". ")));
  if (text.ends_with('.')) text.pop_back();
  if (text.empty()) return text;
  if (text.size() > 1 && (text[1] == ' ' || std::islower(static_cast<unsigned char>(text[1])))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return " (" + text + ")";
}

// An argument that fits nowhere is named first: what is missing may well be that argument,
// misspelt.
Error usage_error(const std::string& where, const CLI::App& app, const CLI::ParseError& error,
                  bool takes_command) {
  const std::string help = fmt::format("see `bertbench {} --help`", where);
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) {
    const std::string text = error.what();
    const bool no_value =
        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch);
    const std::string option = text.substr(0, text.find(no_value ? ':' : ' '));
    return {where, (no_value ? option + " takes one value" : text) + what_it_is(app, option), help};
  }
  const std::string& extra = extras.front();
  if (extra.empty() || extra.front() != '-' || extra.find_first_not_of('-') == std::string::npos) {
    return {where, fmt::format("'{}' is one argument too many", extra),
            takes_command ? "the words of a program follow --; " + help : help};
  }
  const std::string name = extra.substr(0, extra.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    known.insert(known.end(), names.begin(), names.end());
  }
  const std::string near = nearest_name(name.substr(name.find_first_not_of('-')), known);
  return {where, "unknown option " + name,
          near.empty() ? help : fmt::format("did you mean --{}?", near)};
}

std::string names_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  std::string names;
  for (const std::string& name : option.get_snames()) {
    names += (names.empty() ? "-" : ", -") + name;
  }
  for (const std::string& name : option.get_lnames()) {
    names += (names.empty() ? "--" : ", --") + name;
  }
  const std::string type = option.get_type_name();
  return type.empty() ? names : names + " " + type;
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
  std::vector<const CLI::Option*> outputs;
  std::map<const CLI::Option*, std::vector<std::string>> completions;

  [[nodiscard]] Result<void> guard_outputs() const {
    for (const CLI::Option* output : outputs) {
      std::vector<std::string> others;
      for (const CLI::Option* option : app.get_options()) {
        if (option == output) continue;
        const std::vector<std::string>& values = option->results();
        others.insert(others.end(), values.begin(), values.end());
      }
      for (const std::string& path : output->results()) {
        const auto passes = guard_output(output->get_name(), path, others);
        if (!passes) return passes;
      }
    }
    return {};
  }
};

Option Option::required(bool required) {
  option_->required(required);
  return *this;
}

Option Option::default_text(const std::string& text) {
  option_->default_str(text);
  return *this;
}

CommandLine::CommandLine() : impl_(std::make_unique<Impl>()) {
  impl_->app.set_help_flag("-h,--help", "Print this help.");
}

CommandLine::~CommandLine() = default;

Option CommandLine::add_value(const std::string& names, const std::string& type,
                              const std::string& description,
                              std::function<void(const std::string& text)> handle) {
  return Option(*impl_->app.add_option_function<std::string>(names, std::move(handle), description)
                     ->type_name(type));
}

Option CommandLine::add_text(const std::string& names, std::string& value, const std::string& type,
                             const std::string& description) {
  return Option(*impl_->app.add_option(names, value, description)->type_name(type));
}

Option CommandLine::add_output_file(const std::string& names, std::string& value,
                                    const std::string& type, const std::string& description) {
  CLI::Option* option = impl_->app.add_option(names, value, description)->type_name(type);
  impl_->outputs.push_back(option);
  return Option(*option);
}

Option CommandLine::add_list(const std::string& names, std::vector<std::string>& values,
                             const std::string& type, const std::string& description) {
  return Option(*impl_->app.add_option(names, values, description)
                     ->type_name(type)
                     ->allow_extra_args(false)
                     ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}

Option CommandLine::add_flag(const std::string& names, bool& value,
                             const std::string& description) {
  return Option(*impl_->app.add_flag(names, value, description));
}

Option CommandLine::add_argument(const std::string& name, std::string& value,
                                 const std::string& description) {
  return Option(*impl_->app.add_option(name, value, description)->required());
}

Option CommandLine::add_arguments(const std::string& name, std::vector<std::string>& values,
                                  const std::string& description) {
  return Option(*impl_->app.add_option(name, values, description)->required());
}

Result<CommandLine::Parsed> CommandLine::parse(const std::string& where,
                                               const std::vector<std::string>& args) {
  auto own_end = args.end();
  if (command_ != nullptr) {
    own_end = std::ranges::find(args, "--");
    if (own_end != args.end()) {
      command_->assign(own_end + 1, args.end());
      if (command_->empty()) {
        return fail(where, "no program follows --", "write the program and its arguments after it");
      }
    }
  }
  try {
    // CLI11 takes arguments in reverse order.
    impl_->app.parse(std::vector<std::string>(std::make_reverse_iterator(own_end), args.rend()));
  } catch (const CLI::CallForHelp&) {
    return Parsed::help;
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(usage_error(where, impl_->app, error, command_ != nullptr));
  } catch (const UsageError& error) {
    return tl::unexpected(error.error());
  }
  if (const auto guarded = impl_->guard_outputs(); !guarded) {
    return tl::unexpected(guarded.error());
  }
  return Parsed::options;
}

void CommandLine::complete(const std::string& name, std::vector<std::string> values) {
  impl_->completions[impl_->app.get_option(name)] = std::move(values);
}

std::vector<OptionHelp> CommandLine::help() const {
  std::vector<OptionHelp> all;
  for (const CLI::Option* option : std::as_const(impl_->app).get_options()) {
    const auto values = impl_->completions.find(option);
    all.push_back(
        {names_of(*option), option->get_description(), option->get_default_str(),
         option->get_positional(),
         values == impl_->completions.end() ? std::vector<std::string>() : values->second});
  }
  return all;
}

}  // namespace bertbench
