// keras: the progress bar of Model.fit, of every Keras since 1.0.
//
//   Epoch 3/10
//   1875/1875 [==============================] - 26s 13ms/step - loss: 0.48 - val_loss: 0.52 (2.x)
//   1875/1875 ━━━━━━━━━━━━━━━━━━━━ 26s 13ms/step - accuracy: 0.83 - loss: 0.48               (3.x)
//   1875/1875 - 26s - loss: 0.48 - 26s/epoch - 13ms/step                    (verbose=2, 2.7
//   to 2.15) 1875/1875 - 26s - 13ms/step - loss: 0.48 (verbose=2, 3.x) 60000/60000
//   [==============================] - 4s 71us/sample - loss: 0.3       (counts samples)
//
// One record an epoch, from its last redraw. Both numbers are rounded (whole seconds; whole us, ms
// or s a step): the finer one is taken. The seconds hold the first step (tracing, compilation) and,
// where val_ metrics follow, the validation. Bars that no "Epoch n/m" announces are evaluate()
// (with a loss) and predict(); downloads have neither.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/formats/keras/keras_bar.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    "s/step",     "s/sample", "s/epoch",   " - ETA: ",
    "s - loss: ", "Epoch ",   "Train on ", "Using TensorFlow backend."};

constexpr std::int64_t kMostEpochs = 100'000'000;
/// No training step of Keras' is shorter: calling its function costs more.
constexpr double kShortestStepS = 2e-4;

class KerasParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_epoch(const Line& line, RunBuilder& out);
  bool see_training(const KerasBar& bar, const Line& line, RunBuilder& out);
  bool see_other(const KerasBar& bar, const Line& line, RunBuilder& out);
  void record(const KerasBar& bar, std::int64_t line, RunBuilder& out, bool whole);
  void record_epoch(const KerasBar& bar, std::int64_t line, RunBuilder& out);
  void flush(RunBuilder& out);
  void record_first(RunBuilder& out);
  [[nodiscard]] bool goes_by_batches() const {
    constexpr std::int64_t kEnough = 4;
    return stride_ > 1 && first_ == stride_ && redraws_ >= kEnough;
  }

  std::int64_t epoch_ = 0, epochs_ = 0;  ///< announced by "Epoch n/m"; 0 = none
  bool open_ = false;                    ///< the epoch's bar is not full yet
  std::optional<KerasBar> unfinished_;   ///< newest redraw of the epoch that runs
  std::int64_t unfinished_line_ = 0;
  std::int64_t done_ = 0;  ///< iterations of the epochs that ended
  std::int64_t last_epoch_ = 0;
  /// Workers that write into one log all announce an epoch and end its bar: those of the first one
  /// count.
  std::int64_t copies_ = 0, total_ = 0;
  int rank_ = -1;
  std::optional<std::int64_t> samples_;  ///< "Train on 60000 samples"
  /// The first redraw below the total, and what all of them are multiples of: a bar of samples goes
  /// on by batches from the first one, a bar of steps begins at 1.
  std::int64_t first_ = 0, stride_ = 0, redraws_ = 0;
  bool old_keras_ = false;  ///< before 2.4, where a bar may count samples and call them steps
  double worst_ = 0;        ///< largest relative rounding of an epoch's time
  bool validated_ = false, counts_samples_ = false, unsure_ = false, uncounted_ = false;
  bool from_left_ = false;  ///< the only record is of record_first()
};

bool KerasParser::see_epoch(const Line& line, RunBuilder& out) {
  const auto at = line.text.find("Epoch ");
  if (at == std::string_view::npos) return false;
  // Backspaces and blanks may stand in front.
  if (line.text.find_first_not_of("\b \t", 0) != at) return false;
  Cursor cursor(line);
  cursor.move_to(at + 6);
  const auto epoch = cursor.integer();
  if (epoch && cursor.literal(": early stopping")) {  // a callback's word: a wanted end
    RunDraft* draft = out.open(WorkKind::training);
    if (draft != nullptr && !open_) {
      draft->ended_well = true;
      draft->last_line = line.number;
    }
    return false;
  }
  if (!epoch || !cursor.literal("/")) return false;
  const auto epochs = cursor.integer();
  if (!epochs || *epoch < 1 || *epochs < *epoch || *epochs > kMostEpochs) return false;
  // Other trainers go on behind the numbers; a terminal may leave bits of a bar there.
  if (!cursor.rest().empty() && cursor.rest().find_first_of("=>.\b \r") != 0) return false;
  if (open_ && *epoch == epoch_ && *epochs == epochs_ && !unfinished_ && cursor.rest().empty()) {
    copies_ += line.rank < 0 ? 1 : 0;  // another worker's
    return false;
  }
  copies_ = 0;
  flush(out);
  if (*epoch <= last_epoch_ && open_) return false;
  if (*epoch <= epoch_) {  // fit() was called again
    if (RunDraft* draft = out.open(WorkKind::training)) draft->ended_well = true;
    out.close(WorkKind::training);
    done_ = 0;
    last_epoch_ = 0;
  }
  epoch_ = *epoch;
  epochs_ = *epochs;
  open_ = true;
  return false;  // by itself no sign of Keras
}

