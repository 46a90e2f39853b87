#include "reports/gate/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "parsers/core/text.h"
#include "reports/gate/loss_gate.h"
#include "reports/gate/memory_gate.h"
#include "reports/gate/outcome_gate.h"
#include "reports/gate/parts_gate.h"
#include "reports/gate/shared_shift.h"
#include "reports/gate/verdict_words.h"
#include "reports/model/cell_match.h"
#include "reports/stats/multiple_testing.h"
#include "reports/stats/pairs.h"
#include "reports/stats/stopping.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

using BlockId = std::pair<int, int>;  // session, number of the trial

std::string variant_of(const Cell& cell) {
  const auto axis = cell.identity.axes.find(kVariantAxis);
  return axis == cell.identity.axes.end() ? std::string() : axis->second;
}

/// The point of the grid, whatever its variant.
std::string point_of(const Cell& cell) {
  Identity identity = cell.identity;
  identity.axes.erase(kVariantAxis);
  return fmt::format("{}\n{}\n{}", identity.framework.value_or("?"), identity.key(),
                     name(cell.kind));
}

/// The trials that count, in the unit of the cell's sample.
std::map<BlockId, const Trial*> halves_of(const Cell& cell, const std::string& unit) {
  std::map<BlockId, const Trial*> out;
  for (const Trial& trial : cell.trials) {
    if (!trial.block || !trial.window.covered || !trial.rate()) continue;
    if (name(trial.unit()) != unit) continue;
    out[{trial.block->session, trial.trial}] = &trial;
  }
  return out;
}

/// A cell of a variant with its partner, and what both measured.
struct Pairing {
  std::size_t verdict = 0;  // index in GateReport::cells
  LogPairs pairs;
  PairedTrials trials;
  std::vector<BlockId> blocks;
  std::vector<int> order;  ///< pair by pair: 1 where the variant ran after the base, -1 before it
  int newest = 0;          ///< number of the trial that both variants have reached
  PairTest test;
  std::vector<JudgedPair> judged;
  PairedTrials counted;  ///< trials of the pairs that were not left out
  /// With a StoppingRule: the look at which the cell ended, and whether it did.
  std::size_t look = 0;
  LookOutcome outcome = LookOutcome::goes_on;

  /// The pairs up to that number of a trial.
  [[nodiscard]] Pairing up_to(int number) const {
    Pairing out;
    out.verdict = verdict;
    out.newest = newest;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].second > number) continue;
      out.pairs.base.push_back(pairs.base[i]);
      out.pairs.now.push_back(pairs.now[i]);
      out.trials.push_back(trials[i]);
      out.blocks.push_back(blocks[i]);
      out.order.push_back(order[i]);
    }
    return out;
  }
};

int newest_trial(const Cell& cell) {
  int out = 0;
  for (const Trial& trial : cell.trials) out = std::max(out, trial.trial);
  return out;
}

/// What cells share, as logarithms.
struct Shared {
  std::map<BlockId, double> shifts;  ///< gained or lost in each block
  double second = 0;                 ///< gained by the second of a pair: below 0 where it is slower
};

/// What running after the other half does: the median over the cells of half of what separates
/// their pairs of either order, so that no loss is part of it. Of a few cells it would be noise.
double gained_by_second(const std::vector<Pairing>& pairings) {
  std::vector<double> gains;
  for (const Pairing& one : pairings) {
    std::vector<double> before, after;  // ratios of the pairs whose variant ran first, and second
    for (std::size_t i = 0; i < one.order.size(); ++i) {
      if (one.order[i] == 0) continue;
      (one.order[i] < 0 ? before : after).push_back(one.pairs.now[i] - one.pairs.base[i]);
    }
    if (before.empty() || after.empty()) continue;
    gains.push_back((median(after) - median(before)) / 2);
  }
  return gains.size() < kCellsForSharedShift ? 0 : median(gains);
}

/// The shift of a block is the median of its halves, each less the median of its variant.
Shared shared_by(const std::vector<Pairing>& pairings) {
  std::map<BlockId, std::vector<double>> halves;
  for (const Pairing& one : pairings) {
    for (const auto* side : {&one.pairs.base, &one.pairs.now}) {
      const double middle = median(*side);
      for (std::size_t i = 0; i < side->size(); ++i) {
        halves[one.blocks[i]].push_back((*side)[i] - middle);
      }
    }
  }
  Shared out;
  for (const auto& [block, values] : halves) out.shifts[block] = median(values);
  out.second = gained_by_second(pairings);
  return out;
}

