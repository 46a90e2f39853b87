// Typed access to a JSON object with errors that name the file and the JSON path.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "parsers/core/error.h"

namespace bertbench {

/// Reads one object. The first error stays; later reads return defaults, so that a caller checks
/// once at the end. Unknown keys are left alone.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  JsonReader(const Json& json, std::string path, std::optional<Error>& error, std::string where)
      : json_(json), path_(std::move(path)), error_(error), where_(std::move(where)) {
    if (!json_.is_object()) report("", "an object");
  }

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] bool has(const char* key) const { return find(key) != nullptr; }

  [[nodiscard]] std::optional<std::string> text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) return report(key, "a string"), std::nullopt;
    return value->get<std::string>();
  }
  [[nodiscard]] std::optional<double> number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) return report(key, "a number"), std::nullopt;
    return value->get<double>();
  }
  /// A whole number in [least, 2^53].
  [[nodiscard]] std::optional<std::int64_t> count(const char* key, std::int64_t least = 0) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    constexpr std::int64_t kTop = std::int64_t{1} << 53;
    std::optional<std::int64_t> n;
    if (value->is_number_unsigned()) {
      const auto u = value->get<std::uint64_t>();
      if (u <= static_cast<std::uint64_t>(kTop)) n = static_cast<std::int64_t>(u);
    } else if (value->is_number_integer()) {
      n = value->get<std::int64_t>();
    } else if (value->is_number_float()) {
      const auto d = value->get<double>();
      if (d >= -9.0e15 && d <= 9.0e15 && d == static_cast<double>(static_cast<std::int64_t>(d))) {
        n = static_cast<std::int64_t>(d);
      }
    }
    if (!n || *n < least) {
      return report(key, "a whole number of at least " + std::to_string(least)), std::nullopt;
    }
    return n;
  }
  [[nodiscard]] std::optional<bool> flag(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) return report(key, "true or false"), std::nullopt;
    return value->get<bool>();
  }
  /// Calls `read(JsonReader&)` for the object at `key`, if there is one.
  template <class Read>
  void object(const char* key, Read&& read) {
    const Json* value = find(key);
    if (value == nullptr) return;
    JsonReader child(*value, path_ + "." + key, error_, where_);
    if (!failed()) read(child);
  }
  /// Calls `read(JsonReader&)` for each object of the array at `key`, if there is one.
  template <class Read>
  void objects(const char* key, Read&& read) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return report(key, "an array");
    std::size_t index = 0;
    for (const Json& element : *value) {
      JsonReader child(element, path_ + "." + key + "[" + std::to_string(index++) + "]", error_,
                       where_);
      if (failed()) return;
      read(child);
    }
  }
  /// Says that `key` is required.
  void require(const char* key) {
    if (!failed() && !has(key)) {
      error_ = Error{where_ + ": " + path_, std::string("the key \"") + key + "\" is missing", {}};
    }
  }
  void report(const std::string& key, const std::string& expected) {
    if (failed()) return;
    const std::string at = key.empty() ? path_ : path_ + "." + key;
    error_ = Error{where_ + ": " + at, "must be " + expected, {}};
  }

 private:
  // null means unknown, like an absent key.
  [[nodiscard]] const Json* find(const char* key) const {
    if (failed() || !json_.is_object()) return nullptr;
    const auto it = json_.find(key);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }

  const Json& json_;
  std::string path_;
  std::optional<Error>& error_;
  std::string where_;
};

}  // namespace bertbench
