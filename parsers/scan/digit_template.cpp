#include "parsers/scan/digit_template.h"

namespace bertbench {
namespace {

#if defined(__x86_64__)
// The last vector overlaps the one in front of it.

__attribute__((target("avx2"))) bool matches_avx2(const char* text, const std::uint8_t* from,
                                                  const std::uint8_t* most, std::size_t size) {
  constexpr std::size_t kWidth = 32;
  __m256i wrong = _mm256_setzero_si256();
  for (std::size_t at = 0;; at += kWidth) {
    if (at + kWidth > size) at = size - kWidth;
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at));
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    const __m256i reach = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(most + at));
    wrong = _mm256_or_si256(wrong, _mm256_subs_epu8(_mm256_sub_epi8(x, low), reach));
    if (at + kWidth == size) return _mm256_testz_si256(wrong, wrong) != 0;
  }
}
#endif

// Asked for each line: no guard of a static may stand in front of it.
const bool kAvx2 = [] {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") > 0;
#else
  return false;
#endif
}();

}  // namespace

void DigitTemplate::learn(std::string_view text) {
  size_ = text.size() < kShortest || text.size() > kLongest ? 0 : text.size();
  for (std::size_t i = 0; i < size_; ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    from_[i] = static_cast<std::uint8_t>(digit ? '0' : text[i]);
    most_[i] = digit ? 9 : 0;
  }
}

bool DigitTemplate::matches(const char* text) const {
  if (size_ == 0) return false;
#if defined(__x86_64__)
  if (kAvx2) return matches_avx2(text, from_.data(), most_.data(), size_);
#endif
  return matches_bytewise(text);
}

bool DigitTemplate::matches_bytewise(const char* text) const {
  unsigned wrong = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto above = static_cast<std::uint8_t>(static_cast<std::uint8_t>(text[i]) - from_[i]);
    wrong |= static_cast<unsigned>(above > most_[i]);
  }
  return size_ > 0 && wrong == 0;
}

}  // namespace bertbench
