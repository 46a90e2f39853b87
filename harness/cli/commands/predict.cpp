// bertbench predict: larger jobs from measured ones, always labelled as predicted.
#include "reports/studies/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/number_text.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"
#include "reports/output/table.h"

namespace bertbench::command_predict {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string result, topologies;
  OutputOptions output;
};

ordered_json to_json(const std::vector<PredictedGroup>& groups) {
  ordered_json rows = ordered_json::array();
  for (const PredictedGroup& group : groups) {
    ordered_json row{{"group", group.name}};
    if (group.simulated) row["simulated"] = true;
    if (!group.reason.empty()) {
      row["reason"] = group.reason;
      rows.push_back(std::move(row));
      continue;
    }
    const FittedModel& model = group.fit->chosen;
    row["model"] = {{"name", model.form->name},
                    {"formula", model.form->text},
                    {"coefficients", model.coefficients},
                    {"cells", model.cells},
                    {"mean_error", model.mean_error},
                    {"max_error", model.max_error},
                    {"left_out_error", model.left_out_error}};
    put(row["model"], "held_out_error", group.fit->held_out_error);
    row["predicted"] = ordered_json::array();
    for (const PredictedCell& cell : group.cells) {
      ordered_json one{{"key", cell.identity.key()},
                       {"world_size", cell.topology.world_size()},
                       {"sequences_per_second", cell.sequences_per_second}};
      put(one, "interval", cell.interval);
      put(one, "scaling_efficiency", cell.scaling_efficiency);
      one["measured_too"] = cell.measured;
      row["predicted"].push_back(std::move(one));
    }
    rows.push_back(std::move(row));
  }
  return {{"schema", "bertbench.predict/1"}, {"groups", rows}};
}

void print(Console& console, const std::vector<PredictedGroup>& groups) {
  bool first = true;
  for (const PredictedGroup& group : groups) {
    console.print(fmt::format("{}PREDICTED{}, not measured: {}\n", first ? "" : "\n",
                              group.simulated ? " from simulated cells" : "",
                              escape_for_terminal(group.name)));
    first = false;
    if (!group.reason.empty()) {
      console.print(escape_for_terminal(group.reason) + "\n");
      continue;
    }
    const FittedModel& model = group.fit->chosen;
    std::string letters;
    for (std::size_t i = 0; i < model.coefficients.size(); ++i) {
      letters +=
          fmt::format(", {} = {:.4g} ms", static_cast<char>('a' + i), 1e3 * model.coefficients[i]);
    }
    console.print(fmt::format(
        "step = {}{}\nfit to {} cells: mean error {:.1f} %, largest {:.1f} %, left out one by one "
        "{:.1f} %\n",
        model.form->text, letters, model.cells, 100 * model.mean_error, 100 * model.max_error,
        100 * model.left_out_error));
    if (group.fit->held_out_error) {
      console.print(
          fmt::format("the largest measured jobs, predicted by the smaller: within "
                      "{:.1f} %\n",
                      100 * *group.fit->held_out_error));
    }
    Table table{
        columns_of({"cell", ">GPUs", ">predicted sequences/s", "95 % interval", ">efficiency"})};
    for (const PredictedCell& cell : group.cells) {
      table.rows.push_back(
          {cell.identity.key() +
               (cell.measured ? (group.simulated ? " (simulated too)" : " (measured too)") : ""),
           fmt::format("{}", cell.topology.world_size()), rate_text(cell.sequences_per_second),
           rate_text(cell.interval.low) + " .. " + rate_text(cell.interval.high),
           cell.scaling_efficiency ? share_text(*cell.scaling_efficiency) : "-"});
    }
    console.print("\n" + text_table(table));
  }
}

ExitCode run(const Options& options, Console& console) {
  std::vector<Topology> topologies;
  for (const std::string_view text : split(options.topologies, ',')) {
    const auto topology = parse_topology(trim(text));
    if (!topology) {
      return console.error({"--topologies", fmt::format("'{}' is not a topology", text),
                            "write NnGg, for example 8n8g,16n8g"});
    }
    topologies.push_back(*topology);
  }
  const auto results = read_results(options.result, console);
  if (!results) return console.error(results.error(), ExitCode::nothing_read);
  const auto groups = predict(*results, topologies);
  const bool any =
      std::ranges::any_of(groups, [](const PredictedGroup& group) { return !group.cells.empty(); });
  if (!any) {
    return console.error(
        {options.result,
         groups.empty() ? "no cell has a batch, a topology and sequences/s" : groups.front().reason,
         "measure at least three topologies, one GPU of each batch among them"},
        ExitCode::inconclusive);
  }
  return answer(
      console, options.output, ExitCode::good, [&] { return to_json(groups); },
      [&] { print(console, groups); });
}

void declare(CommandLine& line, Options& options) {
  line.add_argument("RESULT", options.result,
                    "What was measured: a result file, a run folder or its archive.");
  line.add_text("--topologies", options.topologies, "LIST",
                "What to predict, for example 8n8g,16n8g.")
      .required();
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench predict run --topologies 8n8g,16n8g", "Twice and four times the nodes measured."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::usage},
    {ExitCode::inconclusive, "no model, or none for these topologies"},
    {ExitCode::nothing_read}};

}  // namespace

extern const Command entry{
    "predict",
    "throughput of larger jobs, by a model of the measured ones",
    "RESULT --topologies LIST",
    "Cells that differ only in batch and topology share one model of the step time: that of one "
    "GPU (T1) plus terms of n GPUs, N nodes and g GPUs a node. A model of more terms, or one that "
    "grows with n, must halve the error of cells left out. The interval is for a new cell, widened "
    "to what rival models give and to the error with which the smaller jobs predict the largest. "
    "Machines beyond the network that was measured may behave otherwise.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_predict
