// What is unknown is not written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace bertbench {

template <class T>
void put(nlohmann::ordered_json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

}  // namespace bertbench
