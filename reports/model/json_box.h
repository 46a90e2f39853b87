// JsonBox: a JSON value inside a struct whose header does not include nlohmann/json.hpp, which
// costs more than a second of compile time in each file that includes it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace bertbench {

/// Owns one JSON value, null at first; a copy copies the value. Whoever reads or writes inside it
/// (`*box`, `box->`) includes nlohmann/json.hpp.
class JsonBox {
 public:
  using Json = nlohmann::ordered_json;

  JsonBox();
  JsonBox(const Json& value);  // NOLINT(google-explicit-constructor): a JSON value is one
  JsonBox(Json&& value);       // NOLINT(google-explicit-constructor)
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&& other) noexcept;
  JsonBox& operator=(const JsonBox& other);
  JsonBox& operator=(JsonBox&& other) noexcept;
  ~JsonBox();

  [[nodiscard]] static JsonBox object();  ///< {}
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_object() const;

  /// A box that was moved from holds null again when it is looked at.
  [[nodiscard]] const Json& operator*() const;
  [[nodiscard]] Json& operator*();
  [[nodiscard]] const Json* operator->() const { return &**this; }
  [[nodiscard]] Json* operator->() { return &**this; }

  friend bool operator==(const JsonBox& a, const JsonBox& b);

 private:
  std::unique_ptr<Json> value_;  ///< nothing: null
};

}  // namespace bertbench
