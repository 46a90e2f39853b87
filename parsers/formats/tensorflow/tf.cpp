// tf: TensorFlow Estimator and TPUEstimator, and the lines of NVIDIA's BERT for TensorFlow.
//
// TensorFlow hands each message to two loggers: it stands once as "INFO:tensorflow:..." and once
// with an absl stamp ("I0501 17:11:00.381370 <thread> file.py:2308] ..."), which gives the clock.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "parsers/assemble/rank_copies.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/tf_updates.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/tf_message.h"

namespace bertbench::format_tf {
namespace {

// TfSeries: the lines of one TensorFlow run come in up to three series; the best becomes its
// RunLog.

class TfSeries {
 public:
  /// Losses with their step; global_step/sec and examples/sec alone; NVIDIA's lines of a step.
  enum class Kind { loss_step, rate_only, dle };

  /// The run of that series, begun at `line` if there is none.
  RunDraft& at(Kind kind, std::int64_t line, RunBuilder& out);
  /// Null if there is none.
  [[nodiscard]] RunDraft* find(Kind kind) const { return runs_[static_cast<std::size_t>(kind)]; }
  /// Some line of a step was seen.
  [[nodiscard]] bool begun() const { return best() != nullptr; }
  /// A loss that is no number, printed after the run: of every series that has records.
  void set_loss(double loss, std::int64_t line);

  /// What is stated of the whole run; it becomes a run itself where no line of a step stands.
  RunDraft& statements(std::int64_t line, RunBuilder& out);
  /// Null if nothing was stated.
  [[nodiscard]] RunDraft* statements() const { return statements_; }

  /// The run ends: all series but the best are discarded, which takes over what was stated. Null if
  /// there was nothing. `samples`: NVIDIA's lines are of single iterations, so that a closing mean
  /// is better than they are.
  RunDraft* end(bool samples);

 private:
  [[nodiscard]] RunDraft* best() const;

  std::array<RunDraft*, 3> runs_{};
  RunDraft* statements_ = nullptr;
};

RunDraft& TfSeries::at(Kind kind, std::int64_t line, RunBuilder& out) {
  RunDraft*& slot = runs_[static_cast<std::size_t>(kind)];
  if (slot == nullptr) {
    slot = &out.extra(WorkKind::training, line);
    slot->log.iteration_unit = IterationUnit::optimizer_step;
    slot->log.clock_resolution_s = 1e-6;
    slot->log.clock_is_wall = true;
  }
  return *slot;
}

void TfSeries::set_loss(double loss, std::int64_t line) {
  for (RunDraft* run : runs_) {
    if (run != nullptr && run->last() != nullptr) run->set_loss(loss, line);
  }
}

RunDraft& TfSeries::statements(std::int64_t line, RunBuilder& out) {
  if (statements_ == nullptr) {
    statements_ = &out.extra(WorkKind::training, line);
    statements_->discard = true;
  }
  statements_->last_line = line;
  return *statements_;
}

RunDraft* TfSeries::best() const {
  constexpr std::int64_t kDenser = 4;  // rates stand so much more often than losses
  if (RunDraft* dle = find(Kind::dle)) return dle;
  RunDraft* const loss = find(Kind::loss_step);
  RunDraft* const rates = find(Kind::rate_only);
  const bool denser =
      loss == nullptr || (rates != nullptr && rates->count() > kDenser * loss->count());
  return denser ? rates : loss;
}

RunDraft* TfSeries::end(bool samples) {
  RunDraft*& dle = runs_[static_cast<std::size_t>(Kind::dle)];
  if (samples && dle != nullptr && statements_ != nullptr && statements_->log.summary) {
    dle->discard = true;
    dle = nullptr;
  }
  RunDraft* const taken = best();
  for (RunDraft* run : runs_) {
    if (run == nullptr || run == taken) continue;
    run->discard = true;
    if (taken != nullptr && run->log.first_nan_step && !taken->log.first_nan_step) {
      taken->log.first_nan_step = run->log.first_nan_step;
    }
  }
  RunDraft* const said = statements_;
  *this = {};
  if (taken == nullptr) {
    if (said != nullptr) said->discard = false;
    return said;
  }
  if (said != nullptr) {
    taken->log.summary = said->log.summary;
    taken->log.totals.training_s = said->log.totals.training_s;
    taken->log.totals.sequences = said->log.totals.sequences;
    taken->ended_well = said->ended_well;
    taken->last_line = std::max(taken->last_line, said->last_line);
  }
  std::int64_t iterations = 0;
  for (const Record& record : taken->records()) iterations += record.iterations;
  taken->log.totals.iterations = iterations;
  return taken;
}

// The global_step/sec and examples/sec lines of TensorFlow's Estimators as a series of records.

/// The lines carry no step: how many steps one covers follows from the clock. A line waits for its
/// examples/sec line, and the first one for the number of steps of the second.
class TfRates {
 public:
  using DraftAt = std::function<RunDraft&(std::int64_t line)>;

