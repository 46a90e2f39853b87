// Philox 4x32: a counter-based random generator, scalar.
#pragma once

#include <array>
#include <cstdint>

namespace bert {

/// What each round mixes into the counter: the key, raised by a constant from round to round. Plain
/// arrays, as the CPU's row kernels may call nothing that other files have too (see core.cmake).
template <int kRounds>
struct PhiloxKeys {
  std::uint32_t of_round[kRounds][2];
};

template <int kRounds>
constexpr PhiloxKeys<kRounds> philox_keys(std::array<std::uint32_t, 2> key) {
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
  PhiloxKeys<kRounds> keys{};
  for (auto& of_round : keys.of_round) {
    of_round[0] = key[0];
    of_round[1] = key[1];
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return keys;
}

/// Philox under keys that are made once for many counters.
template <int kRounds>
constexpr std::array<std::uint32_t, 4> philox_rounds(std::array<std::uint32_t, 4> counter,
                                                     const PhiloxKeys<kRounds>& keys) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ keys.of_round[round][0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ keys.of_round[round][1],
               static_cast<std::uint32_t>(product0)};
  }
  return counter;
}

/// Philox 4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11, section 4.3).
/// A pure function of counter and key, so any value can be made again anywhere, in any order. Seven
/// rounds pass every test of BigCrush (table 2 there); ten are the authors' choice.
template <int kRounds = 10>
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  return philox_rounds(counter, philox_keys<kRounds>(key));
}

}  // namespace bert
