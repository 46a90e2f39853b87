// A struct with fields() as JSON, keys in the order of the list.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "parsers/core/trainer_options.h"
#include "reports/model/fields.h"

namespace bertbench {

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  template <class T>
  [[nodiscard]] static Json json_of(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return name(value);
    } else if constexpr (requires { value.value_or(typename T::value_type()); }) {  // an optional
      return json_of(*value);
    } else if constexpr (std::is_same_v<T, NoticeValue>) {
      return std::visit([](const auto& one) { return Json(one); }, value);
    } else if constexpr (std::is_same_v<T, LossPoint>) {
      return Json::array({value.step, value.loss});
    } else if constexpr (std::is_same_v<T, Notice>) {
      return json_of(named(value));
    } else if constexpr (std::is_same_v<T, JsonBox>) {
      return *value;
    } else if constexpr (requires { value.begin()->second; }) {
      Json json = Json::object();
      for (const auto& [key, one] : value) {
        if (known(one)) json[key] = json_of(one);
      }
      return json;
    } else if constexpr (std::is_constructible_v<Json, const T&>) {
      return value;
    } else if constexpr (requires { value.begin(); }) {
      Json json = Json::array();
      for (const auto& one : value) json.push_back(json_of(one));
      return json;
    } else {
      JsonWriter writer;
      fields(value, writer);
      return std::move(writer.json_);
    }
  }

  template <class T>
  void operator()(const char* key, const T& value, MemberRule rule = {}) {
    if (rule.always || known(value, rule)) json_[key] = json_of(value);
  }
  /// What follows from other members, or is what was read.
  template <class T>
  void computed(const char* key, const T& value, const T&, MemberRule = {}) {
    (*this)(key, value);
  }
  template <class T>
  void written(const char* key, const T& value) {
    (*this)(key, value);
  }
  void constant(const char* key, std::string_view value) { json_[key] = value; }
  /// As text; and as notices, where one has a code.
  template <class Text>
  void notices(const char* text_key, const char* key, const std::vector<Notice>& notices,
               Text&& text) {
    if (notices.empty()) return;
    json_[text_key] = text();
    const auto coded = [](const Notice& one) { return one.code != NoticeCode::foreign; };
    if (std::ranges::any_of(notices, coded)) json_[key] = json_of(notices);
  }
  void other_keys(const std::map<std::string, std::string>& values) {
    for (const auto& [key, value] : values) {
      json_[key] = key == kSimulatedAxis && value == "true" ? Json(true) : Json(value);
    }
  }

 private:
  template <class T>
  [[nodiscard]] static bool known(const T& value, const MemberRule& rule = {}) {
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return !rule.zero_unknown || value > 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::isfinite(value);  // nothing else has a JSON number
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return value && std::isfinite(*value);
    } else if constexpr (requires { value.has_value(); }) {
      return value.has_value();
    } else if constexpr (requires { value.empty(); }) {
      return !value.empty();
    } else if constexpr (std::is_same_v<T, JsonBox>) {
      return !value.is_null();
    } else {
      return true;
    }
  }

  Json json_ = Json::object();
};

}  // namespace bertbench
