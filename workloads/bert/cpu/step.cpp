#include "workloads/bert/cpu/step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "workloads/bert/cpu/attention.h"
#include "workloads/bert/cpu/bf16_decoder.h"
#include "workloads/bert/cpu/norm.h"

namespace bert {

void CpuStep::linear(const LinearOffsets& at, std::int64_t rows, const float* x, float* y) const {
  if (rows == 0) return;
  const float* bias = at.bias == kAbsent ? nullptr : weights + at.bias;
  if (bf16 != nullptr) {
    bf16->forward(rows, at.outputs, at.inputs, x, at.weight, bias, y);
  } else {
    gemm.forward(rows, at.outputs, at.inputs, x, weights + at.weight, bias, y);
  }
  stored(rows * at.outputs, y);
}

void CpuStep::linear_gelu(const LinearOffsets& at, std::int64_t rows, const float* x, float* wide,
                          float* y) const {
  linear(at.unbiased(), rows, x, wide);
  const std::int64_t n = at.outputs;
  Bf16* const rounded = kept_operand(y);
  for_row_blocks(*this, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    kernels.gelu_forward(model.gelu, end - begin, n, wide + begin * n, weights + at.bias,
                         y + begin * n, rounded == nullptr ? nullptr : rounded + begin * n);
  });
  if (rounded == nullptr) stored(rows * n, y);
}

void CpuStep::linear_input(const LinearOffsets& at, std::int64_t rows, const float* dy, float* dx,
                           bool add) const {
  if (rows == 0) return;
  if (bf16 != nullptr) {
    bf16->backward_input(rows, at.outputs, at.inputs, dy, at.weight, dx, add);
  } else {
    Gemm::backward_input(rows, at.outputs, at.inputs, dy, weights + at.weight, dx, add);
  }
  stored(rows * at.inputs, dx);
}

void CpuStep::linear_input_gelu(const LinearOffsets& at, const LinearOffsets& gelu_at,
                                std::int64_t rows, const float* dy, const float* wide,
                                float* d_wide) const {
  linear_input(at, rows, dy, d_wide, false);
  gelu_backward(gelu_at, rows, wide, d_wide);
}

void CpuStep::linear_weight(const LinearOffsets& at, std::int64_t rows, const float* dy,
                            const float* x) const {
  if (rows == 0) {  // the product would have written the whole matrix
    if (!accumulate) std::fill_n(gradients + at.weight, at.outputs * at.inputs, 0.0F);
    return;
  }
  if (at.bias != kAbsent) {
    for_columns(*this, at.outputs, [&](std::int64_t begin, std::int64_t end) {
      kernels.column_sums(rows, end - begin, at.outputs, dy + begin, gradients + at.bias + begin);
    });
  }
  float* d_weight = gradients + at.weight;
  if (bf16 != nullptr) {
    bf16->backward_weight(rows, at.outputs, at.inputs, dy, x, d_weight, accumulate);
  } else {
    Gemm::backward_weight(rows, at.outputs, at.inputs, dy, x, d_weight, accumulate);
  }
}

void CpuStep::gelu_backward(const LinearOffsets& at, std::int64_t rows, const float* wide,
                            float* d) const {
  // In bf16 products take the gradient, and nothing else does.
  run_gelu_backward(*this, rows, at.outputs, wide, weights + at.bias, d, gradients + at.bias,
                    bf16 == nullptr ? nullptr : bf16->operand_of(d));
  stored(rows * at.outputs, d);
}

Bf16* CpuStep::kept_operand(const float* values) const {
  return bf16 != nullptr && bf16->keeps(values) ? bf16->operand_of(values) : nullptr;
}

const DropoutKey* CpuStep::keys_of(const NormStep<float>& step) const {
  const auto site = step.before ? step.before : step.after;
  return site ? dropout(*site, model.hidden_dropout) : nullptr;
}

