// timehistory: the Keras callbacks and training loops of tf-models (tensorflow/models official).
//
//   TimeHistory: 43.91 seconds, 72.87 examples/second between steps 0 and 100         (2020 on)
//   BenchmarkMetric: {'global step':200, 'time_taken': 9.275636,'examples_per_second': 1379.95}
//   BenchmarkMetric: {'num_batches':100, 'time_taken': 4.1,'images_per_second': 780.1}  (2018)
//   Train Step: 20/900  / loss = 10.4                               (custom loops of BERT, 2019)
//   Train Step: 8/8  / loss = 10.38 / time = 9.69 sec   and   Perf 99.05       (NVIDIA's BERT, TF
//   2) train | step:    200 | steps/sec:   15.5 | output: {'train_loss': 0.5}  (orbit's Controller)
//
// Each stands behind an absl stamp or "INFO:tensorflow:", or alone where a script prints it itself.
// The examples are those of all replicas (the callback is given the global batch), and a step is an
// optimizer step. The time leaves out what happens between the end of one interval and the first
// batch of the next (checkpoints, evaluation); the stamps hold it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"TimeHistory: ",
                                         "BenchmarkMetric: {",
                                         "Train Step: ",
                                         "train | step:",
                                         "Run stats:",
                                         "eval | step:",
                                         "] Perf ",
                                         "for Sequences = ",
                                         "Throughput Average (sequences/sec)",
                                         "Global batch size: ",
                                         "hvd.size() = ",
                                         "Total Inference Time"};

/// The global batch as the printed digits allow it: the one whole number that all lines agree on.
class BatchFromDigits {
 public:
  void see(double rate, double rate_half, double seconds, double seconds_half, double steps) {
    low_ = std::max(low_, (rate - rate_half) * (seconds - seconds_half) / steps);
    high_ = std::min(high_, (rate + rate_half) * (seconds + seconds_half) / steps);
  }
  [[nodiscard]] std::optional<std::int64_t> value() const {
    const double first = std::ceil(low_ - 1e-9), last = std::floor(high_ + 1e-9);
    if (!(first >= 1) || first != last || first > 1e12) return std::nullopt;
    return static_cast<std::int64_t>(first);
  }

 private:
  double low_ = 0, high_ = 1e15;
};

class TimeHistoryParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  enum class Source { none, history, metric, loop, controller };
  struct Interval {
    std::int64_t step = 0, steps = 0;
    double seconds = kUnknown, seconds_half = 0, rate = kUnknown, rate_half = 0;
  };

  bool see_history(const Line& line, RunBuilder& out);
  bool see_metric(const Line& line, RunBuilder& out);
  bool see_loop(const Line& line, RunBuilder& out);
  bool see_controller(const Line& line, RunBuilder& out);
  bool see_statement(const Line& line, RunBuilder& out);
  void put(const Interval& interval, Source source, const Line& line, RunBuilder& out);
  RunDraft& begin(std::int64_t step, std::int64_t steps, Source source, std::int64_t line,
                  RunBuilder& out);
  double clock(const Line& line);
  double without_evaluation(double time_s);

  Source source_ = Source::none;  ///< several kinds stand for the same steps: the best one counts
  RunDraft* run_ = nullptr;
  BatchFromDigits batch_;
  std::int64_t step_ = -1, epoch_base_ = 0;
  double newest_ = kUnknown, wrap_s_ = 0;
  double trained_until_s_ = kUnknown, evaluated_until_s_ = kUnknown;  ///< orbit's lines
  double evaluations_s_ = 0;
  std::pair<double, double> metric_{kUnknown, kUnknown};  ///< seconds and rate of the newest line
  int metric_rank_ = -1;
  std::optional<std::int64_t> stated_batch_;  ///< "Global batch size: 256"
  bool inference_ = false;
};

