#include "workloads/bert/cpu/heads.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "workloads/bert/cpu/decoder.h"
#include "workloads/bert/cpu/norm.h"

namespace bert {
namespace {

std::int64_t masked_rows(const Context& context) {
  return context.shape.sequences * context.shape.masked;
}

/// The masked positions' rows, gathered, through the head's linear layer, GELU and LayerNorm, into
/// scratch.normalized: [masked rows, hidden].
void transform_forward(const Context& context, const Batch& batch, const HeadScratch& scratch,
                       const float* hidden) {
  const ParameterLayout& at = context.layout;
  const float* w = context.weights;
  const std::int64_t h = context.model.hidden;
  const std::int64_t rows = masked_rows(context);
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::copy_n(hidden + batch.masked[static_cast<std::size_t>(row)] * h, h,
                  scratch.gathered + row * h);
    }
  });
  context.gemm.forward(rows, h, h, scratch.gathered, w + at.transform_weight, nullptr,
                       scratch.transformed);
  NormForward norm;
  norm.width = h;
  norm.epsilon = static_cast<float>(context.model.layer_norm_epsilon);
  norm.input = norm.sum = scratch.activated;
  norm.gamma = w + at.transform_norm_weight;
  norm.beta = w + at.transform_norm_bias;
  norm.output = scratch.normalized;
  norm.mean = scratch.mean;
  norm.rstd = scratch.rstd;
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    context.kernels.gelu_forward(context.model.gelu, end - begin, h,
                                 scratch.transformed + begin * h, w + at.transform_bias,
                                 scratch.activated + begin * h);
    context.kernels.norm_forward(norm, begin, end, context.thread_scratch());
  });
}

/// From scratch.d_narrow, the gradient of scratch.normalized, back to the masked rows of d_hidden.
void transform_backward(const Context& context, const Batch& batch, const HeadScratch& scratch,
                        float* d_hidden) {
  const ParameterLayout& at = context.layout;
  const float* w = context.weights;
  float* g = context.gradients;
  const std::int64_t h = context.model.hidden;
  const std::int64_t rows = masked_rows(context);
  NormBackward back;
  back.width = h;
  back.d_output = back.d_sum = scratch.d_narrow;
  back.sum = scratch.activated;
  back.mean = scratch.mean;
  back.rstd = scratch.rstd;
  back.gamma = w + at.transform_norm_weight;
  run_norm_backward(context, back, rows,
                    {g + at.transform_norm_weight, g + at.transform_norm_bias, nullptr});
  run_gelu_backward(context, rows, h, scratch.transformed, w + at.transform_bias, scratch.d_narrow,
                    g + at.transform_bias);
  Gemm::backward_weight(rows, h, h, scratch.d_narrow, scratch.gathered, g + at.transform_weight,
                        context.accumulate);
  float* d_gathered = scratch.normalized;  // no longer needed
  Gemm::backward_input(rows, h, h, scratch.d_narrow, w + at.transform_weight, d_gathered, false);
  // In order: two masked rows may name the same position.
  for (std::int64_t row = 0; row < rows; ++row) {
    context.kernels.add(h, d_gathered + row * h,
                        d_hidden + batch.masked[static_cast<std::size_t>(row)] * h);
  }
}

double masked_lm(const Context& context, const Batch& batch, double gradient_scale,
                 const HeadScratch& scratch, const float* hidden, float* d_hidden) {
  const ParameterLayout& at = context.layout;
  const std::int64_t h = context.model.hidden;
  const std::int64_t rows = masked_rows(context);
  if (rows == 0) {
    if (context.accumulate) return 0;
    // The decoder product would have written the whole table.
    std::fill_n(context.gradients + at.word_embeddings, context.model.vocabulary * h, 0.0F);
    std::fill_n(context.gradients + at.transform_weight, h * h, 0.0F);
    return 0;
  }
  transform_forward(context, batch, scratch, hidden);
  Decoder decoder;
  decoder.rows = rows;
  decoder.input = scratch.normalized;
  decoder.labels = batch.labels.data();
  decoder.bias = at.decoder_bias;
  decoder.scale = gradient_scale / static_cast<double>(rows);
  decoder.accumulate = context.accumulate;
  decoder.logits = scratch.logits;
  decoder.d_input = scratch.d_narrow;
  const double loss = decode(context, decoder);
  transform_backward(context, batch, scratch, d_hidden);
  return loss / static_cast<double>(rows);
}

