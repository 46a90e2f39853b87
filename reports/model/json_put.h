// Members of JSON that may be unknown: such are not written, and of JSON that others wrote they are
// not read.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/model/result_set.h"

namespace bertbench {

template <class T>
void put(nlohmann::ordered_json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

inline void put(nlohmann::ordered_json& json, const char* key,
                const std::optional<Interval>& value) {
  if (!value) return;
  json[key] = {{"low", value->low}, {"high", value->high}, {"coverage", value->coverage}};
}

/// The member, where `json` is an object that has it as a number.
[[nodiscard]] inline std::optional<double> number_at(const nlohmann::ordered_json& json,
                                                     const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

/// The member, where `json` is an object that has it as a text; else empty.
[[nodiscard]] inline std::string text_at(const nlohmann::ordered_json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace bertbench
