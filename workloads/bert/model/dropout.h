// Which elements dropout keeps: one definition for the CPU kernels, the reference and the tests.
#pragma once

#include <cstdint>

#include "workloads/bert/model/philox.h"

namespace bert {

/// Places of the network where dropout acts. Layer l uses 1 + 3 l + {0, 1, 2}.
struct DropoutSite {
  static constexpr std::uint32_t kEmbeddings = 0;
  static constexpr std::uint32_t attention(std::int64_t layer) { return number(layer, 0); }
  static constexpr std::uint32_t attention_output(std::int64_t layer) { return number(layer, 1); }
  static constexpr std::uint32_t output(std::int64_t layer) { return number(layer, 2); }

 private:
  static constexpr std::uint32_t number(std::int64_t layer, std::uint32_t place) {
    return 1 + 3 * static_cast<std::uint32_t>(layer) + place;
  }
};

/// Of Philox, for dropout: the fewest that pass BigCrush.
inline constexpr int kDropoutRounds = 7;

/// Dropout of one site for one sequence. The mask depends on the seed, the optimizer step, the
/// site, the sequence's index in the job and the element's index inside the sequence, and on
/// nothing else: not on the rank, the batch or the thread. Backward makes it again.
///
/// Element e of a sequence is [position, hidden] or [head, query, key] in row-major order. It has
/// 16 random bits, half e % 8 of the 128 of Philox block e / 8: the lower half of a word comes
/// first, so words in memory are halves in the order of their elements.
struct DropoutKey {
  PhiloxKeys<kDropoutRounds> keys{};  ///< made of the seed
  std::uint32_t sequence = 0;         ///< low half of the sequence index
  std::uint32_t site = 0;             ///< site, with the high half of the index above bit 16
  std::uint32_t step = 0;             ///< optimizer step
  std::uint32_t threshold = 1;        ///< dropped when the 16 bits are below, 1 .. 65535
  float scale = 1;                    ///< 1 / (1 - threshold / 65536)
};

/// Probability 0 < p < 1 is rounded to the nearest of 1/65536 .. 65535/65536 (0.1 becomes
/// 0.100006), and the scale is of what it became: the mean of what dropout leaves is exact.
constexpr DropoutKey dropout_key(std::uint64_t seed, std::int64_t step, std::uint32_t site,
                                 std::int64_t sequence, double probability) {
  constexpr double kRange = 65536;
  const auto index = static_cast<std::uint64_t>(sequence);
  DropoutKey key;
  key.keys = philox_keys<kDropoutRounds>(
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  key.sequence = static_cast<std::uint32_t>(index);
  key.site = site ^ (static_cast<std::uint32_t>(index >> 32) << 16);
  key.step = static_cast<std::uint32_t>(step);
  const auto nearest = static_cast<std::uint32_t>(probability * kRange + 0.5);
  key.threshold = nearest < 1 ? 1 : nearest > 65535 ? 65535 : nearest;
  key.scale = static_cast<float>(kRange / (kRange - key.threshold));
  return key;
}

/// The 128 bits of elements 8 block .. 8 block + 7.
constexpr std::array<std::uint32_t, 4> dropout_words(const DropoutKey& key, std::uint32_t block) {
  return philox_rounds({block, key.sequence, key.site, key.step}, key.keys);
}

/// Scalar definition; the vector kernels are tested against it.
constexpr bool dropout_keeps(const DropoutKey& key, std::uint64_t element) {
  const auto words = dropout_words(key, static_cast<std::uint32_t>(element / 8));
  return (words[element % 8 / 2] >> (16 * (element % 2)) & 0xFFFFU) >= key.threshold;
}

}  // namespace bert
