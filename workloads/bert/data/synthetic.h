// Synthetic text: tokens are Zipf distributed as words of a language are. Half of them come from
// a vocabulary of their document's own, so that a model can learn masked words from their
// surroundings, a next sentence from a foreign one, and the next word from those before it: its
// loss falls.
#pragma once

#include "workloads/bert/data/sequence_source.h"

namespace bert {

[[nodiscard]] std::unique_ptr<SequenceSource> make_synthetic_source(std::uint64_t seed,
                                                                    std::int64_t vocabulary);

}  // namespace bert
