// DigitTemplate: whether a text is another one but for the values of its digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
  /// The same byte by byte, for processors without AVX2.
  [[nodiscard]] bool matches_bytewise(const char* text) const;

 private:
  std::size_t size_ = 0;
  // Byte i is right when it is from_[i] + d with d in [0, most_[i]]: one subtraction and one that
  // saturates, for digits and all else alike.
  std::array<std::uint8_t, kLongest> from_, most_;
};

}  // namespace bertbench
