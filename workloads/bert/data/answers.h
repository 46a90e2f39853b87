// Generated questions whose answer is a span of their context.
#pragma once

#include "workloads/bert/core/batch.h"
#include "workloads/bert/data/sequence_source.h"

namespace bert {

/// Shortest sequence with room for a question and its context.
inline constexpr std::int64_t kShortestQuestion = 24;

/// Fills a batch of full sequences "[CLS] question [SEP] context [SEP]" whose shape is set. A
/// question is one token, which asks for one of several kinds of words; the context is filler with
/// runs of one to three words of three kinds, in any order and at any place, one of them the kind
/// that is asked for. So the answer is found by relating two places and by neither alone.
void fill_questions(const DataOptions& options, Batch& batch);

}  // namespace bert
