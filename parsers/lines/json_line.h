// A JSON value in a line of a log, as trainers write it: not always by the standard.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace bertbench {

/// The value, with two faults mended: NaN and infinity that stand bare, as Python writes them,
/// become the texts "nan", "inf" and "-inf", and bytes of a text that are not UTF-8 or are control
/// characters become '?'. Discarded where the text is no JSON even so.
[[nodiscard]] nlohmann::json parse_json_line(std::string_view text);

/// The text holds the beginning of an object, `{"`, from which on it is no JSON.
[[nodiscard]] bool holds_broken_object(std::string_view text);

}  // namespace bertbench