  void read_steps(const TfMessage& message, double rate, double time_s, std::int64_t line,
                  std::int64_t end_byte, const DraftAt& draft);
  void read_examples(double rate);
  /// The run has ended: what waits is put, and the next line begins anew.
  void end(const DraftAt& draft);
  /// examples/sec over global_step/sec: TPUEstimator prints the product of its batch, the global
  /// one, and the other. Nothing where the lines do not agree on one whole number.
  [[nodiscard]] std::optional<std::int64_t> batch() const;

 private:
  struct Line {
    bool set = false;
    double rate = kUnknown, examples = kUnknown, time_s = kUnknown;
    std::string text;  ///< the message, to recognise its second copy
    bool absl = false, twice = false;
    std::int64_t line = 0, end_byte = -1;
  };
  void put(const Line& from, std::int64_t steps, bool first, const DraftAt& draft);
  void put_waiting(const DraftAt& draft);

  Line waiting_, first_;
  double time_s_ = kUnknown;  ///< clock of the record before
  std::int64_t step_ = 0;
  double least_batch_ = 1, most_batch_ = 0;  ///< what all lines so far allow
  bool rated_ = false;
};

void TfRates::read_steps(const TfMessage& message, double rate, double time_s, std::int64_t line,
                         std::int64_t end_byte, const DraftAt& draft) {
  if (waiting_.set && waiting_.text == message.text && !waiting_.twice &&
      waiting_.absl != message.absl) {
    waiting_.twice = true;  // the same message from the other logger
    if (message.absl) waiting_.time_s = time_s;
    return;
  }
  put_waiting(draft);
  waiting_ = {};
  waiting_.set = true;
  waiting_.rate = rate;
  waiting_.time_s = time_s;
  waiting_.text = message.text;
  waiting_.absl = message.absl;
  waiting_.line = line;
  waiting_.end_byte = end_byte;
}

void TfRates::read_examples(double rate) {
  if (!waiting_.set) return;
  waiting_.examples = rate;
  if (!(waiting_.rate > 0) || !(rate > 0)) return;
  constexpr double kDigits = 1e-5;  // six digits of each
  const double least = rate / waiting_.rate * (1 - kDigits);
  const double most = rate / waiting_.rate * (1 + kDigits);
  least_batch_ = rated_ ? std::max(least_batch_, least) : least;
  most_batch_ = rated_ ? std::min(most_batch_, most) : most;
  rated_ = true;
}

std::optional<std::int64_t> TfRates::batch() const {
  const double whole = std::ceil(least_batch_);
  if (!rated_ || !(whole >= 1 && whole < 1e9) || whole > most_batch_ || whole + 1 <= most_batch_) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(whole);
}

void TfRates::put(const Line& from, std::int64_t steps, bool first, const DraftAt& draft) {
  Sample sample;
  step_ += std::max<std::int64_t>(1, steps);
  sample.step = step_;
  sample.iterations = std::max<std::int64_t>(1, steps);
  // The first interval holds the building of the graph: no step time.
  if (steps > 0 && from.rate > 0 && !first) {
    sample.seconds = static_cast<double>(steps) / from.rate;
  }
  sample.time_s = from.time_s;
  RunDraft& run = draft(from.line);
  if (!std::isnan(from.examples)) {
    run.log.rate_unit = RateUnit::sequences_per_second;
    sample.rate = from.examples;
  } else if (run.log.rate_unit != RateUnit::sequences_per_second) {
    run.log.rate_unit = RateUnit::iterations_per_second;
    sample.rate = from.rate;
  }
  sample.line = from.line;
  sample.end_byte = from.end_byte;
  run.add(sample);
}

void TfRates::put_waiting(const DraftAt& draft) {
  if (!waiting_.set) return;
  const std::int64_t steps = tf_steps_in(waiting_.rate, waiting_.time_s - time_s_);
  if (std::isnan(time_s_) && !first_.set && !std::isnan(waiting_.time_s)) {
    first_ = waiting_;  // its own number of steps is that of the next line
  } else {
    if (first_.set) put(first_, steps, true, draft);
    first_.set = false;
    put(waiting_, steps, false, draft);
  }
  time_s_ = waiting_.time_s;
  waiting_ = {};
}

void TfRates::end(const DraftAt& draft) {
  put_waiting(draft);
  if (first_.set) {
    waiting_ = first_;  // a single line: how many steps it covers is not known
    first_ = {};
    waiting_.time_s = time_s_ = kUnknown;
    put_waiting(draft);
  }
  *this = TfRates();
}

constexpr std::string_view kSaving = "Saving checkpoints for ";
constexpr std::string_view kLeftOut = "Skipping time record for ";
// NVIDIA's scripts print their options where Horovod starts them, the head misspelled.
constexpr std::string_view kOptions = "***** Configuaration *****";
constexpr std::string_view kPlanned = "  num_train_steps: ";
constexpr std::string_view kBatch = "  Batch size = ", kMicroSteps = "  num_accumulation_steps: ";
// One GPU of its node is visible to each of Horovod's processes.
constexpr std::string_view kHorovod = "'_session_config': gpu_options {";
constexpr std::string_view kAnchors[] = {"global_step/sec: ",
                                         "examples/sec: ",
                                         ", step = ",
                                         "throughput_train : ",
                                         "train_throughput : ",
                                         ") total_ips : ",
                                         "Throughput Average (sentences/sec)",
                                         "Total Training Time",
                                         "Total Inference Time",
                                         " Performance = ",
                                         " precision training performance: ",
                                         "Loss for final step",
                                         "***** Running ",
                                         kTfRestoring,
                                         kSaving,
                                         kLeftOut,
                                         kPlanned,
                                         kBatch,
                                         kMicroSteps,
                                         kOptions,
                                         kHorovod,
                                         kTfThroughput};

// "0 Total Training Time = 3007.00 ...": the first releases put the rank before it.
std::string_view without_rank(std::string_view text) {
  const auto end = text.find_first_not_of("-0123456789");
  if (end == 0 || end == std::string_view::npos || text[end] != ' ') return text;
  return text.substr(end + 1);
}

using Series = TfSeries::Kind;

class TfParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool read_message(const TfMessage& message, const Line& line, RunBuilder& out);
  bool read_counts(const TfMessage& message, const Line& said, RunBuilder& out);
  bool read_dle(const Line& line, RunBuilder& out);
  bool put_dle(const TfDleLine& read, const Line& line, RunBuilder& out);
  bool read_script(const Line& line, RunBuilder& out);
  bool read_average(std::string_view text, const Line& said, RunBuilder& out);
  bool read_total(const Line& said, RunBuilder& out);
  void read_final_loss(const Line& said, RunBuilder& out);
  bool read_performance(std::string_view text, const Line& said, RunBuilder& out);
  void read_loss_step(const TfMessage& message, const Line& line, RunBuilder& out);
  void read_examples_rate(double rate, const Line& line);
  [[nodiscard]] TfRates::DraftAt rate_draft(RunBuilder& out);
  void end_run(RunBuilder& out);

