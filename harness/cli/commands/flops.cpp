// bertbench flops: what one training sequence costs, by every formula.
#include "reports/stats/flops.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"

namespace bertbench::command_flops {
namespace {

struct Options {
  std::string model;
  std::optional<std::int64_t> sequence_length, masked;
  bool checkpointing = false;
  OutputOptions output;
};

// A whole number without ".0" where a double holds it exactly.
nlohmann::ordered_json exact(double value) {
  constexpr double kWholeLimit = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && value < kWholeLimit) return static_cast<std::int64_t>(value);
  return value;
}

nlohmann::ordered_json to_json(const FlopsPerSequence& flops, const ModelShape& shape,
                               std::int64_t sequence_length) {
  nlohmann::ordered_json json;
  for (const FlopsFormula& formula : flops_formulas()) {
    json["flops_per_sequence"][std::string(formula.key)] = exact(flops.*formula.value);
  }
  json["parameters"] = exact(parameter_count(shape));
  json["model"] = shape.name;
  json["sequence_length"] = sequence_length;
  json["masked"] = flops.masked;
  json["activation_checkpointing"] = flops.checkpointing;
  return json;
}

void print(Console& console, const FlopsPerSequence& flops, const ModelShape& shape,
           std::int64_t sequence_length) {
  console.print(
      fmt::format("{}: {} layers, hidden {}, vocabulary {}, {:.4g} M parameters\n"
                  "one training sequence of {} tokens, {} of them predicted{}\n\n",
                  escape_for_terminal(shape.name), shape.layers, shape.hidden, shape.vocabulary,
                  parameter_count(shape) / 1e6, sequence_length, flops.masked,
                  flops.checkpointing ? ", activations recomputed" : ""));
  Table table{columns_of({"formula", ">GFLOP", ">vs masked_head", "counts"})};
  for (const FlopsFormula& formula : flops_formulas()) {
    const double value = flops.*formula.value;
    table.rows.push_back(
        {std::string(formula.key), fmt::format("{:.3f}", value / 1e9),
         value == flops.masked_head ? "" : change_text(value / flops.masked_head - 1),
         std::string(formula.counts)});
  }
  console.print(text_table(table));
}

ExitCode run(const Options& options, Console& console) {
  const auto shape = model_shape(options.model);
  if (!shape) return console.error(shape.error());
  const std::int64_t length = options.sequence_length.value_or(0);
  if (options.masked && *options.masked > length) {
    return console.error(
        {"--masked", fmt::format("{} positions of {} tokens cannot be", *options.masked, length),
         "give at most --sequence-length"});
  }
  const auto flops = flops_per_sequence(*shape, length, options.checkpointing, options.masked);
  return answer(
      console, options.output, ExitCode::good, [&] { return to_json(flops, *shape, length); },
      [&] { print(console, flops, *shape, length); });
}

void declare(CommandLine& line, Options& options) {
  line.add_text("--model", options.model, "NAME",
                "A name of `bertbench list models`, or a JSON file as in configs/models.")
      .required();
  line.complete("--model", known_models());
  add_count(line, "--sequence-length", options.sequence_length, 1, "Tokens per sequence.")
      .required();
  add_count(line, "--masked", options.masked, 0,
            "Predicted positions per sequence; all of them for a gpt2 model.")
      .default_text("20/128 of the tokens, rounded up");
  line.add_flag("--activation-checkpointing", options.checkpointing,
                "Count the forward pass that recomputes activations, where a formula does.");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench flops --model bert-large --sequence-length 128", "Every formula side by side."},
    {"bertbench flops --model bert-base --sequence-length 512 --masked 76 --json",
     "Unrounded numbers for a script."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good}, {ExitCode::usage}};

}  // namespace

extern const Command entry{
    "flops",
    "FLOPs of one training sequence, by every formula in use",
    "--model NAME --sequence-length N",
    "The formulas count different things, so the same run has a different MFU by each. Reports use "
    "masked_head. A multiply-add counts as 2 FLOPs; forward and backward are included.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_flops
