#include "harness/sweep/execute/attempt_runner.h"

#include <fmt/format.h>

#include <numeric>

#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/plan/template_call.h"

namespace bertbench {

TrialProgress AttemptRunner::progress_of(const OpenAttempt& open) const {
  TrialProgress out;
  out.cell = &open.cell;
  out.trial = open.wanted.trial.trial;
  out.trials = sweep_.plan.config.trials;
  out.attempt = open.wanted.attempt;
  out.position = open.wanted.position;
  out.to_run = queue_.trials();
  out.steps =
      sweep_.plan.config.asks_for_steps() ? sweep_.plan.cells[open.wanted.trial.cell].steps : 0;
  return out;
}

Result<std::unique_ptr<OpenAttempt>> AttemptRunner::begin(WantedAttempt wanted) {
  auto open = OpenAttempt::begin(sweep_, std::move(wanted));
  if (!open) return open;
  (*open)->progress = progress_of(**open);
  (*open)->progress.eta_s = queue_.eta((*open)->wanted.trial.cell, kUnknown);
  return open;
}

Result<std::unique_ptr<OpenAttempt>> AttemptRunner::take_over(WantedAttempt wanted) {
  auto open = OpenAttempt::take_over(sweep_, std::move(wanted));
  if (open) (*open)->progress = progress_of(**open);
  return open;
}

void AttemptRunner::report_progress(OpenAttempt& open, double elapsed_s) {
  const auto live = open.log.live();
  auto& progress = open.progress;
  progress.step = live.last_step.value_or(0);
  if (live.last_step && sweep_.launcher.watches_nodes && !open.training_marked) {
    open.training_marked = open.folder.write_unsynced(kTrainingMark, "").has_value();
  }
  progress.sequences_per_second = live_rate(live, open.cell);
  progress.elapsed_s = elapsed_s;
  // Steps take alike, so what is left of this trial follows from its own pace, but for the first
  // one: a start and a compilation of minutes precede it.
  double remaining_s = kUnknown;
  if (progress.step > 0 && progress.steps > 0) {
    if (!open.first_step_at) open.first_step_at = {progress.step, elapsed_s};
    const auto [first, first_s] = *open.first_step_at;
    const auto left = static_cast<double>(progress.steps - progress.step);
    if (left <= 0) {
      remaining_s = 0;
    } else if (progress.step > first) {
      remaining_s = left * (elapsed_s - first_s) / static_cast<double>(progress.step - first);
    }
  }
  progress.eta_s = queue_.eta(open.wanted.trial.cell, remaining_s);
  sweep_.observer.trial_progress(progress);
}

void AttemptRunner::take_node_telemetry(OpenAttempt& open) {
  const auto& launcher = sweep_.launcher;
  if (!launcher.watches_nodes || sampler_program().empty()) return;
  std::vector<std::int64_t> nodes;
  if (launcher.samplers) {
    for (const auto& one : launcher.samplers(sweep_.plan, open.wanted.trial, open.place)) {
      nodes.push_back(one.node);
    }
  } else {
    nodes.resize(static_cast<std::size_t>(process_count(sweep_.plan, open.cell).nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  open.telemetry = bertbench::take_node_telemetry(open.folder, nodes);
  for (const auto& node : open.telemetry.value("nodes", nlohmann::ordered_json::array())) {
    const auto why = node.value("missing", "");
    if (why.empty() || !reasons_reported_.insert(why).second) continue;
    sweep_.observer.notice(fmt::format("{} trial {}: no telemetry of node {}: {}", open.cell.key,
                                       open.wanted.trial.trial, node.value("node", 0), why));
  }
}

}  // namespace bertbench
