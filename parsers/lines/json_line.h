// A JSON value in a line of a log, as trainers write it: not always by the standard.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace bertbench {

/// The value, with two faults mended: words that stand bare, as Python writes them, are read (NaN
/// and infinity become the texts "nan", "inf" and "-inf"; True, False and None become values), and
/// bytes of a text that are not UTF-8 or are control characters become '?'. Discarded where the
/// text is no JSON even so.
[[nodiscard]] nlohmann::json parse_json_line(std::string_view text);

/// The same of a text that may go on after the object: up to its last '}' where the whole is no
/// JSON.
[[nodiscard]] nlohmann::json parse_json_before_text(std::string_view text);

/// A number, also one that is written as a text: "12.5", "nan".
[[nodiscard]] std::optional<double> number_in(const nlohmann::json& value);
/// That of an object's member; nothing where there is none, or no object.
[[nodiscard]] std::optional<double> number_in(const nlohmann::json& object, const char* key);

/// The text holds the beginning of an object, `{"`, that is no JSON up to its last '}' either.
[[nodiscard]] bool holds_broken_object(std::string_view text);

}  // namespace bertbench
