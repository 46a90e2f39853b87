#include "parsers/formats/mlperf/mllog.h"

#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/json_line.h"

namespace bertbench::mllog {

std::optional<double> number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return to_double(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::optional<double> number(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto at = object.find(key);
  return at != object.end() ? number(*at) : std::nullopt;
}

std::optional<double> time_ms(const Json& statement) {
  if (const auto milliseconds = number(statement, "time_ms")) return milliseconds;
  const auto seconds = number(statement, "time_s");
  return seconds ? std::optional(*seconds * 1000) : std::nullopt;
}

std::string text(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string_view key_at_sight(std::string_view object) {
  constexpr std::string_view kKey = "\"key\": \"";
  const auto at = object.find(kKey);
  // After a backslash it is text; after a second brace it is a key of an object within.
  if (at == std::string_view::npos || object.rfind('{', at) != 0 ||
      object.substr(0, at).find('\\') != std::string_view::npos) {
    return {};
  }
  const auto rest = object.substr(at + kKey.size());
  const auto end = rest.find_first_of("\"\\");
  if (end == std::string_view::npos || rest[end] != '"' ||
      rest.find('}', end) == std::string_view::npos) {
    return {};
  }
  return rest.substr(0, end);
}

Json old_statement(const Line& line) {
  Cursor cursor(line);
  const bool first_round = !cursor.skip_past(":::MLL ");
  Json said;
  if (first_round) {
    if (!cursor.skip_past(":::MLPv0.") || !cursor.skip_past(" ")) return said;
    const auto benchmark = cursor.until(" ");
    if (!benchmark || !cursor.literal(" ")) return said;
    said["benchmark"] = *benchmark;
  }
  const auto seconds = cursor.number();
  if (!seconds || (first_round && !cursor.skip_past(") ")) || !(*seconds > 0)) return Json();
  cursor.blanks();
  const auto key = cursor.until(": \t");
  if (!key) return Json();
  said["key"] = *key;
  said["time_ms"] = *seconds * 1000;
  const Json value = cursor.literal(": ") ? parse_json_before_text(cursor.rest()) : Json();
  if (!first_round) {
    if (!value.is_object()) return Json();
    said.update(value);
    return said;
  }
  if (!value.is_discarded()) said["value"] = value;
  if (value.is_object() && value.contains("success")) {
    const Json& well = value["success"];
    said["metadata"]["status"] = well == true || well == "true" ? "success" : "aborted";
  }
  return said;
}

}  // namespace bertbench::mllog
