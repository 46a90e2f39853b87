#include "parsers/formats/dllogger/dll_run.h"

#include <algorithm>
#include <cmath>

#include "parsers/assemble/run_builder.h"

namespace bertbench {

RunDraft& DllRun::run(const Line& line, RunBuilder& out) {
  RunDraft& run = out.run(WorkKind::training, line.number);
  // ConvNets' own images/s leave out what its clock holds between the lines.
  run.log.iteration_unit = accumulation_ ? IterationUnit::unknown : IterationUnit::optimizer_step;
  run.log.clock_resolution_s = 1e-6;
  run.log.clock_is_wall = true;
  if (micro_batch_ && *micro_batch_ >= 1 && !run.log.facts.micro_batch_size.known()) {
    run.log.facts.micro_batch_size.set(*micro_batch_, FactSource::log);
  }
  return run;
}

void DllRun::read_convnet(std::int64_t batch, std::int64_t world, std::int64_t optimizer_batch) {
  if (batch < 1 || batch >= 1'000'000 || world < 1 || world >= 1'000'000) return;
  micro_batch_ = batch;
  world_ = world;
  const std::int64_t iteration = batch * world;
  // Of one iteration it is not stated: that would let its clock go before its images/s.
  accumulation_.reset();
  if (optimizer_batch > iteration && optimizer_batch % iteration == 0) {
    accumulation_ = optimizer_batch / iteration;
  }
}

void DllRun::fill_convnet(Facts& facts) const {
  if (!world_) return;
  facts.world_size.set(*world_, FactSource::log);
  facts.micro_batch_size.set(*micro_batch_, FactSource::log);
  if (accumulation_) facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
}

// Vision examples count the iterations of an epoch: the next one begins again.
bool DllRun::begins_epoch(const DllStep& step) {
  const std::int64_t iteration = static_cast<std::int64_t>(step.iteration) + base_;
  const bool next = !closed_ && iteration_ >= 0 && iteration < iteration_ && step.epoch && epoch_ &&
                    *step.epoch > *epoch_ && step.iteration <= static_cast<double>(stride_);
  if (step.epoch) epoch_ = step.epoch;
  if (!next) return false;
  base_ = iteration_;
  time_s_ = kUnknown;  // the end of the epoch and its validation are in between
  return true;
}

void DllRun::begin_run(RunBuilder& out) {
  out.close(WorkKind::training);
  iteration_ = -1;
  base_ = 0;
  skipped_ = 0;
  stride_ = 1;
  time_s_ = kUnknown;
  closed_ = reported_ = false;
}

DllRun::Count DllRun::count(const DllStep& step) const {
  Count out{static_cast<std::int64_t>(step.iteration) + base_, skipped_, 0};
  if (step.skipped && *step.skipped >= 0 && *step.skipped < 1e15) {
    out.skipped = std::max(skipped_, static_cast<std::int64_t>(*step.skipped));
  } else if (out.iteration == iteration_) {
    ++out.skipped;  // older revisions do not print the number
  } else if (step.last && iteration_ >= 0 && stride_ <= 1 && out.iteration > iteration_ + 1 &&
             out.iteration - iteration_ - 1 <= skipped_ + 1) {
    // Older revisions: the last line alone counts the skipped updates as well, one that was in
    // front of the first line included.
    out.skipped_in_all = out.iteration - iteration_ - 1;
    out.iteration = iteration_ + 1;
  }
  out.skipped_in_all = std::max(out.skipped_in_all, out.skipped);
  return out;
}

void DllRun::read_step(const DllStep& step, const Line& line, RunBuilder& out) {
  if (!(step.iteration >= 0 && step.iteration < 1e15)) return;
  const bool next_epoch = begins_epoch(step);
  // An update that is taken back counts as skipped: where that count goes on the run does.
  const bool goes_on = step.skipped && *step.skipped > static_cast<double>(skipped_);
  const bool back =
      !goes_on && iteration_ >= 0 && static_cast<std::int64_t>(step.iteration) + base_ < iteration_;
  if (closed_ || back) begin_run(out);
  const bool first = iteration_ < 0;
  const Count at = count(step);
  if (!first && at.iteration > iteration_) stride_ = at.iteration - iteration_;
  Sample sample = sample_on(line);
  sample.step = at.iteration + at.skipped;
  const std::int64_t before = iteration_ + skipped_;
  sample.iterations = first ? 1 : std::max<std::int64_t>(1, sample.step - before);
  sample.time_s = step.time_s;
  if (!first && step.time_s > time_s_) sample.seconds = step.time_s - time_s_;
  sample.rate = step.rate;
  // A skipped update comes from an overflow: its loss may be anything.
  const bool overflow = !first && at.skipped > skipped_;
  if (step.loss && (!overflow || std::isfinite(*step.loss))) sample.loss = step.loss;
  RunDraft& draft = run(line, out);
  if (!std::isnan(step.rate)) draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.add(sample);
  if (next_epoch && !reported_) {
    reported_ = true;
    draft.log.notices.push_back(
        make_notice(NoticeCode::iterations_in_no_line, line.number,
                    "iterations after the last line of an epoch of unknown length"));
  }
  if (at.skipped_in_all > 0) draft.log.totals.skipped_steps = at.skipped_in_all;
  draft.ended_well = draft.ended_well || step.last;
  iteration_ = at.iteration;
  skipped_ = at.skipped;
  time_s_ = step.time_s;
}

void DllRun::read_closing(const DllClosing& closing, const Line& line, RunBuilder& out) {
  RunDraft& draft = run(line, out);
  if (closing.rate) {
    draft.log.summary = Stated{*closing.rate, RateUnit::sequences_per_second, line.number};
  }
  if (closing.training_s) draft.log.totals.training_s = closing.training_s;
  if (closing.wall_s) draft.log.totals.wall_s = closing.wall_s;
  draft.end_well(line.number);
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