class PairedGate {
 public:
  PairedGate(const ResultSet& result, std::string base, const GateOptions& options)
      : result_(result),
        base_(std::move(base)),
        options_(options),
        rule_(stopping_rule_of(result)) {
    report_.paired = base_;
    for (const Cell& cell : result.cells) {
      const std::string variant = variant_of(cell);
      if (variant == base_) bases_.emplace(point_of(cell), &cell);
      if (!variant.empty()) points_[variant].insert(point_of(cell));
    }
  }

  GateReport run() {
    test_pairings();
    finish(report_, options_);
    if (report_.compared == 0) {
      report_.notices.push_back(
          make_notice(NoticeCode::nothing_compared, 0,
                      "no cell has a number of '" + base_ + "' and of another variant"));
    }
    return std::move(report_);
  }

  /// Cells that the first looks of the rule have ended, as the verdicts' keys.
  std::set<std::string> ended_after(std::size_t looks) {
    std::set<std::string> out;
    looks_ = looks;
    test_pairings();
    for (const Pairing& one : pairings_) {
      if (one.outcome != LookOutcome::goes_on) out.insert(report_.cells[one.verdict].key);
    }
    return out;
  }

 private:
  void test_pairings() {
    for (const Cell& cell : result_.cells) {
      const std::string variant = variant_of(cell);
      if (!variant.empty() && variant != base_) look_at(cell, variant);
    }
    add_missing();
    test_all();
  }

  void look_at(const Cell& cell, const std::string& variant) {
    CellVerdict& out = report_.cells.emplace_back();
    out.key = cell.key;
    out.kind = cell.kind;
    out.variant = variant;
    const auto found = bases_.find(point_of(cell));
    if (found == bases_.end()) {
      out.verdict = Verdict::new_cell;
      out.reasons = {make_notice(NoticeCode::not_in_baseline, 0)};
      out.loss = judge_loss(cell, nullptr, SameWork::not_comparable);
      return;
    }
    const Cell& partner = *found->second;
    out.outcomes = count_outcomes(cell, std::span(&found->second, 1));
    out.memory = judge_memory(cell, std::span(&found->second, 1), options_.memory_floor);
    out.loss = judge_loss(cell, &partner, same_work(cell, partner));
    look_at_speed(cell, partner, out);
  }

  /// Another program or environment must train alike; what arguments change is not known.
  [[nodiscard]] SameWork same_work(const Cell& cell, const Cell& partner) const {
    if (allowed(options_, "loss")) return SameWork::not_asked;
    for (const Cell* one : {&cell, &partner}) {
      const auto words = one->context->find(kVariantAxis);
      if (words == one->context->end() || !words->is_array()) continue;
      for (const auto& word : *words) {
        if (word.is_string() && word.get_ref<const std::string&>().starts_with('-')) {
          return SameWork::arguments_differ;
        }
      }
    }
    const auto differences = context_differences(cell, partner);
    const bool other_command =
        std::ranges::find(differences, "command", &ContextDifference::key) != differences.end();
    return other_command ? SameWork::arguments_differ : SameWork::yes;
  }

  void look_at_speed(const Cell& cell, const Cell& partner, CellVerdict& out) {
    const CellSample now = sample_of(cell), base = sample_of(partner);
    out.unit = base.values.empty() ? now.unit : base.unit;
    if (base.values.empty()) {
      out.verdict = now.values.empty() ? Verdict::pass : Verdict::new_cell;
      out.reasons = {
          now.values.empty()
              ? make_notice(NoticeCode::number_on_neither_side, 0, outcomes_of(cell))
              : make_notice(NoticeCode::baseline_without_number, 0, outcomes_of(partner))};
      return;
    }
    ++report_.compared;
    out.reference = median(base.values);
    out.tolerance = options_.floor;
    if (now.values.empty()) {
      out.verdict = Verdict::regression;
      out.n_base = static_cast<int>(base.values.size());
      out.reasons = {
          make_notice(NoticeCode::number_lost, 0, outcomes_of(cell), *out.reference, base.unit)};
      return;
    }
    out.median_new = median(now.values);
    out.reasons = sample_differences(now, base, options_);
    if (!out.reasons.empty()) {
      out.verdict = Verdict::not_comparable;
      return;
    }
    pair_up(cell, partner, out);
  }