// Seconds of an unnamed year.
double TimeHistoryParser::clock(const Line& line) {
  // It stands in front, or behind the name of a host.
  constexpr std::size_t kLabel = 64;
  auto stamp = absl_time(line.text);
  for (std::size_t at = 1; !stamp && at < std::min(kLabel, line.text.size()); ++at) {
    if (line.text[at - 1] == ' ' && line.text[at] == 'I') stamp = absl_time(line.text.substr(at));
  }
  if (!stamp) return kUnknown;
  constexpr double kYear = 366.0 * 86400;
  if (newest_ - (*stamp + wrap_s_) > kYear / 2) wrap_s_ += kYear;
  newest_ = *stamp + wrap_s_;
  return newest_;
}

// What lies between the line of an interval and that of the evaluation behind it is no training.
double TimeHistoryParser::without_evaluation(double time_s) {
  const double evaluated = evaluated_until_s_ - trained_until_s_;
  if (evaluated > 0) evaluations_s_ += evaluated;
  evaluated_until_s_ = kUnknown;
  trained_until_s_ = time_s;
  return time_s - evaluations_s_;
}

// The run that a line of this source belongs to: another one when the counter goes back.
RunDraft& TimeHistoryParser::begin(std::int64_t step, std::int64_t steps, Source source,
                                   std::int64_t line, RunBuilder& out) {
  const bool back = step_ >= 0 && step < step_ - 2 * std::max<std::int64_t>(1, steps);
  if (run_ == nullptr || source > source_ || back) {
    // The callback's lines say more than the loop's for the same steps.
    if (run_ != nullptr && source > source_ && !back) run_->discard = true;
    run_ = &out.extra(WorkKind::training, line);
    run_->log.iteration_unit = IterationUnit::optimizer_step;
    run_->log.clock_resolution_s = 1e-6;
    run_->log.clock_is_wall = true;
    batch_ = {};
    source_ = source;
    step_ = step;
  }
  step_ = std::max(step_, step);
  return *run_;
}

void TimeHistoryParser::put(const Interval& interval, Source source, const Line& line,
                            RunBuilder& out) {
  if (source < source_ && run_ != nullptr) return;
  RunDraft& run = begin(interval.step, interval.steps, source, line.number, out);
  const auto steps = static_cast<double>(interval.steps);
  batch_.see(interval.rate, interval.rate_half, interval.seconds, interval.seconds_half, steps);
  Sample sample;
  sample.step = interval.step;
  sample.iterations = interval.steps;
  sample.rate = interval.rate;
  sample.time_s = clock(line);
  sample.line = line.number;
  sample.rank = line.rank;
  // The rate has more digits than the seconds.
  constexpr double kFine = 0.005;
  if (const auto batch = stated_batch_ ? stated_batch_ : batch_.value()) {
    run.log.facts.global_batch_size.set(*batch, FactSource::log);
    sample.seconds = steps * static_cast<double>(*batch) / interval.rate;
  } else if (interval.seconds_half <= kFine * interval.seconds) {
    sample.seconds = interval.seconds;
  }
  run.log.rate_unit = RateUnit::sequences_per_second;
  run.add(sample);
}

bool TimeHistoryParser::see_history(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("TimeHistory: ")) return false;
  const auto seconds = cursor.number();
  if (!seconds || !cursor.literal(" seconds, ")) return false;
  const auto rate = cursor.number();
  if (!rate || !cursor.literal(" examples/second between steps ")) return false;
  const auto from = cursor.integer();
  if (!from || !cursor.literal(" and ")) return false;
  const auto to = cursor.integer();
  if (!to || *from < 0 || *to <= *from || *to > 1'000'000'000'000 || !(*seconds >= 0)) return false;
  put({*to, *to - *from, *seconds, 0.005, *rate, 0.005}, Source::history, line, out);
  return true;
}

