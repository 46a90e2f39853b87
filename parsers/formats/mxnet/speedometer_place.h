// Where a line of MXNet's Speedometer, or of a script that prints like it, stands in the training.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/line.h"

namespace bertbench {

struct SpeedometerPlace {
  std::int64_t epoch = 0, batch = 0;
  std::optional<std::int64_t> from;  ///< "[20-40]"
  std::int64_t per_epoch = 0;        ///< batches; 0: not stated
};

/// "Epoch[3] Batch [20]", "Epoch[3] Batch [0-20]", "Iter[3] Batch[20]", "[Epoch 3][Batch 99]",
/// "Epoch[015] Batch [0019]/[0056]"; R names no epoch: "Batch [20] Speed: ", and counts on from the
/// `epoch` and `batch` of the line before.
[[nodiscard]] std::optional<SpeedometerPlace> speedometer_place(const Line& line,
                                                                std::int64_t epoch,
                                                                std::int64_t batch);

/// Speed against the stamps of the lines.
class SpeedTimes {
 public:
  /// A line after `batches` that took `seconds`.
  void add(double speed, std::int64_t batches, double seconds);
  /// How many workers' batches Speed counts; 0 if the stamps do not show several.
  [[nodiscard]] double workers(double batch_size) const;

 private:
  double samples_ = 0, batches_ = 0;
  std::int64_t lines_ = 0;
};

/// Whether the Speed of lines is that of many batches: that of one jumps from line to line.
class SpeedJumps {
 public:
  void add(double speed);
  [[nodiscard]] bool any() const { return newest_ > 0; }
  [[nodiscard]] bool steady() const;

 private:
  double newest_ = 0;
  std::int64_t lines_ = 0, jumps_ = 0;
};

}  // namespace bertbench
