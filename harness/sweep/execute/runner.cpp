#include "harness/sweep/execute/runner.h"

#include "harness/sweep/execute/batch_search.h"
#include "harness/sweep/execute/sweep_run.h"

namespace bertbench {

Result<SweepOutcome> run_sweep(const Plan& plan, const SweepOptions& options,
                               SweepObserver& observer) {
  if (!needs_batch_search(plan)) return run_planned(plan, options, observer);
  const auto resolved = resolve_batches(plan, options, observer);
  if (!resolved) return tl::unexpected(resolved.error());
  if (*resolved) return run_planned(**resolved, options, observer);
  SweepOutcome interrupted;
  interrupted.interrupted = true;
  interrupted.exit_status = 130;
  return interrupted;
}

Result<SweepOutcome> run_planned(const Plan& plan, const SweepOptions& options,
                                 SweepObserver& observer) {
  const auto launcher = find_launcher(plan.config.launcher);
  if (!launcher) return tl::unexpected(launcher.error());
  SweepRun run(plan, options, observer, **launcher);
  if (auto done = run.open(); !done) return tl::unexpected(done.error());
  if (auto done = run.reuse(); !done) return tl::unexpected(done.error());
  if (auto done = run.launch(); !done) return tl::unexpected(done.error());
  return run.finish();
}

}  // namespace bertbench