bool TimeHistoryParser::see_metric(const Line& line, RunBuilder& out) {
  if (line.text.find("BenchmarkMetric: {") == std::string_view::npos) return false;
  auto step = number_after(line, "'global step':");
  auto rate = number_after(line, "'examples_per_second':");
  const bool by_epoch = !step;
  if (by_epoch) {
    step = number_after(line, "'num_batches':");
    rate = number_after(line, {"'images_per_second':", "'examples_per_second':"});
  }
  const auto seconds = number_after(line, "'time_taken':");
  if (!step || !rate || !seconds || !(*step >= 1 && *step < 1e12) || !(*seconds > 0)) {
    // {'epoch':0, 'time_taken': 35.1} tells the end of an epoch.
    return line.text.find("'epoch':") != std::string_view::npos && run_ != nullptr;
  }
  auto at = static_cast<std::int64_t>(*step);
  // The number of batches starts again with each epoch; nothing else on the line names it. The same
  // one may be another worker's.
  const std::pair<double, double> said{*seconds, *rate};
  const bool label = line.rank >= 0 && line.rank != metric_rank_;
  if (by_epoch && run_ != nullptr && at + epoch_base_ == step_ && (label || said == metric_)) {
    return true;
  }
  metric_ = said;
  metric_rank_ = line.rank;
  if (by_epoch && at + epoch_base_ <= step_ && run_ != nullptr) epoch_base_ = step_;
  if (by_epoch) at += epoch_base_;
  const bool follows = run_ != nullptr && source_ == Source::metric && at > step_;
  const std::int64_t steps = follows ? at - step_ : static_cast<std::int64_t>(*step);
  put({at, steps, *seconds, 5e-7, *rate, 5e-7}, Source::metric, line, out);
  if (by_epoch && run_ != nullptr) run_->log.totals.optimizer_steps = at;
  return true;
}

// "Train Step: 20/900  / loss = 10.4": no rate; the clock is the stamp.
bool TimeHistoryParser::see_loop(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("] Train Step: ")) return false;
  const auto step = cursor.integer();
  if (!step || !cursor.literal("/")) return false;
  const auto total = cursor.integer();
  if (!total || !cursor.literal("  / loss = ")) return false;
  const auto loss = cursor.number();
  if (*step < 1 || *total < *step || *total > 1'000'000'000'000) return false;
  Sample sample;
  sample.step = *step;
  sample.time_s = clock(line);
  sample.loss = loss;
  sample.line = line.number;
  sample.rank = line.rank;
  if (cursor.literal(" / time = ")) {
    if (const auto seconds = cursor.number(); seconds && cursor.literal(" sec")) {
      sample.seconds = *seconds;
    }
  }
  if (source_ > Source::loop && run_ != nullptr) {
    if (loss) run_->set_loss(*loss, line.number);
    run_->planned = *total;
    return true;
  }
  RunDraft& run = begin(*step, 1, Source::loop, line.number, out);
  run.planned = *total;
  run.add(sample);
  return true;
}

// orbit: "train | step:    200 | steps/sec:   15.5 | output: \n    {...}" over the whole interval.
bool TimeHistoryParser::see_controller(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("train | step:")) {
    if (line.text.find("eval | step:") == std::string_view::npos || run_ == nullptr) return false;
    evaluated_until_s_ = clock(line);
    return true;
  }
  cursor.blanks();
  const auto step = cursor.integer();
  if (!step || *step < 1 || *step > 1'000'000'000'000 || !cursor.literal(" | steps/sec:")) {
    return false;
  }
  cursor.blanks();
  const auto rate = cursor.number();
  if (!rate) return false;
  std::optional<double> loss = number_after(line, {"'train_loss':", "'training_loss':"});
  if (source_ == Source::history || source_ == Source::metric) {
    if (loss && run_ != nullptr) run_->set_loss(*loss, line.number);
    return true;
  }
  Sample sample;
  sample.step = *step;
  sample.rate = *rate;
  sample.time_s = without_evaluation(clock(line));
  sample.loss = loss;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& run = begin(*step, 1, Source::controller, line.number, out);
  run.log.rate_unit = RateUnit::iterations_per_second;
  run.add(sample);
  return true;
}

