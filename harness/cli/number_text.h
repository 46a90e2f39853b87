// Numbers as tables show them: few digits, the same everywhere, never locale-dependent.
#pragma once

#include <optional>
#include <string>

#include "parsers/core/text.h"  // counted

namespace bertbench {

/// As that of a number (parsers/core/text.h); "-" when absent.
[[nodiscard]] std::string rate_text(const std::optional<double>& value);

/// A fraction as a percentage: "0.6 %".
[[nodiscard]] std::string share_text(double fraction);

/// "0.008", "<0.001", "1".
[[nodiscard]] std::string p_text(double p);

}  // namespace bertbench
