// Token files: see data/README.md for the format. Memory-mapped, so a corpus larger than memory
// works, and all ranks of a node share one copy.
#pragma once

#include <string>

#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/data/word_piece.h"

namespace bert {

/// The file begins as a token file does.
[[nodiscard]] bool is_token_file(const std::string& path);

/// Of the options: source, seed, vocabulary (tokens of the model), vocabulary_file, hold_out. An
/// error names the file, what is wrong with it and how one is made.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_token_file(const DataOptions& options);

/// The same of bytes that are in memory, made of options.source by `words`.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_token_bytes(
    std::string bytes, const DataOptions& options, WordPiece words,
    const std::string& vocabulary_text);

}  // namespace bert
