// paddle-hapi: paddle.Model.fit of PaddlePaddle, every release since 2.0.
//
//   Epoch 1/2
//   step 10/80 - loss: 0.6251 - acc: 0.5250 - 55ms/step                              (verbose=2)
//   step 10/80 [==>......] - loss: 0.6972 - acc: 0.5500 - ETA: 2s - 29ms/step        (verbose=1)
//   step 10/80 - loss: 0.8935 - avg_reader_cost: 0.00312 sec - avg_batch_cost: 0.02980 sec -
//   ips: 243.00261 samples/sec - 33ms/step                                           (verbose=3)
//   Eval begin...
//   step 10/20 - loss: 0.7787 - acc: 0.5125 - 22ms/step
//   Eval samples: 160
//
// The time of a step is the mean since the epoch (or the evaluation) began, rounded to whole us, ms
// or s: mean times steps is the clock of the epoch. Reader and batch cost together are the mean of
// the steps since the line before, with more digits: they are taken where they are printed. ips is
// of one process.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"s/step", "Eval begin...", "Predict begin...", "Epoch "};

constexpr std::int64_t kMostEpochs = 1'000'000, kMostSteps = 1'000'000'000;

struct Progress {
  std::int64_t step = 0;
  std::optional<std::int64_t> total;
  double mean_s = kUnknown, resolution_s = kUnknown;
  double interval_s = kUnknown;  ///< of a step, mean since the line before
  std::optional<double> loss;
};

std::optional<Progress> read_progress(const Line& line) {
  Cursor cursor(line);
  Progress out;
  // Backspaces of the redraw before may stand before it.
  const auto begin = line.text.find_first_not_of("\b \r");
  if (begin == std::string_view::npos) return std::nullopt;
  cursor.move_to(begin);
  if (!cursor.literal("step ")) return std::nullopt;
  cursor.blanks();
  const auto step = cursor.integer();
  if (!step || *step < 1 || *step > kMostSteps) return std::nullopt;
  out.step = *step;
  if (cursor.literal("/")) {
    out.total = cursor.integer();
    if (!out.total || *out.total < *step || *out.total > kMostSteps) return std::nullopt;
  }
  if (!cursor.literal(" - ") && !cursor.literal(" [")) return std::nullopt;
  const auto unit = line.text.rfind("s/step");
  if (unit == std::string_view::npos) return std::nullopt;
  const auto dash = line.text.rfind("- ", unit);
  if (dash == std::string_view::npos || dash + 1 < cursor.at()) return std::nullopt;
  Cursor rate(line);
  rate.move_to(dash + 2);
  const auto mean = rate.number();
  if (!mean || !(*mean >= 0)) return std::nullopt;
  const double scale = rate.literal("us/step") ? 1e-6 : rate.literal("ms/step") ? 1e-3 : 1;
  if (scale == 1 && !rate.literal("s/step")) return std::nullopt;
  out.mean_s = *mean * scale;
  out.resolution_s = 0.5 * scale;
  const auto reader = number_after(line, "- avg_reader_cost:");
  const auto batch = number_after(line, "- avg_batch_cost:");
  if (reader && batch && *reader >= 0 && *batch > 0) out.interval_s = *reader + *batch;
  out.loss = number_after(line, "- loss:");
  return out;
}

class PaddleHapiParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_epoch(const Line& line, RunBuilder& out);
  void begin_epoch();
  void add(const Progress& progress, const Line& line, RunBuilder& out);

  std::int64_t epoch_ = 0, epochs_ = 0;  ///< announced; 0 = none
  std::int64_t total_ = 0;               ///< steps of an epoch, where told
  std::int64_t step_ = 0;                ///< newest of the epoch
  std::int64_t base_ = 0;                ///< steps of the epochs before
  double base_s_ = 0, mean_s_ = 0;       ///< their time; newest mean
  double worst_ = 0;                     ///< largest relative rounding of a mean at an epoch's end
  bool training_ = false, intervals_ = false;
  int rank_ = -1;  ///< of several that print, the first one's lines count
};

