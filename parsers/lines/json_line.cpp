#include "parsers/lines/json_line.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kBareWords{
    {{"NaN", "\"nan\""},
     {"Infinity", "\"inf\""},
     {"-Infinity", "\"-inf\""},
     {"True", "true"},
     {"False", "false"},
     {"None", "null"}}};

/// Appends what stands at the beginning of `rest`, mended, and gives its length.
std::size_t mend_text(std::string_view rest, std::string& out) {
  if (rest[0] == '\\' && rest.size() > 1) {
    out.append(rest.substr(0, 2));
    return 2;
  }
  char32_t code = 0;
  const auto length = decode_utf8(rest, code);
  if (length == 0 || code < 0x20) {
    out += '?';
    return 1;
  }
  out.append(rest.substr(0, length));
  return length;
}

std::size_t mend_outside(std::string_view rest, std::string& out) {
  for (const auto& [bare, text] : kBareWords) {
    if (!rest.starts_with(bare)) continue;
    out += text;
    return bare.size();
  }
  out += rest[0];
  return 1;
}

std::string mended(std::string_view text) {
  std::string out;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = text.substr(at);
    if (rest[0] == '"') {
      in_text = !in_text;
      out += '"';
      ++at;
    } else {
      at += in_text ? mend_text(rest, out) : mend_outside(rest, out);
    }
  }
  return out;
}

}  // namespace

nlohmann::json parse_json_line(std::string_view text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return json;
  return nlohmann::json::parse(mended(text), nullptr, /*allow_exceptions=*/false);
}

nlohmann::json parse_json_before_text(std::string_view text) {
  auto json = parse_json_line(text);
  const auto end = text.rfind('}');
  if (!json.is_discarded() || end == text.npos) return json;
  return parse_json_line(text.substr(0, end + 1));
}

std::optional<double> number_in(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? to_double(value.get_ref<const std::string&>()) : std::nullopt;
}

std::optional<double> number_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() ? number_in(*at) : std::nullopt;
}

bool holds_broken_object(std::string_view text) {
  const auto begin = text.find("{\"");
  return begin != text.npos && parse_json_before_text(text.substr(begin)).is_discarded();
}

}  // namespace bertbench
