#include "reports/gate/verdicts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <set>

#include "parsers/core/text.h"
#include "reports/gate/shared_shift.h"
#include "reports/gate/verdict_words.h"
#include "reports/model/cell_match.h"
#include "reports/stats/multiple_testing.h"
#include "reports/stats/power.h"
#include "reports/stats/rank_test.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

// Cells with stored runs: the median of fewer is little more than one cell's own noise.
constexpr std::size_t kCellsForTypicalNoise = 4;

struct Baseline {
  std::vector<double> pooled;   // trials of the baseline's runs
  std::vector<double> history;  // medians, one a run, oldest first; the last `runs` are its own
  std::size_t runs = 0;
  double reference = 0;  // median of its runs' medians
  GateNoise noise;
  double tolerance = 0;
  std::string tolerance_text;
};

// A cell that has numbers on both sides and a context that allows to compare them.
struct Tested {
  std::size_t verdict = 0;  // index in GateReport::cells
  CellSample now;
  Baseline base;
  double p_slower = 1, p_faster = 1;
};

/// The noise allows what no program can lose. A floor that does was asked for.
bool no_loss_exceeds(double tolerance, double floor) { return tolerance >= 1 && tolerance > floor; }

/// `typical`: the noise of the grid's median cell; 0: unknown. Five runs that happen to agree make
/// a cell look quieter than it is.
void set_tolerance(Baseline& base, double floor, double typical = 0) {
  const double noise = std::max(base.noise.share, typical);
  std::string rule;
  if (base.history.size() < kRunsForNoise) {
    rule = fmt::format("3 x 1.4826 MAD of the baseline's {} trials, as it holds fewer than 3 runs",
                       base.pooled.size());
  } else if (base.noise.steps > 0) {
    rule = fmt::format("3 sd of how far {} runs were from those before each", base.noise.steps);
  } else {
    rule = fmt::format("3 sd of the medians of {} runs", base.history.size());
  }
  if (base.noise.share < typical) rule += ", of the grid's median cell";
  base.tolerance = std::max(floor, noise);
  if (noise <= floor) {
    base.tolerance_text = fmt::format("tolerance {} (the floor; the noise is {}: {})",
                                      percent(floor), percent(noise), rule);
    return;
  }
  base.tolerance_text = fmt::format("tolerance {} ({}), so that ", percent(noise), rule);
  base.tolerance_text += noise < 1 ? fmt::format("only a median below {} could fail",
                                                 rate_text((1 - noise) * base.reference))
                                   : std::string("no loss could fail");
}

// The environments of both sides. Returns why nothing can be compared, or nothing.
std::vector<Notice> compare_environments(const ResultSet& result, const ResultSet& baseline,
                                         const GateOptions& options, std::vector<Notice>& notices) {
  std::vector<Notice> forbidden;
  for (const auto& [key, now, before, blocking] :
       context_differences(*result.environment, *baseline.environment)) {
    if (now.empty() || before.empty()) {
      notices.push_back(
          make_notice(NoticeCode::context_one_sided, 0, key, now.empty() ? "baseline" : "result"));
    } else if (blocking && !allowed(options, key)) {
      forbidden.push_back(
          make_notice(NoticeCode::context_forbids, 0, key, '"' + now + '"', '"' + before + '"'));
    } else {
      notices.push_back(make_notice(NoticeCode::context_differs, 0, key, now, before));
    }
  }
  if (result.tool.version != baseline.tool.version) {
    notices.push_back(make_notice(NoticeCode::tool_version_differs, 0, result.tool.version,
                                  baseline.tool.version));
  }
  return forbidden;
}

void add_difference(const std::string& key, const std::string& now, const std::string& base,
                    const GateOptions& options, std::vector<Notice>& forbidden) {
  if (now == base || allowed(options, key)) return;
  forbidden.push_back(make_notice(NoticeCode::context_forbids, 0, key, now, base));
}

