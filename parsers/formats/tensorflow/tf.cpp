// tf: TensorFlow Estimator and TPUEstimator, and the lines of NVIDIA's BERT for TensorFlow.
//
// TensorFlow hands each message to two loggers: it stands once as "INFO:tensorflow:..." and once
// with an absl stamp ("I0501 17:11:00.381370 <thread> file.py:2308] ..."), which gives the clock.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/assemble/rank_copies.h"
#include "parsers/assemble/tf_updates.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/tf_message.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_tf {
namespace {

// The lines of one TensorFlow run come in up to three series, of which the best becomes its RunLog:
// losses with their step; global_step/sec and examples/sec alone; NVIDIA's lines of a step. Where
// no line of a step stands, what is stated of the whole is a run.
enum Track : std::uint8_t { kLosses, kRates, kDle, kStatements, kEvaluation };

constexpr Begin series(Track track) {
  return {.track = track,
          .unit = IterationUnit::optimizer_step,
          .clock = {.resolution_s = 1e-6, .wall = true},
          .restart = Restart::never};
}

/// What is known of the open run of a series.
struct Series {
  std::int64_t count = 0;       ///< records
  std::int64_t iterations = 0;  ///< of them together
  std::int64_t line = 0;        ///< newest
};

// The global_step/sec and examples/sec lines of TensorFlow's Estimators as a series of records.

/// Steps done in an interval at this rate; 0 when it is not stated.
std::int64_t steps_in(double rate, double seconds) {
  const double steps = std::round(rate * seconds);
  return steps >= 1 && steps < 1e9 ? static_cast<std::int64_t>(steps) : 0;
}

/// The lines carry no step: how many steps one covers follows from the clock. A line waits for its
/// examples/sec line, and the first one for the number of steps of the second.
class TfRates {
 public:
  void read_steps(const TfMessage& message, double rate, double time_s, const Line& line,
                  Emit emit) {
    if (waiting_.set && waiting_.text == message.text && !waiting_.twice &&
        waiting_.absl != message.absl) {
      waiting_.twice = true;  // the same message from the other logger
      if (message.absl) waiting_.time_s = time_s;
      return;
    }
    put_waiting(emit);
    waiting_ = {.set = true,
                .rate = rate,
                .time_s = time_s,
                .text = std::string(message.text),
                .absl = message.absl,
                .line = line.number,
                .end_byte = line.end_byte};
  }
  void read_examples(double rate) {
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

  /// The run has ended: what waits is put, and the next line begins anew.
  void end(Emit emit) {
    put_waiting(emit);
    if (first_.set) {
      waiting_ = std::exchange(first_, {});  // a single line: how many steps it covers is not known
      waiting_.time_s = time_s_ = kUnknown;
      put_waiting(emit);
    }
  }

  [[nodiscard]] const Series& series() const { return series_; }
  /// examples/sec over global_step/sec: TPUEstimator prints the product of its batch, the global
  /// one, and the other. Nothing where the lines do not agree on one whole number.
  [[nodiscard]] std::optional<std::int64_t> batch() const {
    return rated_ ? whole_between(least_batch_, most_batch_) : std::nullopt;
  }

 private:
  struct Waiting {
    bool set = false;
    double rate = kUnknown, examples = kUnknown, time_s = kUnknown;
    std::string text;  ///< the message, to recognise its second copy
    bool absl = false, twice = false;
    std::int64_t line = 0, end_byte = -1;
  };
  void put(const Waiting& from, std::int64_t steps, bool first, Emit emit) {
    Step step{.track = kRates,
              .iterations = std::max<std::int64_t>(1, steps),
              .time_s = from.time_s,
              .line = from.line,
              .end_byte = from.end_byte};
    step.step = series_.iterations += step.iterations;
    ++series_.count;
    series_.line = from.line;
    // The first interval holds the building of the graph: no step time.
    if (steps > 0 && from.rate > 0 && !first) {
      step.seconds = static_cast<double>(steps) / from.rate;
    }
    if (!std::isnan(from.examples)) {
      examples_ = true;
      step.rate = from.examples;
    } else if (!examples_) {
      step.rate = from.rate;
    }
    step.rate_unit = examples_ ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
    emit(std::move(step));
  }

  void put_waiting(Emit emit) {
    if (!waiting_.set) return;
    const std::int64_t steps = steps_in(waiting_.rate, waiting_.time_s - time_s_);
    if (std::isnan(time_s_) && !first_.set && !std::isnan(waiting_.time_s)) {
      first_ = waiting_;  // its own number of steps is that of the next line
    } else {
      if (first_.set) put(first_, steps, true, emit);
      first_.set = false;
      put(waiting_, steps, false, emit);
    }
    time_s_ = waiting_.time_s;
    waiting_ = {};
  }

  Waiting waiting_, first_;
  Series series_;
  double time_s_ = kUnknown;                 ///< clock of the record before
  bool examples_ = false;                    ///< some line had its examples/sec
  double least_batch_ = 1, most_batch_ = 0;  ///< what all lines so far allow
  bool rated_ = false;
};

// "loss = 11.079672, step = 32 (1271.735 sec)" and what stands next to it.

/// The records of these lines, of a run that goes on until a step goes back.
class TfLosses {
 public:
  /// A step so much lower than the newest that no other process of the run prints it.
  [[nodiscard]] bool goes_back(std::int64_t step) const {
    const bool late = (step == before_[0] || step == before_[1]) && step != first_;
    return step < newest_ && !late;
  }

