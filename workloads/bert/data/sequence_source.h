// SequenceSource: training examples, sequence by sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/bert/core/failure.h"
#include "workloads/bert/data/word_piece.h"

namespace bert {

/// Token numbers of bert-base-uncased's vocabulary.
struct SpecialTokens {
  static constexpr std::int32_t kPad = 0, kUnknown = 100, kCls = 101, kSep = 102, kMask = 103;
  static constexpr std::int32_t kFirstOrdinary = 999;
};

/// Two segments before masking: [CLS] first [SEP] second [SEP].
struct SegmentPair {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  bool is_next = false;  ///< `second` follows `first` in the text
};

/// A labelled sequence: a question and its context with the answer's tokens in it, or one or two
/// sentences with a class.
struct Example {
  std::vector<std::int32_t> first, second;
  std::int32_t label = 0;                          ///< 0 or 1
  std::int32_t answer_first = 0, answer_last = 0;  ///< tokens of `second`
};

/// A pure function of (seed, index): every rank of any world gets the same sequence `index`.
class SequenceSource {
 public:
  virtual ~SequenceSource() = default;
  /// `tokens` ordinary tokens in all, both segments non-empty; tokens >= 2.
  [[nodiscard]] virtual SegmentPair pair(std::uint64_t index, std::int64_t tokens) const = 0;
  /// `tokens` that follow each other in the text; tokens >= 1.
  [[nodiscard]] virtual std::vector<std::int32_t> text(std::uint64_t index,
                                                       std::int64_t tokens) const = 0;
  /// Sequences are examples, and neither pairs nor text.
  [[nodiscard]] virtual bool labelled() const { return false; }
  /// At most `tokens` of both parts together.
  [[nodiscard]] virtual Example example(std::uint64_t /*index*/, std::int64_t /*tokens*/) const {
    return {};
  }
  /// Examples that are there to be scored; 0: as many as are asked for.
  [[nodiscard]] virtual std::int64_t held_out() const { return 0; }
  /// The token continues the word of the one before it (WordPiece's "##").
  [[nodiscard]] virtual bool continues_word(std::int32_t /*token*/) const { return false; }
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Sequences that no training comes to: held out to be scored, and those whose labels others get.
inline constexpr std::int64_t kHeldOut = 1LL << 40;
inline constexpr std::uint64_t kOtherSequence = 1ULL << 41;

/// How many of sequence_length tokens a sequence has; the others are padding. Never fewer than its
/// masked positions need.
enum class Lengths {
  full,
  uniform,    ///< from a quarter to all of them
  wikipedia,  ///< the shares of 512 tokens that sequences made of Wikipedia have (batches.cpp)
};
/// By the name in this list; nothing for another one.
[[nodiscard]] std::optional<Lengths> lengths_named(std::string_view name);

struct DataOptions {
  std::string source = "synthetic";  ///< "synthetic" or the path of a file, see data/README.md
  /// Of a WordPiece vocabulary; where there is no such file one is learnt from the text and, if
  /// writes_vocabulary, written there. Empty: learnt, and not written.
  std::string vocabulary_file;
  bool writes_vocabulary = true;
  bool whole_words = false;  ///< all pieces of a word are masked together
  std::uint64_t seed = 1;
  std::int64_t vocabulary = 30522;
  std::int64_t sequence_length = 128;
  std::int64_t masked_per_sequence = 20;
  Lengths lengths = Lengths::full;
  /// GPT-2: sequences are text and the label of each token is the next. masked_per_sequence is then
  /// sequence_length, and lengths are full.
  bool next_word = false;
  /// The head is computed at every position: masked_per_sequence is sequence_length, and positions
  /// that are not masked have the label -1.
  bool head_everywhere = false;
  /// Questions and their answers in place of text (answers.h). masked_per_sequence is 0.
  bool questions = false;
  /// Token files: the last tenth of the documents, at least one, is held out of training, and
  /// sequences from kHeldOut on are of it alone. Generated text needs no such part.
  bool hold_out = false;
  /// Control for a score: the label of a sequence, a span or a class, is that of another one.
  bool shuffle_labels = false;
};

[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_source(const DataOptions& options);

/// Synthetic text: tokens are Zipf distributed as words of a language are. Half of them come from
/// a vocabulary of their document's own, so that a model can learn masked words from their
/// surroundings, a next sentence from a foreign one, and the next word from those before it: its
/// loss falls.
[[nodiscard]] std::unique_ptr<SequenceSource> make_synthetic_source(std::uint64_t seed,
                                                                    std::int64_t vocabulary);

// Token files: see data/README.md for the format. Memory-mapped, so a corpus larger than memory
// works, and all ranks of a node share one copy.

/// Of the options: source, seed, vocabulary (tokens of the model), vocabulary_file, hold_out. An
/// error names the file, what is wrong with it and how one is made.
[[nodiscard]] Result<std::unique_ptr<SequenceSource>> open_token_file(const DataOptions& options);

/// The bytes of a token file of this text, whose documents end at blank lines. Empty: no words.
[[nodiscard]] std::string token_file_of(std::string_view text, const WordPiece& words);

}  // namespace bert
