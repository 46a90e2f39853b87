#include "parsers/formats/dllogger/placed_decimal.h"

#include "parsers/lines/decimal.h"

namespace bertbench {
namespace {

#if defined(__x86_64__)
__attribute__((target("sse4.1"))) void by_vectors(const char* text,
                                                  std::span<const PlacedDecimal> numbers,
                                                  double* values) {
  for (const PlacedDecimal& number : numbers) *values++ = number.read_sse41(text);
}
#endif

const bool kVectors = [] {  // asked for each line: no guard of a static in front of it
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.1") > 0;
#else
  return false;
#endif
}();

}  // namespace

double PlacedDecimal::read_bytewise(const char* text) const {
  const std::size_t size = whole + fraction + (fraction > 0 ? 1 : 0);
  const char* const behind = text + end;
  const double value = end - size >= kReadInFrontOfDecimal
                           ? counted_decimal(behind, whole, fraction)
                           : read_decimal(behind - size, behind).value;
  return negative ? -value : value;
}

PlacedDecimal::PlacedDecimal(std::size_t end_, std::size_t whole_, std::size_t fraction_,
                             bool negative_)
    : end(end_), whole(whole_), fraction(fraction_), negative(negative_) {
  near.fill(0x80);
  far.fill(0x80);
  by_vectors = whole + fraction <= kDigits && end >= 2 * kDigits;
  if (!by_vectors) return;
  for (std::size_t i = 0; i < whole + fraction; ++i) {  // from the last digit on
    const std::size_t back = 1 + i + (i >= fraction && fraction > 0 ? 1 : 0);
    auto& control = back <= kDigits ? near : far;
    control[kDigits - 1 - i] = static_cast<std::uint8_t>((2 * kDigits - back) % kDigits);
  }
}

void read_decimals(const char* text, std::span<const PlacedDecimal> numbers, double* values) {
#if defined(__x86_64__)
  if (kVectors) return by_vectors(text, numbers, values);
#endif
  for (const PlacedDecimal& number : numbers) *values++ = number.read_bytewise(text);
}

}  // namespace bertbench
