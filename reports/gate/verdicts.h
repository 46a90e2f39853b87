// Verdicts: the gate (`check`). Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/notice.h"
#include "reports/gate/loss_gate.h"
#include "reports/gate/memory_gate.h"
#include "reports/gate/outcome_gate.h"
#include "reports/gate/parts_gate.h"
#include "reports/gate/verdict.h"
#include "reports/gate/waivers.h"
#include "reports/model/cell_match.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct GateOptions {
  double floor = 0.02;                 ///< smallest loss of speed that matters, as a fraction
  double alpha = 0.05;                 ///< family-wise error over the cells compared
  double memory_floor = kMemoryFloor;  ///< smallest growth of memory that matters, as a fraction
  double part_floor = kPartFloor;      ///< likewise of the time of a part of a step
  /// Context keys that may differ ("kernel"), or "all"; "loss": loss curves may.
  std::vector<std::string> allow_context;
  bool allow_missing = false, accept_inconclusive = false;
};

/// A difference in this key of the context is allowed.
[[nodiscard]] bool allowed(const GateOptions& options, const std::string& key);
/// Why the numbers of two cells do not compare: unit, estimator or window differ.
[[nodiscard]] std::vector<Notice> sample_differences(const CellSample& now, const CellSample& base,
                                                     const GateOptions& options);

/// Names of the nodes that a flagged cell was measured on at first and again; empty: not known.
struct RerunNodes {
  std::vector<std::string> first, again;
  /// Both are known and have none in common.
  [[nodiscard]] bool elsewhere() const;
};

/// The result of measuring a flagged cell again.
struct Rerun {
  Verdict first = Verdict::regression;  ///< of speed, before the rerun
  Verdict verdict = Verdict::pass;
  std::optional<double> change, median_new;  ///< as in CellVerdict
  double p_adjusted = 1;
  int n_new = 0;
  RerunNodes nodes = {};
};

/// Two trials of one number, as rates in the unit of their cell.
struct JudgedPair {
  int trial = 0;  ///< the number of both
  double base = 0, now = 0;
  bool left_out = false;  ///< one of them was hit (reports/stats/pairs.h)
};

struct CellVerdict {
  std::string key;
  WorkKind kind = WorkKind::training;
  /// That of speed; but regression where outcomes, memory, loss or a part regressed, and
  /// inconclusive where a part may be slower because the machine is
  Verdict verdict = Verdict::pass;
  Verdict speed = Verdict::pass;  ///< to which the numbers of this struct belong
  std::optional<OutcomeVerdict> outcomes;
  std::optional<MemoryVerdict> memory;
  std::optional<LossVerdict> loss;
  std::vector<PartVerdict> parts;  ///< of a step, where both sides have them
  std::optional<double> change;    ///< median / reference - 1; negative = slower
  Interval
      interval;  ///< of the Hodges-Lehmann shift, as a fraction like `change`; coverage 0 = none
  double p =
      1;  ///< exact one-sided p of "slower", not adjusted: Mann-Whitney, of pairs signed rank
  double p_adjusted = 1;          ///< the same after Holm over the cells compared
  int n_new = 0, n_base = 0;      ///< trials that count; of pairs both are the pairs that count
  std::string variant;            ///< of pairs: the one that is judged
  int pairs_left_out = 0;         ///< of which one half was hit
  std::vector<JudgedPair> pairs;  ///< those that were tested, and those left out
  double tolerance = 0;           ///< the loss that had to be exceeded, as a fraction
  double level = 0;               ///< that `p_adjusted` had to pass; 0: the cell was not tested
  std::optional<double> median_new, reference;
  std::string unit;             ///< of both: name(RateUnit)
  std::vector<Notice> reasons;  ///< never empty: what decided, then what else is to be known
  /// Set by confirm() alone. The other numbers are those of the first measurement.
  std::optional<Rerun> rerun;
  std::vector<JudgedWaiver> waivers;  ///< those of this cell, with what became of each
  /// What waivers leave of `verdict`, which alone counts then; absent: they let nothing pass.
  std::optional<Verdict> after_waivers;

