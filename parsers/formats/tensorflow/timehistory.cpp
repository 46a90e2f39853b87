// timehistory: the Keras callbacks and training loops of tf-models (tensorflow/models official).
//
//   TimeHistory: 43.91 seconds, 72.87 examples/second between steps 0 and 100         (2020 on)
//   BenchmarkMetric: {'global step':200, 'time_taken': 9.275636,'examples_per_second': 1379.95}
//   BenchmarkMetric: {'num_batches':100, 'time_taken': 4.1,'images_per_second': 780.1}  (2018)
//   Train Step: 20/900  / loss = 10.4                               (custom loops of BERT, 2019)
//   Train Step: 8/8  / loss = 10.38 / time = 9.69 sec   and   Perf 99.05
//       (NVIDIA's BERT, TF 2)
//   train | step:    200 | steps/sec:   15.5 | output: {'train_loss': 0.5}
//       (orbit's Controller)
//
// Each stands after an absl stamp or "INFO:tensorflow:", or alone where a script prints it itself.
// The examples are those of all replicas (the callback is given the global batch), and a step is an
// optimizer step. The time leaves out what happens between the end of one interval and the first
// batch of the next (checkpoints, evaluation); the stamps hold it.
#include <algorithm>
#include <optional>
#include <utility>

#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_timehistory {
namespace {

enum Track { kTraining, kInference };

struct TimeHistory {
  // The later ones know more of the same steps: the loop's lines have stamps, which hold
  // evaluations.
  enum class Source { none, loop, history, metric, controller };

  // A line of a later source takes the place of what came before; a counter that goes back begins
  // another run.
  void begin(std::int64_t step, std::int64_t steps, Source from, Emit emit) {
    const bool back = step < newest - 2 * std::max<std::int64_t>(1, steps);
    if (!running || from > source || back) {
      if (running && !back) emit(Withdraw{.of = Of::open});
      emit(Begin{kTrainingRun});
      batch_low = 0;
      batch_high = 1e15;
      source = from;
      newest = first = second = -1;
      running = true;
    }
    if (step > newest && first >= 0 && second < 0) second = step;
    if (first < 0) first = step;
    newest = std::max(newest, step);
  }

  /// `seconds` and the rate of `at` are right within half of their last digits, `half`.
  void put(Step at, double seconds, double half, Source from, const Line& line, Emit emit) {
    if (from < source && running) return;
    begin(at.step, at.iterations, from, emit);
    const auto steps = static_cast<double>(at.iterations);
    // The global batch is the one whole number that the digits of all lines allow.
    batch_low = std::max(batch_low, (at.rate - half) * (seconds - half) / steps);
    batch_high = std::min(batch_high, (at.rate + half) * (seconds + half) / steps);
    constexpr double kOfSums = 1e-9;  // what the products above are rounded by
    auto batch = stated_batch;
    if (!batch) batch = whole_between(batch_low - kOfSums, batch_high + kOfSums);
    constexpr double kMostRounding = 0.005;  // of the seconds, as a share
    if (batch) {                             // the rate has more digits than the seconds
      at.seconds = steps * static_cast<double>(*batch) / at.rate;
    } else if (half <= kMostRounding * seconds) {
      at.seconds = seconds;
    }
    at.time_s = front_time(line.text);
    at.rate_unit = RateUnit::sequences_per_second;
    emit(at);
    emit.fact(&Facts::global_batch_size, batch);
  }

  bool history(const Line& line, Emit emit) {
    double seconds = 0;
    std::int64_t from = 0;
    Step at;
    if (!Cursor::after(line).read(seconds, " seconds, ", at.rate, " examples/second between steps ",
                                  from, " and ", at.step) ||
        at.step <= from || !(seconds >= 0)) {
      return false;
    }
    at.iterations = at.step - from;
    put(at, seconds, 0.005, Source::history, line, emit);
    return true;
  }

  bool metric(const Line& line, Emit emit) {
    auto step = count_after(line, "'global step':");
    auto rate = number_after(line, "'examples_per_second':");
    const bool by_epoch = !step;
    if (by_epoch) {
      step = count_after(line, "'num_batches':");
      rate = number_after(line, {"'images_per_second':", "'examples_per_second':"});
    }
    const auto seconds = number_after(line, "'time_taken':");
    if (!step || !rate || !seconds || *step < 1 || !(*seconds > 0)) {
      return running && has(line, "'epoch':");  // {'epoch':0, 'time_taken': 35.1} ends an epoch
    }
    Step at{.step = *step, .iterations = *step, .rate = *rate};
    // The number of batches starts again with each epoch; nothing else on the line names it. The
    // same one may be another worker's.
    if (by_epoch && running) {
      const bool label = line.rank >= 0 && line.rank != metric_rank;
      if (at.step + epoch_base == newest &&
          (label || std::pair(*seconds, *rate) == metric_before)) {
        return true;
      }
      if (at.step + epoch_base <= newest) epoch_base = newest;
    }
    metric_before = {*seconds, *rate};
    metric_rank = line.rank;
    if (by_epoch) at.step += epoch_base;
    if (running && source == Source::metric && at.step > newest) at.iterations = at.step - newest;
    put(at, *seconds, 5e-7, Source::metric, line, emit);
    if (by_epoch) emit(Statement{.totals = {.optimizer_steps = at.step}});
    return true;
  }

  // "Train Step: 20/900  / loss = 10.4": no rate; the clock is the stamp.
  bool loop(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    Step at{.time_s = front_time(line.text)};
    if (!cursor.read(at.step, "/", at.planned, "  / loss = ") || at.step < 1 ||
        *at.planned < at.step) {
      return false;
    }
    at.loss = cursor.number();
    double seconds = 0;
    if (cursor.read(" / time = ", seconds, " sec")) at.seconds = seconds;
    planned = at.planned;
    if (running && source > Source::loop) {
      emit(Statement{.loss = at.loss});
      return true;
    }
    begin(at.step, 1, Source::loop, emit);
    emit(at);
    return true;
  }

