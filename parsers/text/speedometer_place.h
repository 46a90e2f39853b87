// Where a line of MXNet's Speedometer, or of a script that prints like it, stands in the training.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/format.h"

namespace bertbench {

struct SpeedometerPlace {
  std::int64_t epoch = 0, batch = 0;
  std::optional<std::int64_t> from;  ///< "[20-40]"
  std::int64_t per_epoch = 0;        ///< batches; 0: not told
};

/// "Epoch[3] Batch [20]", "Epoch[3] Batch [0-20]", "Iter[3] Batch[20]", "[Epoch 3][Batch 99]",
/// "Epoch[015] Batch [0019]/[0056]".
[[nodiscard]] std::optional<SpeedometerPlace> speedometer_place(const Line& line);

}  // namespace bertbench
