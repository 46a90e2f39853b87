// What stands in the lines of MindSpore's callbacks; parsers/formats/mindspore.cpp makes runs of
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/format.h"
#include "parsers/text/cursor.h"

namespace bertbench {

struct MindsporeDuration {
  double ms = 0;
  bool in_seconds = false;  ///< shown in seconds, with fewer digits
};
/// Milliseconds unless "s" is said; some scripts print "16.7 s", some "31.05s".
[[nodiscard]] std::optional<MindsporeDuration> mindspore_duration(Cursor& cursor);

/// "epoch 2: ", "epoch[2/200], ", "epoch: [2/90] " in front of the times.
[[nodiscard]] std::optional<std::int64_t> mindspore_epoch(const Line& line);

}  // namespace bertbench
