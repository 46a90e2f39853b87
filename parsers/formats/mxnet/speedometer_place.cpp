#include "parsers/formats/mxnet/speedometer_place.h"

#include <algorithm>
#include <cmath>

#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::int64_t kMostEpochs = 1'000'000'000, kMostBatches = 1'000'000'000'000;

/// After "Batch [".
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

/// Of R, after "Batch [".
std::optional<SpeedometerPlace> place_without_epoch(Cursor& cursor, std::int64_t epoch,
                                                    std::int64_t newest) {
  const auto batch = cursor.integer();
  if (!batch || *batch < 1 || *batch > kMostBatches || !cursor.literal("] Speed: ")) {
    return std::nullopt;
  }
  SpeedometerPlace out;
  out.epoch = std::max<std::int64_t>(0, epoch) + (epoch >= 0 && *batch <= newest ? 1 : 0);
  out.batch = *batch;
  return out;
}

}  // namespace

std::optional<SpeedometerPlace> speedometer_place(const Line& line, std::int64_t newest_epoch,
                                                  std::int64_t newest_batch) {
  Cursor cursor(line);
  if (cursor.literal("Batch [")) return place_without_epoch(cursor, newest_epoch, newest_batch);
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

void SpeedTimes::add(double speed, std::int64_t batches, double seconds) {
  if (batches < 1 || !(seconds > 0)) return;
  samples_ += speed * seconds;
  batches_ += static_cast<double>(batches);
  ++lines_;
}

double SpeedTimes::workers(double batch_size) const {
  constexpr std::int64_t kLinesForAVerdict = 4;
  constexpr double kWholeRatioGap = 0.03;
  if (lines_ < kLinesForAVerdict) return 0;
  const double ratio = samples_ / batches_ / batch_size;
  if (!(ratio > 1.5 && ratio < 1e6)) return 0;
  const double whole = std::round(ratio);
  return std::abs(ratio / whole - 1) < kWholeRatioGap ? whole : 0;
}

void SpeedJumps::add(double speed) {
  constexpr double kJump = 1.3;
  if (!(speed > 0)) return;
  if (newest_ > 0) {
    ++lines_;
    if (std::max(speed, newest_) > kJump * std::min(speed, newest_)) ++jumps_;
  }
  newest_ = speed;
}

bool SpeedJumps::steady() const { return lines_ > 0 && jumps_ * 8 <= lines_; }

}  // namespace bertbench