NormForward CpuStep::forward_of(const NormStep<float>& step, const DropoutKey* keys) const {
  NormForward norm;
  norm.width = model.hidden;
  norm.rows_per_sequence = shape.length;
  norm.epsilon = static_cast<float>(model.layer_norm_epsilon);
  norm.input = norm.sum = step.sum;
  if (step.bias != kAbsent) norm.bias = weights + step.bias;
  norm.residual = step.residual;
  norm.gamma = weights + step.at.weight;
  norm.beta = weights + step.at.bias;
  (step.before ? norm.before : norm.after) = keys;
  norm.output = step.output;
  norm.rounded = kept_operand(step.output);
  norm.mean = step.mean;
  norm.rstd = step.rstd;
  return norm;
}

void CpuStep::norm(const NormStep<float>& step, std::int64_t rows) const {
  run_norm_forward(*this, forward_of(step, keys_of(step)), rows);
  stored(rows * model.hidden, step.sum);
  stored(rows * model.hidden, step.output);
}

void CpuStep::norm_again(const NormStep<float>& step) const {
  NormForward norm = forward_of(step, nullptr);
  norm.again = true;
  run_norm_forward(*this, norm, rows());
  stored(rows() * model.hidden, step.output);
}

void CpuStep::norm_backward(const NormStep<float>& step, std::int64_t rows,
                            const NormGradients<float>& d) const {
  const DropoutKey* keys = keys_of(step);
  NormBackward norm;
  norm.width = model.hidden;
  norm.rows_per_sequence = shape.length;
  norm.d_output = d.d_output;
  norm.d_sum = d.d_sum;
  norm.d_bypass = d.d_bypass;
  norm.d_input = d.d_input;
  if (bf16 != nullptr && d.d_input == act.d_narrow) norm.rounded = bf16->operand_of(d.d_input);
  norm.sum = step.sum;
  norm.mean = step.mean;
  norm.rstd = step.rstd;
  norm.gamma = weights + step.at.weight;
  (step.before ? norm.before : norm.after) = keys;
  run_norm_backward(*this, norm, rows,
                    {gradients + step.at.weight, gradients + step.at.bias,
                     step.bias == kAbsent ? nullptr : gradients + step.bias});
  stored(rows * model.hidden, d.d_sum);
  if (d.d_input != nullptr && d.d_input != d.d_sum) stored(rows * model.hidden, d.d_input);
}

void CpuStep::attention(std::size_t layer) const {
  const auto& own = act.layers[layer];
  attention_forward(*this, static_cast<std::int64_t>(layer), batch.lengths.data(), own.qkv,
                    own.softmax, own.attention);
  stored(rows() * model.hidden, own.attention);
}

void CpuStep::attention_backward(std::size_t layer, const float* d_attention) const {
  const auto& own = act.layers[layer];
  bert::attention_backward(*this, static_cast<std::int64_t>(layer), batch.lengths.data(), own.qkv,
                           own.softmax, d_attention, act.d_qkv, act.attention_scratch);
  stored(3 * rows() * model.hidden, act.d_qkv);
  linear_weight(layout.layers[layer].qkv.unbiased(), rows(), act.d_qkv, own.input);
}

void CpuStep::embed(const NormStep<float>& step) const {
  const std::int64_t h = model.hidden;
  const DropoutKey* keys = keys_of(step);
  const NormForward norm = forward_of(step, keys);
  for_row_blocks(*this, rows(), [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::size_t i = place(row);
      const auto position = static_cast<std::int64_t>(i) % shape.length;
      float* sum = step.sum + row * h;
      std::copy_n(weights + layout.word_embeddings + batch.tokens[i] * h, h, sum);
      kernels.add(h, weights + layout.position_embeddings + position * h, sum);
      if (model.segment_types > 0) {
        kernels.add(h, weights + layout.segment_embeddings + batch.segments[i] * h, sum);
      }
    }
    norm_rows(*this, norm, begin, end);
  });
  stored(rows() * h, step.sum);
  stored(rows() * h, step.output);
}

