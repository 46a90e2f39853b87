// Restarts: one run whose steps are spread over several logs, as jobs end and go on from a
// checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench {

/// Optimizer steps of a log by its own numbers, first < n <= last; nothing when it counts
/// otherwise. A log that begins in the middle begins one printed interval before its first record.
struct StepRange {
  std::int64_t first = 0, last = 0;
};
[[nodiscard]] std::optional<StepRange> optimizer_step_range(const RunLog& log);
/// The same by the counter of its lines, whatever that counts; nothing where it goes back.
[[nodiscard]] std::optional<StepRange> counter_range(const RunLog& log);

/// How a restart's steps lie next to those that were done before it.
struct StepOverlap {
  std::int64_t redone = 0;   ///< steps of the restart that had been done already
  std::int64_t missing = 0;  ///< steps between the two that are in no log
};
[[nodiscard]] StepOverlap overlap_of(std::int64_t done, const StepRange& restart);

/// What decides whether a run goes on where another one ended.
struct RunSpan {
  std::string group;  ///< only runs of one group are joined: folder, format, facts
  std::optional<StepRange> steps;
  std::int64_t interval = 1;  ///< steps between the last two records
};
/// `group` is the caller's part of RunSpan::group. Runs of evaluation have no steps.
[[nodiscard]] RunSpan span_of(const RunLog& log, const std::string& group);

struct RestartChains {
  std::vector<std::vector<std::size_t>> chains;  ///< indices into the spans, in order of steps
  /// Runs that begin where more than one other ended, or where others begin as well, with those
  /// that they may continue: not joined.
  struct Doubt {
    std::size_t run = 0;
    std::vector<std::size_t> may_continue;
  };
  std::vector<Doubt> doubts;
};
/// A run goes on from another one of its group if it begins above step 0, within the other's steps
/// (or at most one of its intervals after them), and ends later; of several that fit, from the one
/// that began last. Trials of one cell, which all begin at the same step, are never joined.
[[nodiscard]] RestartChains find_restarts(std::span<const RunSpan> spans);

/// The parts of one chain as one run: each step once, the last time that it was done; the time of
/// lost steps stays in the clock, as the run has spent it. Notices name the parts, lost and missing
/// steps. The closing rates of parts are dropped: they are those of one part only. Every part must
/// have an optimizer_step_range.
[[nodiscard]] RunLog join_restarts(std::vector<RunLog> parts);

}  // namespace bertbench
