#include "parsers/formats/mindspore/mindspore_text.h"

#include <algorithm>
#include <string_view>

namespace bertbench {

std::optional<MindsporeDuration> mindspore_duration(Cursor& cursor) {
  double value = 0;
  if (!cursor.read(kBlanks, value) || !(value > 0 && value < 1e12)) return std::nullopt;
  const bool ms = cursor.literal(" ms") || cursor.literal("ms");
  if (!ms && (cursor.literal(" s") || cursor.literal("s"))) return {{value * 1000, true}};
  return {{value, false}};
}

std::optional<std::int64_t> mindspore_epoch(const Line& line) {
  for (const std::string_view key : {"epoch: [", "epoch[", "epoch "}) {
    Cursor cursor(line);
    std::int64_t epoch = 0;
    const std::string_view next = key.back() == '[' ? "/" : ": epoch time: ";
    if (cursor.skip_past(key) && cursor.read(kBlanks, epoch, next) && epoch > 0 &&
        epoch <= kMostMindspore) {
      return epoch;
    }
  }
  return std::nullopt;
}

std::optional<MindsporeStep> mindspore_step(const Line& line) {
  Cursor cursor(line);
  MindsporeStep out;
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
  out.per_card = line.text.find(" ms, fps per card: ") != std::string_view::npos;
  out.images_per_s =
      std::max(0.0, number_after(line, out.per_card ? "fps per card:" : ", fps:").value_or(0));
  return out;
}

std::optional<MindformersLine> mindformers_line(const Line& line) {
  MindformersLine out;
  auto time = number_after(line, "per_step_time:");
  out.of_sink = !time && line.text.find("overflow cond: ") != std::string_view::npos;
  if (out.of_sink) time = number_after(line, ", time:");
  if (!time || !(*time >= 0 && *time < 1e12)) return std::nullopt;
  out.ms = *time;
  const auto pair = [&](std::string_view key, std::int64_t& at, std::int64_t& all) {
    Cursor cursor(line);
    return cursor.skip_past(key) && cursor.read(kBlanks, at, "/", kBlanks, all) && at >= 1 &&
           all >= at && all <= kMostMindspore;
  };
  if (line.text.find("Epoch:[") != std::string_view::npos &&
      !pair("Epoch:[", out.epoch, out.epochs)) {
    return std::nullopt;
  }
  if (!pair("step:[", out.step, out.all)) return std::nullopt;
  out.loss = number_after(line, "loss:");
  if (!out.loss) out.loss = number_after(line, "loss:[");  // "loss:[10.600/10.588]" no sink
  return out;
}

}  // namespace bertbench