// What the numbers of the two cells rest on.
std::vector<Notice> compare_samples(const Cell& now_cell, const CellSample& now,
                                    const Cell& base_cell, const CellSample& base,
                                    const GateOptions& options) {
  std::vector<Notice> forbidden = sample_differences(now, base, options);
  const auto differ = [&](const std::string& key, const std::string& a, const std::string& b) {
    add_difference(key, a, b, options, forbidden);
  };
  differ("emulated", now_cell.emulated ? "yes" : "no", base_cell.emulated ? "yes" : "no");
  if (!now_cell.gpu.empty() && !base_cell.gpu.empty()) differ("gpu", now_cell.gpu, base_cell.gpu);
  for (const auto& difference : context_differences(now_cell, base_cell)) {
    if (difference.blocking) differ(difference.key, difference.a, difference.b);
  }
  return forbidden;
}

// A notice of the numbers on both sides, then `more`.
template <class... More>
Notice numbers(NoticeCode code, const CellVerdict& verdict, More&&... more) {
  return make_notice(code, 0, change_words(*verdict.change), *verdict.median_new,
                     *verdict.reference, verdict.unit, interval_words(verdict.interval),
                     verdict.n_new, verdict.n_base, std::forward<More>(more)...);
}

void judge(const Tested& test, double p_faster_adjusted, std::size_t tests,
           const GateOptions& options, CellVerdict& out) {
  const auto n = test.now.values.size();
  const auto m = test.base.pooled.size();
  const double level = options.alpha / static_cast<double>(tests);
  const double least = smallest_p(n, m);
  // Where other cells were significant, Holm leaves this one more than its share of alpha.
  const bool significant = std::min(out.p_adjusted, p_faster_adjusted) <= options.alpha;
  if (least > level && !significant) {
    out.verdict = Verdict::inconclusive;
    const std::size_t both = trials_needed(level);
    const std::size_t more = trials_needed(level, m);
    std::string need = both > 0 ? fmt::format("need {} trials a side", both)
                                : std::string("no number of trials would do");
    if (more > n) need += fmt::format(", or {} now against the {} of the baseline", more, m);
    out.reasons = {make_notice(NoticeCode::too_few_trials, 0, n, m,
                               counted(static_cast<long long>(tests), "cell"), least, level, need),
                   measured_so_far(out)};
    return;
  }
  judge_change(test.p_faster, p_faster_adjusted, options.alpha, test.base.tolerance,
               test.base.tolerance_text, out);
  if (out.verdict == Verdict::pass && no_loss_exceeds(test.base.tolerance, options.floor)) {
    out.verdict = Verdict::inconclusive;
    out.reasons = {make_notice(NoticeCode::no_loss_could_fail, 0, test.base.tolerance_text),
                   measured_so_far(out)};
  }
}

class Gate {
 public:
  Gate(const ResultSet& result, std::span<const ResultSet> runs, const GateOptions& options)
      : result_(result), options_(options) {
    choose_runs(runs);
  }

  GateReport run() {
    if (std::ranges::any_of(indexes_, [&](const CellIndex& run) { return is_the_result(run); })) {
      report_.notices.push_back(make_notice(NoticeCode::held_against_itself, 0, result_.created));
    }
    if (!runs_.empty()) {
      blocked_ = compare_environments(result_, *runs_.back(), options_, report_.notices);
    }
    for (const Cell& cell : result_.cells) look_at(cell);
    add_missing();
    test_all();
    finish(report_, options_);
    if (report_.compared == 0) note_why_nothing_was_compared();
    return std::move(report_);
  }

