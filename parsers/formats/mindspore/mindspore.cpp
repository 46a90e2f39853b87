// mindspore: MindSpore's callbacks and MindFormers.
//
//   epoch: 1 step: 173, loss is 0.11066732                                        (LossMonitor)
//   epoch: 0, current epoch percent: 1.000, step: 6094, outputs are (Tensor(... value= 0.714), ...
//   epoch time: 120480.930 ms, per step time: 696.422 ms                          (TimeMonitor)
//   Train epoch time: 6512.500 ms, per step time: 6.513 ms                        (1.9 on)
//   Epoch time: 12345.678, per step time: 12.345, avg loss: 5.2           (older, milliseconds)
//   epoch 2: epoch time: 151033.049, per step time: 141.549, avg loss: 4.529       (model zoo)
//   epoch[1/200], iter[195] cost: 8518.123, per step time: 43.683, avg loss: 5.300
//   Epoch: [  3/ 10], Average Train Loss: [0.511], Accuracy: [0.983]
//       (tutorials: before the line of the times)
//   <date>:INFO:epoch: [2/90] loss: 1.04, epoch time: 2.413 s, per step time: 12.377 ms
//       (2023)
//   <date>:INFO:epoch[3], iter[1], loss:206.3, fps:371.70 imgs/sec, lr:1e-05,
//       per step time: 688.7ms
//   <date>:INFO:epoch[0], iter[100], loss:483.3, 12.63 imgs/sec, lr:0.01     (detection, YOLO)
//   <date>:INFO:epoch[1], iter[377], loss:1280.6, per step time: 7642.25 ms, fps: 8.37, lr:0.003
//   epoch: [1/10] step: [100/390], loss: 2.1, lr: 0.001, per step time: 100.000 ms,
//       fps per card: 320.00 img/s                                       (MindOCR)
//   <date> [INFO] Epoch 1/500, Step 240/1516, step time: 100.87 ms      (MindYOLO)
//   <date> - [callback.py:529] - INFO - { Epoch:[  1/  2], step:[    2/   19], loss: 10.6,
//       per_step_time: 1865ms, lr: ...                                            (MindFormers)
//   [INFO] <date> [callback.py:269] print_output_info: Epoch:[  1/  1], step:[  116/  125],
//       loss:[2.22/2.22], time:1951.612 ms, lr:..., overflow cond: False, ...      (that of 2023)
//
// An epoch line tells time and steps of an epoch, or of a sink of so many steps: their number is
// the ratio of its two times. The step of LossMonitor counts within the epoch, that of the BERT
// script over all. Neither names batch or devices. Lines of several ranks for one epoch are one
// record.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/rank_copies.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/formats/mindspore/mindspore_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    "poch time: ",          ", loss is ",    ", outputs are ", "] cost: ",
    "per_step_time: ",      "train success", " imgs/sec, lr:", " ms, fps",
    "verage Train Loss: [", ", step time: ", "overflow cond: "};

class MindsporeParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_loss(const Line& line);
  bool see_tutorial(const Line& line);
  void see_images_of_step(double images_per_s, double each_ms);
  bool see_epoch_time(const Line& line, RunBuilder& out);
  bool see_mindformers(const Line& line, RunBuilder& out);
  double seconds_of_sink(double seconds, const Sample& sample);
  bool see_images(const Line& line, RunBuilder& out);
  bool see_step(const Line& line, RunBuilder& out);
  RunDraft& put(const Sample& sample, RunBuilder& out);

  struct Place {
    std::int64_t epoch = 0, step = 0;
    bool whole_run = false;  ///< the step counts over all epochs
    std::optional<double> loss;
  };
  std::optional<Place> place_;  ///< of the newest loss line, for the epoch line after it
  std::int64_t step_ = 0;       ///< newest counter
  RankCopies ranks_;
  double stamp_ = kUnknown;     ///< of MindFormers' newest line
  std::optional<bool> of_all_;  ///< its time is that of all steps since the line before
  std::int64_t last_epoch_ = -1;
  std::int64_t planned_epochs_ = 0;  ///< of the newest loss line that tells them
  std::optional<double> images_;     ///< of a step, while all lines agree on it
  MindsporeStep newest_;
  bool unplaced_ = false, coarse_ = false;
  bool odd_images_ = false;
  std::int64_t odd_times_ = 0;  ///< line whose two times give fewer steps than were counted
};

