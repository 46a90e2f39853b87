// Notice: something a reader should know about a number that was obtained all the same. It is a
// code with values; the one table in notices.cpp names the codes and makes the text, which no code
// reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "parsers/core/notice_codes.h"

namespace bertbench {

using NoticeValue = std::variant<std::int64_t, double, std::string>;

/// A bad line, a disagreement of facts, a fallback taken. Never a reason to stop reading.
struct Notice {
  NoticeCode code = NoticeCode::foreign;
  std::int64_t line = 0;            ///< 1-based line of the log, 0 = the log as a whole
  std::vector<NoticeValue> values;  ///< in the order of the names in the code's template
  std::string log;                  ///< its path where that is not the trial's own, else empty
  bool operator==(const Notice&) const = default;
};

/// What `bertbench list notices` prints of a code.
struct NoticeKind {
  NoticeCode code;
  std::string_view name;      ///< as in JSON
  std::string_view text;      ///< template: {name} or {name:.1f} stands for a value
  std::string_view meaning;   ///< when it is given
  std::string_view remedy{};  ///< what a user can do; empty where nothing is to be done
};
/// All codes in the order of NoticeCode.
[[nodiscard]] std::span<const NoticeKind> notice_kinds();
[[nodiscard]] const NoticeKind& kind_of(NoticeCode code);
[[nodiscard]] std::string_view name(NoticeCode code);
[[nodiscard]] std::optional<NoticeCode> parse_notice_code(std::string_view name);
/// The names of a template's values, each once, in the order in which they first stand there.
[[nodiscard]] std::vector<std::string_view> value_names(std::string_view text);

/// One sentence for people. It may quote the log: escape it when printing.
[[nodiscard]] std::string text_of(const Notice& notice);

[[nodiscard]] std::vector<std::string> texts_of(std::span<const Notice> notices);

template <class Value>
[[nodiscard]] NoticeValue notice_value(Value&& value) {
  if constexpr (std::is_integral_v<std::remove_cvref_t<Value>>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_floating_point_v<std::remove_cvref_t<Value>>) {
    return static_cast<double>(value);
  } else {
    return std::string(std::forward<Value>(value));
  }
}
/// A notice of `code` with the values of its template, in order: whole numbers, numbers, texts.
template <class... Values>
[[nodiscard]] Notice make_notice(NoticeCode code, std::int64_t line, Values&&... values) {
  return {code, line, {notice_value(std::forward<Values>(values))...}, {}};
}
/// The same, of a log that is one of several.
[[nodiscard]] Notice of_log(std::string path, Notice notice);
/// A text that has no code: of a user's format file, an older result or another program.
[[nodiscard]] Notice foreign_notice(std::int64_t line, std::string text);

}  // namespace bertbench