 private:
  // The newest runs on the machine of the newest one.
  void choose_runs(std::span<const ResultSet> runs) {
    int other_machine = 0;
    std::vector<const ResultSet*> history;
    for (std::size_t i = runs.size(); i > 0 && history.size() < kRunsOfHistory; --i) {
      const auto differences =
          context_differences(*runs[i - 1].environment, *runs.back().environment);
      const bool same = std::ranges::none_of(differences, &ContextDifference::blocking);
      if (same) {
        history.insert(history.begin(), &runs[i - 1]);
      } else {
        ++other_machine;
      }
    }
    if (other_machine > 0) {
      report_.notices.push_back(
          make_notice(NoticeCode::stored_runs_left_out, 0,
                      counted(static_cast<long long>(other_machine), "stored run")));
    }
    for (const ResultSet* run : history) indexes_.emplace_back(*run);
    const auto older = history.size() - std::min(history.size(), kRunsOfBaseline);
    runs_.assign(history.begin() + static_cast<std::ptrdiff_t>(older), history.end());
  }

  /// Of the same time, with the same rates in each cell that both hold.
  [[nodiscard]] bool is_the_result(const CellIndex& run) const {
    if (result_.created.empty() || result_.created != run.results().created) return false;
    bool some = false;
    for (const Cell& cell : result_.cells) {
      const Cell* other = run.find(cell);
      const std::vector<double> rates = sample_of(cell).values;
      if (other == nullptr || rates.empty()) continue;
      if (rates != sample_of(*other).values) return false;
      some = true;
    }
    return some;
  }

  // The same cell in each run of the history that has it, oldest first. The last `newest` of them
  // are of the baseline.
  struct CellHistory {
    std::vector<const Cell*> all;
    std::size_t newest = 0;

    [[nodiscard]] std::span<const Cell* const> baseline() const {
      return std::span(all).last(newest);
    }
  };