  TfSeries series_;
  RunDraft* evaluation_ = nullptr;
  bool evaluating_ = false;
  TfClock clock_;

  TfRates rates_;
  double step_rate_ = kUnknown, step_examples_ = kUnknown;  ///< for the loss line that follows
  double loss_rate_ = kUnknown;  ///< steps/s by the newest loss line's seconds, if it has no rate
  std::int64_t loss_step_ = -1;
  double headless_s_ = kUnknown;  ///< seconds of the first loss line, since one that is not there
  TfUpdates updates_;
  bool one_process_ = false;  ///< "Running training" without Horovod's signs before it
  bool horovod_ = false;
  RankCopies dle_ranks_;
  TfTurns turns_;
  std::int64_t images_ = 0;  ///< SSD: the line of the closing rate
  bool samples_ = false;     ///< ResNet: rates of single iterations, not of all
};

TfRates::DraftAt TfParser::rate_draft(RunBuilder& out) {
  return [this, &out](std::int64_t line) -> RunDraft& {
    return series_.at(Series::rate_only, line, out);
  };
}

bool TfParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("throughput_train : ") != std::string_view::npos ||
      line.text.find("train_throughput : ") != std::string_view::npos ||
      line.text.find(") total_ips : ") != std::string_view::npos) {
    return read_dle(line, out);
  }
  if (read_script(line, out)) return true;
  if (line.text.starts_with(kLeftOut)) {
    Cursor cursor(line);
    cursor.literal(kLeftOut);
    cursor.blanks();
    if (const auto updates = cursor.integer()) updates_.note_left_out(*updates);
    return false;
  }
  if (const auto first = tf_first_dle_line(line)) return put_dle(*first, line, out);
  if (line.text.find(kHorovod) != std::string_view::npos) horovod_ = true;
  const auto message = tf_message(line.text);
  return message && read_message(*message, line, out);
}

