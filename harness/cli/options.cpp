#include "harness/cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/result_view.h"
#include "harness/sweep/plan/launcher.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "reports/stats/flops.h"

namespace bertbench {
namespace {

std::int64_t count_of(const std::string& option, const std::string& text, std::int64_t minimum) {
  const auto value = to_int(trim(text));
  if (!value || *value < minimum) {
    throw UsageError(
        {option, fmt::format("'{}' is not a whole number of at least {}", text, minimum),
         fmt::format("for example {} {}", option, std::max<std::int64_t>(minimum, 8))});
  }
  return *value;
}

// The long name is what errors call an option.
std::string long_name(const std::string& names) { return names.substr(names.find("--")); }

void add_count_fact(CommandLine& line, const std::string& name, Fact<std::int64_t>& fact,
                    const std::string& description) {
  constexpr std::int64_t kLargestCount = std::int64_t{1} << 31;  // no job has as many of anything
  line.add_value(name, "N", description, [&fact, name](const std::string& text) {
    const std::int64_t count = count_of(name, text, 1);
    if (count > kLargestCount) {
      throw UsageError({name, fmt::format("'{}' is more than any job has", text),
                        fmt::format("for example {} 8", name)});
    }
    fact.set(count, FactSource::command_line);
  });
}

}  // namespace

Option add_count(CommandLine& line, const std::string& names, std::optional<std::int64_t>& value,
                 std::int64_t minimum, const std::string& description) {
  return line.add_value(names, "N", description,
                        [&value, option = long_name(names), minimum](const std::string& text) {
                          value = count_of(option, text, minimum);
                        });
}

Option add_share(CommandLine& line, const std::string& names, double& value,
                 const std::string& description) {
  return line.add_value(
      names, "SHARE", description, [&value, option = long_name(names)](const std::string& text) {
        const auto share = to_share(text);
        if (share) return void(value = *share);
        throw UsageError({option, fmt::format("'{}' is not a share from 0 up to 100 %", text),
                          fmt::format("for example {} 2% or {} 0.02", option, option)});
      });
}

Option add_positive(CommandLine& line, const std::string& name, std::optional<double>& value,
                    const std::string& type, const std::string& description) {
  return line.add_value(name, type, description, [&value, name](const std::string& text) {
    const auto number = to_double(trim(text));
    if (!number || !(*number > 0) || *number > 1e18) {
      throw UsageError({name, "'" + text + "' is not a number above 0",
                        fmt::format("for example {} 1000", name)});
    }
    value = number;
  });
}

Option add_window(CommandLine& line, std::optional<WindowRule>& rule,
                  const std::string& default_text) {
  return line
      .add_value(
          "--window", "RULE",
          "Which records are measured: A:B drops the first A and uses those up to the B-th, "
          "steps:A:B goes by the log's own step numbers, last:N, all, or auto (MSER-5 finds the "
          "end of the warm-up).",
          [&rule](const std::string& text) {
            auto parsed = parse_window(text);
            if (!parsed) {
              Error error = parsed.error();
              if (error.where.find("--window") == std::string::npos) error.where = "--window";
              throw UsageError(std::move(error));
            }
            rule = *parsed;
            rule->chosen_by_user = true;
          })
      .default_text(default_text);
}

void complete_launchers(CommandLine& line) {
  std::vector<std::string> names;
  for (const Launcher* launcher : all_launchers()) names.emplace_back(launcher->name);
  line.complete("--launcher", std::move(names));
}

void add_kinds(CommandLine& line, std::vector<WorkKind>& kinds) {
  line.add_value("--kind", "LIST",
                 "Kinds of work that the text shows in full, a line for each other one: training, "
                 "evaluation, inference, or all. The JSON form has all.",
                 [&kinds](const std::string& text) {
                   kinds.clear();
                   for (const std::string_view word : split(text, ',')) {
                     const auto all = all_kinds();
                     const auto found =
                         std::ranges::find(all, word, [](WorkKind kind) { return name(kind); });
                     if (word == "all") {
                       kinds = all;
                     } else if (found != all.end()) {
                       kinds.push_back(*found);
                     } else {
                       throw UsageError({"--kind", fmt::format("'{}' is no kind of work", word),
                                         "use training, evaluation, inference or all"});
                     }
                   }
                 })
      .default_text("training, or inference where there is none");
  std::vector<std::string> names{"all"};
  for (const WorkKind kind : all_kinds()) names.emplace_back(name(kind));
  line.complete("--kind", std::move(names));
}

void add_format(CommandLine& line, std::string& format, std::string& format_file) {
  line.add_text("--format", format, "NAME", "Log format, as in `bertbench list formats`.")
      .default_text("auto");
  std::vector<std::string> names{"auto"};
  for (const Format* known : all_formats()) names.emplace_back(known->name);
  line.complete("--format", std::move(names));
  line.add_text(
      "--format-file", format_file, "FILE",
      "A log format of your own: literals and RE2 patterns in JSON, see docs/formats.md.");
}

void add_flops_formula(CommandLine& line, std::string& formula, const std::string& default_text) {
  line.add_value(
          "--flops-formula", "NAME",
          "Formula of TFLOPS, MFU and HFU: masked_head, notebook, megatron, palm or another of "
          "`bertbench flops`; the JSON form has all.",
          [&formula](const std::string& text) {
            const auto found = flops_formula(text, "--flops-formula");
            if (!found) throw UsageError(found.error());
            formula = (*found)->key;
          })
      .default_text(default_text);
  std::vector<std::string> keys;
  for (const FlopsFormula& known : flops_formulas()) keys.emplace_back(known.key);
  line.complete("--flops-formula", std::move(keys));
}

void add_facts(CommandLine& line, Facts& facts) {
  add_count_fact(line, "--nodes", facts.nodes, "Nodes of the job.");
  add_count_fact(line, "--gpus-per-node", facts.gpus_per_node, "GPUs on each node.");
  add_count_fact(line, "--micro-batch-size", facts.micro_batch_size,
                 "Sequences per GPU and micro-step.");
  add_count_fact(line, "--gradient-accumulation-steps", facts.gradient_accumulation_steps,
                 "Micro-steps per optimizer step.");
  add_count_fact(line, "--sequence-length", facts.sequence_length, "Tokens per sequence.");
  line.add_value(
      "--model", "NAME", "Model, as in `bertbench list models`.",
      [&facts](const std::string& text) { facts.model.set(text, FactSource::command_line); });
  line.complete("--model", known_models());
  line.add_value("--precision", "NAME", "fp32, tf32, bf16, fp16 or fp8.",
                 [&facts](const std::string& text) {
                   // A slip of the pen would make a cell that nothing is ever compared with.
                   constexpr std::string_view kNames[] = {"fp32", "tf32", "bf16", "fp16",
                                                          "fp8",  "fp64", "fp4",  "int8"};
                   if (std::ranges::find(kNames, text) == std::end(kNames)) {
                     throw UsageError({"--precision", "'" + text + "' is no precision",
                                       fmt::format("use one of {}", fmt::join(kNames, ", "))});
                   }
                   facts.precision.set(text, FactSource::command_line);
                 });
  line.complete("--precision", {"fp32", "tf32", "bf16", "fp16", "fp8"});
}

}  // namespace bertbench
