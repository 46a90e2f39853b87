#include "harness/sweep/runner.h"

#include "harness/sweep/sweep_run.h"

namespace bertbench {

Result<SweepOutcome> run_sweep(const Plan& plan, const SweepOptions& options,
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
