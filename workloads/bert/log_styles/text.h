// Spellings of numbers and times that several log styles share.
#pragma once

#include <string>

namespace bert {

/// As Python's repr(float): shortest text that reads back, always with a point or an exponent.
[[nodiscard]] std::string python_float(double value);
/// As str(numpy.float32): shortest text that reads back as float.
[[nodiscard]] std::string numpy_float32(double value);
/// As C's and Python's %g, in the C locale.
[[nodiscard]] std::string percent_g(double value);
/// strftime in UTC with milliseconds: "2026-01-31T12:34:56.789Z" (RFC 3339).
[[nodiscard]] std::string rfc3339(double unix_seconds);
/// strftime(format) in UTC of the whole seconds.
[[nodiscard]] std::string utc(double unix_seconds, const char* format);

}  // namespace bert
