// Messages of TensorFlow's loggers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/core/record.h"

namespace bertbench {

/// A message without what the logger put before it.
struct TfMessage {
  std::string_view text;
  double time_s = kUnknown;  ///< seconds of an unnamed year; absl lines only
  bool absl = false;
  std::int64_t thread = 0;  ///< absl: of the process that prints
};
/// "INFO:tensorflow:..." or "I0501 17:11:00.381370 <thread> file.py:2308] ...".
[[nodiscard]] std::optional<TfMessage> tf_message(std::string_view line);

}  // namespace bertbench
