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

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/trainer_banner.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_paddlenlp {
namespace {

constexpr std::string_view kAnchors[] = {
    "interval_steps_per_second: ", "train_samples_per_second: ", "eval_samples_per_second: ",
    "distributed & accumulation) = ", TrainerBanner::kAnchor};

// Keys that releases up to 2.4 do not know.
bool is_new(const Line& line) {
  return has(line, "interval_tokens_per_second_per_device: ") || has(line, "progress_or_epoch: ");
}

// The whole number that two rates of four decimals allow, if it is but one.
std::optional<double> batch_of(double samples_per_s, double steps_per_s) {
  constexpr double kHalfDigit = 5e-5, kSure = 0.4;
  if (!(samples_per_s > 0) || !(steps_per_s > 0)) return std::nullopt;
  const double batch = samples_per_s / steps_per_s, whole = std::round(batch);
  const double doubt = batch * kHalfDigit * (1 / samples_per_s + 1 / steps_per_s);
  const bool fits = whole >= 1 && whole < 1e12 && doubt < kSure && std::abs(batch - whole) <= doubt;
  return fits ? std::optional(whole) : std::nullopt;
}

class PaddlenlpParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override {
    Cursor batch(line);
    if (batch.skip_past("distributed & accumulation) = ")) {
      const auto value = batch.grouped_integer();  // "1,024" in some releases
      if (value && *value >= 1 && *value < 1'000'000'000'000) batch_ = static_cast<double>(*value);
      return false;
    }
    return banner_.see(line) || read_interval(line, out) || read_end(line, out);
  }

  void finish(RunBuilder& out) override {
    out.facts.framework.set("paddle", FactSource::log);
    banner_.conclude(out);
    for (const auto& draft : out.drafts()) {
      if (draft->log.kind != WorkKind::training || draft->count() == 0) continue;
      if (const auto held = left_out_ + shortened_; held > 0) {
        const char* what =
            held == 1 ? "it is left out of the rate" : "they are left out of the rate";
        if (shortened_ > 0) {
          what =
              "its eval_runtime is taken off, a checkpoint after it is not: the training is no "
              "slower than the rate";
        }
        draft->log.note(NoticeCode::intervals_hold_evaluations, 0, held, clean_ + held, what);
      }
      if (too_low_) {
        draft->log.note(NoticeCode::old_interval_rate, odd_line_);
      } else if (undecided_) {
        draft->log.note(NoticeCode::interval_rate_unclear, 0);
      }
    }
  }

 private:
  bool read_interval(const Line& line, RunBuilder& out) {
    const auto step = number_after(line, "global_step:");
    const auto seconds = number_after(line, "interval_runtime:");
    const auto steps_rate = number_after(line, "interval_steps_per_second:");
    if (!step || !seconds || !steps_rate || !(*step >= 1 && *step < 1e12) ||
        !(*seconds > 0 && *seconds < 1e12)) {
      return false;
    }
    const auto at = static_cast<std::int64_t>(*step);
    if (out.open(WorkKind::training) != nullptr && at < step_) out.close(WorkKind::training);
    if (out.open(WorkKind::training) == nullptr) {
      step_ = 0;
      evaluated_s_ = 0;
    }
    // A resumed run does not begin at 0: the rate shows how many steps the interval has.
    constexpr double kThinned = 1.5;
    const double steps = std::fmin(std::fmax(1, std::round(*steps_rate * *seconds)), 1e12);
    Sample sample = sample_on(line);
    sample.step = at;
    sample.iterations = step_ > 0 && at > step_ ? at - step_ : static_cast<std::int64_t>(steps);
    // Of a log whose lines were thinned out the time is that of its own interval only.
    if (static_cast<double>(sample.iterations) > kThinned * steps) {
      sample.iterations = static_cast<std::int64_t>(steps);
    }
    step_ = at;
    sample.seconds = *seconds;
    sample.loss = number_after(line, "loss:");
    const auto year = line.text.find("[20");
    if (year != std::string_view::npos && year < 24) {
      if (const auto stamp = date_time(line.text.substr(year + 1))) sample.time_s = *stamp;
    }
    RunDraft& draft = out.run(WorkKind::training, line.number);
    draft.log.iteration_unit = IterationUnit::optimizer_step;
    draft.log.clock_is_wall = true;
    draft.log.clock_resolution_s = 1e-3;
    read_rate(line, *steps_rate, draft.log, sample);
    without_evaluation(sample);
    draft.add(sample);
    return true;
  }

  // The printed rate of samples is of all cards in new releases, of one in old ones; the batch that
  // follows from it decides once for the whole log.
  void read_rate(const Line& line, double steps_rate, RunLog& log, Sample& sample) {
    const auto samples = number_after(line, "interval_samples_per_second:");
    const double per_second = static_cast<double>(sample.iterations) / sample.seconds;
    const bool of_all = samples && is_new(line);
    if (!batch_ && of_all) batch_ = batch_of(*samples, steps_rate);
    log.rate_unit =
        batch_ || of_all ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
    if (batch_) {
      log.facts.global_batch_size.set(static_cast<std::int64_t>(*batch_), FactSource::log);
      sample.rate = *batch_ * per_second;
      constexpr double kDigits = 0.02;
      if (samples && std::abs(*samples / sample.rate - 1) > kDigits) {
        too_low_ = true;
        odd_line_ = line.number;
      }
    } else if (of_all) {
      sample.rate = *samples;
    } else {
      sample.rate = per_second;
      undecided_ = true;
    }
  }

  bool read_end(const Line& line, RunBuilder& out) {
    if (const auto seconds = number_after(line, "eval_runtime:")) {
      const auto samples = number_after(line, "eval_samples_per_second:");
      if (!samples) return false;
      if (*seconds > 0 && *seconds < 1e12) evaluated_s_ += *seconds;
      RunDraft& draft = out.run(WorkKind::evaluation, line.number);
      draft.log.summary = Stated{*samples, RateUnit::sequences_per_second, line.number};
      draft.log.totals.training_s = *seconds;
      draft.end_well(line.number);
      out.close(WorkKind::evaluation);
      return true;
    }
    // The Hugging Face Trainer writes these keys in quotes or in a table.
    const auto seconds = number_after(line, "train_runtime:");
    const auto samples = number_after(line, "train_samples_per_second:");
    RunDraft* run = out.open(WorkKind::training);
    if (!seconds || !samples || (run == nullptr && !banner_.stands())) return false;
    if (run == nullptr) run = &out.run(WorkKind::training, line.number);
    run->log.summary = Stated{*samples, RateUnit::sequences_per_second, line.number};
    run->log.totals.training_s = *seconds;
    run->end_well(line.number);
    return true;
  }

  // Where intervals without one are the most, they give the rate; where each has one, as lines and
  // evaluations come at the same steps, the evaluation's own time is taken off.
  void without_evaluation(Sample& sample) {
    const double evaluated = std::exchange(evaluated_s_, 0);
    if (!(evaluated > 0)) {
      ++clean_;
    } else if (clean_ > left_out_ + shortened_ + 1 || !(evaluated < sample.seconds)) {
      ++left_out_;
      sample.seconds = sample.rate = kUnknown;
    } else {
      ++shortened_;
      const double rest = sample.seconds - evaluated;
      sample.rate *= sample.seconds / rest;
      sample.seconds = rest;
    }
  }

  TrainerBanner banner_{TrainerBanner::Of::paddlenlp};
  std::optional<double> batch_;  ///< of all cards and one optimizer step
  std::int64_t step_ = 0;
  bool too_low_ = false, undecided_ = false;
  std::int64_t odd_line_ = 0;
  double evaluated_s_ = 0;                                 ///< since the newest interval line
  std::int64_t clean_ = 0, left_out_ = 0, shortened_ = 0;  ///< intervals, by evaluations in them
};

std::unique_ptr<LineParser> make() { return std::make_unique<PaddlenlpParser>(); }

}  // namespace

extern const Format entry{"paddlenlp", "PaddleNLP Trainer: interval_samples_per_second",
                          "https://github.com/PaddlePaddle/PaddleNLP paddlenlp/trainer/trainer.py",
                          kAnchors, make};

}  // namespace bertbench::format_paddlenlp
