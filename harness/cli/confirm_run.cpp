#include "harness/cli/confirm_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/cli/number_text.h"
#include "harness/sweep/config/config.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/plan/pair_stopping.h"
#include "harness/sweep/plan/plan.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

class RerunView : public SweepObserver {
 public:
  explicit RerunView(Console& console) : console_(console) {}
  void trial_finished(const TrialProgress& at, const Trial& trial) override {
    console_.status(fmt::format("confirming [{}/{}] {} trial {}: {}", at.position, at.to_run,
                                escape_for_terminal(at.cell->key), at.trial,
                                trial.sequences_per_second
                                    ? rate_text(*trial.sequences_per_second) + " sequences/s"
                                    : std::string(name(trial.outcome.status))));
  }
  void notice(const std::string& text) override { console_.note(text); }

 private:
  Console& console_;
};

/// A rerun must be measured now: a folder that holds one already would be resumed.
std::string fresh_folder(const std::string& result) {
  std::error_code ignored;
  const bool folder = fs::is_directory(result, ignored);
  for (int n = 1;; ++n) {
    const std::string path = folder ? (fs::path(result) / fmt::format("confirm-{}", n)).string()
                                    : fmt::format("{}.confirm-{}", result, n);
    if (!fs::exists(path, ignored)) return path;
  }
}

}  // namespace

Result<GateReport> confirm_by_rerun(GateReport first, const std::string& result,
                                    const Decide& decide, const ConfirmOptions& options,
                                    Console& console) {
  const auto flagged = flagged_cells(first);
  if (flagged.empty()) {
    console.status("nothing to confirm: no cell is a regression");
    return first;
  }
  const auto config = load_config(options.config, options.set);
  if (!config) return tl::unexpected(config.error());
  PlanOptions how;
  how.trainer = options.trainer;
  auto plan = make_plan(*config, how);
  if (!plan) return tl::unexpected(plan.error());
  const std::set<std::string> wanted(flagged.begin(), flagged.end());
  std::set<std::string> held;
  std::set<std::size_t> points;  // of pairs both halves are measured again
  for (const PlannedTrial& trial : plan->trials) {
    const PlannedCell& cell = plan->cells[trial.cell];
    if (!wanted.contains(cell.key)) continue;
    held.insert(cell.key);
    points.insert(cell.grid_point);
  }
  const auto is_base_of_flagged = [&](const PlannedCell& cell) {
    const auto variant = cell.identity.axes.find(kVariantAxis);
    return !first.paired.empty() && points.contains(cell.grid_point) &&
           variant != cell.identity.axes.end() && variant->second == first.paired;
  };
  std::erase_if(plan->trials, [&](const PlannedTrial& trial) {
    const PlannedCell& cell = plan->cells[trial.cell];
    return !needed_for(cell, wanted) && !is_base_of_flagged(cell);
  });
  for (const std::string& key : wanted) {
    if (!held.contains(key)) {
      console.note("check", make_notice(NoticeCode::not_rerun, 0, options.config, key));
    }
  }
  if (plan->trials.empty()) return first;
  if (const auto rule = stopping_rule_for(*plan); rule && options.fits) {
    if (const auto fits = options.fits(*rule); !fits) return tl::unexpected(fits.error());
  }
  SweepOptions sweep;
  sweep.probe_s = kProbe_s;
  sweep.out = options.out.empty() ? fresh_folder(result) : options.out;
  std::error_code ignored;
  if (fs::exists(fs::path(sweep.out) / "journal.jsonl", ignored)) {
    return fail("--confirm-out " + sweep.out, "holds a sweep already",
                "name a new folder: a confirmation is measured anew");
  }
  console.status(fmt::format("confirming {} in {}",
                             counted(static_cast<long long>(held.size()), "flagged cell"),
                             sweep.out));
  RerunView view(console);
  const auto outcome = run_sweep(*plan, sweep, view);
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->interrupted) {
    return fail("--confirm", "was interrupted before it could decide", "run the same check again");
  }
  return decide(std::move(first), outcome->result);
}

}  // namespace bertbench
