// Batch search: the largest micro batch that fits, for cells whose micro_batch_size is "max".
//
// Each probe is a short trial of its own below <out>/batch_search, with that folder's own journal:
// what was tried is remembered there, so a resumed sweep asks no question twice. Batches double
// until one is out of memory (exit status 12, the log, or the kernel), then the gap is halved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/sweep/execute/runner.h"
#include "harness/sweep/plan/plan.h"

namespace bertbench {

enum class Fit { fits, out_of_memory, failed };

struct Probe {
  Fit fit = Fit::failed;
  std::string detail;  ///< of what does not fit
};

struct LargestBatch {
  std::int64_t fits = 0;                 ///< 0: not even 1
  std::optional<std::int64_t> does_not;  ///< the smallest tried that is out of memory
  std::string why;                       ///< its detail, or why the search ended early
  int probes = 0;
};

/// Bisection on `probe`. A probe that fails otherwise ends the search at what was known to fit.
/// `most` is where doubling stops. Errors of `probe` are passed on.
[[nodiscard]] Result<LargestBatch> search_batch(
    const std::function<Result<Probe>(std::int64_t)>& probe, std::int64_t most = 1 << 16);

/// The plan with every "max" of a selected cell replaced by what was found; the cell gets a warning
/// that names it. A cell whose answer the grid holds already is not measured twice. Nothing is
/// launched when no cell asks. None: the search was interrupted.
[[nodiscard]] Result<std::optional<Plan>> resolve_batches(const Plan& plan,
                                                          const SweepOptions& options,
                                                          SweepObserver& observer);

/// True where the plan has cells whose batch is still to be searched.
[[nodiscard]] bool needs_batch_search(const Plan& plan);

}  // namespace bertbench
