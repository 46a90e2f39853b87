// Data of people's own: text, and labelled sequences, by a WordPiece vocabulary. See data/README.md
// for the files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/data/word_piece.h"

namespace bert {

/// What kind of file `options.source` is, by the task and its first bytes, and the source of its
/// sequences. An error names the file, what is wrong with it, where, and what to do.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_text(const DataOptions& options);

}  // namespace bert
