// keras: the progress bar of Model.fit, of every Keras since 1.0.
//
//   Epoch 3/10
//   1875/1875 [==============================] - 26s 13ms/step - loss: 0.48 - val_loss: 0.52 (2.x)
//   1875/1875 ━━━━━━━━━━━━━━━━━━━━ 26s 13ms/step - accuracy: 0.83 - loss: 0.48               (3.x)
//   1875/1875 ==================== 26s 13ms/step - accuracy: 0.83 - loss: 0.48
//       (3.x, where the output takes no other signs)
//   1875/1875 - 26s - loss: 0.48 - 26s/epoch - 13ms/step
//       (verbose=2, 2.7 to 2.15)
//   1875/1875 - 26s - 13ms/step - loss: 0.48
//       (verbose=2, 3.x)
//   60000/60000 [==============================] - 4s 71us/sample - loss: 0.3
//       (counts samples)
//
// One record an epoch, from its last redraw. Both numbers are rounded (whole seconds; whole us, ms
// or s a step): the finer one is taken. The seconds hold the first step (tracing, compilation) and,
// where val_ metrics follow, the validation. The time of a step is the mean of all after the first
// (Keras 3, tf.keras from 2.4 on): in a run's first epoch, which compiles, the first step is a
// record of its own, without a time. Bars that no "Epoch n/m" announces are evaluate()
// (with a loss) and predict(); downloads have neither.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "parsers/core/line.h"
#include "parsers/core/record.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench::format_keras {
namespace {

// KerasBar: one drawing of the progress bar of Keras, drawn as above.

struct KerasBar {
  std::int64_t done = 0, total = 0;
  double elapsed_s = kUnknown;  ///< only of a bar that is full
  double left_s = kUnknown;     ///< time left, of bars before Keras 3: whole seconds, cut off
  double step_s = kUnknown, step_resolution_s = 0;
  bool per_sample = false, per_step = false;
  bool modern = false;      ///< Keras 3, or tf.keras from 2.4 on: it counts steps
  bool loss_known = false;  ///< some loss is printed
  bool validated = false;
  bool learns = false;  ///< its learning rate is printed, which evaluate() has not
  std::optional<double> loss{};
};

// "1875/1875" before `end`, blanks between allowed. Backspaces and what another bar left stand
// further to the left.
bool read_counter(std::string_view text, std::size_t end, KerasBar& bar) {
  while (end > 0 && text[end - 1] == ' ') --end;
  const std::size_t total = digits_before(text, end);
  if (total == end || total == 0 || text[total - 1] != '/') return false;
  const std::size_t done = digits_before(text, total - 1);
  if (text.substr(0, done).ends_with("step ")) return false;  // Paddle's bar, else alike
  Cursor cursor(text.substr(done, end - done), false);
  return cursor.read(bar.done, "/", bar.total) && bar.done >= 1 && bar.total >= 1;
}

// "71us/step", "13ms/step", "3s/step", "2s/epoch", "71us/sample"
void read_rate(Cursor at, KerasBar& bar) {
  const auto value = at.number();
  const auto unit = at.until("/ ");
  const double scale = unit ? seconds_of_unit(*unit).value_or(0) : 0;
  if (!value || !(*value >= 0) || !(scale > 0)) return;
  if (at.literal("/sample")) {
    bar.per_sample = true;
  } else if (!at.literal("/step")) {
    return;
  }
  bar.per_step = true;
  bar.step_s = *value * scale;
  bar.step_resolution_s = scale;
}

// What follows the bar: seconds of the whole, time of a step, ETA, metrics.
void read_tail(const Line& line, std::size_t from, KerasBar& bar) {
  Cursor cursor(line);
  cursor.move_to(from);
  cursor.blanks();
  if (cursor.literal("-")) cursor.blanks();
  if (Cursor at = cursor; bar.done >= bar.total) {
    const auto seconds = at.number();
    const bool whole = seconds && *seconds >= 0 && at.literal("s") && !at.literal("/");
    if (whole) bar.elapsed_s = *seconds;
  }
  if (Cursor at = cursor; at.literal("ETA: ")) {
    const auto left = at.duration();
    if (left && (at.literal("s ") || at.literal(" "))) bar.left_s = *left;
  }
  for (Cursor rest = cursor; rest.skip_past("/");) {  // also "- 26s/epoch" after the metrics
    std::size_t begin = rest.at() - 1;
    while (begin > from && line.text[begin - 1] != ' ') --begin;
    Cursor rate(line);
    rate.move_to(begin);
    read_rate(rate, bar);
  }
  bar.loss_known = line.text.find("loss: ", from) != std::string_view::npos;
  cursor.move_to(from);
  cursor.read(Word{"loss"}, ": ", bar.loss);  // no val_loss, d_loss
  bar.validated = line.text.find(" val_", from) != std::string_view::npos;
  bar.learns = line.text.find(" learning_rate: ", from) != std::string_view::npos ||
               line.text.find(" lr: ", from) != std::string_view::npos;
}

// Nothing where the line holds no such bar, or one that shows no time. A bar without a counter
// (verbose=2 of the oldest releases) has a total of 0.
std::optional<KerasBar> read_keras_bar(const Line& line) {
  const std::string_view text = line.text;
  KerasBar bar;
  // Keras 3: a sign and what the bar is found by; "=" stands where the output takes ASCII alone
  // (io_utils.py, _replace_special_unicode_character).
  for (const auto& [sign, whole] :
       {std::pair("━", "━"), std::pair("=", " ==================== ")}) {
    const auto block = text.find(whole);
    if (block == std::string_view::npos) continue;
    std::size_t end = std::min(text.find_first_not_of(sign, text.find(sign, block)), text.size());
    if (!read_counter(text, block, bar)) return std::nullopt;
    bar.modern = true;
    read_tail(line, end, bar);
    return bar.per_step ? std::optional(bar) : std::nullopt;
  }
  for (auto open = text.find('['); open != std::string_view::npos;
       open = text.find('[', open + 1)) {
    const auto end = text.find_first_not_of("=>.", open + 1);
    if (end == std::string_view::npos || text[end] != ']' || end < open + 20) continue;
    if (!read_counter(text, open, bar)) continue;
    read_tail(line, end + 1, bar);
    // The oldest releases print no time of a step.
    const bool timed = bar.per_step || !std::isnan(bar.elapsed_s);
    return timed || text.find("ETA: ", end) != std::string_view::npos ? std::optional(bar)
                                                                      : std::nullopt;
  }
  // verbose=2: "1875/1875 - 26s - ...", before 2.3 without the counter.
  if (text.starts_with(" - ")) {
    read_tail(line, 0, bar);
    return !std::isnan(bar.elapsed_s) && bar.loss_known ? std::optional(bar) : std::nullopt;
  }
  const auto dash = text.find(" - ");
  if (dash == std::string_view::npos || !read_counter(text, dash, bar)) return std::nullopt;
  if (!is_digit(text.front())) return std::nullopt;
  read_tail(line, dash, bar);
  if (std::isnan(bar.elapsed_s)) return std::nullopt;
  bar.modern = bar.modern || bar.per_step;
  return bar;
}

/// The time of the bar's steps: of the two that it prints, the one whose rounding is the lesser.
/// "80/80 - 170s 2s/step" is 2.125 s a step.
struct StepTime {
  double sum_s = kUnknown;  ///< of all of them, where the seconds of the whole are the finer
  double each_s = kUnknown;
  double error = kUnknown;  ///< half of the last digit, relative
};

StepTime finer_time(const KerasBar& bar) {
  const double each_error = 0.5 * bar.step_resolution_s / bar.step_s;  // inf at "0us/step"
  const double sum_error = 0.5 / bar.elapsed_s;
  if (bar.per_step && bar.step_s > 0 && !(sum_error < each_error)) {
    return {.each_s = bar.step_s, .error = each_error};
  }
  if (!(bar.elapsed_s > 0)) return {};
  return {.sum_s = bar.elapsed_s,
          .each_s = bar.elapsed_s / static_cast<double>(bar.done),
          .error = sum_error};
}

constexpr std::int64_t kMostEpochs = 100'000'000;
/// No training step of Keras' is shorter: calling its function costs more.
constexpr double kShortestStepS = 2e-4;

enum Track { kTraining, kEvaluation, kInference };

struct Keras {
  // "Epoch 3/10"; by itself no sign of Keras.
  void announced(const Line& line, Emit emit) {
    // Backspaces and blanks may stand before it.
    if (line.text.find_first_not_of("\b \t", 0) != line.at) return;
    Cursor cursor = Cursor::after(line);
    std::int64_t n = 0, all = 0;
    if (!cursor.read(n)) return;
    if (!cursor.read("/", all) || n < 1 || all < n || all > kMostEpochs) return;
    // Other trainers go on after the numbers; a terminal may leave bits of a bar there.
    if (!cursor.rest().empty() && cursor.rest().find_first_of("=>.\b \r") != 0) return;
    if (open && n == epoch && all == epochs && !unfinished && cursor.rest().empty()) {
      copies += line.rank < 0 ? 1 : 0;  // another worker's
      return;
    }
    copies = 0;
    flush(emit);
    if (n <= last_epoch && open) return;
    if (n <= epoch) {  // fit() was called again
      emit(End{.here = false});
      emit(Begin{kTrainingRun});
      done = last_epoch = 0;
    }
    epoch = n;
    epochs = all;
    open = true;
  }