  void pair_up(const Cell& cell, const Cell& partner, CellVerdict& out) {
    const auto now = halves_of(cell, out.unit);
    const auto base = halves_of(partner, out.unit);
    Pairing pairing;
    pairing.verdict = report_.cells.size() - 1;
    pairing.newest = std::min(newest_trial(cell), newest_trial(partner));
    for (const auto& [block, trial] : now) {
      const auto half = base.find(block);
      if (half == base.end()) continue;
      pairing.pairs.base.push_back(std::log(*half->second->rate()));
      pairing.pairs.now.push_back(std::log(*trial->rate()));
      pairing.trials.emplace_back(half->second, trial);
      pairing.blocks.push_back(block);
      const int before = half->second->block->position, after = trial->block->position;
      pairing.order.push_back((after > before) - (after < before));
    }
    const std::size_t alone = now.size() + base.size() - 2 * pairing.blocks.size();
    if (alone > 0) {
      out.reasons.push_back(make_notice(NoticeCode::halves_without_partner, 0,
                                        counted(static_cast<long long>(alone), "trial")));
    }
    if (!pairing.blocks.empty()) {
      pairings_.push_back(std::move(pairing));
    } else {
      out.verdict = Verdict::inconclusive;
      without_pair_.push_back(pairing.verdict);
    }
  }

  /// A cell of the base that another variant has not.
  void add_missing() {
    for (const auto& [variant, points] : points_) {
      for (const Cell& cell : result_.cells) {
        if (variant_of(cell) != base_ || points.contains(point_of(cell))) continue;
        CellVerdict& out = report_.cells.emplace_back(missing_cell(cell));
        Identity identity = cell.identity;
        identity.axes[kVariantAxis] = variant;
        out.key = identity.key();
        out.variant = variant;
      }
    }
  }

  /// Leaves out the pairs that were hit, and tests the others: their log ratios, without what the
  /// order does, are the answer.
  std::vector<double> test(Pairing& one, const Shared& shared) const {
    std::vector<double> shifts;
    for (const BlockId& block : one.blocks) shifts.push_back(shared.shifts.at(block));
    const std::vector<bool> hit = hit_pairs(one.pairs, shifts);
    std::vector<double> ratios;
    one.judged.clear();
    one.counted.clear();
    for (std::size_t i = 0; i < hit.size(); ++i) {
      const auto [base, now] = one.trials[i];
      one.judged.push_back({now->trial, *base->rate(), *now->rate(), hit[i]});
      if (hit[i]) continue;
      ratios.push_back(one.pairs.now[i] - one.pairs.base[i] - one.order[i] * shared.second);
      one.counted.push_back(one.trials[i]);
    }
    one.test = test_pairs(ratios, options_.floor);
    return ratios;
  }

  /// Goes through the looks of the run's rule as the sweep did: what a cell shows after it ended
  /// does not count.
  void test_by_looks(const StoppingRule& rule) {
    for (std::size_t k = 0; k < std::min(looks_, rule.looks.size()); ++k) {
      std::vector<Pairing> seen;
      for (const Pairing& one : pairings_) {
        const std::size_t look = one.outcome == LookOutcome::goes_on ? k : one.look;
        seen.push_back(one.up_to(rule.looks[look]));
      }
      const auto shared = shared_by(seen);
      for (std::size_t i = 0; i < pairings_.size(); ++i) {
        Pairing& one = pairings_[i];
        const bool reached = one.newest >= rule.looks[k] && !seen[i].blocks.empty();
        if (one.outcome != LookOutcome::goes_on || !reached) continue;
        const auto ratios = test(seen[i], shared);
        one.test = seen[i].test;
        one.judged = seen[i].judged;
        one.counted = seen[i].counted;
        one.look = k;
        one.outcome = outcome_at_look(rule, k, ratios, one.test);
      }
    }
    // One that reached no look is shown by what there is.
    const auto shared = shared_by(pairings_);
    for (Pairing& one : pairings_) {
      if (one.newest < rule.looks.front()) test(one, shared);
    }
  }

