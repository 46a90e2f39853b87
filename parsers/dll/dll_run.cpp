#include "parsers/dll/dll_run.h"

#include <algorithm>
#include <cmath>

#include "parsers/runs/run_builder.h"

namespace bertbench {

RunDraft& DllRun::run(const Line& line, RunBuilder& out) {
  RunDraft& run = out.run(WorkKind::training, line.number);
  run.log.iteration_unit = IterationUnit::optimizer_step;
  run.log.clock_resolution_s = 1e-6;
  run.log.clock_is_wall = true;
  if (micro_batch_ && *micro_batch_ >= 1 && !run.log.facts.micro_batch_size.known()) {
    run.log.facts.micro_batch_size.set(*micro_batch_, FactSource::log);
  }
  return run;
}

void DllRun::see_step(const DllStep& step, const Line& line, RunBuilder& out) {
  if (!(step.iteration >= 0 && step.iteration < 1e15)) return;
  auto iteration = static_cast<std::int64_t>(step.iteration) + base_;
  // Vision examples count the iterations of an epoch: the next one begins again.
  const bool next_epoch = !closed_ && iteration_ >= 0 && iteration < iteration_ && step.epoch &&
                          epoch_ && *step.epoch > *epoch_ &&
                          step.iteration <= static_cast<double>(stride_);
  if (step.epoch) epoch_ = step.epoch;
  if (next_epoch) {
    iteration += iteration_ - base_;
    base_ = iteration_;
    time_s_ = kUnknown;  // the end of the epoch and its validation are in between
  }
  const bool back = iteration_ >= 0 && iteration < iteration_;
  if (closed_ || back) {
    out.close(WorkKind::training);
    iteration_ = -1;
    iteration -= base_;
    base_ = 0;
    skipped_ = 0;
    stride_ = 1;
    time_s_ = kUnknown;
    closed_ = told_ = false;
  }
  const bool first = iteration_ < 0;
  std::int64_t skipped = skipped_, skipped_in_all = 0;
  if (step.skipped && *step.skipped >= 0 && *step.skipped < 1e15) {
    skipped = std::max(skipped, static_cast<std::int64_t>(*step.skipped));
  } else if (iteration == iteration_) {
    ++skipped;  // older revisions do not print the number
  } else if (step.last && !first && stride_ <= 1 && iteration > iteration_ + 1 &&
             iteration - iteration_ - 1 <= skipped_ + 1) {
    // Older revisions: the last line alone counts the skipped updates as well, one that was in
    // front of the first line included.
    skipped_in_all = iteration - iteration_ - 1;
    iteration = iteration_ + 1;
  }
  if (!first && iteration > iteration_) stride_ = iteration - iteration_;
  const std::int64_t before = iteration_ + skipped_;
  Sample sample;
  sample.step = iteration + skipped;
  sample.iterations = first ? 1 : std::max<std::int64_t>(1, sample.step - before);
  sample.time_s = step.time_s;
  if (!first && step.time_s > time_s_) sample.seconds = step.time_s - time_s_;
  sample.rate = step.rate;
  sample.line = line.number;
  sample.rank = line.rank;
  // A skipped update comes from an overflow: its loss may be anything.
  const bool overflow = !first && skipped > skipped_;
  if (step.loss && (!overflow || std::isfinite(*step.loss))) sample.loss = step.loss;
  RunDraft& draft = run(line, out);
  if (!std::isnan(step.rate)) draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.add(sample);
  if (next_epoch && !told_) {
    told_ = true;
    draft.log.notices.push_back(
        {line.number,
         "iterations are counted by epoch and its length is not told: those behind the last line "
         "of an epoch are not counted"});
  }
  skipped_in_all = std::max(skipped_in_all, skipped);
  if (skipped_in_all > 0) draft.log.totals.skipped_steps = skipped_in_all;
  draft.ended_well = draft.ended_well || step.last;
  iteration_ = iteration;
  skipped_ = skipped;
  time_s_ = step.time_s;
}

void DllRun::see_closing(const DllClosing& closing, const Line& line, RunBuilder& out) {
  RunDraft& draft = run(line, out);
  if (closing.rate) {
    draft.log.summary = Stated{*closing.rate, RateUnit::sequences_per_second, line.number};
  }
  if (closing.training_s) draft.log.totals.training_s = closing.training_s;
  if (closing.wall_s) draft.log.totals.wall_s = closing.wall_s;
  draft.ended_well = true;
  draft.last_line = line.number;
  closed_ = true;
}

void DllRun::finish(RunBuilder& out) {
  for (const auto& draft : out.drafts()) {
    const auto& records = draft->records();
    if (records.size() < 2 || draft->log.iteration_unit != IterationUnit::optimizer_step) continue;
    const std::int64_t stride = records[1].step - records[0].step;
    if (stride <= 1 || records[0].iterations != 1 || records[0].step % stride != 0) continue;
    draft->log.totals.first_optimizer_step = records[0].step - stride;
    draft->log.totals.last_optimizer_step = records.back().step;
  }
}

}  // namespace bertbench