  void put(Step step, Emit emit) {
    if (series_.count == 0 || step.step > newest_) {
      if (series_.count == 0) first_ = step.step;
      if (series_.count > 0) before_[1] = std::exchange(before_[0], newest_);
      series_.iterations += std::max<std::int64_t>(1, step.step - newest_);
      newest_ = step.step;
      rate_ = kUnknown;
      ++series_.count;
    }
    if (!std::isnan(step.rate)) rate_ = step.rate;
    if (step.rate_unit) rate_unit_ = *step.rate_unit;
    series_.line = std::max(series_.line, step.line);
    emit(std::move(step));
  }

  [[nodiscard]] const Series& series() const { return series_; }
  [[nodiscard]] std::int64_t newest() const { return newest_; }
  [[nodiscard]] double rate() const { return rate_; }  ///< of the newest record
  [[nodiscard]] RateUnit rate_unit() const { return rate_unit_; }

 private:
  Series series_;
  std::int64_t first_ = 0, newest_ = 0;
  std::int64_t before_[2] = {-1, -1};  ///< steps before the newest
  double rate_ = kUnknown;
  RateUnit rate_unit_ = RateUnit::unknown;
};

/// A loss line's seconds have three decimals; global_step/sec of the same interval has six digits.
double refined(double seconds, std::int64_t steps, double steps_per_second) {
  if (std::isnan(seconds) || !(steps_per_second > 0) || steps <= 0) return seconds;
  const double finer = static_cast<double>(steps) / steps_per_second;
  return std::abs(finer - seconds) <= 0.001 + 1e-4 * finer ? finer : seconds;
}

/// Whether several processes print a kind of message in turn: another thread alone may be that of
/// the next launch, one whose turn comes again is not. A launcher's label distinguishes them
/// better; where all processes have one thread's number, two unlike rates less than a step apart
/// show them.
class TfTurns {
 public:
  /// Whether the message is of the one process whose messages are taken: of any until several do.
  bool see(const TfMessage& message, int rank, double steps_per_second = kUnknown) {
    constexpr std::size_t kMessagesHeld = 64;
    read_rate(message, steps_per_second);
    const std::int64_t who = rank >= 0 ? -1 - std::int64_t{rank} : message.thread;
    if (who != 0 && who != newest_) {
      if (std::ranges::find(seen_, who) != seen_.end()) {
        if (taken_ == 0) taken_ = who;
      } else if (seen_.size() < kMessagesHeld) {
        seen_.push_back(who);
      }
      newest_ = who;
    }
    return taken_ == 0 || taken_ == who;
  }