  void show(const Pairing& one) {
    CellVerdict& out = report_.cells[one.verdict];
    out.n_new = out.n_base = static_cast<int>(one.counted.size());
    out.pairs = one.judged;
    out.pairs_left_out = static_cast<int>(one.judged.size() - one.counted.size());
    out.change = one.test.change.change;
    if (one.test.change.interval) out.interval = *one.test.change.interval;
    out.p = one.test.p_slower;
    // When the pairs of a cell end depends on the times of its parts too: no test of them is exact.
    if (!rule_) parts_.add(one.verdict, one.counted, options_.part_floor);
  }

  /// What a p value of a cell is worth that was looked at before.
  [[nodiscard]] double worth(double p, const Pairing& one) const {
    return rule_ ? std::min(1.0, p / look_weight(rule_->looks, one.look)) : p;
  }

  void test_all() {
    std::size_t cells = pairings_.size() + without_pair_.size();
    if (rule_) cells = std::max(cells, static_cast<std::size_t>(rule_->tests));
    for (const std::size_t index : without_pair_) {
      CellVerdict& out = report_.cells[index];
      out.reasons.insert(out.reasons.begin(), too_few(0, options_.alpha, cells));
    }
    if (rule_) {
      test_by_looks(*rule_);
    } else {
      const auto shared = shared_by(pairings_);
      for (Pairing& one : pairings_) test(one, shared);
    }
    for (const Pairing& one : pairings_) show(one);
    auto parts = parts_.judge(report_.cells.size(), options_.alpha);
    for (std::size_t i = 0; i < parts.size(); ++i) report_.cells[i].parts = std::move(parts[i]);
    // Only cells that could be a false alarm count for Holm's correction.
    std::vector<double> slower, faster;
    for (const Pairing& one : pairings_) {
      if (one.test.could_lose) slower.push_back(worth(one.test.p_slower, one));
      if (one.test.could_gain) faster.push_back(worth(one.test.p_faster, one));
    }
    const auto slower_adjusted = holm(slower), faster_adjusted = holm(faster);
    std::size_t next_slower = 0, next_faster = 0;
    for (const Pairing& one : pairings_) {
      report_.cells[one.verdict].p_adjusted =
          one.test.could_lose ? slower_adjusted[next_slower++] : 1;
      judge(one, one.test.could_gain ? faster_adjusted[next_faster++] : 1, slower.size(), cells);
    }
  }

  /// The rule ended the cell before its last look.
  [[nodiscard]] bool early(const Pairing& one) const {
    return rule_ && one.look + 1 < rule_->looks.size();
  }

  /// An early look refuted the rule's loss.
  [[nodiscard]] bool refuted(const Pairing& one) const {
    return early(one) && one.outcome == LookOutcome::no_loss;
  }
  /// How the rule of the run ended the cell.
  [[nodiscard]] std::string look_words(const Pairing& one) const {
    if (!rule_) return {};
    return fmt::format(", after {} of at most {}{}", rule_->looks[one.look], rule_->looks.back(),
                       refuted(one) ? ", which refute a loss of " + percent(rule_->loss) : "");
  }

  [[nodiscard]] static Notice too_few(std::size_t n, double level, std::size_t cells) {
    return make_notice(NoticeCode::too_few_trials, 0, n, n,
                       counted(static_cast<long long>(cells), "cell"), smallest_paired_p(n), level,
                       "need " + counted(static_cast<long long>(pairs_needed(level)), "pair"));
  }

