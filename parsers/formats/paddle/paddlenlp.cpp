// paddlenlp: the Trainer of PaddleNLP.
//
//   [2022-08-31 16:19:16,008] [    INFO] - loss: 3.258, learning_rate: 2.9e-05, global_step: 10,
//       interval_runtime: 2.2591, interval_samples_per_second: 3.541,
//       interval_steps_per_second: 4.427, epoch: 0.0265
//   ... [    INFO] - train_runtime: 273.01, train_samples_per_second: 3.6, train_steps_per_second:
//   0.1
//   ... [    INFO] - eval_loss: 0.1, eval_runtime: 0.2, eval_samples_per_second: 10.0, ...
//
// The samples are those of all cards. Releases up to 2.4 divided the batch of ONE step by the time
// of all steps of an interval: there interval_samples_per_second is too low by their number (above:
// 8 / 2.2591 s, though ten steps of 8 were run). Where the batch is known the two are
// distinguished; where it is not, the rate is in steps/s, but for releases whose other keys show
// them to be newer: there the batch follows from samples and steps.
//
// An evaluation, and the checkpoint after it, lies in the interval of the line that follows. A log
// that ends after the banner of a training, before its first line, is one that was cut.

#include <cmath>
#include <optional>
#include <utility>

#include "parsers/assemble/trainer_banner.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_paddlenlp {
namespace {

constexpr double kNumberLimit = 1e12;  // steps, seconds or samples: more is a damaged number

// Keys that releases up to 2.4 do not know.
bool is_new(const Line& line) {
  return has(line, "interval_tokens_per_second_per_device: ") || has(line, "progress_or_epoch: ");
}

// What two rates of four decimals allow.
std::optional<std::int64_t> batch_of(double samples_per_s, double steps_per_s) {
  constexpr double kHalfDigit = 5e-5;
  const double batch = samples_per_s / steps_per_s;
  return whole_near(batch, batch * kHalfDigit * (1 / samples_per_s + 1 / steps_per_s));
}

enum Track { kTraining, kEvaluation, kCut };

constexpr Begin kRuns[] = {{.track = kTraining, .restart = Restart::back},
                           {.track = kEvaluation, .work = WorkKind::evaluation},
                           {.track = kCut, .unit = IterationUnit::optimizer_step}};

struct Paddlenlp {
  bool begins(const Line& line) { return banner.see(line); }

  void batch_size(const Line& line) {
    const auto value = Cursor::after(line).grouped_integer();  // "1,024" in some releases
    if (value && *value >= 1 && *value < kNumberLimit) batch = value;
  }

  bool interval(const Line& line, Emit emit) {
    const auto step = number_after(line, "global_step:");
    const auto seconds = number_after(line, "interval_runtime:");
    const auto steps_rate = Cursor::after(line).number();
    if (!step || !seconds || !steps_rate || !(*step >= 1 && *step < kNumberLimit) ||
        !(*seconds > 0 && *seconds < kNumberLimit)) {
      return false;
    }
    Step at{.step = static_cast<std::int64_t>(*step),
            .seconds = *seconds,
            .time_s = front_time(line.text),
            .loss = number_after(line, "loss:"),
            .unit = IterationUnit::optimizer_step,
            .clock = Clock{1e-3, true}};
    if (newest == 0 || at.step < newest_step) {
      newest_step = 0;
      evaluated_s = 0;
    }
    // A resumed run does not begin at 0: the rate shows how many steps the interval has.
    constexpr double kThinned = 1.5;
    const double steps = std::fmin(std::fmax(1, std::round(*steps_rate * *seconds)), kNumberLimit);
    at.iterations = newest_step > 0 && at.step > newest_step ? at.step - newest_step
                                                             : static_cast<std::int64_t>(steps);
    // Of a log whose lines were thinned out the time is that of its own interval only.
    if (static_cast<double>(at.iterations) > kThinned * steps) {
      at.iterations = static_cast<std::int64_t>(steps);
    }
    newest_step = at.step;
    newest = line.number;
    take_rate(line, *steps_rate, at);
    without_evaluation(at);
    emit(at);
    emit.fact(&Facts::global_batch_size, batch);
    return true;
  }