  CellHistory history_of(const Cell& cell) const {
    CellHistory found;
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      const Cell* other = indexes_[i].find(cell);
      if (other == nullptr) continue;
      found.all.push_back(other);
      if (i + runs_.size() >= indexes_.size()) ++found.newest;
    }
    return found;
  }

  // Fills test.base from the history's cells, the newest first. What makes the newest one's numbers
  // incomparable; runs before it that were measured in another way than the newest are left out.
  std::vector<Notice> pool_baseline(const Cell& cell, const CellHistory& others,
                                    Tested& test) const {
    std::vector<Notice> context;
    for (std::size_t i = others.all.size(); i > 0; --i) {
      const Cell& other = *others.all[i - 1];
      const bool of_baseline = others.all.size() - i < others.newest;
      const CellSample sample = sample_of(other);
      if (sample.values.empty()) continue;
      if (!test.now.values.empty()) {
        std::vector<Notice> differs = compare_samples(cell, test.now, other, sample, options_);
        if (test.base.pooled.empty()) {
          context = std::move(differs);
        } else if (!differs.empty()) {
          continue;
        }
      }
      test.base.history.push_back(median(sample.values));
      if (!of_baseline) continue;
      test.base.pooled.insert(test.base.pooled.end(), sample.values.begin(), sample.values.end());
      ++test.base.runs;
    }
    std::ranges::reverse(test.base.history);
    return context;
  }

  void look_at(const Cell& cell) {
    CellVerdict& out = report_.cells.emplace_back();
    out.key = cell.key;
    out.kind = cell.kind;
    const CellHistory history = history_of(cell);
    const auto others = history.baseline();
    seen_.insert(others.begin(), others.end());
    look_at_speed(cell, history, out);
    const bool comparable = out.verdict != Verdict::not_comparable;
    if (comparable) {
      out.outcomes = count_outcomes(cell, others);
      out.memory = judge_memory(cell, others, options_.memory_floor);
      parts_.add(report_.cells.size() - 1, cell, history.all, history.newest, options_.part_floor);
    }
    // Of the newest run alone: what a change of the training was accepted for stays in the past.
    out.loss = judge_loss(cell, others.empty() ? nullptr : others.back(),
                          !comparable                 ? SameWork::not_comparable
                          : allowed(options_, "loss") ? SameWork::not_asked
                                                      : SameWork::yes);
  }

  void look_at_speed(const Cell& cell, const CellHistory& history, CellVerdict& out) {
    const auto others = history.baseline();
    Tested test;
    test.verdict = report_.cells.size() - 1;
    test.now = sample_of(cell);
    out.unit = test.now.unit;
    out.n_new = static_cast<int>(test.now.values.size());
    if (!test.now.values.empty()) out.median_new = median(test.now.values);
    if (others.empty()) {
      look_at_stranger(cell, out);
      return;
    }
    if (test.now.values.empty()) out.unit = sample_of(*others.back()).unit;
    note_context(cell, *others.back());
    const std::vector<Notice> context = pool_baseline(cell, history, test);
    out.n_base = static_cast<int>(test.base.pooled.size());
    if (test.base.pooled.empty()) {
      out.verdict = out.n_new > 0 ? Verdict::new_cell : Verdict::pass;
      out.reasons = {
          out.n_new > 0
              ? make_notice(NoticeCode::baseline_without_number, 0, outcomes_of(*others.back()))
              : make_notice(NoticeCode::number_on_neither_side, 0, outcomes_of(cell))};
      return;
    }
    ++report_.compared;
    test.base.reference = median(std::span(test.base.history).last(test.base.runs));
    out.reference = test.base.reference;
    test.base.noise = gate_noise(test.base.pooled, test.base.history);
    set_tolerance(test.base, options_.floor);
    out.tolerance = test.base.tolerance;
    if (out.n_new == 0) {
      out.verdict = Verdict::regression;
      out.reasons = {make_notice(NoticeCode::number_lost, 0, outcomes_of(cell), test.base.reference,
                                 sample_of(*others.back()).unit)};
      return;
    }
    out.change = *out.median_new / test.base.reference - 1;
    if (!blocked_.empty() || !context.empty()) {
      out.verdict = Verdict::not_comparable;
      out.reasons = blocked_.empty() ? context : blocked_;
      return;
    }
    const Shift shift = relative_shift(test.base.pooled, test.now.values);
    if (shift.interval) out.interval = *shift.interval;
    const MannWhitney ranks = mann_whitney(test.now.values, test.base.pooled);
    test.p_slower = ranks.p_greater;
    test.p_faster = ranks.p_less;
    out.p = test.p_slower;
    tests_.push_back(std::move(test));
  }

  /// A cell that no run of the baseline holds. What was simulated is no new cell next to what was
  /// measured: whoever compares the two must hear that they are not comparable.
  void look_at_stranger(const Cell& cell, CellVerdict& out) {
    const Cell* twin = runs_.empty() ? nullptr : indexes_.back().simulated_twin(cell);
    if (twin == nullptr) {
      out.verdict = Verdict::new_cell;
      out.reasons = {make_notice(NoticeCode::not_in_baseline, 0)};
      return;
    }
    seen_.insert(twin);
    out.verdict = Verdict::not_comparable;
    out.reasons = {make_notice(NoticeCode::simulated_against_measured, 0,
                               cell.identity.simulated() ? "simulated" : "measured",
                               twin->identity.simulated() ? "simulated" : "measured", twin->key)};
  }

  /// Context that only one side knows is reported once, not for each cell.
  void note_context(const Cell& cell, const Cell& other) {
    for (const auto& difference : context_differences(cell, other)) {
      if (difference.blocking || !noted_.insert(difference.key).second) continue;
      report_.notices.push_back(make_notice(NoticeCode::context_one_sided, 0, difference.key,
                                            difference.a.empty() ? "baseline" : "result"));
    }
  }

  void add_missing() {
    if (runs_.empty()) return;
    for (const Cell& cell : runs_.back()->cells) {
      if (seen_.contains(&cell)) continue;
      report_.cells.push_back(missing_cell(cell));
    }
  }

  void note_why_nothing_was_compared() {
    const bool empty_baseline =
        std::ranges::all_of(runs_, [](const ResultSet* run) { return run->cells.empty(); });
    std::string why = "no cell has a number on both sides";
    if (result_.cells.empty()) {
      why = "the result holds no cells";
    } else if (empty_baseline) {
      why = "the baseline holds no cells";
    } else if (std::ranges::any_of(report_.cells, [](const CellVerdict& cell) {
                 return cell.verdict == Verdict::not_comparable;
               })) {
      why = "what the baseline holds was simulated and the result measured, or the other way round";
    } else if (seen_.empty()) {
      why = "no cell of the result is in the baseline; cells are paired by identity, see `key`";
    }
    report_.notices.push_back(make_notice(NoticeCode::nothing_compared, 0, why));
  }

  void test_all() {
    raise_tolerances();
    std::vector<double> slower;
    std::vector<double> faster;
    for (const Tested& test : tests_) {
      slower.push_back(test.p_slower);
      faster.push_back(test.p_faster);
    }
    const auto slower_adjusted = holm(slower);
    const auto faster_adjusted = holm(faster);
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      CellVerdict& out = report_.cells[tests_[i].verdict];
      out.p_adjusted = slower_adjusted[i];
      out.level = options_.alpha;
      judge(tests_[i], faster_adjusted[i], tests_.size(), options_, out);
    }
    const double machine = look_at_shared_shift();
    auto parts = parts_.judge(report_.cells.size(), options_.alpha);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (PartVerdict& part : parts[i]) {
        const double own = (1 + part.change) * std::exp(machine) - 1;
        if (part.verdict != Verdict::regression || own > part.tolerance) continue;
        part.verdict = Verdict::inconclusive;
        part.reason = make_notice(NoticeCode::part_slower_with_the_machine, 0, part.part,
                                  percent(part.change), 1e3 * part.now, 1e3 * part.reference,
                                  percent(std::max(0.0, own)), percent(part.tolerance));
      }
      report_.cells[i].parts = std::move(parts[i]);
    }
  }

  /// No cell counts as quieter than the grid's median cell.
  void raise_tolerances() {
    std::vector<double> noises;
    for (const Tested& test : tests_) {
      if (test.base.history.size() >= kRunsForNoise) noises.push_back(test.base.noise.share);
    }
    if (noises.size() < kCellsForTypicalNoise) return;
    const double typical = median(noises);
    for (Tested& test : tests_) {
      if (test.base.history.size() < kRunsForNoise) continue;
      set_tolerance(test.base, options_.floor, typical);
      report_.cells[test.verdict].tolerance = test.base.tolerance;
    }
  }

  /// Cells that are slower together: named, and where the machine's probe lost as well, a
  /// regression that does not exceed what both lost waits for a rerun. Gives that loss, as a
  /// logarithm, 0 or below.
  double look_at_shared_shift() {
    std::vector<double> changes;
    for (const Tested& test : tests_) {
      changes.push_back(std::log1p(*report_.cells[test.verdict].change));
    }
    const auto shared = shared_shift(changes, result_, runs_);
    if (!shared || shared->shift > std::log1p(-options_.floor / 2)) return 0;
    bool flagged = false;
    for (const Tested& test : tests_) {
      CellVerdict& cell = report_.cells[test.verdict];
      if (cell.verdict != Verdict::regression) continue;
      flagged = true;
      const double own = (1 + *cell.change) / std::exp(shared->of_machine()) - 1;
      if (own < -cell.tolerance) continue;
      cell.verdict = Verdict::inconclusive;
      cell.reasons.insert(
          cell.reasons.begin(),
          make_notice(NoticeCode::slower_with_the_machine, 0, percent(-std::expm1(shared->shift)),
                      probe_words(*shared), percent(std::max(0.0, -own)), percent(cell.tolerance)));
    }
    if (!flagged) return shared->of_machine();
    report_.notices.push_back(
        make_notice(NoticeCode::cells_slower_together, 0,
                    std::ranges::count_if(changes, [](double change) { return change < 0; }),
                    shared->cells, percent(-std::expm1(shared->shift)), probe_words(*shared)));
    return shared->of_machine();
  }

  const ResultSet& result_;
  const GateOptions& options_;
  std::vector<const ResultSet*> runs_;  // of the baseline, oldest first
  std::deque<CellIndex> indexes_;       // of the history: those of runs_ are its last
  std::set<const Cell*> seen_;          // cells of runs_ that the result has too
  std::set<std::string> noted_;         // context keys that one side alone knows
  std::vector<Notice> blocked_;         // why no cell is comparable, if so
  std::vector<Tested> tests_;
  PartTests parts_;
  GateReport report_;
};

}  // namespace

