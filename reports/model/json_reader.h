// A struct with fields() from the events of a JSON text, straight into its members: no tree of the
// text is made. Errors name the file, the path in it and the rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "parsers/core/error.h"
#include "reports/model/fields.h"

namespace bertbench {

/// A value of a JSON text that holds no others; the first for one that does.
using JsonScalar =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

/// What a type does with a value; null where it does not apply.
struct JsonKind;

/// Where the next value goes.
struct JsonSlot {
  void* at = nullptr;
  const JsonKind* kind = nullptr;  ///< null: nobody wants the value
  MemberRule rule{};
  unsigned place = 0;  ///< among the members of its struct
};

struct JsonKind {
  enum class Holds { scalar, object, list, json };
  Holds holds = Holds::scalar;
  bool keeps_null = false;  ///< of an object: null is a value of its members
  /// Takes the value or returns what it must be: "a number".
  std::string (*take)(void* at, const JsonScalar& value, const MemberRule& rule) = nullptr;
  /// Begins an object or a list; the answer is the `at` of its members. `scratch` lives until its
  /// end.
  void* (*open)(void* at, std::shared_ptr<void>& scratch) = nullptr;
  JsonSlot (*member)(void* at, std::string_view key) = nullptr;
  JsonSlot (*element)(void* at) = nullptr;
  /// The first required key whose place is not in `seen`.
  const char* (*missing)(void* at, std::uint64_t seen) = nullptr;
  /// Of what began with `scratch`.
  void (*close)(void* at, void* scratch) = nullptr;
};

template <class T>
[[nodiscard]] JsonSlot slot_of(T& member, MemberRule rule = {}, unsigned place = 0);

class JsonReader {
 public:
  /// `path` is the path of `root` in the file, `where` the file.
  JsonReader(JsonSlot root, std::string where, std::string path = "$")
      : root_(root), where_(std::move(where)), path_(std::move(path)) {}

  /// Reads a whole text; null is as if the key were not there, keys that nobody wants are left out.
  [[nodiscard]] std::optional<Error> text(std::string text);

  // The events of a text. Each returns false at the first error. Keys live as long as the reader.
  bool value(const JsonScalar& value);
  bool key(std::string_view name);
  bool open(bool list);
  bool close();

 private:
  struct Frame {
    JsonSlot slot;
    void* at = nullptr;     ///< of its members
    std::string_view key;   ///< in the object around it
    std::size_t count = 0;  ///< of the elements so far
    std::uint64_t seen = 0;
    std::shared_ptr<void> scratch{};
  };

  [[nodiscard]] JsonSlot next();
  /// Of the value to come, or of the object or list around it.
  [[nodiscard]] std::string path(bool of_value) const;
  bool fail(const std::string& path, std::string rule);
  nlohmann::ordered_json& add(nlohmann::ordered_json value);