bool TfParser::read_message(const TfMessage& message, const Line& line, RunBuilder& out) {
  Line said = line;
  said.text = message.text;
  said.literals = {};
  const auto starts = [&](std::string_view what) { return message.text.starts_with(what); };
  if (starts("***** Running ")) {
    evaluating_ = !starts("***** Running training");
    const bool ended = series_.statements() != nullptr && series_.statements()->ended_well;
    // Printed before the first step, and so of the next launch where steps were seen.
    if (!evaluating_ && (ended || series_.begun())) end_run(out);
    if (!evaluating_) one_process_ = !horovod_;
    return true;
  }
  if (read_counts(message, said, out)) return false;
  if (starts("global_step/sec: ")) {
    const auto rate = number_after(said, "global_step/sec: ");
    const bool taken = turns_.see(message, line.rank, rate.value_or(kUnknown));
    if (rate && taken) {
      step_rate_ = *rate;
      rates_.read_steps(message, *rate, clock_.unwrapped(message.time_s), line.number,
                        line.end_byte, rate_draft(out));
    }
    return rate.has_value();
  }
  if (starts("examples/sec: ")) {
    const auto rate = number_after(said, "examples/sec: ");
    if (rate && turns_.see(message, line.rank)) read_examples_rate(*rate, line);
    return rate.has_value();
  }
  if (message.text.find(", step = ") != std::string_view::npos) {
    // Without "step =" a loss is an evaluation's.
    if (!starts("loss = ")) return false;
    read_loss_step(message, said, out);
    return true;
  }
  if (starts("Throughput Average (sentences/sec)")) return read_average(message.text, said, out);
  const std::string_view words = without_rank(message.text);
  if (read_performance(words, said, out)) return true;
  if (words.starts_with("Total Training Time = ")) return read_total(said, out);
  if (starts("Loss for final step")) {
    read_final_loss(said, out);
    return true;
  }
  if (starts("Total Training Time W/O")) {
    const auto steady = number_after(said, "Sentences = ");
    if (steady && *steady >= 0 && *steady < 1e15) {
      updates_.note_sentences(std::llround(*steady), true);
    }
    return true;
  }
  return words.starts_with("Total Inference Time");
}

// Lines that show how many updates were done, and which launch a line is of. None is a record.
bool TfParser::read_counts(const TfMessage& message, const Line& said, RunBuilder& out) {
  if (message.text.starts_with(kOptions)) {
    // Before the next launch's first words.
    const RunDraft* statements = series_.statements();
    const bool ended = statements != nullptr && statements->ended_well;
    if (ended || series_.begun()) end_run(out);
    horovod_ = true;
    return true;
  }
  if (message.text.starts_with(kPlanned)) {
    const auto steps = size_after(said, kPlanned);
    if (steps) updates_.note_planned(*steps);
    return true;
  }
  for (const std::string_view key : {kBatch, kMicroSteps}) {
    if (!message.text.starts_with(key)) continue;
    const auto size = size_after(said, key);
    if (size && key == kMicroSteps) updates_.note_accumulation(*size);
    if (size && key == kBatch && !evaluating_) updates_.note_batch(*size);
    return true;
  }
  if (const auto restored = tf_restored(message.text)) {
    if (!evaluating_ && !series_.begun()) updates_.note_restored(*restored);
    return true;
  }
  if (!message.text.starts_with(kSaving)) return false;
  Cursor cursor(said);
  cursor.literal(kSaving);
  const auto updates = cursor.integer();
  if (!evaluating_ && updates && *updates >= 0 && *updates < 1'000'000'000'000) {
    updates_.note_saved(*updates);
  }
  return true;
}