// "Epoch: [  3/ 10], Average Train Loss: [0.511], ...": the steps are those of the line after it.
bool MindsporeParser::see_tutorial(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("Epoch: [")) return false;
  cursor.blanks();
  const auto epoch = cursor.integer();
  if (!epoch || !cursor.literal("/")) return false;
  cursor.blanks();
  const auto all = cursor.integer();
  if (!all || *epoch < 1 || *all < *epoch || *all > 1'000'000'000) return false;
  Place place;
  place.epoch = *epoch;
  place.loss = number_after(line, "verage Train Loss: [");
  place_ = place;
  planned_epochs_ = *all;
  return true;
}

bool MindsporeParser::see_loss(const Line& line) {
  if (line.text.find("verage Train Loss: [") != std::string_view::npos) return see_tutorial(line);
  Cursor cursor(line);
  if (!cursor.skip_past("epoch: ")) return false;
  const auto epoch = cursor.number();  // "0.0" in some revisions
  if (!epoch || !(*epoch >= 0 && *epoch < 1e9)) return false;
  Place place;
  place.epoch = static_cast<std::int64_t>(*epoch);
  if (cursor.literal(" step: ") || cursor.literal(" step ")) {
    const auto step = cursor.integer();
    if (!step || !cursor.literal(", loss is ")) return false;
    place.step = *step;
    place.loss = cursor.number();
  } else {
    if (!cursor.literal(",") || !cursor.skip_past("step: ")) return false;
    const auto step = cursor.integer();
    if (!step || line.text.find(", outputs are ") == std::string_view::npos) return false;
    place.step = *step;
    place.whole_run = true;
    place.loss = number_after(line, {"value=", "outputs are ("});
  }
  if (place.step < 1 || place.step > 1'000'000'000'000) return false;
  place_ = place;
  return true;
}

RunDraft& MindsporeParser::put(const Sample& sample, RunBuilder& out) {
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.add(sample);
  step_ = std::max(step_, sample.step);
  return draft;
}