void CpuStep::add_to_tables(const float* d_sum) const {
  const std::int64_t h = model.hidden;
  const std::int64_t s = shape.length;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t position = 0; position < s; ++position) {
    float* sums = gradients + layout.position_embeddings + position * h;
    if (!unpadded) {
      kernels.column_sums(shape.sequences, h, s * h, d_sum + position * h, sums);
      continue;
    }
    for (std::int64_t b = 0; b < shape.sequences; ++b) {
      const std::int64_t row = first_row(b) + position;
      if (row < first_row(b + 1)) kernels.add(h, d_sum + row * h, sums);
    }
  }
  if (model.segment_types > 0) {
    float* table = gradients + layout.segment_embeddings;
    for_columns(*this, h, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < rows(); ++row) {
        const std::int64_t segment = batch.segments[place(row)];
        kernels.add(end - begin, d_sum + row * h + begin, table + segment * h + begin);
      }
    });
  }
  add_word_gradients(d_sum);
}

void CpuStep::add_word_gradients(const float* d_sum) const {
  const std::int64_t h = model.hidden;
  auto& first = kept->first_of_word;
  auto& next = kept->next_of_word;
  auto& words = kept->words;
  first.resize(static_cast<std::size_t>(model.vocabulary), -1);
  next.resize(static_cast<std::size_t>(rows()));
  words.clear();
  for (auto row = static_cast<std::int32_t>(rows()); row-- > 0;) {
    const std::int32_t word = batch.tokens[place(row)];
    std::int32_t& head = first[static_cast<std::size_t>(word)];
    if (head < 0) words.push_back(word);
    next[static_cast<std::size_t>(row)] = std::exchange(head, row);
  }
  const auto count = static_cast<std::int64_t>(words.size());
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t word = words[static_cast<std::size_t>(i)];
    std::int32_t row = std::exchange(first[static_cast<std::size_t>(word)], -1);
    for (; row >= 0; row = next[static_cast<std::size_t>(row)]) {
      kernels.add(h, d_sum + row * h, gradients + layout.word_embeddings + word * h);
    }
  }
}

void CpuStep::gather_masked() const {
  const std::int64_t h = model.hidden;
  for_row_blocks(*this, masked_rows(), [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t from = row_of(batch.masked[static_cast<std::size_t>(row)]);
      std::copy_n(act.hidden + from * h, h, act.heads.gathered + row * h);
    }
  });
}

/// In order: two masked rows may name the same position.
void CpuStep::scatter_masked(const float* d_gathered) const {
  const std::int64_t h = model.hidden;
  for (std::int64_t row = 0; row < masked_rows(); ++row) {
    const std::int64_t to = row_of(batch.masked[static_cast<std::size_t>(row)]);
    kernels.add(h, d_gathered + row * h, act.d_output + to * h);
  }
  stored(rows() * h, act.d_output);
}

void CpuStep::gather_first() const {
  const std::int64_t h = model.hidden;
  for (std::int64_t b = 0; b < shape.sequences; ++b) {
    std::copy_n(act.hidden + first_row(b) * h, h, act.heads.first_tokens + b * h);
  }
}

void CpuStep::scatter_first(const float* d_first) const {
  const std::int64_t h = model.hidden;
  for (std::int64_t b = 0; b < shape.sequences; ++b) {
    kernels.add(h, d_first + b * h, act.d_output + first_row(b) * h);
  }
  stored(rows() * h, act.d_output);
}

void CpuStep::fill_zero(float* values) const {
  const std::int64_t h = model.hidden;
  for_row_blocks(*this, rows(), [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    std::memset(values + begin * h, 0, static_cast<std::size_t>((end - begin) * h) * sizeof(float));
  });
}

std::int64_t CpuStep::labelled() const {
  return std::count_if(batch.labels.begin(), batch.labels.end(),
                       [](std::int32_t label) { return label >= 0; });
}

