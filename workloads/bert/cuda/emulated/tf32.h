// What the mantissa of a tf32 operand keeps.
#pragma once

#include <cstdint>
#include <cstring>

namespace bert::emulated {

/// Rounded to nearest, ties away from zero (cvt.rna.tf32).
inline float rounded_to_tf32(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000U) != 0x7f800000U) bits = (bits + 0x1000U) & 0xffffe000U;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

}  // namespace bert::emulated
