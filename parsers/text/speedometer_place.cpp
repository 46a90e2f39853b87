#include "parsers/text/speedometer_place.h"

#include "parsers/text/cursor.h"

namespace bertbench {
namespace {

constexpr std::int64_t kMostEpochs = 1'000'000'000, kMostBatches = 1'000'000'000'000;

/// Behind "Batch [".
bool read_batch(Cursor& cursor, SpeedometerPlace& out) {
  auto batch = cursor.integer();
  if (batch && *batch >= 0 && cursor.literal("-")) {
    out.from = batch;
    batch = cursor.integer();
  }
  if (!batch || *batch < 0 || *batch > kMostBatches) return false;
  out.batch = *batch;
  if (!cursor.literal("]/[")) return true;
  const auto all = cursor.integer();
  if (all && *all > *batch && *all <= kMostBatches) out.per_epoch = *all;
  return true;
}

}  // namespace

std::optional<SpeedometerPlace> speedometer_place(const Line& line) {
  Cursor cursor(line);
  const bool gluon = cursor.skip_past("[Epoch ");
  if (!gluon && !cursor.skip_past("Epoch[") && !cursor.skip_past("Iter[")) return std::nullopt;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > kMostEpochs || !cursor.literal("]")) return std::nullopt;
  cursor.blanks();
  if (gluon ? !cursor.literal("[Batch ") : !cursor.literal("Batch")) return std::nullopt;
  if (!gluon) {
    cursor.blanks();
    if (!cursor.literal("[")) return std::nullopt;
  }
  SpeedometerPlace out;
  out.epoch = *epoch;
  if (!read_batch(cursor, out)) return std::nullopt;
  return out;
}

}  // namespace bertbench