Notice measured_so_far(const CellVerdict& cell) {
  return numbers(NoticeCode::measured_so_far, cell);
}

void judge_change(double p_faster, double p_faster_adjusted, double alpha, double tolerance,
                  const std::string& tolerance_text, CellVerdict& cell) {
  const bool beyond = std::abs(*cell.change) > tolerance;
  const bool slower = *cell.change < 0 && beyond && cell.p_adjusted <= alpha;
  const bool faster = *cell.change > 0 && beyond && p_faster_adjusted <= alpha;
  cell.verdict = slower ? Verdict::regression : faster ? Verdict::improvement : Verdict::pass;
  const NoticeCode why = slower   ? NoticeCode::slower_beyond_tolerance
                         : faster ? NoticeCode::faster_beyond_tolerance
                         : beyond ? NoticeCode::not_significant
                                  : NoticeCode::within_tolerance;
  cell.reasons = {numbers(why, cell, faster ? p_faster : cell.p,
                          faster ? p_faster_adjusted : cell.p_adjusted, tolerance_text)};
}

bool allowed(const GateOptions& options, const std::string& key) {
  return std::ranges::any_of(options.allow_context,
                             [&](const std::string& name) { return name == key || name == "all"; });
}

std::vector<Notice> sample_differences(const CellSample& now, const CellSample& base,
                                       const GateOptions& options) {
  std::vector<Notice> out;
  if (now.unit != base.unit) {
    out.push_back(make_notice(NoticeCode::unit_differs, 0, now.unit, base.unit));
  }
  add_difference("estimator", now.estimator, base.estimator, options, out);
  add_difference("window", now.window, base.window, options, out);
  return out;
}

