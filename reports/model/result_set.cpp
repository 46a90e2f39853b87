#include "reports/model/result_set.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace bertbench {
namespace {

const JsonBox::Json& null_value() {
  static const JsonBox::Json null;
  return null;
}

}  // namespace

JsonBox::JsonBox() = default;
JsonBox::JsonBox(const Json& value) : value_(std::make_unique<Json>(value)) {}
JsonBox::JsonBox(Json&& value) : value_(std::make_unique<Json>(std::move(value))) {}
JsonBox::JsonBox(const JsonBox& other)
    : value_(other.value_ ? std::make_unique<Json>(*other.value_) : nullptr) {}
JsonBox::JsonBox(JsonBox&& other) noexcept = default;
JsonBox& JsonBox::operator=(const JsonBox& other) {
  if (this != &other) value_ = other.value_ ? std::make_unique<Json>(*other.value_) : nullptr;
  return *this;
}
JsonBox& JsonBox::operator=(JsonBox&& other) noexcept = default;
JsonBox::~JsonBox() = default;

JsonBox JsonBox::object() { return JsonBox(Json::object()); }
bool JsonBox::is_null() const { return (**this).is_null(); }
bool JsonBox::is_object() const { return (**this).is_object(); }

const JsonBox::Json& JsonBox::operator*() const { return value_ ? *value_ : null_value(); }
JsonBox::Json& JsonBox::operator*() {
  if (!value_) value_ = std::make_unique<Json>();
  return *value_;
}

bool operator==(const JsonBox& a, const JsonBox& b) { return *a == *b; }

}  // namespace bertbench
