// Notice: something a reader should know about a number that was obtained all the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bertbench {

/// How the notice of a closing rate that its run contradicts begins.
inline constexpr std::string_view kClosingStatement = "the log's closing statement";

/// A bad line, a disagreement of facts, a fallback taken. Never a reason to stop reading.
struct Notice {
  std::int64_t line = 0;  ///< 1-based line of the log, 0 = the log as a whole
  std::string text;       ///< one sentence, may quote the log (escape when printing)
  bool operator==(const Notice&) const = default;
};

}  // namespace bertbench