  /// `could_lose`: how many cells could be a false alarm, of `cells` that are compared.
  void judge(const Pairing& one, double p_faster_adjusted, std::size_t could_lose,
             std::size_t cells) {
    CellVerdict& out = report_.cells[one.verdict];
    const std::vector<Notice> alone = std::move(out.reasons);
    // Pairs that were left out were measured, and count for whether the sweep was long enough.
    const auto measured = static_cast<std::size_t>(out.n_new + out.pairs_left_out);
    const double planned = options_.alpha / static_cast<double>(cells);
    const double alpha = options_.alpha * share_of_alpha(one.test);
    out.level = alpha;
    const double level = alpha / static_cast<double>(std::max<std::size_t>(1, could_lose));
    const bool cannot_tell =
        one.test.could_lose && worth(smallest_paired_p(one.test.n), one) > level;
    if (rule_ && one.outcome == LookOutcome::goes_on) {
      out.verdict = Verdict::inconclusive;
      const auto next = std::ranges::upper_bound(rule_->looks, one.newest);
      const int wanted = next == rule_->looks.end() ? rule_->looks.back() : *next;
      out.reasons = {
          make_notice(NoticeCode::too_few_trials, 0, measured, measured,
                      counted(static_cast<long long>(cells), "cell"),
                      worth(smallest_paired_p(measured), one), planned,
                      fmt::format("the run ends its pairs by a rule that looks next after trial "
                                  "{}: run the sweep on",
                                  wanted)),
          measured_so_far(out)};
    } else if (!refuted(one) && (smallest_paired_p(measured) > planned || cannot_tell)) {
      out.verdict = Verdict::inconclusive;
      out.reasons = {smallest_paired_p(measured) > planned ? too_few(measured, planned, cells)
                                                           : too_few(one.test.n, level, could_lose),
                     measured_so_far(out)};
    } else {
      const double floor = rule_
                               ? std::expm1(look_floor(*rule_, one.look, std::log1p(out.tolerance)))
                               : out.tolerance;
      judge_change(
          one.test.p_faster, p_faster_adjusted, alpha, floor,
          fmt::format("tolerance {} ({}), by pairs{}{}", percent(floor),
                      early(one) ? "the floor at an early look" : "the floor",
                      one.test.guarded ? "" : fmt::format(" at {:.2g}", alpha), look_words(one)),
          out);
    }
    if (out.pairs_left_out > 0) {
      out.reasons.push_back(
          make_notice(NoticeCode::pairs_left_out, 0, counted(out.pairs_left_out, "pair")));
    }
    out.reasons.insert(out.reasons.end(), alone.begin(), alone.end());
  }

  const ResultSet& result_;
  const std::string base_;
  const GateOptions& options_;
  const std::optional<StoppingRule> rule_;                       ///< as the run recorded it
  std::size_t looks_ = std::numeric_limits<std::size_t>::max();  ///< of its looks, that are taken
  std::map<std::string, const Cell*> bases_;                     // by point
  std::map<std::string, std::set<std::string>> points_;          // of each variant
  std::vector<Pairing> pairings_;
  PartTests parts_;
  std::vector<std::size_t> without_pair_;  // verdicts of cells that no pair is of
  GateReport report_;
};

}  // namespace

std::vector<std::string> variants_of(const ResultSet& result) {
  std::vector<std::string> out;
  for (const Cell& cell : result.cells) {
    const std::string variant = variant_of(cell);
    if (variant.empty() || std::ranges::find(out, variant) != out.end()) continue;
    out.push_back(variant);
  }
  return out;
}

std::optional<StoppingRule> stopping_rule_of(const ResultSet& result) {
  for (const Cell& cell : result.cells) {
    if (!cell.context->is_object() || !cell.context->contains(kStoppingKey)) continue;
    if (auto rule = stopping_rule(cell.context->at(kStoppingKey))) return rule;
  }
  return std::nullopt;
}

bool has_unknown_stopping_rule(const ResultSet& result) {
  if (stopping_rule_of(result)) return false;
  return std::ranges::any_of(result.cells, [](const Cell& cell) {
    return cell.context->is_object() && cell.context->contains(kStoppingKey);
  });
}

std::set<std::string> ended_pairs(const ResultSet& so_far, const StoppingRule& rule,
                                  std::size_t looks) {
  GateOptions options;
  options.floor = rule.floor;
  options.alpha = rule.alpha;
  return PairedGate(so_far, rule.base, options).ended_after(looks);
}

GateReport check_paired(const ResultSet& result, const std::string& base,
                        const GateOptions& options) {
  return PairedGate(result, base, options).run();
}

GateReport confirm_paired(GateReport first, const ResultSet& rerun, const std::string& base,
                          const GateOptions& options) {
  const auto flagged = flagged_cells(first);
  ResultSet again = rerun;
  std::erase_if(again.cells, [&](const Cell& cell) {
    return variant_of(cell) != base && std::ranges::find(flagged, cell.key) == flagged.end();
  });
  return confirmed_by(std::move(first), check_paired(again, base, options), options);
}

}  // namespace bertbench
