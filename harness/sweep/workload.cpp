#include "harness/sweep/workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/sweep/paths.h"
#include "harness/sweep/templates.h"
#include "parsers/core/text.h"
#include "parsers/rules/config_reader.h"

namespace bertbench {
namespace {

/// The trainer built with this harness lies beside it; else PATH decides.
std::string locate_trainer() {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  if (!ec) {
    const auto beside = self.parent_path() / "bert_train";
    if (access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  const auto found = find_program("bert_train");
  return found.empty() ? "bert_train" : found;
}

Workload bert_train(const std::string& trainer) {
  Workload workload;
  workload.name = "bert_train";
  workload.title = "the embedded BERT pre-training step";
  workload.framework = "bert_train";
  workload.program = trainer.empty() ? locate_trainer() : trainer;
  workload.is_bert_train = true;
  return workload;
}

}  // namespace

std::string find_program(const std::string& name) {
  const auto runnable = [](const std::string& path) {
    std::error_code ec;
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, ec);
  };
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) {
    return runnable(name) ? std::filesystem::absolute(name).string() : "";
  }
  const char* path = std::getenv("PATH");
  if (!path) return {};
  for (const auto folder : split(path, ':')) {
    if (folder.empty()) continue;
    const std::string candidate = fmt::format("{}/{}", folder, name);
    if (runnable(candidate)) return candidate;
  }
  return {};
}

Result<Workload> parse_workload(const std::string& name, const std::string& text,
                                const std::string& source) {
  auto in = ConfigReader::open(text, source, {});
  if (!in) return tl::unexpected(in.error());
  const auto& root = in->root();
  Workload workload;
  workload.name = name;
  in->check_keys(root, "",
                 {"title", "framework", "program", "args", "env", "axes", "values", "format",
                  "processes", "notes", "$schema"},
                 "key");
  in->text(root, "", "title", workload.title);
  in->text(root, "", "framework", workload.framework);
  in->text(root, "", "program", workload.program);
  in->texts(root, "", "args", workload.args);
  in->variables(root, "", "env", workload.env);
  in->text(root, "", "format", workload.format);
  std::string processes = "per_gpu";
  in->text(root, "", "processes", processes);
  if (processes != "per_gpu" && processes != "per_node" && processes != "one") {
    in->fail_at("/processes", fmt::format("'{}' is not one of per_gpu, per_node, one", processes));
  }
  workload.process_per_gpu = processes == "per_gpu";
  workload.single_process = processes == "one";
  if (root.contains("axes")) {
    for (const auto& [axis, value] : root["axes"].items()) {
      in->texts(root["axes"], "/axes", axis.c_str(), workload.axes[axis]);
    }
  }
  if (root.contains("values")) {
    for (const auto& [axis, words] : root["values"].items()) {
      for (const auto& [value, args] : words.items()) {
        in->texts(words, child_pointer("/values", axis), value.c_str(),
                  workload.values[axis][value]);
      }
    }
  }
  if (workload.program.empty()) in->fail_at("/program", "a template needs a program");
  if (workload.framework.empty()) in->fail_at("/framework", "a template needs a framework");
  if (in->error()) return tl::unexpected(*in->error());
  return workload;
}

bool names_placeholder(const Workload& workload, const std::string& name) {
  const auto names_it = [placeholder = "{" + name + "}"](const std::string& text) {
    return text.find(placeholder) != std::string::npos;
  };
  const auto any = [&](const std::vector<std::string>& words) {
    return std::ranges::any_of(words, names_it);
  };
  return any(workload.args) ||
         std::ranges::any_of(workload.env, [&](const auto& one) { return names_it(one.second); }) ||
         std::ranges::any_of(workload.axes, [&](const auto& one) { return any(one.second); }) ||
         std::ranges::any_of(workload.values, [&](const auto& axis) {
           return std::ranges::any_of(axis.second,
                                      [&](const auto& one) { return any(one.second); });
         });
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names{"bert_train"};
  for (const auto& entry : builtin_templates()) names.emplace_back(entry.name);
  return names;
}

Result<Workload> find_workload(const std::string& name, const std::string& trainer) {
  if (name == "bert_train") return bert_train(trainer);
  for (const auto& entry : builtin_templates()) {
    if (entry.name == name) {
      return parse_workload(name, std::string(entry.text),
                            fmt::format("workloads/external/{}.json", name));
    }
  }
  if (name.find('/') != std::string::npos) {
    const auto text = read_text(name);
    if (!text) return fail("", fmt::format("cannot read the template {}", name));
    auto workload = parse_workload(std::filesystem::path(name).stem().string(), *text, name);
    if (!workload) return fail("", workload.error().message());
    return workload;
  }
  const auto names = workload_names();
  const auto near = nearest_name(name, names);
  return fail("", fmt::format("unknown workload '{}'", name),
              near.empty() ? fmt::format("known: {}; a path with a '/' is a template of yours",
                                         fmt::join(names, ", "))
                           : fmt::format("did you mean '{}'?", near));
}

}  // namespace bertbench
