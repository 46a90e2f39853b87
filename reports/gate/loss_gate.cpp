#include "reports/gate/loss_gate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "reports/gate/verdict_words.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// How far a trial may leave the baseline's, in ranges of those: the range of two to seven equal
/// trials is 1.1 to 2.7 of their standard deviations.
constexpr double kRanges = 3;

/// Curves that part stay apart. Where training is unstable, rounding alone grows until single steps
/// are apart by whole percents, and the curves meet again (docs/gate.md). At least this share of
/// all steps compared must be apart, and half of those from the step on that is named.
constexpr std::size_t kOneStepApartIn = 3;

struct NotFinite {
  int trials = 0, of = 0;  // of those that state a loss
  std::optional<std::int64_t> step;
  [[nodiscard]] double share() const { return of > 0 ? double(trials) / of : 0; }
};

NotFinite not_finite(const Cell& cell) {
  NotFinite out;
  for (const Trial& trial : cell.trials) {
    const auto step = trial.loss && trial.loss->not_finite_from ? trial.loss->not_finite_from
                                                                : trial.outcome.step;
    const bool nan =
        trial.outcome.status == Status::nan || (trial.loss && trial.loss->not_finite_from);
    if (!trial.loss && !nan) continue;
    ++out.of;
    if (!nan) continue;
    ++out.trials;
    if (step && (!out.step || *step < *out.step)) out.step = step;
  }
  return out;
}

/// Losses of the trials of one seed at each step.
using Losses = std::map<std::int64_t, std::vector<double>>;

/// One unit of the last decimal that any of the losses has: logs round.
double printed_unit(const std::vector<LossPoint>& losses) {
  constexpr int kMostDecimals = 9;
  double unit = 1;
  for (int decimals = 0; decimals < kMostDecimals; ++decimals, unit /= 10) {
    const bool whole = std::ranges::all_of(losses, [&](const LossPoint& at) {
      const double units = at.loss / unit;
      return std::abs(units - std::round(units)) < 1e-6;
    });
    if (whole) return unit;
  }
  return 0;
}

double range(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  return high - low;
}

/// What two runs that are otherwise of the same work may differ in: the last step that they aim at
/// and the interval at which they print, where both are known.
SameWork same_schedule(const LossRecord& one, const LossRecord& other) {
  const auto differ = [](const auto& a, const auto& b) { return a && b && *a != *b; };
  if (differ(one.planned_step, other.planned_step)) return SameWork::last_step_differs;
  if (differ(one.every, other.every)) return SameWork::interval_differs;
  return SameWork::yes;
}

/// Of the baseline's trials that `trial` can be compared with; `work` has why one was left out.
Losses losses_of_same_work(const Trial& trial, const Cell& base, SameWork& work) {
  Losses out;
  for (const Trial& before : base.trials) {
    if (!before.loss || before.seed != trial.seed) continue;
    if (const auto same = same_schedule(*trial.loss, *before.loss); same != SameWork::yes) {
      work = same;
      continue;
    }
    for (const LossPoint& at : before.loss->at) out[at.step].push_back(at.loss);
  }
  return out;
}

/// Two or more trials that agree were not started from weights and data of their own.
bool of_one_seed(const Losses& losses, double tolerance) {
  bool several = false;
  for (const auto& [step, values] : losses) {
    several = several || values.size() > 1;
    if (range(values) > tolerance * std::abs(median(values))) return false;
  }
  return several;
}

struct Apart {
  std::int64_t step = 0;
  double now = 0, before = 0;
};

/// Compares one trial; the first step from which on it is apart. Adds to `compared`.
std::optional<Apart> compare(const std::vector<LossPoint>& curve, const Losses& losses,
                             double tolerance, std::int64_t& compared) {
  const double digit = printed_unit(curve);
  std::vector<Apart> steps;
  std::vector<bool> beyond;
  for (const LossPoint& at : curve) {
    const auto same = losses.find(at.step);
    if (same == losses.end()) continue;
    const double before = median(same->second);
    const double allowed =
        std::max(tolerance * std::abs(before), kRanges * range(same->second)) + digit;
    steps.push_back({at.step, at.loss, before});
    beyond.push_back(std::abs(at.loss - before) > allowed);
  }
  compared += std::ssize(steps);
  const std::size_t needed = (steps.size() + kOneStepApartIn - 1) / kOneStepApartIn;
  std::optional<Apart> first;
  std::size_t apart = 0;
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (!beyond[i]) continue;
    ++apart;
    if (apart >= needed && 2 * apart >= steps.size() - i) first = steps[i];
  }
  return first;
}

std::string_view why_not(SameWork work) {
  switch (work) {
    case SameWork::arguments_differ:
      return "the variants' arguments differ";
    case SameWork::not_comparable:
      return "the cell is not comparable";
    case SameWork::not_asked:
      return "--allow-context loss";
    case SameWork::last_step_differs:
      return "the runs aim at different last steps, with which a decay of the learning rate may "
             "end";
    case SameWork::interval_differs:
      return "the logs print losses at different intervals, over which they may be means";
    case SameWork::yes:
      break;
  }
  return "no two trials are known to have one seed";
}

void compare_curves(const Cell& now, const Cell& base, LossVerdict& out) {
  const double tolerance = loss_tolerance(now.identity.precision);
  SameWork work = SameWork::yes;
  std::optional<Apart> first;
  for (const Trial& trial : now.trials) {
    if (!trial.loss) continue;
    const Losses before = losses_of_same_work(trial, base, work);
    if (!trial.seed && !of_one_seed(before, tolerance)) continue;
    const auto apart = compare(trial.loss->at, before, tolerance, out.steps_compared);
    if (apart && (!first || apart->step < first->step)) first = apart;
  }
  if (out.steps_compared == 0) {
    out.reason = make_notice(NoticeCode::loss_curves_not_compared, 0, why_not(work));
    return;
  }
  out.tolerance = tolerance;
  if (!first) {
    out.reason =
        make_notice(NoticeCode::loss_curves_agree, 0, out.steps_compared, percent(tolerance));
    return;
  }
  out.verdict = Verdict::regression;
  out.step = first->step;
  out.now = first->now;
  out.before = first->before;
  out.reason = make_notice(NoticeCode::loss_curves_apart, 0, first->step, first->now, first->before,
                           percent(tolerance));
}

}  // namespace

double loss_tolerance(const std::optional<std::string>& precision) {
  if (precision == "fp32") return 1e-3;
  if (precision == "tf32" || precision == "bf16" || precision == "fp16") return 5e-3;
  return 1e-2;
}

std::optional<LossVerdict> judge_loss(const Cell& now, const Cell* base, SameWork work) {
  const NotFinite mine = not_finite(now);
  if (mine.of == 0) return std::nullopt;
  const NotFinite theirs = base != nullptr ? not_finite(*base) : NotFinite{};
  LossVerdict out;
  if (mine.share() > theirs.share()) {
    out.verdict = Verdict::regression;
    out.step = mine.step;
    out.reason = make_notice(NoticeCode::loss_became_not_finite, 0, mine.trials, mine.of,
                             mine.step.value_or(0), theirs.trials, theirs.of);
    return out;
  }
  out.reason = make_notice(NoticeCode::loss_curves_not_compared, 0, why_not(work));
  if (base != nullptr && work == SameWork::yes) compare_curves(now, *base, out);
  return out;
}

}  // namespace bertbench
