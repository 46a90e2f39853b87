#include "reports/gate/outcome_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>

#include "reports/gate/verdict_words.h"

namespace bertbench {
namespace {

bool trial_failed(const Trial& trial) { return ended_badly(trial.outcome.status); }

int failed_trials_of(const Cell& cell) {
  return static_cast<int>(std::ranges::count_if(cell.trials, trial_failed));
}

/// Fisher's exact one-sided p: that so many of all failures fall on this side by chance.
double p_of_more_failures(const OutcomeVerdict& counts) {
  const boost::math::hypergeometric_distribution<> by_chance(
      static_cast<unsigned>(counts.failed_now + counts.failed_base),
      static_cast<unsigned>(counts.trials_now),
      static_cast<unsigned>(counts.trials_now + counts.trials_base));
  return boost::math::cdf(
      boost::math::complement(by_chance, static_cast<unsigned>(counts.failed_now - 1)));
}

bool clearly_more_failed(const OutcomeVerdict& counts, double level) {
  if (counts.failed_base == 0) return true;
  // Written without a division: failed_now / trials_now > failed_base / trials_base.
  const auto product = [](int a, int b) { return static_cast<std::int64_t>(a) * b; };
  if (product(counts.failed_now, counts.trials_base) <=
      product(counts.failed_base, counts.trials_now)) {
    return false;
  }
  return counts.failed_now == counts.trials_now || p_of_more_failures(counts) <= level;
}

}  // namespace

std::optional<OutcomeVerdict> count_outcomes(const Cell& now, std::span<const Cell* const> base) {
  OutcomeVerdict out;
  out.trials_now = static_cast<int>(now.trials.size());
  out.failed_now = failed_trials_of(now);
  for (const Cell* cell : base) {
    out.trials_base += static_cast<int>(cell->trials.size());
    out.failed_base += failed_trials_of(*cell);
  }
  if (out.trials_base == 0 || (out.failed_now == 0 && out.failed_base == 0)) return std::nullopt;
  out.outcomes = failed_outcomes_of(now);
  if (const auto first = std::ranges::find_if(now.trials, trial_failed);
      first != now.trials.end()) {
    out.first_trial = first->trial;
    out.first_log = first->log;
    if (first->outcome.line > 0) out.first_log += fmt::format(", line {}", first->outcome.line);
  }
  return out;
}

bool failed_on_both_sides(const OutcomeVerdict& counts) {
  return counts.failed_now > 0 && counts.failed_base > 0;
}

void judge_outcomes(OutcomeVerdict& counts, double level) {
  const bool more = clearly_more_failed(counts, level);
  counts.verdict = more ? Verdict::regression : Verdict::pass;
  const std::string outcomes = counts.outcomes.empty() ? "none" : counts.outcomes;
  counts.reason =
      more ? make_notice(NoticeCode::more_trials_failed, 0, counts.failed_now, counts.trials_now,
                         outcomes, counts.failed_base, counts.trials_base, counts.first_trial,
                         counts.first_log)
           : make_notice(NoticeCode::trials_failed_as_before, 0, counts.failed_now,
                         counts.trials_now, outcomes, counts.failed_base, counts.trials_base);
}

}  // namespace bertbench
