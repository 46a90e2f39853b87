#include "parsers/assemble/tf_updates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bertbench {

void TfUpdates::note_left_out(std::int64_t updates) {
  if (!left_out_ && updates >= 0) left_out_ = updates;
}

void TfUpdates::put(const Sample& sample, RunDraft& run) {
  run.add(sample);
  // A format's own number where there is one: records keep that which is printed.
  if (ahead_ > 0) run.log.totals.last_optimizer_step = run.last()->step - ahead_;
}

// The first line of a log without its head, with --display_loss_steps=10: at the first multiple of
// the distance of two lines the count began at 0
// (quoted/tf_updates.the_first_line_of_ten_holds_nine.2); elsewhere at a checkpoint, which is made
// at such a multiple as a rule.
void TfUpdates::put_waiting(RunDraft& run, std::int64_t stride) {
  if (!waiting_) return;
  if (stride > 1) {
    waiting_->iterations = waiting_->step == stride ? stride - ahead_ : stride;
  }
  put(*waiting_, run);
  waiting_.reset();
}

void TfUpdates::read_step(const TfDleLine& read, const Line& line, RunDraft& run) {
  const bool first = printed_ < 0;
  Sample sample;
  sample.step = *read.iteration;
  sample.rate = read.rate;
  sample.time_s = read.time_s;
  sample.loss = read.loss;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  sample.iterations = 1;
  auto& skipped = run.log.totals.skipped_steps;
  if (first) {
    ahead_ = read.one_ahead ? 1 : 0;
    if (restored_) begin_ = restored_;
    // Printed for each of the first updates: the first of them is the one after the checkpoint.
    if (!begin_ && left_out_ && *left_out_ > 0) begin_ = *left_out_ - 1;
    const std::int64_t done = sample.step - ahead_;
    if (ahead_ > 0 && begin_ && done > *begin_) sample.iterations = done - *begin_;
    if (ahead_ > 0 && done <= begin_.value_or(0)) skipped = skipped.value_or(0) + 1;
  } else {
    sample.distinct = sample.step == printed_;
    if (sample.distinct) skipped = skipped.value_or(0) + 1;
    sample.iterations = std::max<std::int64_t>(1, sample.step - printed_);
    if (!sample.distinct) stride_ = sample.step - printed_;
    put_waiting(run, sample.step - printed_);
  }
  printed_ = sample.step;
  run.log.rate_unit = RateUnit::sequences_per_second;
  if (planned_) run.log.planned = *planned_ + ahead_;
  // The script prints the loss scale wherever it computes in half precision.
  if (ahead_ > 0) run.log.facts.precision.set(read.scaled ? "fp16" : "fp32", FactSource::unknown);
  if (first && ahead_ > 0 && !begin_ && sample.step > 2) {
    waiting_ = sample;
    return;
  }
  put(sample, run);
}

// The numbers of the first and the last update, and with them all iterations.
void TfUpdates::fill_steps(RunDraft& run) const {
  if (ahead_ == 0 || run.last() == nullptr) return;
  Totals& totals = run.log.totals;
  const Record& first = run.records().front();
  const std::int64_t done = run.last()->step - ahead_;
  const bool further =
      saved_ && *saved_ > done && *saved_ - done < std::max<std::int64_t>(stride_, 2);
  totals.first_optimizer_step =
      begin_.value_or(std::max<std::int64_t>(0, first.step - ahead_ - first.iterations));
  totals.last_optimizer_step = further ? *saved_ : done;
  if (run.log.first_nan_step) totals.last_optimizer_step = done;
  std::int64_t iterations = further ? *saved_ - done : 0;
  for (const Record& record : run.records()) iterations += record.iterations;
  totals.iterations = iterations;
  run.log.notices.push_back(
      make_notice(NoticeCode::steps_one_above_updates, first.line, run.last()->step, done));
}

