#include "parsers/scan/number_blind.h"

#include "parsers/core/text.h"

namespace bertbench {

std::string number_blind(std::string_view text) {
  std::string out(text.size(), '\0');
  char* to = out.data();
  bool in_number = false;
  // No branch: whether a byte is a digit is hard to guess.
  for (const char c : text) {
    const bool number = (c >= '0' && c <= '9') || c == '.' || c == '-';
    *to = number ? '0' : c;
    to += number && in_number ? 0 : 1;
    in_number = number;
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
  return out;
}

bool same_but_numbers(std::string_view a, std::string_view b) {
  const auto in_number = [](char c) { return is_digit(c) || c == '.' || c == '-'; };
  const auto skip = [&](std::string_view text, std::size_t at) {
    while (at < text.size() && in_number(text[at])) ++at;
    return at;
  };
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (in_number(a[i]) && in_number(b[k])) {
      i = skip(a, i);
      k = skip(b, k);
    } else if (a[i++] != b[k++]) {
      return false;
    }
  }
  return i == a.size() && k == b.size();
}

std::string blind_to_numbers(std::string_view text) {
  std::string out = number_blind(text);
  for (const std::string_view exponent : {"0e0", "0e+0", "0E0", "0E+0"}) {
    for (auto at = out.find(exponent); at != std::string::npos; at = out.find(exponent, at)) {
      out.replace(at, exponent.size(), "0");
    }
  }
  return out;
}

}  // namespace bertbench
