// WordPiece (Wu et al. 2016; Devlin et al. 2018): UTF-8 text as numbers of a vocabulary. A word is
// cut into the longest pieces that the vocabulary has, from its beginning; "##" begins a piece that
// continues a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/bert/core/failure.h"

namespace bert {

/// Takes the first line off `text`, with its line feed, and returns it without.
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// A piece of a text and the bytes that it stands for.
struct Piece {
  std::int32_t token = 0;
  std::size_t begin = 0, end = 0;
};

class WordPiece {
 public:
  /// A vocabulary file: a token a line, numbered from 0, as BERT's vocab.txt. `most`: tokens of the
  /// model. Special tokens must have the numbers that they have there (SpecialTokens). A vocabulary
  /// with capital letters is of text as it stands, another one of text in lower case (ASCII).
  [[nodiscard]] static Result<WordPiece> read(const std::string& path, std::int64_t most);

  /// Learnt from a text in lower case: the characters of its words, then pairs of pieces joined in
  /// the order of how often they follow each other, until there are `most` tokens or no pair comes
  /// twice. Ordinary tokens begin at SpecialTokens::kFirstOrdinary. The same text gives the same
  /// vocabulary.
  [[nodiscard]] static WordPiece learn(std::string_view text, std::int64_t most);

  /// Through a temporary file and rename, so that no reader gets a part.
  [[nodiscard]] Result<void> write(const std::string& path) const;

  /// Words end at white space and around punctuation and ideographs. Bytes that are no UTF-8 and
  /// control characters count as white space. A word without pieces in the vocabulary, or of more
  /// than 100 characters, is one [UNK].
  [[nodiscard]] std::vector<Piece> pieces(std::string_view text) const;

  /// The token continues a word.
  [[nodiscard]] bool continues(std::int32_t token) const {
    const auto at = static_cast<std::size_t>(token);
    return at < tokens_.size() && tokens_[at].starts_with("##");
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  [[nodiscard]] const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  void number_tokens();

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::size_t longest_ = 0;  ///< bytes of a token
  bool lower_case_ = true;
};

}  // namespace bert