// "Throughput Average (sentences/sec) with overhead = 50.1" holds start-up: the one without counts.
bool TfParser::read_average(std::string_view text, const Line& said, RunBuilder& out) {
  const bool overhead = text.find("with overhead") != std::string_view::npos;
  const auto value = number_after(said, "= ");
  if (!value) return false;
  if (evaluating_) {
    if (evaluation_ == nullptr) evaluation_ = &out.extra(WorkKind::evaluation, said.number);
    evaluation_->log.summary = Stated{*value, RateUnit::sequences_per_second, said.number};
    evaluation_->end_well(said.number);
  } else if (!overhead) {
    auto& run = series_.statements(said.number, out);
    run.log.summary = Stated{*value, RateUnit::sequences_per_second, said.number};
    run.ended_well = true;
  }
  return true;
}

// "Total Training Time = 123.4 for Sentences = 87599"
bool TfParser::read_total(const Line& said, RunBuilder& out) {
  const auto seconds = number_after(said, "Total Training Time = ");
  auto sentences = number_after(said, {"Sentences = ", "Sentences processed = "});
  if (seconds && sentences && *sentences >= 0 && *sentences < 1e15) {
    auto& run = series_.statements(said.number, out);
    run.log.totals.training_s = *seconds;
    run.log.totals.sequences = std::llround(*sentences);
    updates_.note_sentences(std::llround(*sentences), false);
  }
  return seconds.has_value();
}

void TfParser::read_final_loss(const Line& said, RunBuilder& out) {
  series_.statements(said.number, out).ended_well = true;
  const auto loss = number_after(said, ": ");
  if (!loss || std::isfinite(*loss)) return;
  series_.set_loss(*loss, said.number);
}

// "0 Training Performance = 61.3378 sentences/sec" after SQuAD, in the releases before June 2019.
bool TfParser::read_performance(std::string_view text, const Line& said, RunBuilder& out) {
  const bool training = text.starts_with("Training Performance = ");
  if (!training && !text.starts_with("Inference Performance = ")) return false;
  const auto rate = number_after(said, " Performance = ");
  if (!rate || !text.ends_with(" sentences/sec")) return false;
  if (!training && evaluation_ == nullptr) {
    evaluation_ = &out.extra(WorkKind::evaluation, said.number);
  }
  RunDraft& run = training ? series_.statements(said.number, out) : *evaluation_;
  run.log.summary = Stated{*rate, RateUnit::sequences_per_second, said.number};
  run.end_well(said.number);
  return true;
}

// "Single GPU mixed precision training performance: 71.11968 img/s": what the script of SSD makes
// of the last quarter of global_step/sec, times the batches of all GPUs (the words before it stay
// as they are where a user changed their number).
bool TfParser::read_script(const Line& line, RunBuilder& out) {
  const auto rate = number_after(line, " precision training performance: ");
  if (!rate || !(*rate > 0) || !line.text.ends_with(" img/s")) return false;
  RunDraft& run = series_.statements(line.number, out);
  run.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
  run.ended_well = true;
  images_ = line.number;
  return true;
}

// "loss = 11.079672, step = 32 (1271.735 sec)": the seconds are those since the loss line before.
void TfParser::read_loss_step(const TfMessage& message, const Line& said, RunBuilder& out) {
  const auto read = tf_loss_step(said);
  if (!read) return;
  Sample sample = sample_on(said);
  sample.step = read->step;
  sample.loss = read->loss;
  sample.seconds = read->seconds;
  sample.time_s = clock_.unwrapped(message.time_s);
  RunDraft* run = series_.find(Series::loss_step);
  if (run != nullptr && run->last() != nullptr) {
    sample.seconds = tf_refined(sample.seconds, sample.step - run->last()->step, step_rate_);
  }
  if (run != nullptr && run->goes_back(sample)) end_run(out);
  RunDraft& target = series_.at(Series::loss_step, said.number, out);
  // Without the log's head the seconds, in both copies, are since a line that is not there.
  const Record* newest = target.last();
  if (newest == nullptr) headless_s_ = sample.seconds;
  const bool copy = newest != nullptr && target.count() == 1 && newest->step == sample.step;
  if (newest == nullptr || copy) sample.seconds = kUnknown;
  // train_and_evaluate() prints "Loss for final step" of every round; the next one has begun.
  if (RunDraft* before = series_.statements();
      before != nullptr && !before->log.summary && sample.step > loss_step_) {
    before->ended_well = false;
  }
  if (sample.step != loss_step_) {
    const bool follows = newest != nullptr && sample.step > newest->step;
    loss_rate_ = follows && std::isnan(step_examples_)
                     ? static_cast<double>(sample.step - newest->step) / sample.seconds
                     : kUnknown;
    if (!std::isnan(step_examples_)) {
      sample.rate = step_examples_;
      target.log.rate_unit = RateUnit::sequences_per_second;
    } else if (!std::isnan(step_rate_) && target.log.rate_unit != RateUnit::sequences_per_second) {
      sample.rate = step_rate_;
      target.log.rate_unit = RateUnit::iterations_per_second;
    }
    step_rate_ = step_examples_ = kUnknown;
    loss_step_ = sample.step;
  }
  target.add(sample);
}

