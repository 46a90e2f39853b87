// The pre-training heads, with the word embedding as decoder: masked words and next sentence
// (through the pooler), or the next word at every position.
#include <algorithm>

#include "workloads/bert/cuda/step.h"

namespace bert::cuda {
namespace {

void zero_masked_lm(Step& s) {
  const ParameterLayout& at = s.layout;
  const std::int64_t h = s.model().hidden;
  const auto clear = [&](std::int64_t offset, std::int64_t size) {
    if (!s.accumulate) fill_zero(s.gradients + offset, size * 4, s.stream);
  };
  clear(at.word_embeddings, s.model().vocabulary * h);
  clear(at.transform_weight, h * h);
  clear(at.transform_bias, h);
  clear(at.transform_norm_weight, h);
  clear(at.transform_norm_bias, h);
  clear(at.decoder_bias, s.model().vocabulary);
}

void masked_lm_forward(Step& s) {
  const ParameterLayout& at = s.layout;
  const HeadActivations& act = s.act.heads;
  const std::int64_t h = s.model().hidden;
  const std::int64_t rows = s.batch.masked_rows;
  gather_rows(s.type, s.act.hidden, s.batch.masked, rows, static_cast<int>(h), act.gathered,
              s.stream);
  s.linear_gelu(rows, h, h, act.gathered, at.transform_weight, at.transform_bias, act.transformed,
                act.activated);
  NormForward norm =
      s.norm(rows, s.weights + at.transform_norm_weight, s.weights + at.transform_norm_bias);
  norm.places = nullptr;  // rows are masked positions here
  norm.input = norm.sum = act.activated;
  norm.output = act.normalized;
  norm.mean = act.mean;
  norm.rstd = act.rstd;
  norm_forward(s.type, norm, s.stream);
  s.linear(rows, h, decoder_columns(s.model()), act.normalized, at.word_embeddings, Step::kNone,
           act.logits);
  CrossEntropy loss;
  loss.rows = rows;
  loss.classes = static_cast<int>(s.model().vocabulary);
  loss.stride = decoder_columns(s.model());
  loss.logits = act.logits;
  loss.bias = s.weights + at.decoder_bias;
  loss.labels = s.batch.labels;
  loss.scale = static_cast<float>(s.gradient_scale / static_cast<double>(rows));
  loss.losses = act.losses;
  cross_entropy(s.type, loss, s.stream);
}

void masked_lm_backward(Step& s) {
  const ParameterLayout& at = s.layout;
  const HeadActivations& act = s.act.heads;
  const std::int64_t h = s.model().hidden;
  const std::int64_t rows = s.batch.masked_rows;
  const std::int64_t columns = decoder_columns(s.model());
  s.linear_weight(rows, h, columns, act.logits, act.normalized, at.word_embeddings, at.decoder_bias,
                  s.model().vocabulary);
  s.linear_input(rows, h, columns, act.logits, at.word_embeddings, act.d_narrow, false);
  NormBackward norm;
  norm.rows = rows;
  norm.width = static_cast<int>(h);
  norm.d_output = norm.d_sum = act.d_narrow;
  norm.sum = act.activated;
  norm.mean = act.mean;
  norm.rstd = act.rstd;
  norm.gamma = s.weights + at.transform_norm_weight;
  norm.partials = s.act.partials;
  norm.sum_gamma = s.gradients + at.transform_norm_weight;
  norm.sum_beta = s.gradients + at.transform_norm_bias;
  norm.accumulate = s.accumulate;
  norm_backward(s.type, norm, s.stream);
  s.gelu_slopes(rows, h, act.d_narrow, act.transformed, at.transform_bias);
  s.linear_weight(rows, h, h, act.d_narrow, act.gathered, at.transform_weight);
  void* d_gathered = act.normalized;  // no longer needed
  s.linear_input(rows, h, h, act.d_narrow, at.transform_weight, d_gathered, false);
  SegmentSums scatter;  // two masked rows may name the same position
  scatter.targets = s.batch.masked_targets;
  scatter.starts = s.batch.masked_starts;
  scatter.sources = s.batch.masked_sources;
  scatter.runs = s.batch.masked_runs;
  scatter.width = static_cast<int>(h);
  scatter.input = d_gathered;
  scatter.output = s.act.d_hidden;
  segment_sums(s.type, scatter, s.stream);
}

/// Forward and the gradients of the classifier at once: it is two columns wide.
void next_sentence_forward(Step& s) {
  const ParameterLayout& at = s.layout;
  const HeadActivations& act = s.act.heads;
  const std::int64_t h = s.model().hidden;
  const std::int64_t sequences = s.batch.sequences;
  gather_rows(s.type, s.act.hidden, s.batch.first_rows, sequences, static_cast<int>(h),
              act.first_tokens, s.stream);
  s.linear(sequences, h, h, act.first_tokens, at.pooler_weight, Step::kNone, act.pooled);
  NextSentence head;
  head.sequences = sequences;
  head.width = static_cast<int>(h);
  head.pooled = act.pooled;
  head.pooler_bias = s.weights + at.pooler_bias;
  head.classifier = s.weights + at.next_sentence_weight;
  head.classifier_bias = s.weights + at.next_sentence_bias;
  head.labels = s.batch.next_sentence;
  head.scale = static_cast<float>(s.gradient_scale / static_cast<double>(sequences));
  head.d_pooled = act.d_pooled;
  head.d_logits = act.d_logits;
  head.losses = act.sequence_losses;
  if (s.gradients != nullptr) {
    head.d_classifier = s.gradients + at.next_sentence_weight;
    head.d_classifier_bias = s.gradients + at.next_sentence_bias;
  }
  head.accumulate = s.accumulate;
  next_sentence(s.type, head, s.stream);
}

void next_sentence_backward(Step& s) {
  const ParameterLayout& at = s.layout;
  const HeadActivations& act = s.act.heads;
  const std::int64_t h = s.model().hidden;
  const std::int64_t sequences = s.batch.sequences;
  s.linear_weight(sequences, h, h, act.d_pooled, act.first_tokens, at.pooler_weight, at.pooler_bias,
                  h);
  s.linear_input(sequences, h, h, act.d_pooled, at.pooler_weight, act.d_first, false);
  SegmentSums add;  // to each sequence's first row
  add.targets = s.batch.first_rows;
  add.runs = sequences;
  add.regular_count = 1;
  add.width = static_cast<int>(h);
  add.input = act.d_first;
  add.output = s.act.d_hidden;
  segment_sums(s.type, add, s.stream);
}

/// Forward and, with gradients, backward, of a part of the rows at a time.
void next_word(Step& s, bool forward_only) {
  const std::int64_t h = s.model().hidden;
  const std::int64_t rows = s.batch.rows();
  const std::int64_t columns = decoder_columns(s.model());
  const std::int64_t table = s.layout.word_embeddings;
  const auto row_at = [&](void* values, std::int64_t row) {
    return static_cast<std::byte*>(values) + row * h * size_of(s.type);
  };
  CrossEntropy loss;
  loss.classes = static_cast<int>(s.model().vocabulary);
  loss.stride = columns;
  loss.logits = s.act.heads.logits;
  loss.scale = static_cast<float>(s.gradient_scale / static_cast<double>(rows));
  Step part = s;  // whose products add to the gradient that the first part has written
  for (std::int64_t first = 0; first < rows; first += s.act.heads.logit_rows) {
    const std::int64_t count = std::min(s.act.heads.logit_rows, rows - first);
    const void* input = row_at(s.act.hidden, first);
    part.linear(count, h, columns, input, table, Step::kNone, loss.logits);
    loss.rows = count;
    loss.labels = s.batch.labels + first;
    loss.losses = s.act.heads.losses + first;
    cross_entropy(s.type, loss, s.stream);
    if (forward_only) continue;
    part.linear_weight(count, h, columns, loss.logits, input, table);
    part.linear_input(count, h, columns, loss.logits, table, row_at(s.act.d_hidden, first), false);
    part.accumulate = true;
  }
  sum_values(s.act.heads.losses, rows, s.losses, s.stream);
  fill_zero(s.losses + 1, sizeof(double), s.stream);
}

}  // namespace

void heads(Step& s, bool forward_only) {
  if (s.model().objective == Objective::next_word) return next_word(s, forward_only);
  const std::int64_t rows = s.batch.masked_rows;
  if (rows > 0) masked_lm_forward(s);
  next_sentence_forward(s);
  sum_values(s.act.heads.losses, rows, s.losses, s.stream);
  sum_values(s.act.heads.sequence_losses, s.batch.sequences, s.losses + 1, s.stream);
  if (forward_only) return;
  fill_zero(s.act.d_hidden, s.batch.rows() * s.model().hidden * size_of(s.type), s.stream);
  if (rows > 0) {
    masked_lm_backward(s);
  } else {
    zero_masked_lm(s);
  }
  next_sentence_backward(s);
}

}  // namespace bert::cuda
