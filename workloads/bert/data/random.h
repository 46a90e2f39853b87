// Counter-based random numbers: what a sequence contains is a function of (seed, index) alone, so
// any rank can make any sequence, in any order.
#pragma once

#include <cstdint>

namespace bert {

/// SplitMix64 (Steele, Lea, Flood 2014).
class KeyedRandom {
 public:
  KeyedRandom(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
      : state_(mix(mix(mix(seed) ^ stream) ^ index)) {}

  [[nodiscard]] std::uint64_t next() { return mix(state_ += kGamma); }
  /// [0, 1)
  [[nodiscard]] double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// [0, bound), bound > 0; the bias of the multiplication is below bound / 2^64.
  [[nodiscard]] std::int64_t below(std::int64_t bound) {
    const auto wide = static_cast<Wide>(next()) * static_cast<std::uint64_t>(bound);
    return static_cast<std::int64_t>(wide >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15U;
  static std::uint64_t mix(std::uint64_t z) {
    z += kGamma;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace bert
