#include "harness/cli/plan_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/number_text.h"
#include "harness/cli/progress.h"
#include "parsers/core/text.h"
#include "reports/output/table.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string trials_text(const std::optional<std::size_t>& trials) {
  return trials ? std::to_string(*trials) : "over 100";
}

void print_cells(Console& console, const Forecast& forecast) {
  Table table{{{"cell"}, {"trials", true}, {"done", true}, {"a trial takes", true}, {"cv", true}},
              {}};
  for (const CellForecast& cell : forecast.cells) {
    std::string seconds = cell.seconds ? format_duration(*cell.seconds) : "-";
    if (cell.seconds && !cell.own_seconds) seconds = "~" + seconds;
    table.rows.push_back({cell.key, std::to_string(cell.trials), std::to_string(cell.done), seconds,
                          cell.noise ? fmt::format("{:.2f} %", 100 * *cell.noise) : "-"});
  }
  console.print(text_table(table, {}));
}

}  // namespace

void print_forecast(Console& console, const Plan& plan, const Forecast& forecast) {
  print_cells(console, forecast);
  const std::string up_to = plan.config.auto_trials ? "up to " : "";
  console.print(fmt::format("\n{}, {}{}, {} done, launcher {}\n",
                            counted(static_cast<long long>(forecast.cells.size()), "cell"), up_to,
                            counted(forecast.trials, "trial"), forecast.done,
                            plan.config.launcher));
  if (forecast.seconds_left) {
    console.print(fmt::format(
        "estimated duration: {}{} ({} of {} cells by their own trials, the others as their mean)\n",
        up_to, format_duration(*forecast.seconds_left), forecast.cells_timed,
        forecast.cells.size()));
  } else {
    console.print(
        "estimated duration: unknown, as no trial of this grid has been timed; --trials 1 runs "
        "each cell once, --history FILE takes earlier results\n");
  }
  console.print(fmt::format("noise: cv {:.2f} % of trials ({})\n", 100 * forecast.noise,
                            forecast.noise_cells > 0
                                ? fmt::format("median of {}", counted(forecast.noise_cells, "cell"))
                                : std::string("assumed; --noise sets it")));
  console.print(fmt::format(
      "\nlosses that `check` would find with {:.0f} % power (simulated; Holm over {}):\n",
      100 * forecast.power, counted(static_cast<long long>(forecast.cells.size()), "cell")));
  Table table{
      {{"against"}, {"smallest loss", true}, {"trials for 5 %", true}, {"trials for 3 %", true}},
      {}};
  for (const LossForecast& loss : forecast.losses) {
    table.rows.push_back({loss.baseline,
                          loss.smallest_loss ? percent(*loss.smallest_loss) : "cannot decide",
                          trials_text(loss.trials_for_5), trials_text(loss.trials_for_3)});
  }
  console.print(text_table(table, {}));
  if (!forecast.pairs) return;
  const PairForecast& pairs = *forecast.pairs;
  console.print(fmt::format(
      "\n`check --paired`: {} find a loss of 2 % in {:.0f} % (simulated; as if pairs shared "
      "nothing\nof that noise); {}\n",
      counted(pairs.pairs, "pair"), 100 * pairs.power_for_2,
      pairs.pairs_for_2 ? fmt::format("{} find 2 % in {:.0f} %",
                                      counted(static_cast<long long>(*pairs.pairs_for_2), "pair"),
                                      100 * pairs.power)
                        : std::string("not even 200 pairs find it in 95 %")));
}

Json forecast_json(const Plan& plan, const Forecast& forecast) {
  Json cells = Json::array();
  for (const CellForecast& cell : forecast.cells) {
    Json row = {{"key", cell.key}, {"trials", cell.trials}, {"done", cell.done}};
    if (cell.seconds) {
      row["seconds"] = *cell.seconds;
      row["own_seconds"] = cell.own_seconds;
    }
    if (cell.noise) row["cv"] = *cell.noise;
    cells.push_back(std::move(row));
  }
  Json losses = Json::array();
  for (const LossForecast& loss : forecast.losses) {
    Json row = {{"baseline", loss.baseline}};
    if (loss.smallest_loss) row["smallest_loss"] = *loss.smallest_loss;
    if (loss.trials_for_5) row["trials_for_5_percent"] = *loss.trials_for_5;
    if (loss.trials_for_3) row["trials_for_3_percent"] = *loss.trials_for_3;
    losses.push_back(std::move(row));
  }
  Json out = {{"name", plan.config.name},
              {"trials", forecast.trials},
              {"done", forecast.done},
              {"cells", cells},
              {"noise", {{"cv", forecast.noise}, {"cells", forecast.noise_cells}}},
              {"power", forecast.power},
              {"losses", losses}};
  if (forecast.seconds_left) out["seconds_left"] = *forecast.seconds_left;
  if (forecast.pairs) {
    Json& pairs = out["pairs"];
    pairs = {{"planned", forecast.pairs->pairs},
             {"power_for_2_percent", forecast.pairs->power_for_2},
             {"power", forecast.pairs->power}};
    if (forecast.pairs->pairs_for_2) pairs["pairs_for_2_percent"] = *forecast.pairs->pairs_for_2;
  }
  return out;
}

}  // namespace bertbench