CellVerdict missing_cell(const Cell& cell) {
  const CellSample sample = sample_of(cell);
  CellVerdict out;
  out.key = cell.key;
  out.kind = cell.kind;
  out.verdict = Verdict::missing;
  out.n_base = static_cast<int>(sample.values.size());
  out.unit = sample.unit;
  if (!sample.values.empty()) out.reference = median(sample.values);
  out.reasons = {make_notice(NoticeCode::not_in_result, 0)};
  return out;
}

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {
      "pass", "regression", "improvement", "inconclusive", "not_comparable", "missing", "new"};
  return kNames[static_cast<std::size_t>(verdict)];
}

namespace {

bool passes(Verdict verdict) { return verdict == Verdict::pass || verdict == Verdict::improvement; }

}  // namespace

Verdict verdict_of_all(const CellVerdict& cell) {
  const auto regressed = [](const PartVerdict& part) {
    return part.verdict == Verdict::regression;
  };
  if ((cell.outcomes && cell.outcomes->verdict == Verdict::regression) ||
      (cell.memory && cell.memory->verdict == Verdict::regression) ||
      (cell.loss && cell.loss->verdict == Verdict::regression) ||
      (cell.parts_count() && std::ranges::any_of(cell.parts, regressed))) {
    return Verdict::regression;
  }
  return passes(cell.speed) && cell.part_flagged() ? Verdict::inconclusive : cell.speed;
}

bool CellVerdict::waived() const { return after_waivers && passes(*after_waivers); }

std::string verdict_text(const CellVerdict& cell) {
  return std::string(name(cell.verdict)) + (cell.waived() ? " (waived)" : "");
}

