// Batch: the input of one micro-step on one rank.
#pragma once

#include <cstdint>
#include <vector>

namespace bert {

/// B sequences of s tokens; every sequence has the same number m of predicted positions.
///
/// For a next_word model m = s, label [b, i] is the token after token [b, i], all sequences are
/// full, and segments, masked and next_sentence are empty.
struct Batch {
  std::int64_t sequences = 0;            ///< B
  std::int64_t sequence_length = 0;      ///< s
  std::int64_t masked_per_sequence = 0;  ///< m
  /// Index of the first sequence in the whole job's stream of sequences. Data and dropout depend
  /// on it and not on the rank, so n ranks of batch b get what one rank of batch n*b gets.
  std::int64_t first_sequence = 0;
  std::vector<std::int32_t> tokens;    ///< [B, s], masked inputs
  std::vector<std::int32_t> segments;  ///< [B, s], 0 or 1
  std::vector<std::int32_t> lengths;   ///< [B], tokens that are not padding, 1..s
  std::vector<std::int32_t> masked;    ///< [B, m], flat index into [B*s]
  /// [B, m], true token at each masked position; -1 where a head_everywhere has nothing to learn.
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> next_sentence;  ///< [B], 0 or 1; with Objective::classes the class
  /// [B, 2], Objective::spans: first and last token of the answer, counted in its sequence. Else
  /// empty.
  std::vector<std::int32_t> spans;
};

}  // namespace bert
