// Texts without their numbers: lines that differ in nothing else are of one kind.
#pragma once

#include <string>
#include <string_view>

namespace bertbench {

/// `text` with each stretch of digits, points and minus signs made one '0'. A literal that stands
/// on a line stands, so treated, on the line so treated.
[[nodiscard]] std::string number_blind(std::string_view text);

/// Whether number_blind() makes the same of both.
[[nodiscard]] bool same_but_numbers(std::string_view a, std::string_view b);

/// number_blind() that makes a number with an exponent one '0' as well.
[[nodiscard]] std::string blind_to_numbers(std::string_view text);

}  // namespace bertbench
