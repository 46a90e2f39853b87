#include "parsers/assemble/tf_updates.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bertbench {

void TfUpdates::read_rate(const Step& step) {
  const double seconds = step.time_s - std::exchange(time_s_, step.time_s);
  if (!(seconds > 0) || !(step.rate > 0)) return;
  batches_.add(step.rate * seconds / static_cast<double>(step.iterations));
}

void TfUpdates::put(Step step, Emit emit) {
  if (!first_) first_ = step;
  iterations_ += step.iterations;
  read_rate(step);
  const std::int64_t done = step.step - ahead_;
  line_ = std::max(line_, step.line);
  emit(std::move(step));
  if (ahead_ == 0) return;
  // A format's own number where there is one: records keep that which is printed.
  emit(Statement{.track = track_, .totals = {.last_optimizer_step = done}});
  // The script prints the loss scale wherever it computes in half precision.
  Known known{.track = track_};
  known.facts.precision.set(scaled_ ? "fp16" : "fp32", FactSource::unknown);
  emit(known);
}

// The first line of a log without its head, with --display_loss_steps=10: at the first multiple of
// the distance of two lines the count began at 0
// (quoted/tf_updates.the_first_line_of_ten_holds_nine.2); elsewhere at a checkpoint, which is made
// at such a multiple as a rule.
void TfUpdates::put_waiting(Emit emit, std::int64_t stride) {
  if (!waiting_) return;
  Step step = *std::exchange(waiting_, std::nullopt);
  if (stride > 1) step.iterations = step.step == stride ? stride - ahead_ : stride;
  put(std::move(step), emit);
}

void TfUpdates::read_step(const TfDleLine& read, const Line& line, Emit emit) {
  const bool first = printed_ < 0;
  Step step{.track = track_,
            .step = *read.iteration,
            .iterations = 1,
            .time_s = read.time_s,
            .rate = read.rate,
            .loss = read.loss,
            .rate_unit = RateUnit::sequences_per_second,
            .line = line.number,
            .end_byte = line.end_byte};
  not_finite = not_finite || (read.loss && !std::isfinite(*read.loss));
  if (first) {
    ahead_ = read.one_ahead ? 1 : 0;
    if (restored) begin_ = restored;
    // Printed for each of the first updates: the first of them is the one after the checkpoint.
    if (!begin_ && left_out && *left_out > 0) begin_ = *left_out - 1;
    const std::int64_t done = step.step - ahead_;
    if (ahead_ > 0 && begin_ && done > *begin_) step.iterations = done - *begin_;
    if (ahead_ > 0 && done <= begin_.value_or(0)) step.skipped = 1;
  } else {
    step.distinct = step.step == printed_;
    if (step.distinct) step.skipped = 1;
    step.iterations = std::max<std::int64_t>(1, step.step - printed_);
    if (!step.distinct) stride_ = step.step - printed_;
    put_waiting(emit, step.step - printed_);
  }
  printed_ = step.step;
  if (planned) step.planned = *planned + ahead_;
  scaled_ = read.scaled;
  if (first && ahead_ > 0 && !begin_ && step.step > 2) {
    waiting_ = step;
    return;
  }
  put(step, emit);
}

// The numbers of the first and the last update, and with them all iterations.
void TfUpdates::fill_steps(TfClosing& closing, Emit emit) const {
  if (ahead_ == 0) return;
  const std::int64_t done = printed_ - ahead_;
  const bool further = saved && *saved > done && *saved - done < std::max<std::int64_t>(stride_, 2);
  Totals& totals = closing.totals;
  totals.first_optimizer_step =
      begin_.value_or(std::max<std::int64_t>(0, first_->step - ahead_ - first_->iterations));
  totals.last_optimizer_step = further && !not_finite ? *saved : done;
  totals.iterations = iterations_ + (further ? *saved - done : 0);
  emit(
      Note{make_notice(NoticeCode::steps_one_above_updates, first_->line, printed_, done), track_});
}

/// By rate and time of each line: sequences of an iteration, of which the lower quartile is taken,
/// as checkpoints and other work between two steps make it more. Nothing where few lines have both
/// (quoted/tf_updates.the_batch_follows_from_the_rates_where_the_run_did_not_close).
std::optional<double> lower_quartile(std::vector<double> batches) {
  constexpr std::size_t kRatesForABatch = 8;  // lines
  if (batches.size() < kRatesForABatch) return std::nullopt;
  const auto quartile = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 4);
  std::ranges::nth_element(batches, quartile);
  return *quartile;
}