/// Two classes: products of a few thousand terms, not worth a thread.
double next_sentence(const Context& context, const Batch& batch, double gradient_scale,
                     const HeadScratch& scratch, const float* hidden, float* d_hidden) {
  const ParameterLayout& at = context.layout;
  const float* w = context.weights;
  float* g = context.gradients;
  const std::int64_t h = context.model.hidden;
  const std::int64_t sequences = context.shape.sequences;
  const std::int64_t stride = context.shape.length * h;

  for (std::int64_t b = 0; b < sequences; ++b) {
    std::copy_n(hidden + b * stride, h, scratch.first_tokens + b * h);
  }
  context.gemm.forward(sequences, h, h, scratch.first_tokens, w + at.pooler_weight,
                       w + at.pooler_bias, scratch.pooled);
  const float* classifier = w + at.next_sentence_weight;
  float* d_classifier = g + at.next_sentence_weight;
  double loss = 0;
  for (std::int64_t b = 0; b < sequences; ++b) {
    float* pooled = scratch.pooled + b * h;
    double logits[2] = {static_cast<double>(w[at.next_sentence_bias]),
                        static_cast<double>(w[at.next_sentence_bias + 1])};
    for (std::int64_t j = 0; j < h; ++j) {
      pooled[j] = std::tanh(pooled[j]);
      logits[0] += static_cast<double>(pooled[j] * classifier[j]);
      logits[1] += static_cast<double>(pooled[j] * classifier[h + j]);
    }
    const int label = batch.next_sentence[static_cast<std::size_t>(b)];
    const double other = logits[1 - label] - logits[label];
    const double log_sum =
        other > 0 ? other + std::log1p(std::exp(-other)) : std::log1p(std::exp(other));
    loss += log_sum;
    const double wrong = 1.0 / (1.0 + std::exp(-other));  // probability of the other class
    const auto d = static_cast<float>(wrong * gradient_scale / static_cast<double>(sequences));
    float d_logits[2] = {d, d};
    d_logits[label] = -d;
    float* d_pooled = scratch.d_pooled + b * h;
    for (int c = 0; c < 2; ++c) g[at.next_sentence_bias + c] += d_logits[c];
    for (std::int64_t j = 0; j < h; ++j) {
      d_classifier[j] += d_logits[0] * pooled[j];
      d_classifier[h + j] += d_logits[1] * pooled[j];
      const float d_tanh = d_logits[0] * classifier[j] + d_logits[1] * classifier[h + j];
      d_pooled[j] = d_tanh * (1.0F - pooled[j] * pooled[j]);
    }
  }
  context.kernels.column_sums(sequences, h, h, scratch.d_pooled, g + at.pooler_bias);
  Gemm::backward_weight(sequences, h, h, scratch.d_pooled, scratch.first_tokens,
                        g + at.pooler_weight, context.accumulate);
  float* d_first = scratch.pooled;  // no longer needed
  Gemm::backward_input(sequences, h, h, scratch.d_pooled, w + at.pooler_weight, d_first, false);
  for (std::int64_t b = 0; b < sequences; ++b) {
    context.kernels.add(h, d_first + b * h, d_hidden + b * stride);
  }
  return loss / static_cast<double>(sequences);
}

/// Logits of a part of the rows live at once: those of all would be 50257 floats a token.
double next_word(const Context& context, const Batch& batch, double gradient_scale,
                 const HeadScratch& scratch, const float* hidden, float* d_hidden) {
  const std::int64_t h = context.model.hidden;
  const std::int64_t rows = context.shape.tokens();
  Decoder decoder;
  decoder.scale = gradient_scale / static_cast<double>(rows);
  decoder.accumulate = context.accumulate;
  decoder.logits = scratch.logits;
  double loss = 0;
  for (std::int64_t first = 0; first < rows; first += scratch.logit_rows) {
    decoder.rows = std::min(scratch.logit_rows, rows - first);
    decoder.input = hidden + first * h;
    decoder.labels = batch.labels.data() + first;
    decoder.d_input = d_hidden + first * h;
    loss += decode(context, decoder);
    decoder.accumulate = true;
  }
  return loss / static_cast<double>(rows);
}

}  // namespace

Loss heads_step(const Context& context, const Batch& batch, double gradient_scale,
                const HeadScratch& scratch, const float* hidden, float* d_hidden) {
  const std::int64_t h = context.model.hidden;
  Loss loss;
  if (context.model.objective == Objective::next_word) {
    loss.masked_lm = next_word(context, batch, gradient_scale, scratch, hidden, d_hidden);
    return loss;
  }
  for_row_blocks(context, context.shape.tokens(),
                 [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                   std::memset(d_hidden + begin * h, 0,
                               static_cast<std::size_t>((end - begin) * h) * sizeof(float));
                 });
  loss.masked_lm = masked_lm(context, batch, gradient_scale, scratch, hidden, d_hidden);
  loss.next_sentence = next_sentence(context, batch, gradient_scale, scratch, hidden, d_hidden);
  return loss;
}

}  // namespace bert