  JsonSlot root_;
  std::string where_, path_;
  std::optional<Error> error_;
  std::vector<Frame> frames_;
  std::string_view key_;                        // of the value to come
  std::size_t depth_ = 0, skipped_ = 0;         // levels in all, and in a value that nobody wants
  std::vector<nlohmann::ordered_json*> boxed_;  // the levels inside a JsonBox
};

// What each type does with a value.

/// A whole number in [least, 2^53], or nothing.
[[nodiscard]] std::optional<std::int64_t> whole_number(const JsonScalar& value, std::int64_t least);
[[nodiscard]] std::optional<double> number(const JsonScalar& value);
/// Texts as they are, other scalars as they stand in JSON.
[[nodiscard]] std::string scalar_text(const JsonScalar& value);

template <class T>
std::string take(T& out, const JsonScalar& value, const MemberRule& rule) {
  if constexpr (std::is_same_v<T, bool>) {
    const bool* flag = std::get_if<bool>(&value);
    if (flag == nullptr) return "true or false";
    out = *flag;
  } else if constexpr (std::is_integral_v<T>) {
    const auto n = whole_number(value, rule.least);
    if (!n) return "a whole number of at least " + std::to_string(rule.least);
    constexpr std::int64_t kCountLimit = sizeof(T) < 8 ? 1'000'000'000 : std::int64_t{1} << 53;
    out = static_cast<T>(std::min(*n, kCountLimit));
  } else if constexpr (std::is_same_v<T, double>) {
    const auto n = number(value);
    if (!n) return "a number";
    if (rule.above_zero && !(*n > 0)) return "a rate above 0";
    out = *n;
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto* text = std::get_if<std::string_view>(&value);
    if (text == nullptr) return "a string";
    out = *text;
  } else if constexpr (std::is_same_v<T, NoticeValue>) {
    std::string text;
    double real = 0;
    if (const auto n = whole_number(value, INT64_MIN); n && value.index() != 4) {
      out = *n;
    } else if (take(real, value, rule).empty()) {
      out = real;
    } else if (take(text, value, rule).empty()) {
      out = std::move(text);
    } else {
      out = kUnknown;  // JSON has no NaN
    }
  } else if constexpr (std::is_enum_v<T>) {
    const auto* text = std::get_if<std::string_view>(&value);
    std::string names;
    for (int i = 0; i <= static_cast<int>(last_of(T())); ++i) {
      const T one = static_cast<T>(i);
      if (text != nullptr && *text == name(one)) return out = one, std::string();
      names += (i == 0 ? "" : one == last_of(T()) ? " or " : ", ") + std::string(name(one));
    }
    return names;
  } else {
    return "an object";
  }
  return {};
}

/// Finds the member of a key by visiting all.
class JsonFinder {
 public:
  explicit JsonFinder(std::string_view key) : key_(key) {}
  [[nodiscard]] JsonSlot slot() const { return slot_; }

  template <class T>
  void operator()(const char* key, T& member, MemberRule rule = {}) {
    if (!is(key)) return;
    if constexpr (requires { member.has_value(); }) {
      if (rule.copy && member) return;
    }
    slot_ = slot_of(member, rule, place_ - 1);
  }
  template <class T>
  void computed(const char* key, const T&, T& member, MemberRule rule = {}) {
    (*this)(key, member, rule);
  }
  template <class T>
  void written(const char* key, const T&) {
    (void)is(key);
  }
  void constant(const char* key, const std::string_view& value);
  template <class Text>
  void notices(const char* text_key, const char* key, std::vector<Notice>& notices, Text&&) {
    texts(text_key, notices);
    (*this)(key, notices);
  }
  void other_keys(std::map<std::string, std::string>& values);

 private:
  /// Where no notices are read yet, which hold the same.
  void texts(const char* key, std::vector<Notice>& notices);
  [[nodiscard]] bool is(const char* key) {
    ++place_;
    if (known_ || key_ != key) return false;
    return known_ = true;
  }

  std::string_view key_;
  JsonSlot slot_;
  unsigned place_ = 0;
  bool known_ = false;
};

/// The first required key that is not seen, in the order of JsonFinder.
struct JsonMissing {
  std::uint64_t seen = 0;
  const char* key = nullptr;