  /// What the gate's exit status is made of.
  [[nodiscard]] Verdict counted() const { return after_waivers.value_or(verdict); }
  /// All that fails in the cell is waived.
  [[nodiscard]] bool waived() const;
  /// A regression of speed or of a part, or one that may be the machine's: what a rerun decides.
  [[nodiscard]] bool flagged() const { return speed_flagged() || part_flagged(); }
  [[nodiscard]] bool speed_flagged() const;
  [[nodiscard]] bool part_flagged() const;
  /// A part that is longer in a step that is shorter is time that moved, as when two parts become
  /// one, or waits less elsewhere: it is reported and fails nothing.
  [[nodiscard]] bool parts_count() const { return speed != Verdict::improvement; }
  /// A regression at first, which the rerun did not repeat.
  [[nodiscard]] bool cleared() const { return rerun && speed == Verdict::pass && !part_flagged(); }
};

/// The verdict of a cell of the base that was not measured.
[[nodiscard]] CellVerdict missing_cell(const Cell& cell);

/// The name of the verdict; of a waived one "regression (waived)".
[[nodiscard]] std::string verdict_text(const CellVerdict& cell);

/// The reasons in one line for people: what changed, by how much, with n and p.
[[nodiscard]] std::string reason_text(const CellVerdict& cell);

struct GateReport {
  std::vector<CellVerdict> cells;  ///< in the order of the result, then missing ones
  std::vector<Notice> notices;
  std::string paired;  ///< the variant that the others are held against; empty: not of pairs
  std::map<std::string, RerunNodes> rerun_nodes;  ///< by cell; set before `confirm` decides
  int compared = 0;  ///< cells with a number in the baseline that the result holds too
  /// The first that holds: 4 nothing compared; 1 a regression, or a missing cell without
  /// allow_missing; 4 a cell not comparable; 3 an inconclusive cell; 0.
  int exit_status = 0;
};

/// A reason that names the numbers on both sides.
[[nodiscard]] Notice measured_so_far(const CellVerdict& cell);

/// Decides a cell whose test could show a change: a regression or an improvement beyond
/// `tolerance`, a share of the reference as CellVerdict::change is, where the adjusted p of that
/// side passes `alpha`. `tolerance_text`: how the reason states the tolerance.
void judge_change(double p_faster, double p_faster_adjusted, double alpha, double tolerance,
                  const std::string& tolerance_text, CellVerdict& cell);

/// Decides the outcomes that were counted, alpha shared by the cells that failed on both sides,
/// then each cell by all that was judged of it, and the exit status.
void finish(GateReport& report, const GateOptions& options);

/// What speed, outcomes, memory, loss and the parts make of a cell together.
[[nodiscard]] Verdict verdict_of_all(const CellVerdict& cell);

/// The rule of GateReport::exit_status over its cells.
[[nodiscard]] int gate_exit_status(const GateReport& report, const GateOptions& options);

/// The whole gate against one baseline file.
[[nodiscard]] GateReport check(const ResultSet& result, const ResultSet& baseline,
                               const GateOptions& options = {});
/// The same against stored runs, oldest first: trials pooled, reference = median of the runs'
/// medians, noise = standard deviation of those medians once there are three. The context is that
/// of the newest run.
[[nodiscard]] GateReport check(const ResultSet& result, std::span<const ResultSet> runs,
                               const GateOptions& options = {});

/// Keys of the cells that are flagged: the regressions of speed and parts, and what is inconclusive
/// because the machine became slower. Memory and loss repeat where nothing changed; measuring them
/// again would show nothing new.
[[nodiscard]] std::vector<std::string> flagged_cells(const GateReport& report);

/// Decides again after the flagged cells were measured once more (`rerun`, which may hold more
/// cells). A regression stays one only if the rerun, held against the same runs, is one as well,
/// with Holm over the flagged cells alone: the others are decided. What is not confirmed passes and
/// states that; a rerun without an answer changes nothing.
[[nodiscard]] GateReport confirm(GateReport first, const ResultSet& rerun,
                                 std::span<const ResultSet> runs, const GateOptions& options = {});
/// The first verdicts after a rerun of the flagged cells was judged to be `second`.
[[nodiscard]] GateReport confirmed_by(GateReport first, const GateReport& second,
                                      const GateOptions& options);

}  // namespace bertbench