float CpuStep::gradient_of_loss(std::int64_t rows) const {
  const std::int64_t learnt = model.head_everywhere ? labelled() : rows;
  return static_cast<float>(gradient_scale / static_cast<double>(learnt));
}

void CpuStep::cross_entropy(std::int64_t first, std::int64_t count, std::int64_t total) {
  const std::int64_t classes = model.vocabulary;
  const float* bias = layout.decoder.bias == kAbsent ? nullptr : weights + layout.decoder.bias;
  const float scale = gradient_of_loss(total);
  auto& losses = kept->losses;
  losses.assign(static_cast<std::size_t>(count), 0.0);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t row = 0; row < count; ++row) {
    float* logits = act.heads.logits + row * classes;
    const std::int32_t label = batch.labels[static_cast<std::size_t>(first + row)];
    if (label < 0) {
      std::fill_n(logits, classes, 0.0F);
      continue;
    }
    losses[static_cast<std::size_t>(row)] =
        kernels.cross_entropy(classes, logits, bias, label, scale);
  }
  for (const double loss : losses) word_losses += loss;
  stored(count * classes, act.heads.logits);
}

void CpuStep::decode(std::int64_t rows, const float* x, float* dx) {
  const LinearOffsets& at = layout.decoder;
  if (rows == 0 && !accumulate) {
    std::fill_n(gradients + at.weight, at.outputs * at.inputs, 0.0F);
  }
  auto& losses = kept->losses;
  Bf16Decoder::Call call;
  call.scale = gradient_of_loss(rows);
  call.weight = bf16->weights() + at.weight;
  call.d_weight = gradients + at.weight;
  if (at.bias != kAbsent) {
    call.bias = weights + at.bias;
    call.d_bias = gradients + at.bias;
  }
  for (std::int64_t first = 0; first < rows; first += decoder->rows()) {
    call.rows = std::min(decoder->rows(), rows - first);
    call.x = x + first * at.inputs;
    call.dx = dx + first * at.inputs;
    call.labels = batch.labels.data() + first;
    call.accumulate = accumulate || first > 0;
    losses.resize(static_cast<std::size_t>(call.rows));
    call.losses = losses.data();
    decoder->run(call);
    for (const double loss : losses) word_losses += loss;
  }
}

/// Two classes: products of a few thousand terms, not worth a thread.
void CpuStep::next_sentence() {
  const std::int64_t h = model.hidden;
  const float* w = weights + layout.next_sentence.weight;
  const float* bias = weights + layout.next_sentence.bias;
  const float* pooler_bias = weights + layout.pooler.bias;
  float* d_w = gradients == nullptr ? nullptr : gradients + layout.next_sentence.weight;
  float* d_bias = gradients == nullptr ? nullptr : gradients + layout.next_sentence.bias;
  kept->answer_logits.clear();
  for (std::int64_t b = 0; b < shape.sequences; ++b) {
    float* pooled = act.heads.pooled + b * h;
    float* d_pooled = act.heads.d_pooled + b * h;
    double logits[2] = {static_cast<double>(bias[0]), static_cast<double>(bias[1])};
    for (std::int64_t j = 0; j < h; ++j) {
      pooled[j] = std::tanh(pooled[j] + pooler_bias[j]);
      logits[0] += static_cast<double>(pooled[j] * w[j]);
      logits[1] += static_cast<double>(pooled[j] * w[h + j]);
    }
    kept->answer_logits.insert(kept->answer_logits.end(), logits, logits + 2);
    const int label = batch.next_sentence[static_cast<std::size_t>(b)];
    const double other = logits[1 - label] - logits[label];
    sentence_losses +=
        other > 0 ? other + std::log1p(std::exp(-other)) : std::log1p(std::exp(other));
    if (gradients == nullptr) continue;
    const double wrong = 1.0 / (1.0 + std::exp(-other));  // probability of the other class
    const auto d =
        static_cast<float>(wrong * gradient_scale / static_cast<double>(shape.sequences));
    float d_logits[2] = {d, d};
    d_logits[label] = -d;
    for (int c = 0; c < 2; ++c) d_bias[c] += d_logits[c];
    for (std::int64_t j = 0; j < h; ++j) {
      d_w[j] += d_logits[0] * pooled[j];
      d_w[h + j] += d_logits[1] * pooled[j];
      const float d_tanh = d_logits[0] * w[j] + d_logits[1] * w[h + j];
      d_pooled[j] = d_tanh * (1.0F - pooled[j] * pooled[j]);
    }
  }
  if (gradients != nullptr) stored(shape.sequences * h, act.heads.d_pooled);
}

