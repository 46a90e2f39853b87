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
// An epoch line has time and steps of an epoch, or of a sink of so many steps: their number is
// the ratio of its two times. The step of LossMonitor counts within the epoch, that of the BERT
// script over all. Neither names batch or devices. Lines of several ranks for one epoch are one
// record.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "parsers/assemble/rank_copies.h"
#include "parsers/core/line.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_mindspore {
namespace {

constexpr std::int64_t kMostMindspore = 1'000'000'000;  ///< epochs or steps: products fit

struct MindsporeDuration {
  double ms = 0;
  bool in_seconds = false;  ///< shown in seconds, with fewer digits
};

/// A line of steps: of MindFormers, MindOCR or MindYOLO.
struct StepLine {
  std::int64_t epoch = 1, epochs = 0, step = 0, all = 0;  ///< from 1; 0 epochs: not printed
  double each_ms = 0;                                     ///< of a step since the line before
  bool of_sink = false;                                   ///< or of a sink of steps (2023)
  double images_per_s = 0;                                ///< 0: not printed
  bool per_card = false;                                  ///< images/s are labelled as of one card
  std::optional<double> loss{};

  [[nodiscard]] std::int64_t counter() const { return (epoch - 1) * all + step; }
};

// Milliseconds unless "s" is printed; some scripts print "16.7 s", some "31.05s".
std::optional<MindsporeDuration> mindspore_duration(Cursor& cursor) {
  double value = 0;
  if (!cursor.read(kBlanks, value) || !(value > 0 && value < 1e12)) return std::nullopt;
  const bool ms = cursor.literal(" ms") || cursor.literal("ms");
  if (!ms && (cursor.literal(" s") || cursor.literal("s"))) return {{value * 1000, true}};
  return {{value, false}};
}

// "epoch 2: ", "epoch[2/200], ", "epoch: [2/90] " before the times.
std::optional<std::int64_t> mindspore_epoch(const Line& line, std::int64_t& epochs) {
  for (const std::string_view key : {"epoch: [", "epoch[", "epoch "}) {
    std::int64_t epoch = 0;
    const std::string_view next = key.back() == '[' ? "/" : ": epoch time: ";
    Cursor cursor(line);
    if (cursor.read(Past{key}, kBlanks, epoch, next) && epoch > 0 && epoch <= kMostMindspore) {
      const auto all = next == "/" ? cursor.integer() : std::nullopt;
      if (all && *all >= epoch && *all <= kMostMindspore) epochs = *all;
      return epoch;
    }
  }
  return std::nullopt;
}

// "epoch: [1/10] step: [100/390], loss: 2.1, ..., per step time: 100.000 ms, fps per card: 320.00"
std::optional<StepLine> mindspore_step(const Line& line) {
  Cursor cursor(line);
  StepLine out;
  const bool ocr = cursor.skip_past("epoch: [");
  if ((!ocr && !cursor.skip_past("Epoch ")) ||
      !cursor.read(out.epoch, "/", out.epochs, ocr ? "] step: [" : ", Step ", out.step, "/",
                   out.all, ocr ? "], " : ", step time: ")) {
    return std::nullopt;
  }
  if (!ocr && !cursor.read(out.each_ms, " ms")) return std::nullopt;
  if (ocr) out.each_ms = number_after(line, ", per step time:").value_or(0);
  if (out.epoch < 1 || out.epochs < out.epoch || out.epochs > kMostMindspore || out.step < 1 ||
      out.all < out.step || out.all > kMostMindspore || !(out.each_ms > 0 && out.each_ms < 1e12)) {
    return std::nullopt;
  }
  if (!ocr) return out;
  out.loss = number_after(line, "loss:");
  out.per_card = has(line, " ms, fps per card: ");
  out.images_per_s =
      std::max(0.0, number_after(line, out.per_card ? "fps per card:" : ", fps:").value_or(0));
  return out;
}

// "Epoch:[  1/  2], step:[    2/   19], loss: 10.6, per_step_time: 1865ms, ..."
std::optional<StepLine> mindformers_line(const Line& line) {
  StepLine out;
  auto time = number_after(line, "per_step_time:");
  out.of_sink = !time && has(line, "overflow cond: ");
  if (out.of_sink) time = number_after(line, ", time:");
  if (!time || !(*time >= 0 && *time < 1e12)) return std::nullopt;
  out.each_ms = *time;
  const auto pair = [&](std::string_view key, std::int64_t& at, std::int64_t& all) {
    return Cursor(line).read(Past{key}, kBlanks, at, "/", kBlanks, all) && at >= 1 && all >= at &&
           all <= kMostMindspore;
  };
  if (has(line, "Epoch:[") && !pair("Epoch:[", out.epoch, out.epochs)) {
    return std::nullopt;
  }
  if (!pair("step:[", out.step, out.all)) return std::nullopt;
  out.loss = number_after(line, "loss:");
  if (!out.loss) out.loss = number_after(line, "loss:[");  // "loss:[10.600/10.588]" no sink
  return out;
}

constexpr Begin kRuns[] = {{.restart = Restart::never}};
constexpr Clock kStamps{1e-3, true};

struct Mindspore {
  void put(const Step& at, Emit emit) {
    newest = std::max(newest, at.step);
    open = true;
    emit(at);
  }