namespace {

/// Moves the cell's verdict to CellVerdict::speed and decides the cell anew: a regression where
/// outcomes, memory, loss or a part regressed; inconclusive where speed passes and a part may be
/// slower because the machine is. What decides gives the first reasons.
void settle(CellVerdict& cell) {
  cell.speed = cell.verdict;
  std::vector<Notice> regressed, waiting, no_failure;
  if (cell.outcomes && cell.outcomes->failed_now > 0) {
    const bool more = cell.outcomes->verdict == Verdict::regression;
    (more ? regressed : no_failure).push_back(cell.outcomes->reason);
  }
  if (cell.memory && cell.memory->verdict == Verdict::regression) {
    regressed.push_back(cell.memory->reason);
  }
  if (cell.loss && cell.loss->verdict == Verdict::regression) {
    regressed.push_back(cell.loss->reason);
  }
  for (const PartVerdict& part : cell.parts) {
    if (!part.flagged()) continue;
    auto& reasons = !cell.parts_count()                   ? no_failure
                    : part.verdict == Verdict::regression ? regressed
                                                          : waiting;
    reasons.push_back(part.reason);
  }
  cell.verdict = verdict_of_all(cell);
  const auto add = [&](const std::vector<Notice>& reasons, bool first) {
    cell.reasons.insert(first ? cell.reasons.begin() : cell.reasons.end(), reasons.begin(),
                        reasons.end());
  };
  add(waiting, passes(cell.speed));
  add(regressed, cell.speed != Verdict::regression);
  add(no_failure, false);
}

}  // namespace

void finish(GateReport& report, const GateOptions& options) {
  const auto tests = std::ranges::count_if(report.cells, [](const CellVerdict& cell) {
    return cell.outcomes && failed_on_both_sides(*cell.outcomes);
  });
  const double level = options.alpha / static_cast<double>(std::max<std::ptrdiff_t>(1, tests));
  for (CellVerdict& cell : report.cells) {
    if (cell.outcomes) judge_outcomes(*cell.outcomes, level);
    settle(cell);
  }
  report.exit_status = gate_exit_status(report, options);
}

std::string reason_text(const CellVerdict& cell) {
  return fmt::format("{}", fmt::join(texts_of(cell.reasons), "; "));
}

int gate_exit_status(const GateReport& report, const GateOptions& options) {
  const auto any = [&](Verdict verdict) {
    return std::ranges::any_of(report.cells,
                               [&](const CellVerdict& cell) { return cell.counted() == verdict; });
  };
  if (report.compared == 0) return 4;
  if (any(Verdict::regression) || (any(Verdict::missing) && !options.allow_missing)) return 1;
  if (any(Verdict::not_comparable)) return 4;
  if (any(Verdict::inconclusive) && !options.accept_inconclusive) return 3;
  return 0;
}

GateReport check(const ResultSet& result, std::span<const ResultSet> runs,
                 const GateOptions& options) {
  return Gate(result, runs, options).run();
}

GateReport check(const ResultSet& result, const ResultSet& baseline, const GateOptions& options) {
  return check(result, std::span(&baseline, 1), options);
}

bool CellVerdict::part_flagged() const {
  return parts_count() && std::ranges::any_of(parts, &PartVerdict::flagged);
}

bool CellVerdict::speed_flagged() const {
  return speed == Verdict::regression ||
         std::ranges::find(reasons, NoticeCode::slower_with_the_machine, &Notice::code) !=
             reasons.end();
}

bool RerunNodes::elsewhere() const {
  return !first.empty() && !again.empty() &&
         std::ranges::find_first_of(first, again) == first.end();
}

std::vector<std::string> flagged_cells(const GateReport& report) {
  std::vector<std::string> keys;
  for (const CellVerdict& cell : report.cells) {
    if (cell.flagged()) keys.push_back(cell.key);
  }
  return keys;
}

