// Parts of a step held against their baseline: 5 % of the optimizer is 0.5 % of a step, which no
// test of the whole step finds. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/notice.h"
#include "reports/gate/verdict.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// The least loss that is a regression, as a share of the part's time. It is above the floor of a
/// whole step because trials of one program repeat their parts less exactly (docs/gate.md).
inline constexpr double kPartFloor = 0.03;
/// Share of alpha for the tests of all parts of all cells together. Judging parts raises the rate
/// of false alarms by at most this share of alpha, and leaves the level of the cells as it was.
inline constexpr double kPartAlpha = 0.2;
/// Parts shorter than this share of the step are not judged: what they lose does not matter.
inline constexpr double kPartOfStep = 0.01;

struct PartVerdict {
  std::string part;  ///< one of kStepPartNames
  /// pass, regression, improvement; inconclusive where too few trials can show nothing, which fails
  /// no gate, or where the machine may be what became slower (may_be_the_machines())
  Verdict verdict = Verdict::pass;
  double now = 0, reference = 0;  ///< seconds of one optimizer step, medians
  double change = 0;              ///< of the time; positive = longer
  double p = 1;                   ///< exact one-sided p of "longer"
  double p_adjusted = 1;          ///< after Holm over all parts of all cells
  double tolerance = 0;
  int n_new = 0, n_base = 0;
  Notice reason;

  /// Longer by no more than the machine became slower: a rerun decides.
  [[nodiscard]] bool may_be_the_machines() const {
    return verdict == Verdict::inconclusive &&
           reason.code == NoticeCode::part_slower_with_the_machine;
  }
  /// A regression, or one that may be the machine's: what a rerun decides.
  [[nodiscard]] bool flagged() const {
    return verdict == Verdict::regression || may_be_the_machines();
  }
};

/// The two trials of each pair that counts: of the base, then of the variant. Pairs left out as hit
/// are not among them.
using PairedTrials = std::vector<std::pair<const Trial*, const Trial*>>;

/// All parts that are compared, for Holm's correction over them.
class PartTests {
 public:
  /// Against the same cell in each run of a history, oldest first, the last `newest` of which are
  /// the baseline. `floor` as kPartFloor.
  void add(std::size_t cell, const Cell& now, std::span<const Cell* const> history,
           std::size_t newest, double floor);
  /// Against the other half of each pair.
  void add(std::size_t cell, const PairedTrials& pairs, double floor);

  /// Verdicts by the `cell` of add(), in the order of kStepPartNames. `alpha`: of the whole gate.
  [[nodiscard]] std::vector<std::vector<PartVerdict>> judge(std::size_t cells, double alpha) const;

 private:
  struct Test {
    std::size_t cell = 0;
    PartVerdict verdict;
    double p_shorter = 1;
    double smallest_p = 1;
  };
  std::vector<Test> tests_;
};

}  // namespace bertbench