void KerasParser::record(const KerasBar& bar, std::int64_t line, RunBuilder& out, bool whole) {
  const auto steps = static_cast<double>(bar.done);
  const double by_step = bar.step_s * steps;
  const double step_error = 0.5 * bar.step_resolution_s / bar.step_s;  // inf at "0us/step"
  const double sum_error = 0.5 / bar.elapsed_s;
  Sample sample;
  sample.line = line;
  sample.iterations = bar.done;
  sample.step = done_ + bar.done;
  if (bar.loss_read) sample.loss = bar.loss;
  double error = kUnknown;
  if (bar.per_step && bar.step_s > 0 && !(sum_error < step_error)) {
    sample.seconds = by_step;
    error = step_error;
  } else if (bar.elapsed_s > 0) {
    sample.seconds = bar.elapsed_s;
    error = sum_error;
  }
  const bool samples =
      bar.per_sample || (samples_ && *samples_ == bar.total) || (!bar.modern && goes_by_batches());
  RunDraft& draft = out.run(WorkKind::training, line);
  if (!draft.last()) draft.own_facts = true;
  draft.log.facts.framework.set("keras", FactSource::log);
  if (samples) {
    counts_samples_ = true;
    if (sample.seconds > 0) {
      sample.rate = steps / sample.seconds;
      draft.log.rate_unit = RateUnit::sequences_per_second;
      // The counter is no number of iterations: a batch must not multiply it.
      sample.seconds = kUnknown;
    }
  } else if (!bar.modern && (!bar.per_step || (old_keras_ && stride_ != 1) ||
                             (bar.step_s > 0 && bar.step_s < kShortestStepS))) {
    unsure_ = true;  // Keras 1: no unit is printed; before 2.4 a "step" may be a sample
  } else {
    draft.log.iteration_unit = IterationUnit::optimizer_step;
  }
  draft.add(sample);
  if (whole) {
    done_ += bar.done;
    last_epoch_ = epoch_;
    draft.ended_well = epoch_ == epochs_;
    validated_ |= bar.validated;
    if (!std::isnan(error)) worst_ = std::max(worst_, error);
  }
}

// A line without a counter: the record is an epoch, whose samples "Train on" may have told.
void KerasParser::record_epoch(const KerasBar& bar, std::int64_t line, RunBuilder& out) {
  Sample sample;
  sample.line = line;
  sample.iterations = 1;
  sample.step = epoch_;
  if (bar.loss_read) sample.loss = bar.loss;
  RunDraft& draft = out.run(WorkKind::training, line);
  if (!draft.last()) draft.own_facts = true;
  draft.log.facts.framework.set("keras", FactSource::log);
  uncounted_ = !samples_;
  if (samples_ && *samples_ > 0 && bar.elapsed_s > 0) {
    sample.rate = static_cast<double>(*samples_) / bar.elapsed_s;
    draft.log.rate_unit = RateUnit::sequences_per_second;
    worst_ = std::max(worst_, 0.5 / bar.elapsed_s);
  }
  draft.add(sample);
  last_epoch_ = epoch_;
  draft.ended_well = epoch_ == epochs_;
  validated_ |= bar.validated;
}

// An epoch that did not end: Keras 3 tells the time of its steps.
void KerasParser::flush(RunBuilder& out) {
  if (unfinished_ && unfinished_->per_step && unfinished_->step_s > 0) {
    record(*unfinished_, unfinished_line_, out, false);
  }
  unfinished_.reset();
}

// A log that ends within its first epoch. Bars before Keras 3 tell the time left: the mean time of
// a step so far times the steps that are missing, cut off to whole seconds.
void KerasParser::record_first(RunBuilder& out) {
  const auto recorded = [](const auto& draft) { return draft->last() != nullptr; };
  if (!unfinished_ || std::ranges::any_of(out.drafts(), recorded)) return;
  KerasBar bar = *unfinished_;
  if (bar.done >= bar.total || std::isnan(bar.left_s)) return;
  constexpr double kMostError = 0.02;
  const double left = bar.left_s + 0.5, error = 0.5 / left;
  if (error <= kMostError) {
    bar.elapsed_s =
        left * static_cast<double>(bar.done) / static_cast<double>(bar.total - bar.done);
    worst_ = error;
    from_left_ = true;
  }
  record(bar, unfinished_line_, out, false);
  unfinished_.reset();
}

