// Time stamps of log lines, as seconds.
#pragma once

#include <optional>
#include <string_view>

namespace bertbench {

/// "2023-08-02 10:01:00.756283" (also with 'T' or ',' before the fraction) at the start of `text`:
/// seconds since 1970 by that calendar, time zones not looked at.
[[nodiscard]] std::optional<double> date_time(std::string_view text);

/// absl and glog: "I0802 09:39:58.537291 ..." at the start of `text`: seconds since the start of a
/// year that the stamp does not name.
[[nodiscard]] std::optional<double> absl_time(std::string_view text);

}  // namespace bertbench