  // What the bar prints of a step is of all after the first, which compiles: that one is a record
  // without a time.
  static void leave_out_first(const KerasBar& bar, Step& at, Emit emit) {
    if (bar.per_sample || bar.done < 2) return;
    emit(Step{.track = at.track, .step = 1, .iterations = 1, .line = at.line});
    --at.iterations;
  }

  // A counter that the bar shows within a record.
  void count(const KerasBar& bar, std::int64_t before, const Line& line) {
    if (bar.total > 0 && !bar.per_sample && line.end_byte >= 0) {
      counters.add({before + bar.done, line.end_byte});
    }
  }

  void record(const KerasBar& bar, std::int64_t line, bool whole, Emit emit) {
    const auto steps = static_cast<double>(bar.done);
    const StepTime time = finer_time(bar);
    Step at{.step = done + bar.done, .iterations = bar.done, .loss = bar.loss, .line = line};
    if (time.sum_s > 0) {
      at.seconds = time.sum_s;
    } else if (time.each_s > 0) {
      if (bar.modern && samples != bar.total && done == 0) leave_out_first(bar, at, emit);
      at.seconds = time.each_s * static_cast<double>(at.iterations);
    }
    // A bar of samples goes on by batches from the first redraw on, a bar of steps begins at 1.
    constexpr std::int64_t kRedraws = 4;
    const bool batches =
        stride > 1 && first == stride && redraws >= kRedraws && 2 * stride <= bar.total;
    if (bar.per_sample || samples == bar.total || (!bar.modern && batches)) {
      counts_samples = true;
      if (at.seconds > 0) {
        at.rate = steps / at.seconds;
        at.rate_unit = RateUnit::sequences_per_second;
        // The counter is no number of iterations: a batch must not multiply it.
        at.seconds = kUnknown;
      }
    } else if (!bar.modern && (!bar.per_step || (old_keras && stride != 1) ||
                               (bar.step_s > 0 && bar.step_s < kShortestStepS))) {
      unsure = true;  // Keras 1: no unit is printed; before 2.4 a "step" may be a sample
    } else {
      at.unit = IterationUnit::optimizer_step;
    }
    at.last = whole && epochs > 0 && epoch == epochs;
    trained = recorded = true;
    emit(at);
    emit(Counted{.track = kTraining, .counters = std::exchange(counters, {})});
    if (!whole) return;
    done += bar.done;
    end_epoch(bar, time.error);
  }

