#include "parsers/formats/mindspore/mindspore_text.h"

#include <algorithm>
#include <string_view>

namespace bertbench {

std::optional<MindsporeDuration> mindspore_duration(Cursor& cursor) {
  cursor.blanks();
  const auto value = cursor.number();
  if (!value || !(*value > 0 && *value < 1e12)) return std::nullopt;
  if (cursor.literal(" ms") || cursor.literal("ms")) return MindsporeDuration{*value, false};
  if (cursor.literal(" s") || cursor.literal("s")) return MindsporeDuration{*value * 1000, true};
  return MindsporeDuration{*value, false};
}

std::optional<std::int64_t> mindspore_epoch(const Line& line) {
  for (const std::string_view key : {"epoch: [", "epoch[", "epoch "}) {
    Cursor cursor(line);
    if (!cursor.skip_past(key)) continue;
    cursor.blanks();
    const auto epoch = cursor.integer();
    if (!epoch || *epoch < 1 || *epoch > 1'000'000'000) continue;
    if (cursor.literal(key.back() == '[' ? "/" : ": epoch time: ")) return epoch;
  }
  return std::nullopt;
}

std::optional<MindsporeStep> mindspore_step(const Line& line) {
  Cursor cursor(line);
  const auto whole = [&](std::string_view after_it) -> std::int64_t {
    const auto value = cursor.integer();
    constexpr std::int64_t kCountLimit = 1'000'000'000;
    return value && *value >= 1 && *value <= kCountLimit && cursor.literal(after_it) ? *value : 0;
  };
  const bool ocr = cursor.skip_past("epoch: [");
  if (!ocr && !cursor.skip_past("Epoch ")) return std::nullopt;
  MindsporeStep out;
  out.epoch = whole("/");
  out.epochs = whole(ocr ? "] step: [" : ", Step ");
  out.step = whole("/");
  out.all = whole(ocr ? "], " : ", step time: ");
  const auto each = ocr ? number_after(line, ", per step time:") : cursor.number();
  if (out.epoch == 0 || out.epochs < out.epoch || out.step == 0 || out.all < out.step || !each ||
      !(*each > 0 && *each < 1e12)) {
    return std::nullopt;
  }
  out.each_ms = *each;
  if (!ocr) return cursor.literal(" ms") ? std::optional(out) : std::nullopt;
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
    if (!cursor.skip_past(key)) return false;
    cursor.blanks();
    at = cursor.integer().value_or(0);
    if (!cursor.literal("/")) return false;
    cursor.blanks();
    all = cursor.integer().value_or(0);
    return at >= 1 && all >= at && all <= 1'000'000'000;
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
