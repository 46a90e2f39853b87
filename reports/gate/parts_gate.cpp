#include "reports/gate/parts_gate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "parsers/core/step_parts.h"
#include "reports/gate/verdict_words.h"
#include "reports/stats/multiple_testing.h"
#include "reports/stats/power.h"
#include "reports/stats/rank_test.h"
#include "reports/stats/signed_rank.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

std::optional<double> seconds_of(const Trial& trial, std::string_view part) {
  const auto found = trial.parts.find(std::string(part));
  if (found == trial.parts.end() || !(found->second.p50 > 0)) return std::nullopt;
  return found->second.p50;
}

std::vector<double> seconds_of(const Cell& cell, std::string_view part) {
  std::vector<double> out;
  for (const Trial& trial : cell.trials) {
    if (const auto seconds = seconds_of(trial, part)) out.push_back(*seconds);
  }
  return out;
}

/// The time of a whole step, by the parts where the trial has no step time.
double step_seconds(const Trial& trial) {
  if (trial.step_time && trial.step_time->p50 > 0) return trial.step_time->p50;
  double sum = 0;
  for (const auto& [part, record] : trial.parts) sum += record.p50;
  return sum;
}

double step_seconds(const Cell& cell) {
  std::vector<double> out;
  for (const Trial& trial : cell.trials) {
    if (!trial.parts.empty()) out.push_back(step_seconds(trial));
  }
  return out.empty() ? 0 : median(out);
}

/// A part and the steps that hold it, in seconds.
struct PartOfStep {
  double part = 0, step = 0;
  [[nodiscard]] bool matters() const { return part >= kPartOfStep * step; }
};

/// Nothing where the part is short on either side: what grows to a share that matters is judged.
std::optional<PartVerdict> begin_verdict(std::string_view name, PartOfStep now,
                                         PartOfStep reference) {
  if (!now.matters() && !reference.matters()) return std::nullopt;
  PartVerdict out;
  out.part = name;
  out.now = now.part;
  out.reference = reference.part;
  return out;
}

}  // namespace

void PartTests::add(std::size_t cell, const Cell& now, std::span<const Cell* const> history,
                    std::size_t newest, double floor) {
  for (const std::string_view name : kStepPartNames) {
    const std::vector<double> mine = seconds_of(now, name);
    std::vector<double> pooled, medians, steps;  // medians of the history, steps of the baseline
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::vector<double> theirs = seconds_of(*history[i], name);
      if (theirs.empty()) continue;
      medians.push_back(median(theirs));
      if (i + newest < history.size()) continue;
      pooled.insert(pooled.end(), theirs.begin(), theirs.end());
      steps.push_back(step_seconds(*history[i]));
    }
    if (mine.empty() || pooled.empty()) continue;
    auto verdict = begin_verdict(name, {median(mine), step_seconds(now)},
                                 {median(std::span(medians).last(steps.size())), median(steps)});
    if (!verdict) continue;
    Test test{.cell = cell, .verdict = std::move(*verdict)};
    PartVerdict& out = test.verdict;
    out.change = out.now / out.reference - 1;
    out.tolerance = std::max(floor, gate_noise(pooled, medians).share);
    out.n_new = static_cast<int>(mine.size());
    out.n_base = static_cast<int>(pooled.size());
    const MannWhitney ranks = mann_whitney(pooled, mine);
    out.p = ranks.p_greater;
    test.p_shorter = ranks.p_less;
    test.smallest_p = smallest_p(mine.size(), pooled.size());
    tests_.push_back(std::move(test));
  }
}

void PartTests::add(std::size_t cell, const PairedTrials& pairs, double floor) {
  for (const std::string_view name : kStepPartNames) {
    std::vector<double> ratios, base, now, step_base, step_now;
    for (const auto& [before, after] : pairs) {
      const auto mine = seconds_of(*after, name), theirs = seconds_of(*before, name);
      if (!mine || !theirs) continue;
      ratios.push_back(std::log(*mine / *theirs));
      now.push_back(*mine);
      base.push_back(*theirs);
      step_now.push_back(step_seconds(*after));
      step_base.push_back(step_seconds(*before));
    }
    if (ratios.empty()) continue;
    auto verdict =
        begin_verdict(name, {median(now), median(step_now)}, {median(base), median(step_base)});
    if (!verdict) continue;
    Test test{.cell = cell, .verdict = std::move(*verdict)};
    PartVerdict& out = test.verdict;
    out.change = std::expm1(hodges_lehmann(ratios));
    out.tolerance = floor;
    out.n_new = out.n_base = static_cast<int>(ratios.size());
    const SignedRank ranks = signed_rank(ratios);
    out.p = ranks.p_greater;
    test.p_shorter = ranks.p_less;
    test.smallest_p = smallest_paired_p(ratios.size());
    tests_.push_back(std::move(test));
  }
}

std::vector<std::vector<PartVerdict>> PartTests::judge(std::size_t cells, double alpha) const {
  std::vector<double> longer, shorter;
  for (const Test& test : tests_) {
    longer.push_back(test.verdict.p);
    shorter.push_back(test.p_shorter);
  }
  const auto longer_adjusted = holm(longer), shorter_adjusted = holm(shorter);
  const double level = alpha * kPartAlpha;
  std::vector<std::vector<PartVerdict>> out(cells);
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    PartVerdict part = tests_[i].verdict;
    part.p_adjusted = longer_adjusted[i];
    const bool beyond = std::abs(part.change) > part.tolerance;
    const bool grew = beyond && part.change > 0 && part.p_adjusted <= level;
    const bool fell = beyond && part.change < 0 && shorter_adjusted[i] <= level;
    const bool cannot_tell = tests_[i].smallest_p > level / static_cast<double>(tests_.size());
    part.verdict = grew          ? Verdict::regression
                   : fell        ? Verdict::improvement
                   : cannot_tell ? Verdict::inconclusive
                                 : Verdict::pass;
    const NoticeCode why = grew          ? NoticeCode::part_longer
                           : fell        ? NoticeCode::part_shorter
                           : cannot_tell ? NoticeCode::part_undecided
                                         : NoticeCode::part_unchanged;
    part.reason =
        make_notice(why, 0, part.part, percent(std::abs(part.change)), 1e3 * part.now,
                    1e3 * part.reference, part.n_new, part.n_base,
                    fell ? shorter_adjusted[i] : part.p_adjusted, percent(part.tolerance), level);
    out[tests_[i].cell].push_back(std::move(part));
  }
  return out;
}

}  // namespace bertbench