  [[nodiscard]] bool several() const { return taken_ != 0 || crowded_; }

 private:
  void read_rate(const TfMessage& message, double steps_per_second) {
    if (std::isnan(message.time_s) || std::isnan(steps_per_second)) return;
    const double steps = (message.time_s - time_s_) * steps_per_second;
    if (steps >= 0 && steps < 0.25 && steps_per_second != rate_) crowded_ = true;
    time_s_ = message.time_s;
    rate_ = steps_per_second;
  }

  std::vector<std::int64_t> seen_;  ///< threads, and ranks as negative numbers
  std::int64_t newest_ = 0, taken_ = 0;
  double time_s_ = kUnknown, rate_ = kUnknown;  ///< of the newest stamped rate
  bool crowded_ = false;
};

/// NVIDIA's lines with a stamp.
std::optional<TfDleLine> dle_line(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("DLL ")) return std::nullopt;
  TfDleLine out;
  out.time_s = date_time(cursor.rest()).value_or(kUnknown);
  // ResNet: "DLL <date> - (0, 380) total_ips : 11633.7", images/s of all ranks.
  if (cursor.skip_past(" - (") && cursor.integer() && cursor.literal(", ")) {
    if (!cursor.read(out.iteration, ") total_ips : ", out.rate) || !(out.rate >= 0)) {
      return std::nullopt;
    }
    out.sample = true;
    return out;
  }

  Cursor value = Cursor::after(line);
  const auto rate = value.number();
  value.blanks();
  // ResNet of 2020 and 2021 closes without a unit: "DLL <date> - () train_throughput : 1431.4".
  const std::string_view unit = value.until(" ").value_or(value.rest());
  const bool bare = unit.empty() && line.text.find(" - () train_throughput : ") != line.text.npos;
  if (!rate || !(bare || unit == "seq/s" || unit == "sequences/s" || unit == "images/s")) {
    return std::nullopt;
  }
  out.rate = *rate;
  Cursor head(line);
  if (head.skip_past("Iteration: ") && !head.read(out.iteration)) return std::nullopt;
  out.loss = number_after(line, "total_loss : ");
  out.one_ahead = has(line, " mlm_loss : ");
  out.scaled = has(line, " loss_scaler : ");
  return out;
}

/// "Step =     10 Throughput =        410.5 MLM Loss = 9.1e+00 NSP Loss = ... Loss =  9.700 ...",
/// as the releases of 2019 print it, of all ranks: without a stamp.
std::optional<TfDleLine> first_dle_line(const Line& line) {
  Cursor cursor(line);
  std::int64_t rank = 0;
  double loss = 0;
  TfDleLine out;
  cursor.read("Rank = ", kBlanks, rank, " :: ");
  if (!cursor.read("Step = ", kBlanks, out.iteration, " Throughput = ", kBlanks, out.rate,
                   " MLM Loss = ") ||
      !(out.rate >= 0)) {
    return std::nullopt;
  }
  if (cursor.skip_past(" NSP Loss = ")) {
    cursor.read(kBlanks, loss, " Loss = ", kBlanks, out.loss);
  }
  out.one_ahead = true;
  out.scaled = has(line, " Loss scale = ");
  return out;
}

// "0 Total Training Time = 3007.00 ...": the first releases put the rank before it.
std::string_view without_rank(std::string_view text) {
  const auto end = text.find_first_not_of("-0123456789");
  if (end == 0 || end == std::string_view::npos || text[end] != ' ') return text;
  return text.substr(end + 1);
}

struct Tf {
  /// A message without what the logger put before it: `read` gets it where the literal begins it.
  template <auto read, bool begins = true>
  bool of_message(const Line& line, Emit emit) {
    const auto found = tf_message(line.text);
    if (!found) return false;
    message = *found;
    message.text = without_rank(message.text);
    Line bare = line;
    bare.text = message.text;
    bare.literals = {};
    bare.at = line.at - (line.text.size() - message.text.size());
    bare.end = bare.at + (line.end - line.at);
    return (bare.at == 0 || !begins) && on<read>({}).handle(this, bare, emit);
  }

