#include "harness/sweep/plan/forecast.h"

#include <algorithm>
#include <map>
#include <set>

#include "harness/sweep/journal/journal.h"
#include "harness/sweep/journal/run_state.h"
#include "harness/sweep/plan/pair_stopping.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"
#include "reports/stats/pairs.h"
#include "reports/stats/power.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// What the journal of a run folder holds, without taking its lock: a plan may be asked for while
/// the sweep runs. A line that is being written is left out.
RunState state_of(const std::string& out) {
  std::vector<JournalRecord> records;
  const auto text = read_text(out + "/journal.jsonl");
  if (!out.empty() && text) {
    for (const auto line : split(*text, '\n')) {
      if (auto record = parse_journal_line(line)) records.push_back(std::move(*record));
    }
  }
  return replay(records);
}

using ByCell = std::map<std::string, std::vector<double>>;  // by the cell's key

/// What is known of the grid from earlier runs.
struct Known {
  ByCell seconds, rates;  ///< of trials
  std::set<std::pair<std::string, int>> done;
};

void add_trials(const ResultSet& results, ByCell& rates, ByCell& seconds) {
  for (const Cell& cell : results.cells) {
    for (const Trial& trial : cell.trials) {
      if (trial.counts()) rates[cell.key].push_back(*trial.sequences_per_second);
      const auto lasted = number_at(*trial.telemetry, "seconds");
      if (lasted) seconds[cell.key].push_back(*lasted);
    }
  }
}

Known what_is_known(const std::string& out, const std::vector<ResultSet>& history) {
  Known known;
  for (const auto& [id, attempts] : state_of(out).trials) {
    for (const auto& attempt : attempts) {
      if (!attempt.finished || !attempt.covered) continue;
      if (attempt.seconds > 0) known.seconds[id.first].push_back(attempt.seconds);
      known.done.insert(id);
    }
  }
  ByCell seconds_of_history;
  for (const ResultSet& one : history) add_trials(one, known.rates, seconds_of_history);
  known.seconds.merge(seconds_of_history);  // only for cells that the run folder does not time
  if (!out.empty()) {
    ByCell in_journal;  // has them already
    if (const auto own = read_result_set(out)) add_trials(*own, known.rates, in_journal);
  }
  return known;
}

LossForecast losses_against(const Forecast& forecast, const Plan& plan, std::size_t runs,
                            const char* baseline) {
  LossForecast out;
  out.baseline = baseline;
  std::set<std::size_t> cells;
  for (const auto& trial : plan.trials) cells.insert(trial.cell);
  GateModel gate;
  gate.trials = gate.base_trials = static_cast<std::size_t>(
      plan.config.auto_trials ? plan.config.trials_min : plan.config.trials);
  gate.base_runs = runs;
  gate.cells = cells.size();
  gate.noise = forecast.noise;
  out.smallest_loss = smallest_loss(gate, forecast.power, 1000);
  out.trials_for_5 = trials_for_loss(gate, 0.05, forecast.power, 100, 1000);
  out.trials_for_3 = trials_for_loss(gate, 0.03, forecast.power, 100, 1000);
  return out;
}

PairForecast pairs_of(const Forecast& forecast, const Plan& plan) {
  std::set<std::size_t> points;
  for (const auto& trial : plan.trials) points.insert(plan.cells[trial.cell].grid_point);
  const std::size_t others = plan.config.variants.size() - 1;  // each is held against the base
  constexpr int kPairsSimulated = 200;  // more find it, too; as many as pairs_for_loss looks at
  const int pairs = std::min(plan.config.trials, kPairsSimulated);
  const PairModel model{.pairs = static_cast<std::size_t>(pairs),
                        .cells = points.size() * others,
                        .noise = forecast.noise};
  PairForecast out;
  out.pairs = plan.config.trials;
  out.pairs_for_2 = pairs_for_loss(model, kLossOfPairs, out.power);
  auto rule = stopping_rule_for(plan);
  if (!rule) {
    out.power_for_2 = paired_power(model, kLossOfPairs);
    return out;
  }
  rule->looks = stopping_looks(pairs);
  const StoppingPower clean = stopping_power(*rule, forecast.noise, 0);
  const StoppingPower slower = stopping_power(*rule, forecast.noise, rule->loss);
  out.power_for_2 = slower.found;
  out.expected = clean.pairs;
  out.expected_with_loss = slower.pairs;
  return out;
}

}  // namespace

Forecast forecast(const Plan& plan, const std::string& out, const std::vector<ResultSet>& history,
                  double assumed_noise) {
  Forecast result;
  const Known known = what_is_known(out, history);
  double sum = 0, n = 0;
  for (const auto& [key, values] : known.seconds) {
    sum += mean(values);
    ++n;
  }
  std::map<std::size_t, CellForecast> cells;
  for (const auto& trial : plan.trials) {
    CellForecast& cell = cells[trial.cell];
    cell.key = plan.cells[trial.cell].key;
    ++cell.trials;
    if (known.done.contains({cell.key, trial.trial})) ++cell.done;
  }
  std::vector<double> noises;
  double left = 0;
  for (auto& [index, cell] : cells) {
    if (const auto own = known.seconds.find(cell.key); own != known.seconds.end()) {
      cell.seconds = mean(own->second);
      cell.own_seconds = true;
      ++result.cells_timed;
    } else if (n > 0) {
      cell.seconds = sum / n;
    }
    left += cell.seconds.value_or(0) * (cell.trials - cell.done);
    if (const auto own = known.rates.find(cell.key);
        own != known.rates.end() && own->second.size() >= 2) {
      cell.noise = standard_deviation(own->second) / mean(own->second);
      noises.push_back(*cell.noise);
    }
    result.trials += cell.trials;
    result.done += cell.done;
    result.cells.push_back(cell);
  }
  if (n > 0) result.seconds_left = left;
  result.noise = noises.empty() ? assumed_noise : median(noises);
  result.noise_cells = static_cast<int>(noises.size());
  result.losses.push_back(losses_against(result, plan, 1, "a file of one such run"));
  result.losses.push_back(
      losses_against(result, plan, kRunsOfBaseline, "a store of five such runs"));
  if (!plan.config.variants.empty()) result.pairs = pairs_of(result, plan);
  return result;
}

}  // namespace bertbench