/// As next_sentence(): two columns. Gradients of the classifier are summed sequence by sequence in
/// order.
void CpuStep::answer_spans(bool forward_only) {
  const std::int64_t h = model.hidden;
  const std::int64_t s = shape.length;
  const float* w = weights + layout.next_sentence.weight;
  const float* bias = weights + layout.next_sentence.bias;
  const double scale = gradient_scale / static_cast<double>(2 * shape.sequences);
  auto& answer_logits = kept->answer_logits;
  auto& losses = kept->losses;
  auto& d_classifiers = kept->d_classifiers;
  answer_logits.assign(static_cast<std::size_t>(2 * shape.sequences * s), 0.0);
  losses.assign(static_cast<std::size_t>(shape.sequences), 0.0);
  d_classifiers.assign(forward_only ? 0 : static_cast<std::size_t>(shape.sequences * 2 * (h + 1)),
                       0.0F);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t b = 0; b < shape.sequences; ++b) {
    const std::int64_t length = batch.lengths[static_cast<std::size_t>(b)];
    double* logits = answer_logits.data() + 2 * b * s;
    for (std::int64_t c = 0; c < 2; ++c) {
      double top = -HUGE_VAL;
      for (std::int64_t t = 0; t < length; ++t) {
        const float* x = act.hidden + (first_row(b) + t) * h;
        double sum = static_cast<double>(bias[c]);
        for (std::int64_t j = 0; j < h; ++j) sum += static_cast<double>(x[j] * w[c * h + j]);
        logits[2 * t + c] = sum;
        top = std::max(top, sum);
      }
      double total = 0;
      for (std::int64_t t = 0; t < length; ++t) total += std::exp(logits[2 * t + c] - top);
      const std::int64_t label = batch.spans[static_cast<std::size_t>(2 * b + c)];
      losses[static_cast<std::size_t>(b)] += (top + std::log(total) - logits[2 * label + c]) / 2;
      if (forward_only) continue;
      float* d_w = d_classifiers.data() + (2 * b + c) * (h + 1);
      for (std::int64_t t = 0; t < first_row(b + 1) - first_row(b); ++t) {
        float* d_row = act.d_output + (first_row(b) + t) * h;
        if (c == 0) std::fill_n(d_row, h, 0.0F);
        if (t >= length) continue;
        const double probability = std::exp(logits[2 * t + c] - top) / total;
        const auto d = static_cast<float>((probability - (t == label ? 1 : 0)) * scale);
        const float* x = act.hidden + (first_row(b) + t) * h;
        for (std::int64_t j = 0; j < h; ++j) {
          d_row[j] += d * w[c * h + j];
          d_w[j] += d * x[j];
        }
        d_w[h] += d;
      }
    }
  }
  for (const double loss : losses) sentence_losses += loss;
  if (forward_only) return;
  for (std::int64_t b = 0; b < shape.sequences; ++b) {
    for (std::int64_t c = 0; c < 2; ++c) {
      const float* d_w = d_classifiers.data() + (2 * b + c) * (h + 1);
      kernels.add(h, d_w, gradients + layout.next_sentence.weight + c * h);
      gradients[layout.next_sentence.bias + c] += d_w[h];
    }
  }
  stored(rows() * h, act.d_output);
}

}  // namespace bert