bool MindsporeParser::see_epoch_time(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  const auto epoch = mindspore_epoch(line);
  if (!cursor.skip_past("poch time: ") && !(epoch && cursor.skip_past("] cost: "))) return false;
  const auto total = mindspore_duration(cursor);
  if (!total) return false;
  if (cursor.literal(", steps: ")) {
    cursor.blanks();
    cursor.integer();
  }
  if (!cursor.literal(", per step time: ")) return false;
  if (newest_.epoch > 0) return true;  // its steps are told one by one
  const auto each = mindspore_duration(cursor);
  if (!each) return false;
  const double ratio = std::round(total->ms / each->ms);
  if (!(ratio >= 1 && ratio < 1e9)) return false;
  auto steps = static_cast<std::int64_t>(ratio);
  const bool coarse = total->in_seconds && !each->in_seconds;
  constexpr double kStepsPerEpochGap = 0.05;
  // Seconds of one decimal give the steps of an epoch to a few: the loss line counts them.
  if (coarse && place_ && !place_->whole_run &&
      std::abs(static_cast<double>(place_->step) / ratio - 1) < kStepsPerEpochGap) {
    steps = place_->step;
  }
  // The counter of an epoch may end below its last step, by what is not printed, never above it.
  if (place_ && !place_->whole_run && !epoch && odd_times_ == 0 &&
      static_cast<double>(place_->step) > (1 + kStepsPerEpochGap) * ratio) {
    odd_times_ = line.number;
  }
  Sample sample;
  sample.iterations = steps;
  sample.seconds = (coarse ? each->ms * static_cast<double>(steps) : total->ms) / 1000;
  sample.line = line.number;
  if (epoch) {
    Place own{*epoch, *epoch * steps, true, number_after(line, "loss: ")};
    place_ = own;
  }
  if (place_ && place_->step == 0) place_->step = steps;  // an epoch that tells no step
  if (place_) {
    sample.step = place_->whole_run
                      ? place_->step
                      : (std::max<std::int64_t>(1, place_->epoch) - 1) * steps + place_->step;
    sample.loss = place_->loss;
    if (sample.step < step_ && place_->epoch < last_epoch_ - 1) {  // launched again
      out.close(WorkKind::training);
      step_ = 0;
    }
    last_epoch_ = place_->epoch;
  } else {
    unplaced_ = true;  // nothing tells another rank's line from another epoch's
    sample.step = step_ + steps;
    sample.rank = line.rank;
  }
  RunDraft& draft = put(sample, out);
  draft.log.iteration_unit = IterationUnit::unknown;
  if (planned_epochs_ > 0 && steps < 1'000'000'000) draft.planned = planned_epochs_ * steps;
  return true;
}

// The time of 2023 is that of a sink of steps, or of one step where none is used: the stamps tell.
double MindsporeParser::seconds_of_sink(double seconds, const Sample& sample) {
  constexpr double kStampGap = 0.25;
  const auto steps = static_cast<double>(sample.iterations);
  const double since = sample.time_s - std::exchange(stamp_, sample.time_s);
  if (step_ == 0 || sample.step <= step_) return kUnknown;
  if (sample.iterations == 1) return seconds;
  if (std::abs(seconds / since - 1) < kStampGap) of_all_ = true;
  if (std::abs(seconds * steps / since - 1) < kStampGap) of_all_ = false;
  if (!of_all_) return kUnknown;
  return *of_all_ ? seconds : seconds * steps;
}

bool MindsporeParser::see_mindformers(const Line& line, RunBuilder& out) {
  const auto at = mindformers_line(line);
  if (!at) return false;
  Sample sample;
  sample.step = (at->epoch - 1) * at->all + at->step;
  if (ranks_.is_copy(line.rank, sample.step <= step_)) return true;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = at->loss;
  const bool first = out.open(WorkKind::training) == nullptr;
  if (!first && sample.step + 1 < step_ && line.rank < 0) {
    out.close(WorkKind::training);
    step_ = 0;
  }
  sample.iterations = step_ > 0 && sample.step > step_ ? sample.step - step_ : 1;
  const auto year = line.text.find("20");
  if (year != std::string_view::npos && year < 40) {
    if (const auto stamp = date_time(line.text.substr(year))) sample.time_s = *stamp;
  }
  // Whole milliseconds of one step: too coarse for fast ones, whose clock is the stamp.
  constexpr double kFine = 100;
  if (at->of_sink) {
    sample.seconds = seconds_of_sink(at->ms / 1000, sample);
  } else if (at->ms >= kFine) {
    sample.seconds = at->ms / 1000 * static_cast<double>(sample.iterations);
  } else {
    coarse_ = true;
  }
  RunDraft& draft = put(sample, out);
  if (at->epochs > 0) draft.planned = at->epochs * at->all;
  draft.log.clock_resolution_s = 1e-3;
  draft.log.clock_is_wall = true;
  return true;
}

// Images/s times the time of a step are the images of a step, where the digits leave no doubt.
void MindsporeParser::see_images_of_step(double images_per_s, double each_ms) {
  constexpr double kHalfDigit = 0.005, kHalfTenth = 0.05, kSure = 0.3;
  const double product = images_per_s * each_ms / 1000;
  const double doubt = product * (kHalfDigit / images_per_s + kHalfTenth / each_ms);
  const double near = std::round(product);
  if (!(near >= 1 && near < 1e9) || !(doubt < kSure)) return;
  const bool whole = std::abs(product - near) <= doubt + 1e-3;
  if (!whole || (images_ && *images_ != near)) odd_images_ = true;
  images_ = near;
}

// The images/s of all devices since the line before. "iter" counts over all epochs, by steps or
// by sinks of an epoch, or stands still at 1: then how many steps a line covers is not told.
bool MindsporeParser::see_images(const Line& line, RunBuilder& out) {
  const bool late = line.text.find(" ms, fps: ") != std::string_view::npos;
  const auto unit = late ? std::string_view::npos : line.text.find(" imgs/sec, lr:");
  Cursor cursor(line);
  if ((!late && unit == std::string_view::npos) || !cursor.skip_past("epoch[") ||
      !cursor.integer()) {
    return false;
  }
  if (!cursor.literal("], iter[")) return false;
  const auto iteration = cursor.integer();
  if (!iteration || *iteration < 0 || *iteration > 1'000'000'000'000 || !cursor.literal("]")) {
    return false;
  }
  const auto before =
      late ? unit : line.text.find_last_not_of("0123456789.", unit == 0 ? 0 : unit - 1);
  if (!late && (before == std::string_view::npos || before < cursor.at())) return false;
  const auto rate = late ? number_after(line, " ms, fps:")
                         : Cursor(line.text.substr(before + 1, unit - before - 1), false).number();
  if (!rate || !(*rate > 0 && *rate < 1e9)) return false;
  Sample sample;
  sample.loss = number_after(line, ", loss:");
  sample.line = line.number;
  sample.rank = line.rank;
  sample.rate = *rate;
  const bool first = out.open(WorkKind::training) == nullptr;
  const bool counts = first || *iteration > step_;
  sample.step = counts ? *iteration : step_ + 1;
  sample.iterations = first || !counts ? 1 : *iteration - step_;
  if (const auto each = number_after(line, ", per step time:"); each && *each > 0) {
    sample.seconds = *each / 1000 * static_cast<double>(sample.iterations);
    see_images_of_step(sample.rate, *each);
  }
  RunDraft& draft = put(sample, out);
  draft.log.iteration_unit = IterationUnit::unknown;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  return true;
}

// The clocks of MindOCR and MindYOLO begin anew with an epoch and with each line.
bool MindsporeParser::see_step(const Line& line, RunBuilder& out) {
  const auto at = mindspore_step(line);
  if (!at) return false;
  Sample sample;
  sample.step = (at->epoch - 1) * at->all + at->step;
  if (ranks_.is_copy(line.rank, sample.step <= step_)) return true;
  if (sample.step == step_ && line.rank < 0) return true;  // likewise, without its label
  if (sample.step < step_ && line.rank < 0) {
    out.close(WorkKind::training);
    step_ = newest_.epoch = 0;
  }
  const bool same = at->epoch == newest_.epoch && at->step > newest_.step;
  sample.iterations = same ? at->step - newest_.step : at->step;
  // The first line of an excerpt hides how many steps it covers.
  if (newest_.epoch == 0 && out.open(WorkKind::training) == nullptr) sample.iterations = 1;
  sample.seconds = at->each_ms / 1000 * static_cast<double>(sample.iterations);
  if (const auto stamp = date_time(line.text)) sample.time_s = *stamp;
  sample.loss = at->loss;
  sample.line = line.number;
  sample.rank = line.rank;
  if (at->images_per_s > 0) see_images_of_step(at->images_per_s, at->each_ms);
  newest_ = *at;
  RunDraft& draft = put(sample, out);
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.log.clock_resolution_s = 1e-3;
  draft.log.clock_is_wall = true;
  draft.planned = at->epochs * at->all;
  return true;
}

bool MindsporeParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("train success") != std::string_view::npos) {
    RunDraft* run = out.open(WorkKind::training);
    if (run == nullptr) return false;
    run->ended_well = true;
    run->last_line = line.number;
    return true;
  }
  return see_mindformers(line, out) || see_images(line, out) || see_step(line, out) ||
         see_epoch_time(line, out) || see_loss(line);
}