// What NVIDIA's loop adds: the rate of a loop without its logging ("Perf"), and at the end the mean
// of those rates. SQuAD's prediction states its rate with the same words.
bool TimeHistoryParser::see_statement(const Line& line, RunBuilder& out) {
  if (const auto perf = number_after(line, "] Perf ")) {
    if (run_ == nullptr || source_ != Source::loop || run_->last() == nullptr) return false;
    Sample sample;
    sample.step = run_->last()->step;
    sample.rate = *perf;
    sample.line = line.number;
    sample.rank = line.rank;
    run_->log.rate_unit = RateUnit::sequences_per_second;
    run_->add(sample);
    return true;
  }
  if (const auto batch = number_after(line, "] Global batch size: ")) {
    if (*batch >= 1 && *batch < 1e12) stated_batch_ = static_cast<std::int64_t>(*batch);
    return false;
  }
  if (const auto world = number_after(line, "hvd.size() = ")) {
    if (run_ != nullptr && *world >= 1 && *world < 1e7) {
      run_->log.facts.world_size.set(static_cast<std::int64_t>(*world), FactSource::log);
    }
    return run_ != nullptr;
  }
  if (line.text.find("Total Inference Time") != std::string_view::npos) {
    inference_ = line.text.find("for Sequences = ") != std::string_view::npos;
    return inference_;
  }
  if (const auto seconds = number_after(line, "Total Training Time = ")) {
    const auto sequences = number_after(line, "for Sequences = ");
    if (!sequences || !(*sequences >= 1 && *sequences < 1e15)) return false;
    inference_ = false;
    if (run_ == nullptr) begin(0, 1, Source::none, line.number, out);
    run_->log.totals.training_s = *seconds;
    run_->log.totals.sequences = static_cast<std::int64_t>(*sequences);
    // A run from step 0 to the planned one: the sequences of a step follow.
    const auto& records = run_->records();
    const bool fresh = records.size() > 1 && records[0].step == records[1].step - records[0].step;
    if (fresh && run_->planned && *run_->log.totals.sequences % *run_->planned == 0) {
      run_->log.facts.global_batch_size.set(*run_->log.totals.sequences / *run_->planned,
                                            FactSource::log);
    }
    run_->last_line = line.number;
    return true;
  }
  const auto rate = number_after(line, "Throughput Average (sequences/sec) = ");
  if (!rate) return false;
  RunDraft& run = inference_        ? out.run(WorkKind::inference, line.number)
                  : run_ != nullptr ? *run_
                                    : begin(0, 1, Source::none, line.number, out);
  run.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
  run.ended_well = true;
  run.last_line = line.number;
  return true;
}

bool TimeHistoryParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("Run stats:") != std::string_view::npos) {
    if (run_ == nullptr) return false;
    run_->ended_well = true;
    run_->last_line = line.number;
    return true;
  }
  return see_history(line, out) || see_metric(line, out) || see_loop(line, out) ||
         see_controller(line, out) || see_statement(line, out);
}

void TimeHistoryParser::finish(RunBuilder& out) {
  out.facts.framework.set("tensorflow", FactSource::log);
  if (evaluations_s_ > 0 && source_ == Source::controller) {
    run_->log.notices.push_back(make_notice(NoticeCode::evaluations_off_the_clock, 0));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<TimeHistoryParser>(); }

}  // namespace

extern const Format format_timehistory;
const Format format_timehistory = {
    "timehistory", "TensorFlow model garden: TimeHistory, BenchmarkMetric, Train Step, orbit",
    "https://github.com/tensorflow/models official/utils/misc/keras_utils.py; orbit/controller.py",
    kAnchors, make};

}  // namespace bertbench