  // A line without a counter: the record is an epoch, whose samples "Train on" may have given, else
  // an iteration is an epoch.
  void record_epoch(const KerasBar& bar, Emit emit) {
    Step at{.step = epoch, .iterations = 1, .loss = bar.loss, .last = epoch == epochs};
    const double error = 0.5 / bar.elapsed_s;
    if (samples && bar.elapsed_s > 0) {
      at.rate = static_cast<double>(*samples) / bar.elapsed_s;
      at.rate_unit = RateUnit::sequences_per_second;
    } else if (!samples) {
      counts_epochs = true;
      at.unit = IterationUnit::epoch;
      if (bar.elapsed_s > 0) at.seconds = bar.elapsed_s;
    }
    trained = recorded = true;
    emit(at);
    end_epoch(bar, error);
  }

  void end_epoch(const KerasBar& bar, double error) {
    last_epoch = epoch;
    validated |= bar.validated;
    worst = std::fmax(worst, error);
  }

  // An epoch that did not end: Keras 3 prints the time of its steps.
  void flush(Emit emit) {
    if (unfinished && unfinished->per_step && unfinished->step_s > 0) {
      record(*unfinished, unfinished_line, false, emit);
    }
    unfinished.reset();
  }

  // A log that ends within its first epoch. Bars before Keras 3 show the time left: the mean time
  // of a step so far times the steps that are missing, cut off to whole seconds.
  void record_first(Emit emit) {
    if (!unfinished || recorded) return;
    KerasBar bar = *unfinished;
    if (bar.done >= bar.total || std::isnan(bar.left_s)) return;
    constexpr double kMostError = 0.02;
    const double left = bar.left_s + 0.5, error = 0.5 / left;
    if (error <= kMostError) {
      bar.elapsed_s =
          left * static_cast<double>(bar.done) / static_cast<double>(bar.total - bar.done);
      worst = error;
      from_left = true;
    }
    record(bar, unfinished_line, false, emit);
    unfinished.reset();
  }