  void left_out(const Line& line) {
    std::int64_t updates_done = 0;
    if (line.at == 0 && Cursor::after(line).read(kBlanks, updates_done)) {
      if (!updates.left_out) updates.left_out = updates_done;
    }
  }

  bool running(const Line& line, Emit emit) {
    evaluating = !Cursor::after(line).literal("training");
    // Printed before the first step, and so of the next launch where steps were seen.
    if (!evaluating && (closing.well || begun())) end_run(emit);
    if (!evaluating) one_process = !horovod;
    return true;
  }

  // Lines that show how many updates were done, and which launch a line is of. None is a record.

  void options(const Line&, Emit emit) {
    if (closing.well || begun()) end_run(emit);  // before the next launch's first words
    horovod = true;
  }
  void planned(const Line& line) {
    if (const auto steps = size_here(line)) updates.planned = steps;
  }
  void batch(const Line& line) {
    if (const auto size = size_here(line); size && !evaluating) updates.micro_batch = size;
  }
  void micro_steps(const Line& line) {
    if (const auto size = size_here(line)) updates.accumulation = size;
  }
  // The updates of "Restoring parameters from /results/model.ckpt-60".
  void restored(const Line& line) {
    constexpr std::string_view kCheckpoint = ".ckpt-";
    const auto begin = line.text.rfind(kCheckpoint);
    if (begin == std::string_view::npos) return;
    Cursor cursor(line.text.substr(begin + kCheckpoint.size()), false);
    std::int64_t done = 0;
    if (cursor.read(done) && !evaluating && !begun()) updates.restored = done;
  }

  void saved(const Line& line) {
    std::int64_t saved = 0;
    if (Cursor::after(line).read(saved) && !evaluating) updates.saved = saved;
  }

  bool steps_rate(const Line& line, Emit emit) {
    const auto rate = Cursor::after(line).number();
    const bool taken = turns.see(message, line.rank, rate.value_or(kUnknown));
    if (rate && taken) {
      step_rate = *rate;
      rates.read_steps(message, *rate, clock.at({message.time_s, false}), line, emit);
    }
    return rate.has_value();
  }

  bool examples_rate(const Line& line, Emit emit) {
    const auto rate = Cursor::after(line).number();
    if (rate && turns.see(message, line.rank)) read_examples_rate(*rate, line, emit);
    return rate.has_value();
  }

  static void state_evaluation(double rate, Emit emit) {
    emit(Statement{.track = kEvaluation,
                   .of = Of::begun,
                   .summary = Stated{rate, RateUnit::sequences_per_second}});
    emit(End{.track = kEvaluation});
  }

  void state_rate(double rate, const Line& line) {
    closing.on(line.number).summary = Stated{rate, RateUnit::sequences_per_second, line.number};
    closing.well = true;
  }

  // "Throughput Average (sentences/sec) with overhead = 50.1" holds start-up: the one without
  // counts.
  bool average(const Line& line, Emit emit) {
    const auto value = number_after(line, "= ");
    if (!value) return false;
    if (evaluating) {
      state_evaluation(*value, emit);
    } else if (!has(line, "with overhead")) {
      state_rate(*value, line);
    }
    return true;
  }

  // "Total Training Time = 123.4 for Sentences = 87599"
  bool total(const Line& line) {
    const auto seconds = Cursor::after(line).number();
    const auto sentences = number_after(line, {"Sentences = ", "Sentences processed = "});
    if (seconds && sentences && *sentences >= 0 && *sentences < 1e15) {
      closing.on(line.number).totals = {.training_s = *seconds,
                                        .sequences = std::llround(*sentences)};
      updates.sentences = std::llround(*sentences);
    }
    return seconds.has_value();
  }

