#include "harness/cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/core/text.h"
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

double share_of(const std::string& option, std::string_view text) {
  std::string_view number = trim(text);
  const bool percent = !number.empty() && number.back() == '%';
  if (percent) number = trim(number.substr(0, number.size() - 1));
  const auto value = to_double(number);
  const double share = value ? *value / (percent ? 100 : 1) : -1;
  if (!(share >= 0 && share < 1)) {
    throw UsageError({option, fmt::format("'{}' is not a share from 0 up to 100 %", text),
                      fmt::format("for example {} 2% or {} 0.02", option, option)});
  }
  return share;
}

// The long name is what errors call an option.
std::string long_name(const std::string& names) { return names.substr(names.find("--")); }

void add_count_fact(CLI::App& app, const std::string& name, Fact<std::int64_t>& fact,
                    const std::string& description) {
  app.add_option_function<std::string>(
         name,
         [&fact, name](const std::string& text) {
           fact.set(count_of(name, text, 1), FactSource::command_line);
         },
         description)
      ->type_name("N");
}

void add_text_fact(CLI::App& app, const std::string& name, Fact<std::string>& fact,
                   const std::string& type, const std::string& description) {
  app.add_option_function<std::string>(
         name, [&fact](const std::string& text) { fact.set(text, FactSource::command_line); },
         description)
      ->type_name(type);
}

// A slip of the pen would make a cell of its own, which nothing is ever compared with.
std::string precision_of(const std::string& text) {
  static const std::vector<std::string> kNames{"fp32", "tf32", "bf16", "fp16",
                                               "fp8",  "fp64", "fp4",  "int8"};
  if (std::ranges::find(kNames, text) != kNames.end()) return text;
  throw UsageError({"--precision", "'" + text + "' is no precision",
                    fmt::format("use one of {}", fmt::join(kNames, ", "))});
}

}  // namespace

CLI::Option* add_count(CLI::App& app, const std::string& names, std::optional<std::int64_t>& value,
                       std::int64_t minimum, const std::string& description) {
  return app
      .add_option_function<std::string>(
          names,
          [&value, option = long_name(names), minimum](const std::string& text) {
            value = count_of(option, text, minimum);
          },
          description)
      ->type_name("N");
}

CLI::Option* add_share(CLI::App& app, const std::string& names, double& value,
                       const std::string& description) {
  return app
      .add_option_function<std::string>(
          names,
          [&value, option = long_name(names)](const std::string& text) {
            value = share_of(option, text);
          },
          description)
      ->type_name("SHARE");
}

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& description) {
  return app.add_option(names, value, description)->type_name(type);
}

CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                      const std::string& type, const std::string& description) {
  return app.add_option(names, values, description)
      ->type_name(type)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_flag(CLI::App& app, const std::string& names, bool& value,
                      const std::string& description) {
  return app.add_flag(names, value, description);
}

CLI::Option* add_argument(CLI::App& app, const std::string& name, std::string& value,
                          const std::string& description) {
  return app.add_option(name, value, description)->required();
}

CLI::Option* add_arguments(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& description) {
  return app.add_option(name, values, description)->required();
}

CLI::Option* add_window(CLI::App& app, std::optional<WindowRule>& rule,
                        const std::string& default_text) {
  return app
      .add_option_function<std::string>(
          "--window",
          [&rule](const std::string& text) {
            auto parsed = parse_window(text);
            if (!parsed) {
              Error error = parsed.error();
              if (error.where.find("--window") == std::string::npos) error.where = "--window";
              throw UsageError(std::move(error));
            }
            rule = *parsed;
            rule->chosen_by_user = true;
          },
          "Which records are measured: A:B drops the first A and uses those up to the B-th, "
          "steps:A:B goes by the log's own step numbers, last:N, all, or auto (MSER-5 finds the "
          "end of the warm-up).")
      ->type_name("RULE")
      ->default_str(default_text);
}

CLI::Option* add_flops_formula(CLI::App& app, std::string& formula,
                               const std::string& default_text) {
  return app
      .add_option_function<std::string>(
          "--flops-formula",
          [&formula](const std::string& text) {
            const auto found = flops_formula(text, "--flops-formula");
            if (!found) throw UsageError(found.error());
            formula = (*found)->key;
          },
          "Formula of TFLOPS, MFU and HFU: masked_head, notebook, megatron, palm or another of "
          "`bertbench flops`; the JSON form has all.")
      ->type_name("NAME")
      ->default_str(default_text);
}

void add_facts(CLI::App& app, Facts& facts) {
  add_count_fact(app, "--nodes", facts.nodes, "Nodes of the job.");
  add_count_fact(app, "--gpus-per-node", facts.gpus_per_node, "GPUs on each node.");
  add_count_fact(app, "--micro-batch-size", facts.micro_batch_size,
                 "Sequences per GPU and micro-step.");
  add_count_fact(app, "--gradient-accumulation-steps", facts.gradient_accumulation_steps,
                 "Micro-steps per optimizer step.");
  add_count_fact(app, "--sequence-length", facts.sequence_length, "Tokens per sequence.");
  add_text_fact(app, "--model", facts.model, "NAME", "Model, as in `bertbench list models`.");
  app.add_option_function<std::string>(
         "--precision",
         [&facts](const std::string& text) {
           facts.precision.set(precision_of(text), FactSource::command_line);
         },
         "fp32, tf32, bf16, fp16 or fp8.")
      ->type_name("NAME");
}

}  // namespace bertbench