  void look(const char* one, bool required) {
    if (key == nullptr && required && (seen & 1U) == 0) key = one;
    seen >>= 1U;
  }
  template <class T>
  void operator()(const char* one, T&, MemberRule rule = {}) {
    look(one, rule.required);
  }
  template <class T>
  void computed(const char* one, const T&, T&, MemberRule = {}) {
    look(one, false);
  }
  template <class T>
  void written(const char* one, const T&) {
    look(one, false);
  }
  void constant(const char* one, const std::string_view&) { look(one, true); }
  template <class Text>
  void notices(const char* one, const char* other, std::vector<Notice>&, Text&&) {
    look(one, false);
    look(other, false);
  }
  void other_keys(std::map<std::string, std::string>&) {}
};

template <class T>
JsonKind make_json_kind();

/// How a T is read; made at the first use.
template <class T>
const JsonKind& json_kind() {
  static const JsonKind kind = make_json_kind<T>();
  return kind;
}

template <class T>
JsonKind make_json_kind() {
  using Holds = JsonKind::Holds;
  JsonKind kind;
  kind.take = [](void* at, const JsonScalar& value, const MemberRule& rule) {
    return take(*static_cast<T*>(at), value, rule);
  };
  if constexpr (std::is_same_v<T, JsonBox>) {
    kind.holds = Holds::json;
  } else if constexpr (requires(T t) { t.has_value(); }) {  // an optional
    using Inner = typename T::value_type;
    kind = json_kind<Inner>();
    kind.take = [](void* at, const JsonScalar& value, const MemberRule& rule) {
      Inner inner{};
      std::string wrong = take(inner, value, rule);
      if (wrong.empty()) *static_cast<T*>(at) = std::move(inner);
      return wrong;
    };
    kind.open = [](void* at, std::shared_ptr<void>& scratch) {
      return json_kind<Inner>().open(&static_cast<T*>(at)->emplace(), scratch);
    };
  } else if constexpr (std::is_same_v<T, Notice>) {
    kind = json_kind<NoticeText>();
    kind.open = [](void*, std::shared_ptr<void>& scratch) {
      scratch = std::make_shared<NoticeText>();
      return scratch.get();
    };
    kind.close = [](void* at, void* scratch) {
      *static_cast<Notice*>(at) = notice_of(std::move(*static_cast<NoticeText*>(scratch)));
    };
  } else if constexpr (std::is_same_v<T, LossPoint>) {  // [step, loss]
    struct Cursor {
      LossPoint* point;
      int next = 0;
    };
    kind.holds = Holds::list;
    kind.open = [](void* at, std::shared_ptr<void>& scratch) {
      scratch = std::make_shared<Cursor>(static_cast<LossPoint*>(at));
      return scratch.get();
    };
    kind.element = [](void* at) {
      auto& cursor = *static_cast<Cursor*>(at);
      if (cursor.next == 0) return ++cursor.next, slot_of(cursor.point->step, {.least = INT64_MIN});
      if (cursor.next == 1) return ++cursor.next, slot_of(cursor.point->loss);
      return JsonSlot{};
    };
    kind.take = [](void*, const JsonScalar&, const MemberRule&) {
      return std::string("a list of a step and a loss");
    };
  } else if constexpr (requires(T t) { t.push_back({}); } && !std::is_same_v<T, std::string>) {
    kind.open = [](void* at, std::shared_ptr<void>&) {
      static_cast<T*>(at)->clear();
      return at;
    };
    using Element = typename T::value_type;
    if constexpr (requires(Element e) { e.second; }) {
      kind.holds = Holds::object;
      kind.keeps_null = true;
      kind.member = [](void* at, std::string_view key) {
        return slot_of(
            static_cast<T*>(at)->emplace_back(key, typename Element::second_type()).second);
      };
    } else {
      kind.holds = Holds::list;
      kind.take = [](void*, const JsonScalar&, const MemberRule&) {
        return std::string("an array");
      };
      kind.element = [](void* at) { return slot_of(static_cast<T*>(at)->emplace_back()); };
    }
  } else if constexpr (requires { typename T::mapped_type; }) {
    kind.holds = Holds::object;
    kind.open = [](void* at, std::shared_ptr<void>&) {
      static_cast<T*>(at)->clear();
      return at;
    };
    kind.member = [](void* at, std::string_view key) {
      return slot_of((*static_cast<T*>(at))[std::string(key)]);
    };
  } else if constexpr (requires(T t, JsonFinder finder) { fields(t, finder); }) {
    kind.holds = Holds::object;
    kind.open = [](void* at, std::shared_ptr<void>&) { return at; };
    kind.member = [](void* at, std::string_view key) {
      JsonFinder finder(key);
      fields(*static_cast<T*>(at), finder);
      return finder.slot();
    };
    kind.missing = [](void* at, std::uint64_t seen) {
      JsonMissing missing{seen};
      fields(*static_cast<T*>(at), missing);
      return missing.key;
    };
  }
  return kind;
}

template <class T>
JsonSlot slot_of(T& member, MemberRule rule, unsigned place) {
  return {&member, &json_kind<T>(), rule, place};
}

}  // namespace bertbench