/// By rate and time of each line: sequences of an iteration, of which the lower quartile is taken,
/// as checkpoints and other work between two steps make it more. Nothing where few lines have both
/// (quoted/tf_updates.the_batch_follows_from_the_rates_where_the_run_did_not_close).
std::optional<double> batch_by_rates(const std::vector<Record>& records) {
  constexpr std::size_t kRatesForABatch = 8;  // lines
  std::vector<double> batches;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const double seconds = records[i].time_s - records[i - 1].time_s;
    if (!(seconds > 0) || !(records[i].printed_rate > 0) || records[i].iterations < 1) continue;
    batches.push_back(records[i].printed_rate * seconds /
                      static_cast<double>(records[i].iterations));
  }
  if (batches.size() < kRatesForABatch) return std::nullopt;
  const auto quartile = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 4);
  std::ranges::nth_element(batches, quartile);
  return *quartile;
}

// Rates of the whole job over nearly all time between two lines are a batch an iteration: whole
// micro batches of all GPUs and micro-steps (sequences, where the script's file states no batch),
// as few as can be distinguished for certain.
void TfUpdates::fill_batch_by_rates(RunDraft& run) const {
  // Shares by which the parts may be below a whole number, as rates are rounded, and above it, as
  // other work lies between two lines. Of more than 16 parts two neighbours are less than two such
  // shares apart.
  constexpr double kPartsRoundedDown = 0.003, kPartsTooMany = 0.03, kPartLimit = 16;
  auto& global = run.log.facts.global_batch_size;
  if (ahead_ == 0 || global.known()) return;
  const auto batch = batch_by_rates(run.records());
  if (!batch) return;
  const std::int64_t each = micro_batch_.value_or(1) * accumulation_.value_or(1);
  const double parts = *batch / static_cast<double>(each);
  const double whole = std::floor(parts * (1 + kPartsRoundedDown));
  if (!(whole >= 1 && whole <= kPartLimit) || parts / whole - 1 > kPartsTooMany) return;
  global.set(static_cast<std::int64_t>(whole) * each, FactSource::log);
  run.log.notices.push_back(
      make_notice(NoticeCode::global_batch_from_rates, run.log.first_line, *global.value));
}

// Updates of a checkpoint that the run went on from; 0 also where no line states it.
std::int64_t TfUpdates::done_before(const RunDraft& run) const {
  if (begin_) return *begin_;
  if (restored_) return *restored_;
  return headed_ ? run.log.totals.first_optimizer_step.value_or(0) : 0;
}

// The log's closing statements count --num_train_steps, whatever was done before the run.
void TfUpdates::fill_work(RunDraft& run) const {
  Totals& totals = run.log.totals;
  if (!sentences_ && ahead_ == 0) return;
  const std::int64_t begin = done_before(run);
  const auto all = totals.last_optimizer_step ? totals.last_optimizer_step
                   : saved_                   ? saved_
                                              : planned_;
  const bool whole = sentences_ && run.ended_well && all && *all > 0 && *sentences_ >= *all &&
                     *sentences_ % *all == 0;
  if (whole) {
    const std::int64_t batch = *sentences_ / *all;
    if (!run.log.facts.global_batch_size.known()) {
      run.log.facts.global_batch_size.set(batch, FactSource::log);
      run.log.notices.push_back(make_notice(NoticeCode::global_batch_from_totals, run.last_line,
                                            batch, *sentences_, *all));
    }
    if (begin > 0) totals.sequences = std::max<std::int64_t>(0, *all - begin) * batch;
    if (begin <= 0 || !run.log.summary) return;
    const std::int64_t steady = steady_sentences_.value_or(0);
    const std::int64_t of_this = steady - begin * batch;
    if (of_this > 0 && steady <= *sentences_) {
      Stated& stated = *run.log.summary;
      const double printed = stated.value;
      stated.value *= static_cast<double>(of_this) / static_cast<double>(steady);
      run.log.notices.push_back(make_notice(NoticeCode::closing_rate_counts_resumed, stated.line,
                                            printed, begin, stated.value));
      return;
    }
  } else if (begin > 0) {
    totals.sequences.reset();
  }
  if (begin <= 0 || !run.log.summary) return;
  run.log.notices.push_back(make_notice(NoticeCode::closing_rate_counts_resumed_left_out,
                                        run.log.summary->line, run.log.summary->value, begin));
  run.log.summary.reset();
}

void TfUpdates::end(RunDraft* run) {
  if (run != nullptr) {
    put_waiting(*run, 0);
    fill_steps(*run);
    fill_work(*run);
    fill_batch_by_rates(*run);
  }
  *this = {};
}

}  // namespace bertbench