  bool training(const KerasBar& bar, const Line& line, Emit emit) {
    count(bar, done, line);
    // Keras 3 draws a full bar with time left 0s and once more with the seconds of the epoch: only
    // the line break separates them.
    if (bar.done < bar.total || std::isnan(bar.elapsed_s) || line.terminator == '\r') {
      unfinished = bar;
      unfinished_line = line.number;
      if (bar.done < bar.total) {
        if (redraws++ == 0) first = bar.done;
        stride = std::gcd(stride, bar.done);
      }
      return true;
    }
    unfinished.reset();
    if (bar.total > 0) {
      record(bar, line.number, true, emit);
    } else {
      record_epoch(bar, emit);
    }
    open = false;
    total = bar.total;
    return true;
  }

  // evaluate() and predict().
  bool other(const KerasBar& bar, const Line& line, Emit emit) {
    const Track track = bar.loss_known ? kEvaluation : kInference;
    if (bar.loss_known) count(bar, others[track], line);
    if (bar.done != bar.total || line.terminator == '\r' || !bar.per_step || !(bar.step_s > 0)) {
      return true;
    }
    if (!trained && !bar.loss_known) return false;  // a download
    const StepTime time = finer_time(bar);
    Step at{.track = track,
            .step = others[track] + bar.done,
            .iterations = bar.done,
            .each_s = time.each_s,
            .last = true};
    if (bar.modern && others[track] == 0 && !(time.sum_s > 0)) leave_out_first(bar, at, emit);
    others[track] += bar.done;
    emit(at);
    emit(Counted{.track = track, .counters = std::exchange(counters, {})});
    return true;
  }