  bool steady_total(const Line& line) {
    const auto sentences = number_after(line, "Sentences = ");
    if (sentences && *sentences >= 0 && *sentences < 1e15) {
      updates.steady_sentences = std::llround(*sentences);
    }
    return true;
  }

  bool final_loss(const Line& line, Emit emit) {
    closing.on(line.number).well = true;
    const auto loss = number_after(line, ": ");
    if (!loss || std::isfinite(*loss)) return true;
    updates.not_finite = true;
    for (const Track track : {kLosses, kRates, kDle})
      emit(Statement{.track = track, .loss = *loss});
    return true;
  }

  // "0 Training Performance = 61.3378 sentences/sec" after SQuAD, in the releases before June 2019.
  template <bool training>
  bool performance(const Line& line, Emit emit) {
    const auto rate = Cursor::after(line).number();
    if (!rate || !line.text.ends_with(" sentences/sec")) return false;
    if (training) {
      state_rate(*rate, line);
    } else {
      state_evaluation(*rate, emit);
    }
    return true;
  }

  // "Single GPU mixed precision training performance: 71.11968 img/s": what the script of SSD makes
  // of the last quarter of global_step/sec, times the batches of all GPUs (the words before it stay
  // as they are where a user changed their number).
  bool script(const Line& line) {
    const auto rate = Cursor::after(line).number();
    if (!rate || !(*rate > 0) || !line.text.ends_with(" img/s")) return false;
    state_rate(*rate, line);
    images = line.number;
    return true;
  }

  // "loss = 11.079672, step = 32 (1271.735 sec)": the seconds are those since the loss line before.
  bool loss_step(const Line& line, Emit emit) {
    Step step{.track = kLosses, .line = line.number, .end_byte = line.end_byte, .rank = line.rank};
    Cursor cursor(line);
    if (!cursor.read("loss = ", step.loss, ", step = ", step.step)) return false;
    cursor.read(kBlanks, "(", step.seconds, " sec)");
    step.time_s = clock.at({message.time_s, false});
    if (losses.series().count > 0) {
      step.seconds = refined(step.seconds, step.step - losses.newest(), step_rate);
    }
    if (losses.goes_back(step.step)) end_run(emit);
    // Without the log's head the seconds, in both copies, are since a line that is not there.
    const bool first = losses.series().count == 0;
    if (first) headless_s = step.seconds;
    const bool copy = losses.series().count == 1 && losses.newest() == step.step;
    if (first || copy) step.seconds = kUnknown;
    // train_and_evaluate() prints "Loss for final step" of every round; the next one has begun.
    if (!closing.summary && step.step > newest_loss) closing.well = false;
    if (step.step != newest_loss) {
      const bool follows = !first && step.step > losses.newest();
      loss_rate = follows && std::isnan(step_examples)
                      ? static_cast<double>(step.step - losses.newest()) / step.seconds
                      : kUnknown;
      if (!std::isnan(step_examples)) {
        step.rate = step_examples;
        step.rate_unit = RateUnit::sequences_per_second;
      } else if (!std::isnan(step_rate) && losses.rate_unit() != RateUnit::sequences_per_second) {
        step.rate = step_rate;
        step.rate_unit = RateUnit::iterations_per_second;
      }
      step_rate = step_examples = kUnknown;
      newest_loss = step.step;
    }
    losses.put(step, emit);
    return true;
  }

