// DllWalk: a line of JSON, read from left to right, as far as it is of the usual form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parsers/lines/decimal.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace bertbench {

/// Every step returns false where the text is not of the usual form.
class DllWalk {
 public:
  explicit DllWalk(std::string_view text)
      : begin_(text.data()), p_(text.data()), end_(p_ + text.size()) {}

  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(p_ - begin_); }
  bool take(char c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  void blanks() {
    while (p_ != end_ && *p_ == ' ') ++p_;
  }
  /// A separator and the blanks behind it.
  bool next(char c) {
    blanks();
    if (!take(c)) return false;
    blanks();
    return true;
  }
  [[nodiscard]] bool at(char c) const { return p_ != end_ && *p_ == c; }
  [[nodiscard]] bool done() {
    blanks();
    return p_ == end_;
  }

  bool string(std::string_view& out) {
    if (!take('"')) return false;
    const char* const begin = p_;
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    while (end_ - p_ >= 16) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p_));
      const auto quotes = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, quote)));
      // As signed bytes, control characters and all that is not ASCII lie below the blank.
      const auto odd = static_cast<unsigned>(
          _mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(x, space), _mm_cmpeq_epi8(x, escape))));
      if (quotes != 0) {
        const int n = std::countr_zero(quotes);
        if ((odd & ((1u << static_cast<unsigned>(n)) - 1)) != 0) return false;
        out = {begin, static_cast<std::size_t>(p_ + n - begin)};
        p_ += n + 1;
        return true;
      }
      if (odd != 0) return false;
      p_ += 16;
    }
#endif
    for (; p_ != end_; ++p_) {
      const auto c = static_cast<unsigned char>(*p_);
      if (c == '"') {
        out = {begin, static_cast<std::size_t>(p_ - begin)};
        ++p_;
        return true;
      }
      if (c < 0x20 || c >= 0x7f || c == '\\') return false;
    }
    return false;
  }

  bool number(double& out) {
    const Decimal read = read_decimal(p_, end_);
    if (read.stop == nullptr) return false;
    // "1.2.3", "1e", "12x": the library says what is wrong with it.
    if (read.stop != end_ && *read.stop != ',' && *read.stop != ' ' && *read.stop != '}' &&
        *read.stop != ']') {
      return false;
    }
    out = read.value;
    p_ = read.stop;
    return true;
  }

 private:
  const char* begin_;
  const char* p_;
  const char* end_;
};

}  // namespace bertbench
