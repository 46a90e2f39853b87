// ByteMaps: which bytes of a short line are digits or quotes, as bits. Where a value ends is then a
// matter of counting bits (simdjson's idea).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bertbench {

class ByteMaps {
 public:
  static constexpr std::size_t kLongest = 1024;

  ByteMaps() = default;
  /// Without AVX-512, for tests.
  explicit ByteMaps(bool narrow) : narrow_(narrow) {}

  /// False where there is nothing to be had: `text` is longer than kLongest or shorter than a
  /// vector, holds a control character, a backslash or a byte that is not ASCII, or the processor
  /// has no AVX2.
  [[nodiscard]] bool fill(std::string_view text);

  /// Up to where the text is that of the fill before but for the values of digits: a digit stands
  /// where one stood, and all else is equal. At most the shorter one's size, less a vector.
  [[nodiscard]] std::size_t alike() const { return alike_; }

  /// Digits from `at` on without a gap, up to kReach of them; `at` may lie behind the text.
  [[nodiscard]] std::size_t digits(std::size_t at) const {
    return static_cast<std::size_t>(std::countr_one(window(digits_, at)));
  }
  /// How far behind `at` the next quote stands; more than kReach if it is further.
  [[nodiscard]] std::size_t to_quote(std::size_t at) const {
    return static_cast<std::size_t>(std::countr_zero(window(quotes_, at)));
  }
  static constexpr std::size_t kReach = 56;

 private:
  using Bits = std::array<std::uint64_t, kLongest / 64 + 2>;
  [[nodiscard]] static std::uint64_t window(const Bits& bits, std::size_t at) {
    std::uint64_t out = 0;
    std::memcpy(&out, reinterpret_cast<const char*>(bits.data()) + at / 8, sizeof out);
    return out >> (at % 8);
  }
  bool fill_avx2(std::string_view text);
  bool fill_avx512(std::string_view text);

  Bits digits_{}, quotes_{};
  std::size_t alike_ = 0;
  std::size_t before_size_ = 0;
  std::array<char, kLongest> before_;  ///< the text of the fill before
  bool narrow_ = false;
};

}  // namespace bertbench