  // On a TPU the loss line stands before the rates of its interval: they are its own where
  // global_step/sec is that of the loss line's seconds.
  void read_examples_rate(double rate, const Line& line, Emit emit) {
    constexpr double kRateRatioGap = 1e-3;
    step_examples = rate;
    rates.read_examples(rate);
    if (losses.series().count == 0) return;
    const double steps = step_rate * headless_s;  // whole: of the same interval
    const bool first = losses.series().count == 1 && std::isnan(losses.rate()) && steps >= 1 &&
                       std::abs(steps / std::round(steps) - 1) < kRateRatioGap / 10;
    if (!first && !(std::abs(step_rate / loss_rate - 1) < kRateRatioGap)) return;
    losses.put({.track = kLosses,
                .step = newest_loss,
                .rate = rate,
                .rate_unit = RateUnit::sequences_per_second,
                .line = line.number,
                .end_byte = line.end_byte},
               emit);
    step_rate = step_examples = loss_rate = kUnknown;
  }

  // The iteration's number stands still while the loss scaler skips updates: such a line is a
  // record all the same, as the step was computed.
  template <std::optional<TfDleLine> (*read_line)(const Line&)>
  bool step_line(const Line& line, Emit emit) {
    const auto read = read_line(line);
    if (!read) return false;
    if (read->iteration) return put_dle(*read, line, emit);
    closing.on(line.number).well = true;
    if (!closing.summary) {
      closing.summary = Stated{read->rate, RateUnit::sequences_per_second, line.number};
    }
    return true;
  }

  bool put_dle(const TfDleLine& read, const Line& line, Emit emit) {
    // No skipped update, but a rank's copy.
    if (dle_ranks.is_copy(line.rank, updates.stands_still(*read.iteration))) return true;
    if (updates.begins_anew(*read.iteration)) end_run(emit);
    samples = read.sample;
    ++dle.count;
    dle.line = line.number;
    updates.read_step(read, line, emit);
    return true;
  }

  /// Some line of a step was seen.
  [[nodiscard]] bool begun() const {
    return dle.count + losses.series().count + rates.series().count > 0;
  }

  /// The series that becomes the run. NVIDIA's lines of ResNet are of single iterations, so that a
  /// closing mean is better than they are.
  [[nodiscard]] Track best() const {
    constexpr std::int64_t kDenser = 4;  // rates stand so much more often than losses
    if (dle.count > 0 && !(samples && closing.summary)) return kDle;
    if (losses.series().count == 0 && rates.series().count == 0) return kStatements;
    return rates.series().count > kDenser * losses.series().count ? kRates : kLosses;
  }

  void end_run(Emit emit) {
    const auto batch = rates.batch();
    rates.end(emit);
    const Track taken = best();
    const std::pair<Track, const Series*> all[] = {
        {kLosses, &losses.series()}, {kRates, &rates.series()}, {kDle, &dle}};
    for (const auto& [track, of] : all) {
      if (of->count == 0) continue;
      if (track != taken) {
        emit(Withdraw{.track = track, .of = Of::open});
        continue;
      }
      closing.totals.iterations = of->iterations;
      closing.line = std::max(closing.line, of->line);
    }
    if (taken == kStatements && closing.line > 0) {
      emit(Statement{.track = taken, .of = Of::begun, .line = closing.first_line});
    }
    if (taken == kDle && one_process && !horovod) {
      Known known{.track = kDle};
      known.facts.world_size.set(1, FactSource::unknown);
      emit(known);
    }
    if (images > 0 && closing.summary) {
      emit(Note{make_notice(NoticeCode::closing_rate_of_last_quarter, images), taken});
    }
    updates.end(taken, std::exchange(closing, {}), emit);
    if (batch && !turns.several() && taken != kDle) {
      emit.fact(&Facts::global_batch_size, *batch, taken);
    }
    for (const Track track : {kLosses, kRates, kDle}) emit(series(track));
    emit(Begin{.track = kStatements});
    rates = TfRates();
    losses = TfLosses();
    dle = {};
    one_process = horovod = false;
    step_rate = step_examples = loss_rate = kUnknown;
    newest_loss = -1;
  }

