#include "parsers/core/text.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <numeric>

namespace bertbench {

std::optional<std::int64_t> to_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> to_double(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> to_share(std::string_view text) {
  std::string_view number = trim(text);
  const bool percent = number.ends_with('%');
  if (percent) number = trim(number.substr(0, number.size() - 1));
  const auto value = to_double(number);
  const double share = value ? *value / (percent ? 100 : 1) : -1;
  if (!(share >= 0 && share < 1)) return std::nullopt;
  return share;
}

std::optional<double> grouped_number(std::string_view text) {
  std::string digits(text.substr(0, text.find_first_not_of("0123456789.,")));
  std::erase(digits, ',');
  return to_double(digits);
}

std::string_view trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string counted(long long n, const std::string& singular) {
  return std::to_string(n) + " " + singular + (n == 1 ? "" : "s");
}

void append_utf8(std::string& out, char32_t code) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | (code >> shift & 0x3FU));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | code >> 6U);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | code >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | code >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::size_t decode_utf8(std::string_view text, char32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char a = byte(0);
  if (a < 0x80) {
    code = a;
    return 1;
  }
  if (a >= 0xC2 && a <= 0xDF && tail(1)) {
    code = static_cast<char32_t>((a & 0x1FU) << 6U | (byte(1) & 0x3FU));
    return 2;
  }
  if ((a & 0xF0U) == 0xE0U && tail(1) && tail(2)) {
    code = static_cast<char32_t>((a & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU));
    return code >= 0x800 && (code < 0xD800 || code > 0xDFFF) ? 3 : 0;
  }
  if (a >= 0xF0 && a <= 0xF4 && tail(1) && tail(2) && tail(3)) {
    code = static_cast<char32_t>((a & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U |
                                 (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU));
    return code >= 0x10000 && code <= 0x10FFFF ? 4 : 0;
  }
  return 0;
}

namespace {

bool is_bidi_control(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E ||
         c == 0x200F || c == 0x061C || c == 0x2028 || c == 0x2029;
}

/// A blank of Unicode: GitHub's runner looks for its commands after any of them.
bool is_space(char32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace

std::string escape_for_terminal(std::string_view text, bool keep_newlines) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  bool only_blanks = true;  // on this line so far
  while (!text.empty()) {
    if (text.starts_with("##[") || (only_blanks && text.starts_with("::"))) out += '\\';
    char32_t code = 0;
    const std::size_t length = decode_utf8(text, code);
    only_blanks = code == '\n' || (only_blanks && length > 0 && is_space(code));
    const bool kept = keep_newlines && (code == '\n' || code == '\t');
    const auto byte = static_cast<unsigned char>(text.front());
    if (length == 0 || (length == 1 && !kept && (code < 0x20 || code == 0x7F))) {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else if ((code >= 0x80 && code < 0xA0) || is_bidi_control(code)) {
      out += "\\u{";
      for (int shift = 12; shift >= 0; shift -= 4) {
        out += kHex[(code >> static_cast<unsigned>(shift)) & 15U];
      }
      out += '}';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string nearest_name(std::string_view text, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::min<std::size_t>(3, text.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t change = diagonal + (text[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, change});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string rate_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::fabs(value);
  if (size >= 1e15) return fmt::format("{:.3e}", value);  // no line of 300 digits
  if (size >= 10 || size == 0) return fmt::format("{:.2f}", value);
  if (size >= 1) return fmt::format("{:.3f}", value);
  return fmt::format("{:.5f}", value);
}

}  // namespace bertbench
