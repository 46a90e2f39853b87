// Trials -> the numbers of a cell.
#include "reports/cells/summarize.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "parsers/core/text.h"
#include "reports/cells/cell_flops.h"
#include "reports/cells/relations.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::int64_t kTellApart = 20;  // records whose times no other run repeats

std::uint32_t mark_of(const Trial& trial, double rate) {
  if (trial.iterations.used < kTellApart || !trial.loss || !trial.loss->first || !trial.loss->last)
    return 0;
  std::size_t hash = 0;
  const auto add = [&](auto value) { boost::hash_combine(hash, value); };
  add(rate);
  add(*trial.loss->first);
  add(*trial.loss->last);
  add(trial.iterations.seen);
  add(trial.iterations.used);
  add(trial.window.first_step.value_or(0));
  add(trial.window.last_step.value_or(0));
  return static_cast<std::uint32_t>(hash) | 1U;
}

/// Trials whose numbers are those of an earlier one to the last digit.
std::size_t repeated(std::span<const TrialFigures> trials) {
  std::set<std::uint32_t> seen;
  std::size_t out = 0;
  for (const TrialFigures& trial : trials) {
    if (trial.mark != 0 && !seen.insert(trial.mark).second) ++out;
  }
  return out;
}

void summarize_throughput(Cell& cell, std::span<const TrialFigures> trials, bool compat_dlperf) {
  std::map<RateUnit, std::vector<double>> samples;
  std::set<std::string_view> estimators;
  for (const TrialFigures& trial : trials) {
    if (trial.unit == RateUnit::unknown) continue;
    samples[trial.unit].push_back(trial.rate);
    estimators.insert(trial.estimator);
  }
  const auto* known =
      std::ranges::find_if(kRateUnits, [&](RateUnit unit) { return samples.contains(unit); });
  const RateUnit unit = known != std::end(kRateUnits) ? *known : kRateUnits[0];
  std::vector<double>& sample = samples[unit];
  if (compat_dlperf) {
    for (double& x : sample) x = round_dlperf(x);
  }
  cell.throughput = summarize_sample(sample, compat_dlperf);
  cell.throughput.unit = name(unit);

  cell.warnings.clear();
  const auto warn = [&](NoticeCode code, const auto&... values) {
    cell.warnings.push_back(make_notice(code, 0, values...));
  };
  if (sample.size() < trials.size()) {
    std::map<std::string, int> why_not;
    for (const TrialFigures& trial : trials) {
      if (trial.unit == RateUnit::unknown) {
        ++why_not[std::string(name(trial.status))];
      } else if (trial.unit != unit) {
        ++why_not[fmt::format("a rate in {} alone", name(trial.unit))];
      }
    }
    std::string why;
    for (const auto& [reason, n] : why_not) {
      why += fmt::format("{}{} x{}", why.empty() ? "" : ", ", reason, n);
    }
    warn(NoticeCode::trials_without_number, trials.size() - sample.size(), trials.size(), why);
  }
  if (const std::size_t n = compat_dlperf ? 0 : repeated(trials); n > 0) {
    warn(NoticeCode::trials_equal, n, trials.size(), n == 1 ? "equals" : "equal");
  }
  if (estimators.size() > 1) {
    std::string names;
    for (const auto& estimator : estimators) {
      names += (names.empty() ? "" : ", ") + std::string(estimator);
    }
    warn(NoticeCode::estimators_differ, names);
  }
}

// A trial has an energy of a sequence where its GPUs or CPUs were watched; its power follows.
void summarize_energy(Cell& cell, std::span<const TrialFigures> trials) {
  std::vector<double> energy, power;
  for (const TrialFigures& trial : trials) {
    if (trial.unit != RateUnit::sequences_per_second || std::isnan(trial.energy)) continue;
    energy.push_back(trial.energy);
    power.push_back(trial.energy * trial.rate);
  }
  cell.energy_per_sequence_j = cell.power_w = std::nullopt;
  if (energy.empty()) return;
  cell.energy_per_sequence_j = median(energy);
  cell.power_w = median(power);
}

void summarize_quality(Cell& cell, std::span<const TrialFigures> trials) {
  cell.stability.clear();
  for (std::size_t q = 0; q < std::size(kQualities); ++q) {
    std::vector<double> values;
    for (const TrialFigures& trial : trials) {
      if (std::isfinite(trial.quality[q])) values.push_back(trial.quality[q]);
    }
    if (values.size() < 2) continue;
    Spread& spread = cell.stability[kQualities[q]];
    spread.n = static_cast<int>(values.size());
    spread.mean = mean(values);
    spread.stddev = standard_deviation(values);
    spread.min = *std::ranges::min_element(values);
    spread.max = *std::ranges::max_element(values);
  }
}

/// Whether n, rate and spread are those of the cell's trials. What the file lacks does not differ.
bool follows_from_trials(const Cell& cell) {
  constexpr double kLastDigits = 1e-6;  // of the mean; files of others may be rounded to seven
  std::vector<TrialFigures> trials;
  for (const Trial& trial : cell.trials) trials.push_back(figures_of(trial));
  Cell own;
  static_cast<CellSummary&>(own) = cell;
  const auto agrees = [&](bool compat_dlperf) {
    summarize_trials(own, trials, compat_dlperf);
    const ThroughputSummary &stated = cell.throughput, &right = own.throughput;
    const auto same = [](std::optional<double> a, std::optional<double> b, double size) {
      return !a || (b && std::fabs(*a - *b) <= kLastDigits * size);
    };
    const double size = right.mean.value_or(0);
    return stated.n == right.n && (right.n == 0 || stated.unit == right.unit) &&
           same(stated.mean, right.mean, size) && same(stated.median, right.median, size) &&
           same(stated.stddev, right.stddev, size) && same(stated.cv, right.cv, 1) &&
           same(cell.sequences_per_second_per_gpu, own.sequences_per_second_per_gpu, size);
  };
  return agrees(false) || agrees(true);
}