  void finish(Emit emit) {
    end_run(emit);
    if (!turns.several()) return;
    for (const Track track : {kLosses, kRates, kDle, kStatements}) {
      emit(Statement{.track = track, .of = Of::all, .rate_unit = RateUnit::unknown});
      emit(Note{make_notice(NoticeCode::rate_of_one_process_left_out, 0,
                            "global_step/sec, which several processes print in turn,"),
                track, Of::all});
    }
  }

  TfMessage message;  ///< of the line that a handler has
  TfClosing closing;  ///< of the open run
  TfRates rates;
  TfLosses losses;
  Series dle;
  TfUpdates updates{kDle};
  bool evaluating = false;
  YearClock clock;
  double step_rate = kUnknown, step_examples = kUnknown;  ///< for the loss line that follows
  double loss_rate = kUnknown;    ///< steps/s by the newest loss line's seconds, if it has no rate
  std::int64_t newest_loss = -1;  ///< step of it
  double headless_s = kUnknown;   ///< seconds of the first loss line, since one that is not there
  bool one_process = false;       ///< "Running training" without Horovod's signs before it
  bool horovod = false;
  RankCopies dle_ranks;
  TfTurns turns;
  std::int64_t images = 0;  ///< SSD: the line of the closing rate
  bool samples = false;     ///< ResNet: rates of single iterations, not of all
};

template <auto read, bool begins = true>
constexpr auto kMessage = &Tf::of_message<read, begins>;

constexpr Row kRows[] = {
    on<&Tf::step_line<dle_line>>("throughput_train : "),
    on<&Tf::step_line<dle_line>>("train_throughput : "),
    on<&Tf::step_line<dle_line>>(") total_ips : "),
    on<&Tf::step_line<first_dle_line>>(" Throughput = "),
    on<&Tf::script>(" precision training performance: "),
    on<&Tf::left_out>("Skipping time record for "),
    // One GPU of its node is visible to each of Horovod's processes.
    on<&Tf::horovod>("'_session_config': gpu_options {"),
    on<kMessage<&Tf::running>>("***** Running "),
    // NVIDIA's scripts print their options where Horovod starts them, the head misspelled.
    on<kMessage<&Tf::options>>("***** Configuaration *****"),
    on<kMessage<&Tf::planned>>("  num_train_steps: "),
    on<kMessage<&Tf::batch>>("  Batch size = "),
    on<kMessage<&Tf::micro_steps>>("  num_accumulation_steps: "),
    on<kMessage<&Tf::restored>>("Restoring parameters from "),
    on<kMessage<&Tf::saved>>("Saving checkpoints for "),
    on<kMessage<&Tf::steps_rate>>("global_step/sec: "),
    on<kMessage<&Tf::examples_rate>>("examples/sec: "),
    on<kMessage<&Tf::loss_step, false>>(", step = "),
    on<kMessage<&Tf::average>>("Throughput Average (sentences/sec)"),
    on<kMessage<&Tf::performance<true>>>("Training Performance = "),
    on<kMessage<&Tf::performance<false>>>("Inference Performance = "),
    on<kMessage<&Tf::total>>("Total Training Time = "),
    on<kMessage<&Tf::steady_total>>("Total Training Time W/O"),
    on<kMessage<&Tf::final_loss>>("Loss for final step"),
};
constexpr Begin kRuns[] = {series(kLosses),
                           series(kRates),
                           series(kDle),
                           {.track = kStatements},
                           {.track = kEvaluation, .work = WorkKind::evaluation}};

}  // namespace

extern const Format entry{
    .name = "tf",
    .title =
        "TensorFlow Estimator and TPUEstimator, NVIDIA BERT for TensorFlow, bert_train "
        "--log-style tf",
    .reference =
        "tensorflow/python/training/basic_session_run_hooks.py; tpu_estimator.py; NVIDIA "
        "DeepLearningExamples TensorFlow/LanguageModeling/BERT",
    .framework = "tensorflow",
    .table = table_of<Tf>(kRows, kRuns)};

}  // namespace bertbench::format_tf
