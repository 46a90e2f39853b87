#include "parsers/formats/dllogger/dll_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bertbench {

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
  facts.gradient_accumulation_steps.set(accumulation_, FactSource::log);
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

void DllRun::begin_run(Emit emit) {
  emit(kDllTraining);
  iteration_ = -1;
  base_ = 0;
  skipped_ = 0;
  stride_ = 1;
  time_s_ = kUnknown;
  closed_ = reported_ = stated_ = false;
}

// ConvNets' own images/s leave out what its clock holds between the lines.
IterationUnit DllRun::unit() const {
  return accumulation_ ? IterationUnit::unknown : IterationUnit::optimizer_step;
}

void DllRun::state_micro_batch(Emit emit) {
  if (stated_ || !micro_batch_ || *micro_batch_ < 1) return;
  stated_ = true;
  emit.fact(&Facts::micro_batch_size, *micro_batch_);
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

std::int64_t DllRun::read_step(const DllStep& read, Emit emit) {
  if (!(read.iteration >= 0 && read.iteration < 1e15)) return -1;
  const bool next_epoch = begins_epoch(read);
  // An update that is taken back counts as skipped: where that count goes on the run does.
  const bool goes_on = read.skipped && *read.skipped > static_cast<double>(skipped_);
  const bool back =
      !goes_on && iteration_ >= 0 && static_cast<std::int64_t>(read.iteration) + base_ < iteration_;
  if (closed_ || back) begin_run(emit);
  const bool first = iteration_ < 0;
  const Count at = count(read);
  if (!first && at.iteration > iteration_) stride_ = at.iteration - iteration_;
  const std::int64_t before = iteration_ + skipped_;
  Step step{.step = at.iteration + at.skipped,
            .time_s = read.time_s,
            .rate = read.rate,
            .unit = unit(),
            .last = read.last};
  step.iterations = first ? 1 : std::max<std::int64_t>(1, step.step - before);
  if (!first && read.time_s > time_s_) step.seconds = read.time_s - time_s_;
  if (!std::isnan(read.rate)) step.rate_unit = RateUnit::sequences_per_second;
  // A skipped update comes from an overflow: its loss may be anything.
  const bool overflow = !first && at.skipped > skipped_;
  if (read.loss && (!overflow || std::isfinite(*read.loss))) step.loss = read.loss;
  const std::int64_t counter = step.step;
  emit(std::move(step));
  state_micro_batch(emit);
  if (next_epoch && !reported_) {
    reported_ = true;
    emit.note_here(NoticeCode::iterations_in_no_line,
                   "iterations after the last line of an epoch of unknown length");
  }
  if (first) first_ = second_ = counter;
  if (second_ == first_) second_ = counter;
  if (at.skipped_in_all > 0) emit(Statement{.totals = {.skipped_steps = at.skipped_in_all}});
  const std::int64_t each = second_ - first_;
  if (each > 1 && first_ % each == 0 && !accumulation_) {
    emit(Statement{
        .totals = {.first_optimizer_step = first_ - each, .last_optimizer_step = counter}});
  }
  iteration_ = at.iteration;
  skipped_ = at.skipped;
  time_s_ = read.time_s;
  return counter;
}

void DllRun::read_closing(const DllClosing& closing, Emit emit) {
  Statement statement{.of = Of::begun,
                      .totals = {.training_s = closing.training_s, .wall_s = closing.wall_s},
                      .unit = unit()};
  if (closing.rate) statement.summary = Stated{*closing.rate, RateUnit::sequences_per_second};
  emit(statement);
  state_micro_batch(emit);
  emit(End{});
  closed_ = true;
}

}  // namespace bertbench
