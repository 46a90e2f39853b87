// Token files: see data/README.md for the format. Memory-mapped, so a corpus larger than memory
// works, and all ranks of a node share one copy.
#pragma once

#include "workloads/bert/data/sequence_source.h"

namespace bert {

/// `vocabulary`: tokens of the model. `hold_out`: as DataOptions. An error names the file, what is
/// wrong with it and how one is made.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_token_file(const std::string& path,
                                                                      std::uint64_t seed,
                                                                      std::int64_t vocabulary,
                                                                      bool hold_out = false);

}  // namespace bert