// Rates of the whole job over nearly all time between two lines are a batch an iteration: whole
// micro batches of all GPUs and micro-steps (sequences, where the script's file states no batch),
// as few as can be distinguished for certain.
void TfUpdates::fill_batch_by_rates(Emit emit) const {
  // Shares by which the parts may be below a whole number, as rates are rounded, and above it, as
  // other work lies between two lines. Of more than 16 parts two neighbours are less than two such
  // shares apart.
  constexpr double kPartsRoundedDown = 0.003, kPartsTooMany = 0.03, kPartLimit = 16;
  if (ahead_ == 0) return;
  const auto batch = lower_quartile(batches_.items());
  if (!batch) return;
  const std::int64_t each = micro_batch.value_or(1) * accumulation.value_or(1);
  const double parts = *batch / static_cast<double>(each);
  const double whole = std::floor(parts * (1 + kPartsRoundedDown));
  if (!(whole >= 1 && whole <= kPartLimit) || parts / whole - 1 > kPartsTooMany) return;
  const std::int64_t global = static_cast<std::int64_t>(whole) * each;
  emit.fact(&Facts::global_batch_size, global, track_);
  emit(Note{make_notice(NoticeCode::global_batch_from_rates, first_->line, global), track_});
}

// Updates of a checkpoint that the run went on from; 0 also where no line states it.
std::int64_t TfUpdates::done_before(const TfClosing& closing) const {
  if (begin_ || restored) return begin_.value_or(restored.value_or(0));
  return headed ? closing.totals.first_optimizer_step.value_or(0) : 0;
}

// The log's closing statements count --num_train_steps, whatever was done before the run. Returns
// the batch that they give.
std::optional<std::int64_t> TfUpdates::fill_work(int track, TfClosing& closing, Emit emit) const {
  Totals& totals = closing.totals;
  if (!sentences && ahead_ == 0) return std::nullopt;
  const std::int64_t begin = done_before(closing);
  const auto all = totals.last_optimizer_step ? totals.last_optimizer_step
                   : saved                    ? saved
                                              : planned;
  const bool whole =
      sentences && closing.well && all && *all > 0 && *sentences >= *all && *sentences % *all == 0;
  const auto batch = whole ? std::optional(*sentences / *all) : std::nullopt;
  if (batch) {
    emit.fact(&Facts::global_batch_size, *batch, track);
    emit(Note{
        make_notice(NoticeCode::global_batch_from_totals, closing.line, *batch, *sentences, *all),
        track});
    if (begin > 0) totals.sequences = std::max<std::int64_t>(0, *all - begin) * *batch;
  } else if (begin > 0) {
    totals.sequences.reset();
  }
  if (begin <= 0 || !closing.summary) return batch;
  Stated& stated = *closing.summary;
  const std::int64_t steady = batch ? steady_sentences.value_or(0) : 0;
  const std::int64_t of_this = steady - begin * batch.value_or(0);
  if (steady > 0 && of_this > 0 && steady <= *sentences) {
    const double printed = stated.value;
    stated.value *= static_cast<double>(of_this) / static_cast<double>(steady);
    emit(Note{make_notice(NoticeCode::closing_rate_counts_resumed, stated.line, printed, begin,
                          stated.value),
              track});
    return batch;
  }
  emit(Note{make_notice(NoticeCode::closing_rate_counts_resumed_left_out, stated.line, stated.value,
                        begin),
            track});
  closing.summary.reset();
  return batch;
}

void TfUpdates::end(int track, TfClosing closing, Emit emit) {
  if (track == track_) {
    put_waiting(emit, 0);
    closing.line = std::max(closing.line, line_);
    closing.totals.iterations = iterations_;
    fill_steps(closing, emit);
  }
  const auto batch = fill_work(track, closing, emit);
  if (track == track_ && !batch) fill_batch_by_rates(emit);
  emit(Statement{
      .track = track, .summary = closing.summary, .totals = closing.totals, .line = closing.line});
  if (closing.well) emit(End{.track = track, .here = false});
  *this = TfUpdates(track_);
}

}  // namespace bertbench