  // orbit: "train | step:    200 | steps/sec:   15.5 | output: \n    {...}" over the whole
  // interval.
  bool controller(const Line& line, Emit emit) {
    Step at{.rate_unit = RateUnit::iterations_per_second};
    if (!Cursor::after(line).read(kBlanks, at.step, " | steps/sec:", kBlanks, at.rate) ||
        at.step < 1) {
      return false;
    }
    at.loss = number_after(line, {"'train_loss':", "'training_loss':"});
    if (source == Source::history || source == Source::metric) {
      if (at.loss) emit(Statement{.loss = at.loss});
      return true;
    }
    // What lies between this line and that of the evaluation after it is no training.
    const double evaluated = std::exchange(evaluated_until_s, kUnknown) - trained_until_s;
    if (evaluated > 0) evaluations_s += evaluated;
    trained_until_s = front_time(line.text);
    at.time_s = trained_until_s - evaluations_s;
    begin(at.step, 1, Source::controller, emit);
    emit(at);
    return true;
  }

  bool evaluation(const Line& line) {
    if (running) evaluated_until_s = front_time(line.text);
    return running;
  }

  // The main() of the official models of 2019 to 2021 logs what run() returned.
  bool stats(const Line&, Emit emit) {
    emit(End{});
    return running;
  }

  // What NVIDIA's loop adds: the rate of a loop without its logging ("Perf"), and at the end the
  // mean of those rates. SQuAD's prediction states its rate with the same words.
  bool perf(const Line& line, Emit emit) {
    Step at{.step = newest, .rate_unit = RateUnit::sequences_per_second};
    if (!Cursor::after(line).read(kBlanks, at.rate) || source != Source::loop) return false;
    emit(at);
    return true;
  }

  bool world(const Line& line, Emit emit) {
    emit.fact(&Facts::world_size, size_here(line));
    return running;
  }

  bool inference_time(const Line& line) { return inference = has(line, "for Sequences = "); }

  bool training_time(const Line& line, Emit emit) {
    Statement event;
    const auto sequences = count_after(line, "for Sequences = ");
    if (!Cursor::after(line).read(kBlanks, event.totals.training_s) || !sequences ||
        *sequences < 1) {
      return false;
    }
    inference = false;
    if (!running) begin(0, 1, Source::none, emit);
    event.of = Of::begun;
    event.totals.sequences = sequences;
    emit(event);
    // A run from step 0 to the planned one: the sequences of a step follow.
    if (planned && second > 0 && second == 2 * first && *sequences % *planned == 0) {
      emit.fact(&Facts::global_batch_size, *sequences / *planned);
    }
    return true;
  }

  bool average(const Line& line, Emit emit) {
    double rate = 0;
    if (!Cursor::after(line).read(kBlanks, rate)) return false;
    if (!inference && !running) begin(0, 1, Source::none, emit);
    const int track = inference ? kInference : kTraining;
    emit(Statement{
        .track = track, .of = Of::begun, .summary = Stated{rate, RateUnit::sequences_per_second}});
    emit(End{.track = track});
    return true;
  }

  void finish(Emit emit) {
    if (evaluations_s > 0 && source == Source::controller) {
      emit.note_here(NoticeCode::evaluations_off_the_clock);
    }
  }

  static constexpr Begin kTrainingRun{.unit = IterationUnit::optimizer_step,
                                      .clock = {1e-6, true, true},
                                      .restart = Restart::never};

  Source source = Source::none;  ///< several kinds stand for the same steps: the best one counts
  bool running = false, inference = false;
  std::int64_t newest = -1, first = -1, second = -1;  ///< steps of the run that goes on
  std::int64_t epoch_base = 0;
  double batch_low = 0, batch_high = 1e15;
  double trained_until_s = kUnknown, evaluated_until_s = kUnknown;  ///< orbit's lines
  double evaluations_s = 0;
  std::pair<double, double> metric_before{kUnknown, kUnknown};  ///< seconds and rate
  int metric_rank = -1;
  std::optional<std::int64_t> stated_batch, planned;
};

constexpr Row kRows[] = {
    on<&TimeHistory::stats>("Run stats:"),
    on<&TimeHistory::history>("TimeHistory: "),
    on<&TimeHistory::metric>("BenchmarkMetric: {"),
    on<&TimeHistory::loop>("] Train Step: "),
    on<&TimeHistory::controller>("train | step:"),
    on<&TimeHistory::evaluation>("eval | step:"),
    on<&TimeHistory::perf>("] Perf "),
    on<&TimeHistory::stated_batch>("] Global batch size: "),
    on<&TimeHistory::world>("hvd.size() = "),
    on<&TimeHistory::inference_time>("Total Inference Time"),
    on<&TimeHistory::training_time>("Total Training Time = "),
    on<&TimeHistory::average>("Throughput Average (sequences/sec) = "),
};

constexpr Begin kRuns[] = {TimeHistory::kTrainingRun,
                           {.track = kInference, .work = WorkKind::inference}};

}  // namespace

extern const Format entry{
    .name = "timehistory",
    .title = "TensorFlow model garden: TimeHistory, BenchmarkMetric, Train Step, orbit",
    .reference =
        "https://github.com/tensorflow/models official/utils/misc/keras_utils.py; "
        "orbit/controller.py",
    .framework = "tensorflow",
    .table = table_of<TimeHistory>(kRows, kRuns)};

}  // namespace bertbench::format_timehistory
