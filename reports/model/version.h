// The version that goes into every result.
#pragma once

#include <string_view>

namespace bertbench {

[[nodiscard]] std::string_view tool_version();  ///< "0.1.0"
[[nodiscard]] std::string_view tool_commit();   ///< 12 hex digits, "-dirty" if so; or "unknown"

}  // namespace bertbench
