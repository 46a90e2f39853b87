// The counters and stamps of PaddlePaddle's vision suites.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

/// Above it no number of such a line is meant.
inline constexpr double kMostPaddle = 1e12;

/// Where a training line stands.
struct PaddleCount {
  std::int64_t epoch = 0;
  std::int64_t step = 0;       ///< done: of the epoch, or of the run
  std::int64_t per_epoch = 0;  ///< 0: not stated
  bool of_run = false;
  bool mean_of_epoch = false;  ///< the times are means since the epoch began
  bool all_cards = false;
  std::int64_t planned = 0;  ///< last step of the run; 0: not stated
  bool of_epoch = false;     ///< cost x step is the time since the epoch began
};

/// Of a training line of PaddleClas, PaddleOCR, PaddleDetection, PaddleSeg, PLSC, the models of
/// 2020 or the template of reproductions; lines of evaluations have none.
[[nodiscard]] std::optional<PaddleCount> paddle_count(const Line& line);

/// Seconds of a batch.
[[nodiscard]] std::optional<double> paddle_cost(const Line& line);

/// "2024/07/31 20:24:32", "2021-05-19 18:05:06", "07/21 14:40:44": the last names no year. NaN:
/// none before the line.
[[nodiscard]] double paddle_stamp(const Line& line);

}  // namespace bertbench
