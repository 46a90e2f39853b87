// bertbench completion: what shells complete, and the manual page, out of what --help prints.
#include <fmt/format.h>

#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/command_line.h"
#include "harness/cli/console.h"
#include "harness/cli/help.h"
#include "harness/sweep/plan/launcher.h"
#include "parsers/core/text.h"
#include "reports/model/version.h"

namespace bertbench::command_completion {
namespace {

/// An option with its spellings: "-o", "--output" and the type of its value, "" for a flag.
struct Spelled {
  std::vector<std::string> names;
  std::string type, description;
  std::vector<std::string> values;  ///< that are completed after it; none: files
};

/// Values of the command's first argument, where it names them.
std::vector<std::string> argument_values(const Command& command) {
  CommandLine line;
  const CommandRun run = command.declare(line);
  for (const OptionHelp& option : line.help()) {
    if (option.argument) return option.values;
  }
  return {};
}

std::vector<Spelled> options_of(const Command& command) {
  CommandLine line;
  const CommandRun run = command.declare(line);
  std::vector<Spelled> out;
  for (const OptionHelp& option : line.help()) {
    if (option.argument) continue;
    Spelled& one = out.emplace_back();
    one.description = option.description;
    one.values = option.values;
    for (std::string_view word : split(option.names, ' ')) {
      if (word.ends_with(',')) word.remove_suffix(1);
      if (word.starts_with('-')) {
        one.names.emplace_back(word);
      } else if (!word.empty()) {
        one.type = word;
      }
    }
  }
  return out;
}

std::string escaped(std::string_view text, std::string_view what) {
  std::string out;
  for (const char c : text) {
    if (what.find(c) != what.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string command_names() {
  std::string out;
  for (const Command* command : all_commands()) out += std::string(command->name) + " ";
  return out + "help --help --version";
}

std::string bash() {
  std::string cases, values;
  for (const Command* command : all_commands()) {
    std::string words;
    for (const Spelled& option : options_of(*command)) {
      for (const auto& name : option.names) words += " " + name;
      if (option.values.empty()) continue;
      values += fmt::format("    '{0} {1}') values='{2}' ;;\n", command->name,
                            fmt::join(option.names, fmt::format("'|'{} ", command->name)),
                            fmt::join(option.values, " "));
    }
    const auto arguments = argument_values(*command);
    cases += fmt::format("    {}) words='{}' arguments='{}' ;;\n", command->name, words.substr(1),
                         fmt::join(arguments, " "));
  }
  return fmt::format(R"sh(# bash completion of bertbench: source it, or save it as
# ~/.local/share/bash-completion/completions/bertbench
_bertbench() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command= words= arguments= values= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in -*) ;; *) command=${{COMP_WORDS[i]}} && break ;; esac
  done
  case $command in
    ''|help) words='{}' ;;
{}  esac
  case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}  esac
  # What has no known values is a file: left to bash.
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* || -z $command || $command == help ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ ${{COMP_WORDS[COMP_CWORD-1]}} == "$command" ]]; then
    COMPREPLY=($(compgen -W "$arguments" -- "$current"))
  fi
}}
complete -o bashdefault -o default -F _bertbench bertbench
)sh",
                     command_names(), cases, values);
}

/// What zsh completes for a value: "(fp32 bf16)", or files.
std::string zsh_values(const std::vector<std::string>& values) {
  return values.empty() ? "_files" : fmt::format("({})", fmt::join(values, " "));
}

