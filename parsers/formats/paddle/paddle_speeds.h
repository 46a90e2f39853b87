// Lines of Paddle's scripts that name their speed in steps/s, each script in its own way.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/core/line.h"
#include "parsers/core/record.h"

namespace bertbench {

/// steps/s, NaN where its digits give it worse than to 2 %, as "0.04" does.
struct PaddleSpeed {
  double value = kUnknown;
  bool rough = false;
};

/// What stands after `key`; nothing where no number does.
[[nodiscard]] std::optional<PaddleSpeed> paddle_speed_after(const Line& line, std::string_view key);

struct PaddleSpeedLine {
  std::int64_t step = 0;
  PaddleSpeed speed{};
  double seconds = kUnknown;  ///< of one step, where the line prints it apart from the speed
  std::optional<std::int64_t> planned{};  ///< last step
  /// ERNIE and the BERT of 2019, of which some revisions multiply the speed by the nodes.
  bool ernie = false;
};

/// A line of the Transformer, of ERNIE or Knover, or of PaddleHub; nothing for any other. What a
/// step counts is not stated on them.
[[nodiscard]] std::optional<PaddleSpeedLine> read_paddle_speed_line(const Line& line);

}  // namespace bertbench
