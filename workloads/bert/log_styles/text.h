// Spellings of numbers and times that several log styles share.
#pragma once

#include <string>

#include "workloads/bert/log_styles/log_style.h"

namespace bert {

/// As Python's repr(float): shortest text that reads back, always with a point or an exponent.
[[nodiscard]] std::string python_float(double value);
/// As json.dumps: NaN, Infinity and -Infinity are bare words.
[[nodiscard]] std::string python_json_float(double value);
/// As str(numpy.float32): shortest text that reads back as float.
[[nodiscard]] std::string numpy_float32(double value);
/// As C's and Python's %g, in the C locale.
[[nodiscard]] std::string percent_g(double value);
/// strftime in UTC with milliseconds: "2026-01-31T12:34:56.789Z" (RFC 3339).
[[nodiscard]] std::string rfc3339(double unix_seconds);
/// As str(datetime.utcfromtimestamp()): "2026-01-31 12:34:56.789012".
[[nodiscard]] std::string python_datetime(double unix_seconds);
/// The command as a shell under `set -x` traces it: what a reader needs to turn steps into
/// sequences per device. Behind it the simulated cluster, where there is one.
[[nodiscard]] std::string command_trace(const RunFacts& facts);
/// strftime(format) in UTC of the whole seconds.
[[nodiscard]] std::string utc(double unix_seconds, const char* format);

}  // namespace bert