  void close(Emit emit) {
    emit(kRuns[0]);
    newest = 0;
    open = false;
  }

  // "Epoch: [  3/ 10], Average Train Loss: [0.511], ...": the steps are those of the line after it.
  bool tutorial(const Line& line) {
    Place at{.loss = number_after(line, "verage Train Loss: [")};
    std::int64_t all = 0;
    if (!Cursor(line).read(Past{"Epoch: ["}, kBlanks, at.epoch, "/", kBlanks, all) ||
        at.epoch < 1 || all < at.epoch || all > kMostMindspore) {
      return false;
    }
    place = at;
    planned_epochs = all;
    return true;
  }

  // "epoch: 1 step: 173, loss is 0.11", the epoch "0.0" in some revisions
  bool loss(const Line& line) {
    Cursor cursor(line);
    Place at;
    double epoch = 0;
    if (!cursor.read(Past{"epoch: "}, epoch) || !(epoch >= 0 && epoch < 1e9)) {
      return false;
    }
    at.epoch = static_cast<std::int64_t>(epoch);
    if (cursor.literal(" step: ") || cursor.literal(" step ")) {
      if (!cursor.read(at.step, ", loss is ")) return false;
      at.loss = cursor.number();
    } else if (cursor.literal(",") && cursor.read(Past{"step: "}, at.step) &&
               has(line, ", outputs are ")) {
      at.whole_run = true;
      at.loss = number_after(line, {"value=", "outputs are ("});
    }
    if (at.step < 1) return false;
    place = at;
    return true;
  }

  bool epoch_time(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    const auto epoch = mindspore_epoch(line, planned_epochs);
    const auto total = mindspore_duration(cursor);
    std::int64_t printed = 0;  // of some revisions; the ratio gives them as well
    cursor.read(", steps: ", kBlanks, printed);
    if (!total || !cursor.literal(", per step time: ")) return false;
    if (line_before.epoch > 0) return true;  // its steps have lines of their own
    const auto each = mindspore_duration(cursor);
    if (!each) return false;
    const double ratio = std::round(total->ms / each->ms);
    if (!(ratio >= 1 && ratio < 1e9)) return false;
    auto steps = static_cast<std::int64_t>(ratio);
    const bool coarse_total = total->in_seconds && !each->in_seconds;
    constexpr double kStepsPerEpochGap = 0.05;
    const double counted =
        place && !place->whole_run ? static_cast<double>(place->step) / ratio : 0;
    // Seconds of one decimal give the steps of an epoch to a few: the loss line counts them.
    if (coarse_total && std::abs(counted - 1) < kStepsPerEpochGap) steps = place->step;
    // The counter of an epoch may end below its last step, by what is not printed, never above it.
    if (!epoch && odd_times == 0 && counted > 1 + kStepsPerEpochGap) odd_times = line.number;
    Step at{.iterations = steps,
            .seconds = (coarse_total ? each->ms * static_cast<double>(steps) : total->ms) / 1000,
            .line = line.number,
            .end_byte = line.end_byte};
    if (epoch) place = Place{*epoch, *epoch * steps, true, number_after(line, "loss: ")};
    if (place) {
      if (place->step == 0) place->step = steps;  // an epoch without the number of a step
      at.step = place->step;
      if (!place->whole_run) at.step += (std::max<std::int64_t>(1, place->epoch) - 1) * steps;
      at.loss = place->loss;
      if (at.step < newest && place->epoch < last_epoch - 1) close(emit);  // launched again
      last_epoch = place->epoch;
    } else {
      emit.note(NoticeCode::epochs_without_counter);  // another rank's line, or another epoch's
      at.step = newest + steps;
      at.rank = line.rank;
    }
    if (planned_epochs > 0) at.planned = planned_epochs * steps;
    put(at, emit);
    return true;
  }