bool KerasParser::see_training(const KerasBar& bar, const Line& line, RunBuilder& out) {
  if (bar.done < bar.total || std::isnan(bar.elapsed_s)) {
    unfinished_ = bar;
    unfinished_line_ = line.number;
    if (bar.done < bar.total) {
      if (redraws_++ == 0) first_ = bar.done;
      stride_ = std::gcd(stride_, bar.done);
    }
    return true;
  }
  // Keras 3 draws a full bar with time left 0s and once more with the seconds of the epoch: only
  // the line break tells them apart.
  if (line.terminator == '\r') {
    unfinished_ = bar;
    unfinished_line_ = line.number;
    return true;
  }
  unfinished_.reset();
  if (bar.total > 0) {
    record(bar, line.number, out, true);
  } else {
    record_epoch(bar, line.number, out);
  }
  open_ = false;
  total_ = bar.total;
  return true;
}

bool KerasParser::see_other(const KerasBar& bar, const Line& line, RunBuilder& out) {
  if (bar.done != bar.total || line.terminator == '\r' || !bar.per_step || !(bar.step_s > 0)) {
    return true;
  }
  if (out.open(WorkKind::training) == nullptr && !bar.loss_known) return false;  // a download
  const WorkKind kind = bar.loss_known ? WorkKind::evaluation : WorkKind::inference;
  RunDraft& draft = out.run(kind, line.number);
  draft.own_facts = true;
  draft.log.facts.framework.set("keras", FactSource::log);
  Sample sample;
  sample.line = line.number;
  sample.iterations = bar.done;
  sample.step = (draft.last() != nullptr ? draft.last()->step : 0) + bar.done;
  sample.seconds = bar.step_s * static_cast<double>(bar.done);
  draft.add(sample);
  draft.ended_well = true;
  return true;
}

bool KerasParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("Train on ") != std::string_view::npos) {
    Cursor cursor(line);
    cursor.skip_past("Train on ");
    const auto samples = cursor.integer();
    if (samples && cursor.literal(" samples")) samples_ = *samples;
    return false;
  }
  if (line.text.find("Using TensorFlow backend.") != std::string_view::npos) {
    old_keras_ = true;
    return false;
  }
  const auto bar = read_keras_bar(line);
  if (rank_ < 0 && bar) rank_ = line.rank;
  const bool others = rank_ >= 0 && line.rank >= 0 && line.rank != rank_;
  if (others) return bar.has_value();
  if (!bar) {
    see_epoch(line, out);
    return false;
  }
  // A loss tells a training bar from a predict() that a callback runs within the epoch.
  if (open_ && bar->loss_known) return see_training(*bar, line, out);
  if (open_ || bar->total == 0) return open_;
  if (copies_ > 0 && bar->loss_known && bar->total == total_) {
    copies_ -= bar->done == bar->total && line.terminator != '\r' ? 1 : 0;
    return true;
  }
  return see_other(*bar, line, out);
}

void KerasParser::finish(RunBuilder& out) {
  record_first(out);
  flush(out);
  for (const auto& draft : out.drafts()) {
    if (draft->log.kind != WorkKind::training) continue;
    const auto add = [&](NoticeCode code, const auto&... values) {
      draft->log.notices.push_back(make_notice(code, 0, values...));
    };
    if (worst_ > 0.01) {
      add(NoticeCode::rounded_times, "Keras' time of an epoch", 100 * std::min(worst_, 1.0));
    }
    if (validated_) add(NoticeCode::time_includes, "the time of an epoch", "its validation");
    if (from_left_) add(NoticeCode::epoch_not_ended);
    if (counts_samples_) add(NoticeCode::bar_counts_samples);
    if (uncounted_) add(NoticeCode::no_rate_in_log, "the time of an epoch and not its steps");
    if (unsure_) add(NoticeCode::counter_unit_unknown);
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<KerasParser>(); }

}  // namespace

extern const Format format_keras;
const Format format_keras = {"keras", "Keras progress bars of fit(), every release",
                             "https://github.com/keras-team/keras keras/src/utils/progbar.py",
                             kAnchors, make};

}  // namespace bertbench