// On a TPU the loss line stands before the rates of its interval: they are its own where
// global_step/sec is that of the loss line's seconds.
void TfParser::read_examples_rate(double rate, const Line& line) {
  constexpr double kRateRatioGap = 1e-3;
  step_examples_ = rate;
  rates_.read_examples(rate);
  RunDraft* run = series_.find(Series::loss_step);
  if (run == nullptr) return;
  const double steps = step_rate_ * headless_s_;  // whole: of the same interval
  const bool first = run->count() == 1 && std::isnan(run->last()->printed_rate) && steps >= 1 &&
                     std::abs(steps / std::round(steps) - 1) < kRateRatioGap / 10;
  if (!first && !(std::abs(step_rate_ / loss_rate_ - 1) < kRateRatioGap)) return;
  Sample sample;
  sample.step = loss_step_;
  sample.rate = rate;
  sample.line = line.number;
  sample.end_byte = line.end_byte;
  run->log.rate_unit = RateUnit::sequences_per_second;
  run->add(sample);
  step_rate_ = step_examples_ = loss_rate_ = kUnknown;
}

// The iteration's number stands still while the loss scaler skips updates: such a line is a record
// all the same, as the step was computed.
bool TfParser::read_dle(const Line& line, RunBuilder& out) {
  const auto read = tf_dle_line(line);
  if (!read) return false;
  if (!read->iteration) {
    auto& run = series_.statements(line.number, out);
    if (!run.log.summary) {
      run.log.summary = Stated{read->rate, RateUnit::sequences_per_second, line.number};
    }
    run.ended_well = true;
    return true;
  }
  return put_dle(*read, line, out);
}

bool TfParser::put_dle(const TfDleLine& read, const Line& line, RunBuilder& out) {
  // No skipped update, but a rank's copy.
  if (dle_ranks_.is_copy(line.rank, updates_.stands_still(*read.iteration))) return true;
  if (updates_.begins_anew(*read.iteration)) end_run(out);
  samples_ = read.sample;
  updates_.read_step(read, line, series_.at(Series::dle, line.number, out));
  return true;
}

void TfParser::end_run(RunBuilder& out) {
  const auto batch = rates_.batch();
  rates_.end(rate_draft(out));
  RunDraft* const nvidia = series_.find(Series::dle);
  RunDraft* const taken = series_.end(samples_);
  if (taken != nullptr && taken == nvidia && one_process_ && !horovod_) {
    taken->log.facts.world_size.set(1, FactSource::unknown);
  }
  one_process_ = horovod_ = false;
  updates_.end(taken);
  if (batch && taken != nullptr && !turns_.several() && taken != nvidia) {
    taken->log.facts.global_batch_size.set(*batch, FactSource::log);
  }
  step_rate_ = step_examples_ = loss_rate_ = kUnknown;
  loss_step_ = -1;
}

void TfParser::finish(RunBuilder& out) {
  end_run(out);
  for (const auto& draft : out.drafts()) {
    if (images_ > 0 && draft->log.summary && !draft->discard) {
      draft->log.notices.push_back(make_notice(NoticeCode::closing_rate_of_last_quarter, images_));
    }
    if (!turns_.several() || draft->log.kind != WorkKind::training || draft->discard) continue;
    draft->log.rate_unit = RateUnit::unknown;
    draft->log.notices.push_back(
        make_notice(NoticeCode::rate_of_one_process_left_out, 0,
                    "global_step/sec, which several processes print in turn,"));
  }
  out.facts.framework.set("tensorflow", FactSource::log);
}

std::unique_ptr<LineParser> make() { return std::make_unique<TfParser>(); }

}  // namespace

extern const Format entry;
const Format entry = {
    "tf",
    "TensorFlow Estimator and TPUEstimator, NVIDIA BERT for TensorFlow, bert_train --log-style tf",
    "tensorflow/python/training/basic_session_run_hooks.py; tpu_estimator.py; NVIDIA "
    "DeepLearningExamples TensorFlow/LanguageModeling/BERT",
    kAnchors, make};

}  // namespace bertbench::format_tf
