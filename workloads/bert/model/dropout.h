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

/// Dropout of one site for one sequence. The mask depends on the seed, the optimizer step, the
/// site, the sequence's index in the job and the element's index inside the sequence, and on
/// nothing else: not on the rank, the batch or the thread. Backward makes it again.
///
/// Element e of a sequence is [position, hidden] or [head, query, key] in row-major order. It uses
/// word (e % 64) / 16 of Philox block 16 * (e / 64) + e % 16, so that 16 SIMD lanes computing 16
/// blocks yield 64 neighbouring elements without a transposition.
struct DropoutKey {
  std::uint32_t key0 = 0, key1 = 0;  ///< seed
  std::uint32_t sequence = 0;        ///< low half of the sequence index
  std::uint32_t site = 0;            ///< site, with the high half of the index above bit 16
  std::uint32_t step = 0;            ///< optimizer step
  std::uint32_t threshold = 0;       ///< dropped when the word is below: p * 2^32
  float scale = 1;                   ///< 1 / (1 - p)
};

constexpr DropoutKey dropout_key(std::uint64_t seed, std::int64_t step, std::uint32_t site,
                                 std::int64_t sequence, double probability) {
  const auto index = static_cast<std::uint64_t>(sequence);
  DropoutKey key;
  key.key0 = static_cast<std::uint32_t>(seed);
  key.key1 = static_cast<std::uint32_t>(seed >> 32);
  key.sequence = static_cast<std::uint32_t>(index);
  key.site = site ^ (static_cast<std::uint32_t>(index >> 32) << 16);
  key.step = static_cast<std::uint32_t>(step);
  key.threshold = static_cast<std::uint32_t>(probability * 4294967296.0);
  key.scale = static_cast<float>(1.0 / (1.0 - probability));
  return key;
}

/// Scalar definition; the vector kernels are tested against it.
constexpr bool dropout_keeps(const DropoutKey& key, std::uint64_t element) {
  const auto block = static_cast<std::uint32_t>(16 * (element / 64) + element % 16);
  const auto words = philox({block, key.sequence, key.site, key.step}, {key.key0, key.key1});
  return words[(element % 64) / 16] >= key.threshold;
}

}  // namespace bert
