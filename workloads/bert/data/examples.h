// Labelled sequences: questions with an answer in their context, as SQuAD's, and sentences with a
// class, as GLUE's SST-2 and MRPC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/data/word_piece.h"

namespace bert {

/// A label and what it is of, as text: question and context, or one or two sentences.
struct LabelledText {
  struct Item {
    std::string first, second;
    std::int32_t label = 0;                        ///< class, 0 or 1
    std::size_t answer_begin = 0, answer_end = 0;  ///< bytes of `second`
  };
  std::vector<Item> items;
  bool spans = false;

  /// Each text once, for a vocabulary.
  [[nodiscard]] std::string all_text() const;
};

/// A JSON file of SQuAD 1.1: data, paragraphs, qas; the first of a question's answers. The message
/// names what is wrong; a question without an answer (SQuAD 2.0) is left out.
[[nodiscard]] Result<LabelledText> read_squad(const std::string& json);

/// The first line names columns divided by tabs, "label" or "Quality" one of them.
[[nodiscard]] bool is_labelled_table(std::string_view text);
/// Columns "sentence", or "sentence1" and "sentence2", or "#1 String" and "#2 String"; labels 0, 1.
[[nodiscard]] Result<LabelledText> read_labelled_table(std::string_view text);

/// Sequences drawn from all but the last tenth, at least one, which is held out: sequence
/// kHeldOut + i is the i-th of those. `vocabulary_text` is for the description.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> make_example_source(
    const DataOptions& options, const LabelledText& text, const WordPiece& words,
    const std::string& vocabulary_text);

/// Fills a batch whose shape is set: "[CLS] first [SEP] second [SEP]", padded.
void fill_examples(const SequenceSource& source, const DataOptions& options, Batch& batch);

}  // namespace bert