  // The time of 2023 is that of a sink of steps, or of one step where none is used: the stamps
  // show which.
  double seconds_of_sink(double seconds, const Step& at) {
    constexpr double kStampGap = 0.25;
    const auto steps = static_cast<double>(at.iterations);
    const double since = at.time_s - std::exchange(stamp, at.time_s);
    if (newest == 0 || at.step <= newest) return kUnknown;
    if (at.iterations == 1) return seconds;
    if (std::abs(seconds / since - 1) < kStampGap) of_all = true;
    if (std::abs(seconds * steps / since - 1) < kStampGap) of_all = false;
    if (!of_all) return kUnknown;
    return *of_all ? seconds : seconds * steps;
  }

  bool mindformers(const Line& line, Emit emit) {
    const auto printed = mindformers_line(line);
    if (!printed) return false;
    Step at{.step = printed->counter(), .loss = printed->loss, .clock = kStamps};
    if (ranks.is_copy(line.rank, at.step <= newest)) return true;
    if (open && at.step + 1 < newest && line.rank < 0) close(emit);
    at.iterations = newest > 0 && at.step > newest ? at.step - newest : 1;
    at.time_s = front_time(line.text);
    // Whole milliseconds of one step: too coarse for fast ones, whose clock is the stamp.
    constexpr double kShortestStep_ms = 100;
    if (printed->of_sink) {
      at.seconds = seconds_of_sink(printed->each_ms / 1000, at);
    } else if (printed->each_ms >= kShortestStep_ms) {
      at.each_s = printed->each_ms / 1000;
    } else {
      coarse = true;
    }
    if (printed->epochs > 0) at.planned = printed->epochs * printed->all;
    put(at, emit);
    return true;
  }

  // Images/s times the time of a step are the images of a step, where the digits leave no doubt.
  void images_of_step(double images_per_s, double each_ms) {
    constexpr double kHalfDigit = 0.005, kHalfTenth = 0.05, kDoubtLimit = 0.3;
    const double product = images_per_s * each_ms / 1000;
    const double doubt = product * (kHalfDigit / images_per_s + kHalfTenth / each_ms);
    if (!(doubt < kDoubtLimit)) return;
    const auto size = whole_near(product, doubt);
    odd_images = odd_images || !size || (images && images != size);
    images = size;
  }

  // The images/s of all devices since the line before. "iter" counts over all epochs, by steps or
  // by sinks of an epoch, or stands still at 1: then how many steps a line covers is not printed.
  bool rate(const Line& line, Emit emit) {
    std::int64_t epoch = 0, iteration = 0;
    Cursor cursor(line), value = Cursor::after(line);
    if (!cursor.read(Past{"epoch["}, epoch, "], iter[", iteration, "]")) {
      return false;
    }
    if (line.text[line.end - 1] == ':') {  // "12.63 imgs/sec, lr:0.01", else "ms, fps: 8.37"
      const auto before = line.text.find_last_not_of("0123456789.", line.at - 1);
      if (before < cursor.at()) return false;
      value.move_to(before + 1);
    }
    Step at{.loss = number_after(line, ", loss:"), .rate_unit = RateUnit::sequences_per_second};
    if (!value.read(kBlanks, at.rate) || !(at.rate > 0 && at.rate < 1e9)) return false;
    const bool counts = !open || iteration > newest;
    at.step = counts ? iteration : newest + 1;
    at.iterations = open && counts ? iteration - newest : 1;
    if (const auto each = number_after(line, ", per step time:"); each && *each > 0) {
      at.each_s = *each / 1000;
      images_of_step(at.rate, *each);
    }
    put(at, emit);
    return true;
  }