  bool bar(const Line& line, Emit emit) {
    const auto bar = read_keras_bar(line);
    if (!bar) return false;
    if (rank < 0) rank = line.rank;
    if (rank >= 0 && line.rank >= 0 && line.rank != rank) return true;
    // A loss distinguishes a training bar from a predict() that a callback runs within the epoch.
    if (open && bar->loss_known) return training(*bar, line, emit);
    if (open || bar->total == 0) return open;
    if (copies > 0 && bar->loss_known && bar->total == total) {
      copies -= bar->done == bar->total && line.terminator != '\r' ? 1 : 0;
      return true;
    }
    // A log without its head: only fit() validates, or has a learning rate
    // (quoted/keras.an_epoch_that_is_not_announced_is_known_by_its_validation).
    if ((bar->validated || bar->learns) && bar->loss_known && bar->done == bar->total &&
        line.terminator != '\r') {
      counters = {};  // of the redraws that might have been evaluate()'s
      return training(*bar, line, emit);
    }
    return other(*bar, line, emit);
  }

  void finish(Emit emit) {
    record_first(emit);
    flush(emit);
    const auto note = [&](NoticeCode code, const auto&... values) {
      emit(Note{make_notice(code, 0, values...), kTraining, Of::all});
    };
    if (worst > 0.01) {
      note(NoticeCode::rounded_times, "Keras' time of an epoch", 100 * std::min(worst, 1.0));
    }
    if (validated) note(NoticeCode::time_includes, "the time of an epoch", "its validation");
    if (from_left) note(NoticeCode::epoch_not_ended);
    if (counts_samples) note(NoticeCode::bar_counts_samples);
    if (counts_epochs) note(NoticeCode::iterations_are_epochs);
    if (unsure) note(NoticeCode::counter_unit_unknown);
  }

  static constexpr Begin kTrainingRun{.track = kTraining,
                                      .restart = Restart::never,
                                      .after_end = AfterEnd::reopens,
                                      .own_facts = true};

  std::int64_t epoch = 0, epochs = 0;  ///< announced by "Epoch n/m"; 0 = none
  bool open = false;                   ///< the epoch's bar is not full yet
  std::optional<KerasBar> unfinished;  ///< newest redraw of the epoch that runs
  std::int64_t unfinished_line = 0;
  std::int64_t done = 0;                ///< iterations of the epochs that ended
  ThinnedSeries<CounterMark> counters;  ///< of the bar since the newest record
  std::int64_t last_epoch = 0;
  std::int64_t others[3] = {};  ///< iterations on the other tracks
  /// Workers that write into one log all announce an epoch and end its bar: those of the first one
  /// count.
  std::int64_t copies = 0, total = 0;
  int rank = -1;
  std::optional<std::int64_t> samples;  ///< "Train on 60000 samples"
  /// The first redraw below the total, and what all of them are multiples of.
  std::int64_t first = 0, stride = 0, redraws = 0;
  bool old_keras = false;  ///< before 2.4, where a bar may count samples and call them steps
  double worst = 0;        ///< largest relative rounding of an epoch's time
  bool trained = false, recorded = false;
  bool validated = false, counts_samples = false, unsure = false, counts_epochs = false;
  bool from_left = false;  ///< the only record is of record_first()
};

constexpr Row kRows[] = {
    on<&Keras::bar>("s/step"),        on<&Keras::bar>("s/sample"),
    on<&Keras::bar>("s/epoch"),       on<&Keras::bar>(" - ETA: "),
    on<&Keras::bar>("s - loss: "),    on<&Keras::announced>("Epoch "),
    on<&Keras::samples>("Train on "), on<&Keras::old_keras>("Using TensorFlow backend."),
};

constexpr Begin kRuns[] = {
    Keras::kTrainingRun,
    {.track = kEvaluation, .work = WorkKind::evaluation, .own_facts = true},
    {.track = kInference, .work = WorkKind::inference, .own_facts = true},
};

}  // namespace

extern const Format entry{
    .name = "keras",
    .title = "Keras progress bars of fit(), every release",
    .reference = "https://github.com/keras-team/keras keras/src/utils/progbar.py",
    .framework = "keras",
    .table = table_of<Keras>(kRows, kRuns)};

}  // namespace bertbench::format_keras