std::string zsh() {
  constexpr std::string_view kSpecial = "[]:\\";
  std::string commands, cases;
  for (const Command* command : all_commands()) {
    commands += fmt::format(
        "    {}\n",
        single_quoted(fmt::format("{}:{}", command->name, escaped(command->purpose, kSpecial))));
    cases += fmt::format("    {})\n      _arguments -S", command->name);
    for (const Spelled& option : options_of(*command)) {
      for (const auto& name : option.names) {
        const std::string value =
            option.type.empty()
                ? ""
                : fmt::format(":{}:{}", escaped(option.type, kSpecial), zsh_values(option.values));
        cases +=
            " \\\n        " + single_quoted(fmt::format(
                                  "*{}[{}]{}", name, escaped(option.description, kSpecial), value));
      }
    }
    cases += fmt::format(" \\\n        '*:argument:{}'\n      ;;\n",
                         zsh_values(argument_values(*command)));
  }
  return fmt::format(R"sh(#compdef bertbench
# zsh completion of bertbench: save it as _bertbench in a folder of $fpath.
_bertbench() {{
  local -a commands
  commands=(
{})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_bertbench "$@"
)sh",
                     commands, cases);
}

std::string fish() {
  std::string out =
      "# fish completion of bertbench: save it as ~/.config/fish/completions/bertbench.fish\n";
  for (const Command* command : all_commands()) {
    out += fmt::format("complete -c bertbench -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       command->name, escaped(command->purpose, "'\\"));
  }
  for (const Command* command : all_commands()) {
    for (const Spelled& option : options_of(*command)) {
      out +=
          fmt::format("complete -c bertbench -n '__fish_seen_subcommand_from {}'", command->name);
      for (const auto& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.values.empty()) {
        out += fmt::format(" -x -a '{}'", fmt::join(option.values, " "));
      } else if (!option.type.empty()) {
        out += " -r";
      }
      out += fmt::format(" -d '{}'\n", escaped(option.description, "'\\"));
    }
    if (const auto values = argument_values(*command); !values.empty()) {
      out += fmt::format("complete -c bertbench -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                         command->name, fmt::join(values, " "));
    }
  }
  return out;
}

/// A text of troff, in which no line is an instruction.
std::string troff(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with('.') || line.starts_with('\'')) out += "\\&";
    for (const char c : line) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    out += '\n';
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string man() {
  const auto section = [](std::string_view name, const std::string& help) {
    return fmt::format(".SH {}\n.nf\n{}.fi\n", name, troff(help));
  };
  std::string out = fmt::format(
      ".TH BERTBENCH 1 \"\" \"bertbench {}\"\n.SH NAME\nbertbench \\- measures BERT "
      "training and reads other people's measurements of it\n",
      tool_version());
  out += section("SYNOPSIS", program_help());
  for (const Command* command : all_commands()) {
    out += section(fmt::format("\"bertbench {}\"", command->name), command_help(*command));
  }
  return out;
}

ExitCode run(const std::string& form, Console& console) {
  const auto text = form == "bash"   ? bash()
                    : form == "zsh"  ? zsh()
                    : form == "fish" ? fish()
                    : form == "man"  ? man()
                                     : std::string();
  if (text.empty()) {
    return console.error({"completion",
                          fmt::format("'{}' is not one of bash, zsh, fish, man", form),
                          "name a shell, or man for the manual page"});
  }
  console.print(text);
  return ExitCode::good;
}

void declare(CommandLine& line, std::string& form) {
  line.add_argument("SHELL", form, "bash, zsh or fish; man for the manual page.");
  line.complete("SHELL", {"bash", "zsh", "fish", "man"});
}

constexpr Example kExamples[] = {
    {"source <(bertbench completion bash)", "Complete commands and options in this bash."},
    {"bertbench completion fish > ~/.config/fish/completions/bertbench.fish", "In every fish."},
    {"bertbench completion man > ~/.local/share/man/man1/bertbench.1", "For `man bertbench`."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good}, {ExitCode::usage}};

}  // namespace

extern const Command entry{"completion",
                           "completion for bash, zsh and fish; the manual page",
                           "SHELL",
                           "Prints a script that completes commands, options and the names that "
                           "options take, made of what "
                           "--help prints, or with man a page for `man`, which holds every --help.",
                           kExamples,
                           kStatuses,
                           declared<std::string, declare, run>};

}  // namespace bertbench::command_completion
