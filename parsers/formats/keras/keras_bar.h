// KerasBar: one drawing of the progress bar of Keras (formats/keras.cpp says how it looks).
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

struct KerasBar {
  std::int64_t done = 0, total = 0;
  double elapsed_s = kUnknown;  ///< only of a bar that is full
  double left_s = kUnknown;     ///< time left, of bars before Keras 3: whole seconds, cut off
  double step_s = kUnknown, step_resolution_s = 0;
  bool per_sample = false, per_step = false;
  bool modern = false;      ///< Keras 3, or tf.keras from 2.4 on: it counts steps
  bool loss_known = false;  ///< some loss is printed
  bool loss_read = false;   ///< `loss` was: NaN is a printed NaN
  bool validated = false;
  double loss = kUnknown;
};

/// Nothing where the line holds no such bar, or one that shows no time. A bar without a counter
/// (verbose=2 of the oldest releases) has a total of 0.
[[nodiscard]] std::optional<KerasBar> read_keras_bar(const Line& line);

}  // namespace bertbench