void MindsporeParser::finish(RunBuilder& out) {
  out.facts.framework.set("mindspore", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (draft->count() == 0) continue;
    if (unplaced_) {
      draft->log.notices.push_back(make_notice(NoticeCode::epochs_without_counter, 0));
    }
    if (newest_.images_per_s > 0 && !newest_.per_card) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_scope_unknown, 0, "fps", "the revision of MindOCR"));
    } else if (images_ && !odd_images_ && newest_.per_card) {
      draft->log.facts.micro_batch_size.set(static_cast<std::int64_t>(*images_), FactSource::log);
    } else if (images_ && !odd_images_) {
      Facts& facts = draft->log.facts;
      facts.global_batch_size.set(static_cast<std::int64_t>(*images_), FactSource::log);
      facts.gradient_accumulation_steps.set(1, FactSource::log);
    }
    if (odd_times_ > 0) {
      draft->log.notices.push_back(make_notice(NoticeCode::clocks_disagree, odd_times_));
    }
    if (coarse_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::times_too_coarse, 0, "per_step_time, in whole milliseconds,"));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MindsporeParser>(); }

}  // namespace

extern const Format format_mindspore;
const Format format_mindspore = {
    "mindspore", "MindSpore LossMonitor and TimeMonitor, MindFormers",
    "https://github.com/mindspore-ai/mindspore python/mindspore/train/callback; mindformers "
    "core/callback/callback.py",
    kAnchors, make};

}  // namespace bertbench
