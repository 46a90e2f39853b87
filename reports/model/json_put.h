// What is unknown is not written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

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

}  // namespace bertbench