  // The printed rate of samples is of all cards in new releases, of one in old ones; the batch that
  // follows from it decides once for the whole log.
  void take_rate(const Line& line, double steps_rate, Step& at) {
    const auto samples = number_after(line, "interval_samples_per_second:");
    const double per_second = static_cast<double>(at.iterations) / at.seconds;
    const bool of_all = samples && is_new(line);
    if (!batch && of_all) batch = batch_of(*samples, steps_rate);
    at.rate_unit =
        batch || of_all ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
    if (batch) {
      at.rate = static_cast<double>(*batch) * per_second;
      constexpr double kDigits = 0.02;
      if (samples && std::abs(*samples / at.rate - 1) > kDigits) odd_line = line.number;
    } else if (of_all) {
      at.rate = *samples;
    } else {
      at.rate = per_second;
      undecided = true;
    }
  }

  bool evaluation(const Line& line, Emit emit) {
    const auto seconds = number_after(line, "eval_runtime:"),
               samples = Cursor::after(line).number();
    if (!seconds || !samples) return false;
    if (*seconds > 0 && *seconds < kNumberLimit) evaluated_s += *seconds;
    state(kEvaluation, *samples, *seconds, emit);
    emit(kRuns[kEvaluation]);
    return true;
  }

  bool end(const Line& line, Emit emit) {
    // The Hugging Face Trainer writes these keys in quotes or in a table.
    const auto seconds = number_after(line, "train_runtime:"),
               samples = Cursor::after(line).number();
    if (!seconds || !samples || (newest == 0 && !banner.stands())) return false;
    state(kTraining, *samples, *seconds, emit);
    newest = line.number;
    return true;
  }

  static void state(int track, double samples_rate, double seconds, Emit emit) {
    emit(Statement{.track = track,
                   .of = Of::begun,
                   .summary = Stated{samples_rate, RateUnit::sequences_per_second},
                   .totals = {.training_s = seconds}});
    emit(End{.track = track});
  }

  // Where intervals without one are the most, they give the rate; where each has one, as lines and
  // evaluations come at the same steps, the evaluation's own time is taken off.
  void without_evaluation(Step& at) {
    const double evaluated = std::exchange(evaluated_s, 0);
    if (!(evaluated > 0)) {
      ++clean;
    } else if (clean > left_out + shortened + 1 || !(evaluated < at.seconds)) {
      ++left_out;
      at.seconds = at.rate = kUnknown;
    } else {
      ++shortened;
      const double rest = at.seconds - evaluated;
      at.rate *= at.seconds / rest;
      at.seconds = rest;
    }
  }

  void finish(Emit emit) {
    banner.conclude(newest, kRuns[kCut], emit);
    const auto note = [&](const Notice& notice) { emit(Note{.notice = notice, .of = Of::all}); };
    if (const auto held = left_out + shortened; held > 0) {
      const char* what = held == 1 ? "it is left out of the rate" : "they are left out of the rate";
      if (shortened > 0) {
        what =
            "its eval_runtime is taken off, a checkpoint after it is not: the training is no "
            "slower than the rate";
      }
      note(make_notice(NoticeCode::intervals_hold_evaluations, 0, held, clean + held, what));
    }
    if (odd_line > 0) {
      note(make_notice(NoticeCode::old_interval_rate, odd_line));
    } else if (undecided) {
      note(make_notice(NoticeCode::interval_rate_unclear, 0));
    }
  }

  TrainerBanner banner{TrainerBanner::By::paddlenlp};
  std::optional<std::int64_t> batch;                    ///< of all cards and one optimizer step
  std::int64_t newest_step = 0;                         ///< of the training run
  std::int64_t newest = 0;                              ///< line of one, 0: there is none
  bool undecided = false;                               ///< whether a rate is of all cards
  std::int64_t odd_line = 0;                            ///< newest whose rate is too low
  double evaluated_s = 0;                               ///< since the newest interval line
  std::int64_t clean = 0, left_out = 0, shortened = 0;  ///< intervals, by evaluations in them
};

constexpr Row kRows[] = {on<&Paddlenlp::batch_size>("distributed & accumulation) = "),
                         on<&Paddlenlp::begins>(TrainerBanner::kAnchor),
                         on<&Paddlenlp::interval>("interval_steps_per_second: "),
                         on<&Paddlenlp::evaluation>("eval_samples_per_second: "),
                         on<&Paddlenlp::end>("train_samples_per_second: ")};

}  // namespace

extern const Format entry{
    .name = "paddlenlp",
    .title = "PaddleNLP Trainer: interval_samples_per_second",
    .reference = "https://github.com/PaddlePaddle/PaddleNLP paddlenlp/trainer/trainer.py",
    .framework = "paddle",
    .table = table_of<Paddlenlp>(kRows, kRuns)};

}  // namespace bertbench::format_paddlenlp
