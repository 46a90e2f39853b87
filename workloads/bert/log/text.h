// Spellings of numbers and times that several log styles share.
#pragma once

#include <string>

#include "workloads/bert/log/log_style.h"

namespace bert {

/// As Python's repr(float): shortest text that reads back, always with a point or an exponent.
[[nodiscard]] std::string python_float(double value);
/// As json.dumps: NaN, Infinity and -Infinity are bare words.
[[nodiscard]] std::string python_json_float(double value);
/// As str(numpy.float32): shortest text that reads back as float.
[[nodiscard]] std::string numpy_float32(double value);
/// As C's and Python's %g, in the C locale.
[[nodiscard]] std::string percent_g(double value);
[[nodiscard]] inline const char* python_bool(bool value) { return value ? "True" : "False"; }
/// As json.dumps; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(const std::string& text);
/// strftime in UTC with milliseconds: "2026-01-31T12:34:56.789Z" (RFC 3339).
[[nodiscard]] std::string rfc3339(double unix_seconds);
/// As str(datetime.utcfromtimestamp()): "2026-01-31 12:34:56.789012".
[[nodiscard]] std::string python_datetime(double unix_seconds);
/// strftime(format) in UTC of the whole seconds, and what is beyond them in units of 1 / `units` s.
[[nodiscard]] std::string utc(double unix_seconds, const char* format = "%Y-%m-%d %H:%M:%S");
[[nodiscard]] int fraction(double unix_seconds, double units);
/// The command as a shell under `set -x` traces it, from which a reader turns steps into sequences
/// per device. After it the simulated cluster, where there is one.
[[nodiscard]] std::string command_trace(const RunFacts& facts);
/// Warm-up steps as a share of all, as several scripts have it in their arguments.
[[nodiscard]] double warmup_share(const RunFacts& facts);
/// The line that a run ends with which a signal ended; the originals have none.
[[nodiscard]] std::string interrupted(const RunEnd& end);

}  // namespace bert