  // The clocks of MindOCR and MindYOLO begin anew with an epoch and with each line.
  bool step(const Line& line, Emit emit) {
    const auto printed = mindspore_step(line);
    if (!printed) return false;
    Step at{.step = printed->counter(),
            .each_s = printed->each_ms / 1000,
            .time_s = front_time(line.text),
            .loss = printed->loss,
            .unit = IterationUnit::micro_step,
            .clock = kStamps,
            .planned = printed->epochs * printed->all};
    if (ranks.is_copy(line.rank, at.step <= newest)) return true;
    if (at.step == newest && line.rank < 0) return true;  // likewise, without its label
    if (at.step < newest && line.rank < 0) {
      close(emit);
      line_before.epoch = 0;
    }
    const bool same = printed->epoch == line_before.epoch && printed->step > line_before.step;
    at.iterations = same ? printed->step - line_before.step : printed->step;
    // The first line of an excerpt hides how many steps it covers.
    if (line_before.epoch == 0 && !open) at.iterations = 1;
    if (printed->images_per_s > 0) images_of_step(printed->images_per_s, printed->each_ms);
    line_before = *printed;
    put(at, emit);
    return true;
  }

  // The scripts of the model zoo (GoogLeNet, VGG, SPNASNet) print it after model.train().
  bool end(const Line&, Emit emit) {
    emit(End{});
    return open;
  }

  void finish(Emit emit) {
    if (line_before.images_per_s > 0 && !line_before.per_card) {
      emit.note(NoticeCode::rate_scope_unknown, "fps", "the revision of MindOCR");
    } else if (images && !odd_images && line_before.per_card) {
      emit.log_fact(&Facts::micro_batch_size, *images);
    } else if (images && !odd_images) {
      emit.log_fact(&Facts::global_batch_size, *images);
      emit.log_fact(&Facts::gradient_accumulation_steps, 1);
    }
    if (odd_times > 0) {
      emit(Note{make_notice(NoticeCode::clocks_disagree, odd_times), kEveryTrack, Of::all});
    }
    if (coarse) {
      emit.note(NoticeCode::times_too_coarse, "per_step_time, in whole milliseconds,");
    }
  }

  struct Place {
    std::int64_t epoch = 0, step = 0;
    bool whole_run = false;  ///< the step counts over all epochs
    std::optional<double> loss{};
  };
  std::optional<Place> place;  ///< of the newest loss line, for the epoch line after it
  std::int64_t newest = 0;     ///< counter of the open run
  bool open = false;
  RankCopies ranks;
  double stamp = kUnknown;     ///< of MindFormers' newest line
  std::optional<bool> of_all;  ///< its time is that of all steps since the line before
  std::int64_t last_epoch = -1;
  std::int64_t planned_epochs = 0;     ///< of the newest loss line that states them
  std::optional<std::int64_t> images;  ///< of a step, while all lines agree on it
  bool odd_images = false;
  StepLine line_before{.epoch = 0};
  bool coarse = false;
  std::int64_t odd_times = 0;  ///< line whose two times give fewer steps than were counted
};

constexpr Row kRows[] = {
    on<&Mindspore::end>("train success"),
    on<&Mindspore::mindformers>("per_step_time: "),
    on<&Mindspore::mindformers>("overflow cond: "),
    on<&Mindspore::rate>(" ms, fps: "),
    on<&Mindspore::rate>(" imgs/sec, lr:"),
    on<&Mindspore::step>(" ms, fps"),
    on<&Mindspore::step>(", step time: "),
    on<&Mindspore::epoch_time>("poch time: "),
    on<&Mindspore::epoch_time>("] cost: "),
    on<&Mindspore::tutorial>("verage Train Loss: ["),
    on<&Mindspore::loss>(", loss is "),
    on<&Mindspore::loss>(", outputs are "),
};

}  // namespace

extern const Format entry{
    .name = "mindspore",
    .title = "MindSpore LossMonitor and TimeMonitor, MindFormers",
    .reference =
        "https://github.com/mindspore-ai/mindspore python/mindspore/train/callback; "
        "mindformers core/callback/callback.py",
    .framework = "mindspore",
    .table = table_of<Mindspore>(kRows, kRuns)};

}  // namespace bertbench::format_mindspore
