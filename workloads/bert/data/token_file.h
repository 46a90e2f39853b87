// Token files: see data/README.md for the format. Memory-mapped, so a corpus larger than memory
// works, and all ranks of a node share one copy.
#pragma once

#include <string>
#include <string_view>

#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/data/word_piece.h"

namespace bert {

/// The file begins as a token file does.
[[nodiscard]] bool is_token_file(const std::string& path);

/// Of the options: source, seed, vocabulary (tokens of the model), vocabulary_file, hold_out. An
/// error names the file, what is wrong with it and how one is made.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_token_file(const DataOptions& options);

/// The bytes of a token file of this text, whose documents end at blank lines. Empty: no words.
[[nodiscard]] std::string token_file_of(std::string_view text, const WordPiece& words);

/// The same as open_token_file() of bytes in memory, which `words` made of options.source.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_token_bytes(
    std::string bytes, const DataOptions& options, WordPiece words,
    const std::string& vocabulary_text);

}  // namespace bert