void PaddleHapiParser::begin_epoch() {
  const std::int64_t steps = std::max(step_, total_);
  base_ += steps;
  base_s_ += mean_s_ * static_cast<double>(steps);
  step_ = 0;
  mean_s_ = 0;
}

bool PaddleHapiParser::see_epoch(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  cursor.blanks();  // a notebook's output is indented
  if (!cursor.literal("Epoch ")) return false;
  const auto epoch = cursor.integer();
  if (epoch && cursor.literal(": Early stopping")) {  // a callback's word: a wanted end
    if (RunDraft* draft = out.open(WorkKind::training)) {
      draft->ended_well = true;
      draft->last_line = line.number;
    }
    return false;
  }
  if (!epoch || !cursor.literal("/")) return false;
  const auto epochs = cursor.integer();
  if (!epochs || *epoch < 1 || *epochs < *epoch || *epochs > kMostEpochs) return false;
  if (!cursor.rest().empty()) return false;
  if (*epoch <= epoch_) {  // fit() was called again
    out.close(WorkKind::training);
    base_ = step_ = total_ = 0;
    base_s_ = mean_s_ = 0;
  } else if (epoch_ > 0) {
    begin_epoch();
  }
  epoch_ = *epoch;
  epochs_ = *epochs;
  training_ = true;
  rank_ = line.rank;
  return false;  // Keras begins its epochs likewise
}

void PaddleHapiParser::add(const Progress& progress, const Line& line, RunBuilder& out) {
  if (progress.step <= step_) return;  // a redraw of the same step
  Sample sample;
  sample.step = base_ + progress.step;
  sample.iterations = progress.step - step_;
  sample.loss = progress.loss;
  sample.line = line.number;
  sample.rank = line.rank;
  step_ = progress.step;
  mean_s_ = progress.mean_s;
  total_ = progress.total.value_or(0);
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.log.iteration_unit = IterationUnit::micro_step;
  if (progress.interval_s > 0) {
    sample.seconds = progress.interval_s * static_cast<double>(sample.iterations);
    intervals_ = true;
  } else if (progress.mean_s > 0 && !intervals_) {
    const auto steps = static_cast<double>(progress.step);
    sample.time_s = base_s_ + progress.mean_s * steps;
    draft.log.clock_resolution_s = std::max(1e-6, progress.resolution_s * steps);
    draft.set_origin(0);
  }
  if (progress.step == progress.total && progress.mean_s > 0) {
    worst_ = std::max(worst_, progress.resolution_s / progress.mean_s);
  }
  draft.add(sample);
  if (epochs_ > 0 && total_ > 0) draft.planned = base_ + total_ * (epochs_ - epoch_ + 1);
  draft.ended_well = epoch_ == epochs_ && progress.step == progress.total;
}

bool PaddleHapiParser::parse(const Line& line, RunBuilder& out) {
  if (rank_ >= 0 && line.rank >= 0 && line.rank != rank_) return read_progress(line).has_value();
  if (line.text.find("Eval begin...") != std::string_view::npos ||
      line.text.find("Predict begin...") != std::string_view::npos) {
    training_ = false;
    return false;
  }
  const auto progress = read_progress(line);
  if (!progress) {
    see_epoch(line, out);
    return false;
  }
  if (training_) add(*progress, line, out);
  return true;
}

void PaddleHapiParser::finish(RunBuilder& out) {
  out.facts.framework.set("paddle", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (worst_ > 0.01 && !intervals_) {
      draft->log.notices.push_back(make_notice(
          NoticeCode::rounded_times, 0, "Paddle's time of a step", 100 * std::min(worst_, 1.0)));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<PaddleHapiParser>(); }

}  // namespace

extern const Format format_paddle_hapi;
const Format format_paddle_hapi = {
    "paddle-hapi", "PaddlePaddle: paddle.Model.fit",
    "https://github.com/PaddlePaddle/Paddle python/paddle/hapi/progressbar.py", kAnchors, make};

}  // namespace bertbench
