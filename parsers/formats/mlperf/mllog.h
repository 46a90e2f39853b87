// Statements of MLPerf logs, taken apart; parsers/formats/mlperf/mlperf.cpp makes runs of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/core/line.h"

namespace bertbench::mllog {

using Json = nlohmann::json;

/// A number, also one that is written as a string.
[[nodiscard]] std::optional<double> number(const Json& value);
[[nodiscard]] std::optional<double> number(const Json& object, const char* key);
/// When a statement was made; some submitters write "time_s" in place of "time_ms".
[[nodiscard]] std::optional<double> time_ms(const Json& statement);
/// Empty where there is none.
[[nodiscard]] std::string text(const Json& object, const char* key);

/// The key of a statement by its text alone: most lines of such a log state what nothing here
/// reads, and are not worth a JSON reader. Empty where only that reader can decide.
[[nodiscard]] std::string_view key_at_sight(std::string_view object);

/// A statement of rounds 0.5 and 0.6 as those from 0.7 on write it; not an object if it is none.
[[nodiscard]] Json old_statement(const Line& line);

}  // namespace bertbench::mllog
