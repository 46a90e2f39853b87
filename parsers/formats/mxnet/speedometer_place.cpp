#include "parsers/formats/mxnet/speedometer_place.h"

#include <algorithm>
#include <cmath>

#include "parsers/lines/cursor.h"

namespace bertbench {

std::optional<SpeedometerPlace> speedometer_place(const Line& line, std::int64_t newest_epoch,
                                                  std::int64_t newest_batch) {
  Cursor cursor(line);
  SpeedometerPlace out;
  if (cursor.literal("Batch [")) {  // of R
    if (!cursor.read(out.batch, "] Speed: ") || out.batch < 1) return std::nullopt;
    out.epoch = std::max<std::int64_t>(0, newest_epoch);
    if (newest_epoch >= 0 && out.batch <= newest_batch) ++out.epoch;
    return out;
  }
  const bool gluon = cursor.skip_past("[Epoch ");
  if (!gluon && !cursor.skip_past("Epoch[") && !cursor.skip_past("Iter[")) return std::nullopt;
  if (!cursor.read(out.epoch, "]", kBlanks) ||
      !(gluon ? cursor.literal("[Batch ") : cursor.read("Batch", kBlanks, "[")) ||
      !cursor.read(out.batch)) {
    return std::nullopt;
  }
  if (cursor.literal("-")) {
    out.from = out.batch;
    if (!cursor.read(out.batch)) return std::nullopt;
  }
  std::int64_t all = 0;
  if (cursor.read("]/[", all) && all > out.batch) out.per_epoch = all;
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