namespace {

/// Of a rerun elsewhere: what a node does differs from what a program does.
std::string place_words(const RerunNodes& nodes, bool repeated) {
  if (!nodes.elsewhere()) return {};
  return fmt::format(" on {}{}{}{}", fmt::join(nodes.again, ", "),
                     repeated ? ", at first on " : ": only ", fmt::join(nodes.first, ", "),
                     repeated                  ? ""
                     : nodes.first.size() == 1 ? " shows it"
                                               : " show it");
}

/// Parts that the rerun found as they were pass, those that it found longer are regressions; the
/// cell is what all its parts make of it.
void confirm_parts(CellVerdict& cell, const CellVerdict& again) {
  for (PartVerdict& part : cell.parts) {
    if (!part.flagged()) continue;
    const auto found = std::ranges::find(again.parts, part.part, &PartVerdict::part);
    if (found == again.parts.end() || found->verdict == Verdict::inconclusive) {
      cell.reasons.push_back(make_notice(
          NoticeCode::rerun_undecided, 0, name(Verdict::inconclusive),
          found == again.parts.end() ? "no times of '" + part.part + "' that can be compared"
                                     : text_of(found->reason)));
      continue;
    }
    const bool repeated = found->verdict == Verdict::regression;
    const auto reason = std::ranges::find(cell.reasons, part.reason);
    Notice outcome =
        make_notice(repeated ? NoticeCode::rerun_confirms : NoticeCode::rerun_clears, 0,
                    place_words(cell.rerun->nodes, repeated), text_of(found->reason));
    if (repeated) {
      part.verdict = Verdict::regression;
      cell.reasons.push_back(std::move(outcome));
      continue;
    }
    part.verdict = Verdict::pass;
    part.reason = outcome;
    if (reason != cell.reasons.end()) *reason = std::move(outcome);
  }
  cell.verdict = verdict_of_all(cell);
}

}  // namespace

GateReport confirm(GateReport first, const ResultSet& rerun, std::span<const ResultSet> runs,
                   const GateOptions& options) {
  const auto flagged = flagged_cells(first);
  ResultSet again = rerun;
  std::erase_if(again.cells, [&](const Cell& cell) {
    return std::ranges::find(flagged, cell.key) == flagged.end();
  });
  return confirmed_by(std::move(first), check(again, runs, options), options);
}

GateReport confirmed_by(GateReport first, const GateReport& second, const GateOptions& options) {
  for (CellVerdict& cell : first.cells) {
    if (!cell.flagged()) continue;
    const auto found = std::ranges::find(second.cells, cell.key, &CellVerdict::key);
    if (found == second.cells.end() || found->speed == Verdict::missing) {
      cell.reasons.push_back(make_notice(NoticeCode::rerun_missing, 0));
      continue;
    }
    cell.rerun = Rerun{cell.speed,        found->speed,      found->change,
                       found->median_new, found->p_adjusted, found->n_new};
    if (const auto nodes = first.rerun_nodes.find(cell.key); nodes != first.rerun_nodes.end()) {
      cell.rerun->nodes = nodes->second;
    }
    const std::string place = place_words(cell.rerun->nodes, found->speed == Verdict::regression);
    confirm_parts(cell, *found);
    if (!cell.speed_flagged()) continue;
    switch (found->speed) {
      case Verdict::regression:
        cell.speed = cell.verdict = Verdict::regression;
        cell.reasons.push_back(
            make_notice(NoticeCode::rerun_confirms, 0, place, reason_text(*found)));
        break;
      case Verdict::pass:
      case Verdict::improvement:
        cell.verdict = Verdict::pass;
        cell.reasons = {make_notice(NoticeCode::rerun_clears, 0, place, reason_text(*found)),
                        make_notice(NoticeCode::at_first, 0, reason_text(cell))};
        settle(cell);
        break;
      case Verdict::inconclusive:
      case Verdict::not_comparable:
        cell.reasons.push_back(
            make_notice(NoticeCode::rerun_undecided, 0, name(found->speed), reason_text(*found)));
        break;
      case Verdict::missing:
      case Verdict::new_cell:
        break;
    }
  }
  first.exit_status = gate_exit_status(first, options);
  return first;
}

}  // namespace bertbench