void summarize_memory(Cell& cell, std::span<const TrialFigures> trials) {
  cell.memory = std::nullopt;
  for (const TrialFigures& trial : trials) {
    take_more(cell.memory,
              {trial.peak_bytes, trial.capacity_bytes, std::string(trial.memory_source)},
              trial.status);
  }
}

}  // namespace

TrialFigures figures_of(const Trial& trial) {
  TrialFigures out;
  if (const auto rate = trial.rate(); trial.window.covered && rate) {
    out.unit = trial.unit();
    out.rate = *rate;
  }
  out.energy = trial.energy_per_sequence_j.value_or(kUnknown);
  out.status = trial.outcome.status;
  out.estimator = trial.estimator;
  if (trial.memory) {
    out.peak_bytes = trial.memory->peak_bytes;
    out.capacity_bytes = trial.memory->capacity_bytes;
    out.memory_source = trial.memory->source;
  }
  if (out.unit != RateUnit::unknown) out.mark = mark_of(trial, out.rate);
  if (trial.outcome.status == Status::completed) {
    for (std::size_t q = 0; q < std::size(kQualities); ++q) {
      const auto score = trial.scores.find(kQualities[q]);
      if (score != trial.scores.end()) out.quality[q] = score->second;
    }
    out.quality[0] = trial.loss ? trial.loss->last.value_or(kUnknown) : kUnknown;
  }
  return out;
}

double rate_of(const Cell& cell) {
  const auto median = cell.median_in(RateUnit::sequences_per_second);
  return median && *median > 0 ? *median : kUnknown;
}

void summarize_trials(Cell& cell, std::span<const TrialFigures> trials, bool compat_dlperf) {
  summarize_throughput(cell, trials, compat_dlperf);
  summarize_energy(cell, trials);
  summarize_quality(cell, trials);
  summarize_memory(cell, trials);
  cell.sequences_per_second_per_gpu = std::nullopt;
  cell.time_to_train_speedup = std::nullopt;
  const auto world = cell.world_size();
  const double rate = rate_of(cell);
  if (rate > 0 && world) cell.sequences_per_second_per_gpu = rate / static_cast<double>(*world);
}

std::vector<Notice> summarize(ResultSet& results, const SummaryOptions& options) {
  std::vector<std::string> keys;
  keys.reserve(results.cells.size());
  std::vector<CellFigures> figures;
  std::map<std::string_view, std::size_t> runs;
  for (Cell& cell : results.cells) {
    std::vector<TrialFigures> trials;
    for (const Trial& trial : cell.trials) trials.push_back(figures_of(trial));
    summarize_trials(cell, trials, options.compat_dlperf);
    CellFigures& its =
        figures.emplace_back(cell, cell.identity, keys.emplace_back(cell.identity.key()));
    its.strong = cell.scaling == "strong";
    its.run = runs.emplace(cell.result, runs.size()).first->second;
  }
  Relations found = relate(figures, options);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    put_relations(results.cells[i], figures[i], figures, options.flops_formula);
  }
  for (auto& [i, warning] : found.warnings) {
    results.cells[i].warnings.push_back(std::move(warning));
  }
  return std::move(found.notices);
}

std::vector<Notice> settle(ResultSet& results) {
  std::set<std::string_view> keys;
  std::vector<std::string> twins, wrong;
  for (Cell& cell : results.cells) {
    if (!keys.insert(cell.key).second) twins.push_back(cell.key);
    if (follows_from_trials(cell)) continue;
    wrong.push_back(cell.key);
    cell.time_to_train_s = std::nullopt;  // of the rate that the trials do not give
  }
  std::vector<Notice> out;
  for (const auto& [code, found] : {std::pair(NoticeCode::keys_repeated, &twins),
                                    std::pair(NoticeCode::figures_contradict_trials, &wrong)}) {
    if (found->empty()) continue;
    const auto count = static_cast<long long>(found->size());
    out.push_back(make_notice(code, 0, counted(count, "cell"), found->front()));
  }
  if (!out.empty()) std::ranges::move(summarize(results), std::back_inserter(out));
  return out;
}

namespace {

/// Against the base of the cell's throughput, so that both ratios are of the same pair.
void time_to_train_speedups(ResultSet& results) {
  std::map<std::string_view, double> times;
  for (const Cell& cell : results.cells) {
    if (cell.time_to_train_s) times.emplace(cell.key, *cell.time_to_train_s);
  }
  for (Cell& cell : results.cells) {
    if (!cell.time_to_train_s || !cell.speedup) continue;
    const auto base = times.find(cell.speedup->base);
    if (base == times.end()) continue;
    cell.time_to_train_speedup = Ratio{base->second / *cell.time_to_train_s, cell.speedup->base};
  }
}

}  // namespace

void apply_assumptions(ResultSet& results, const Assumptions& what) {
  for (Cell& cell : results.cells) {
    if (what.peak_tflops || !what.flops_formula.empty()) {
      count_flops(cell, what.flops_formula, what.peak_tflops);
    }
    if (what.train_sequences && cell.kind == WorkKind::training && cell.throughput.median &&
        cell.throughput.unit == "sequences/s" && *cell.throughput.median > 0) {
      cell.time_to_train_s = *what.train_sequences / *cell.throughput.median;
    }
  }
  if (what.train_sequences) time_to_train_speedups(results);
}

}  // namespace bertbench
