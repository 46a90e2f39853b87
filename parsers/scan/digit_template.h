// DigitTemplate: whether a text is another one but for the values of its digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bertbench {

class DigitTemplate {
 public:
  static constexpr std::size_t kShortest = 32, kLongest = 1024;

  DigitTemplate() = default;
  explicit DigitTemplate(std::string_view text) { learn(text); }

  /// A text shorter than kShortest or longer than kLongest matches nothing.
  void learn(std::string_view text);
  [[nodiscard]] std::size_t size() const { return size_; }
  /// A digit stands where one stood and all else is equal, over size() bytes from `text` on; there
  /// must be as many.
  [[nodiscard]] bool matches(const char* text) const;
  [[nodiscard]] bool matches(std::string_view text) const {
    return size_ > 0 && text.size() == size_ && matches(text.data());
  }
#if defined(__x86_64__)
  /// The same in line, for loops that are compiled for AVX-512; size() must be 64 or more.
  [[gnu::target("avx512f,avx512bw"), gnu::always_inline]] bool matches_avx512(
      const char* text) const {
    constexpr std::size_t kWidth = 64;
    __m512i wrong = _mm512_setzero_si512();
    for (std::size_t at = 0;; at += kWidth) {
      if (at + kWidth > size_) at = size_ - kWidth;  // the last vector overlaps the one before
      const __m512i above =
          _mm512_sub_epi8(_mm512_loadu_si512(text + at), _mm512_loadu_si512(from_.data() + at));
      wrong =
          _mm512_or_si512(wrong, _mm512_subs_epu8(above, _mm512_loadu_si512(most_.data() + at)));
      if (at + kWidth == size_) return _mm512_test_epi8_mask(wrong, wrong) == 0;
    }
  }
#endif
  /// The same byte by byte, for processors without AVX2.
  [[nodiscard]] bool matches_bytewise(const char* text) const;

 private:
  std::size_t size_ = 0;
  // Byte i is right when it is from_[i] + d with d in [0, most_[i]]: one subtraction and one that
  // saturates, for digits and all else alike.
  std::array<std::uint8_t, kLongest> from_, most_;
};

}  // namespace bertbench
