#include "parsers/text/mindspore_text.h"

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

}  // namespace bertbench
