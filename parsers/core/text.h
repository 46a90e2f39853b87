// Small text helpers that never depend on the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

/// The whole of `text` as a base-10 integer; no blanks, no '+', nothing left over.
[[nodiscard]] std::optional<std::int64_t> to_int(std::string_view text);

/// The whole of `text` as a finite number or nan/inf (std::from_chars rules, a leading '+'
/// allowed).
[[nodiscard]] std::optional<double> to_double(std::string_view text);
/// The number that begins here, its digits grouped or not: "129,238.5 tok/s".
[[nodiscard]] std::optional<double> grouped_number(std::string_view text);

/// "2%" and "0.02": 0.02. Nothing for what is not at least 0 and less than 1.
[[nodiscard]] std::optional<double> to_share(std::string_view text);

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] inline bool has_text(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

/// Pieces between separators, empty ones kept; "" gives one empty piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Shortest text that reads back as the same double ("150.11", "1e+30", "nan").
[[nodiscard]] std::string shortest(double value);

/// Two decimals, more below 10: "1844.10", "31.49", "3.094", "0.04310".
[[nodiscard]] std::string rate_text(double value);

/// Now, as RFC 3339 has it: "2026-01-31T12:34:56Z".
[[nodiscard]] std::string utc_now();

/// 1, "trial" -> "1 trial"; 3, "trial" -> "3 trials".
[[nodiscard]] std::string counted(long long n, const std::string& singular);

[[nodiscard]] inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Of ASCII, like lower().
[[nodiscard]] inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// Of UTF-8, a byte of a letter or mark that ASCII lacks.
[[nodiscard]] inline bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
/// A letter of any alphabet, or a byte of one.
[[nodiscard]] inline bool is_any_letter(char c) { return is_letter(c) || is_beyond_ascii(c); }
/// May stand in an identifier.
[[nodiscard]] inline bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
[[nodiscard]] inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

/// Appends a code point (at most U+10FFFF) as UTF-8.
void append_utf8(std::string& out, char32_t code);

/// Length of the well-formed UTF-8 sequence that `text` begins with (not empty), 0 if it is not one
/// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). Its code point goes to
/// `code`.
[[nodiscard]] std::size_t decode_utf8(std::string_view text, char32_t& code);

/// Hostile text made safe for a terminal: C0 and C1 controls, DEL, bidi controls and bytes that
/// are not UTF-8 become \xNN or \u{NNNN}. With `keep_newlines`, '\n' and '\t' stay. "::" at the
/// begin of a line and "##[" anywhere, which GitHub's runner takes for commands in any step's
/// output, get a '\' before them.
[[nodiscard]] std::string escape_for_terminal(std::string_view text, bool keep_newlines = false);

/// The nearest of `candidates` by edit distance (at most 3, and less than half its length), for
/// "did you mean" hints; empty when none is near.
[[nodiscard]] std::string nearest_name(std::string_view text,
                                       const std::vector<std::string>& candidates);

}  // namespace bertbench
