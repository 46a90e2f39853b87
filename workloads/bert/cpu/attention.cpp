#include "workloads/bert/cpu/attention.h"

#include <algorithm>
#include <cmath>

namespace bert {
namespace {

/// Queries of a causal model that share one product: what they do not see and compute for nothing
/// is half of this a query.
constexpr std::int64_t kCausalBlock = 128;

/// The slice of one head of one sequence. Everything of it fits the core's cache, so the pass over
/// the scores costs no memory traffic.
struct Head {
  std::int64_t sequence, head, tokens, keys, size, stride;
  bool causal;
  const float *query, *key, *value;
};

Head head_of(const Context& context, std::int64_t task, const std::int32_t* lengths,
             const float* qkv) {
  const std::int64_t h = context.model.hidden;
  Head head{};
  head.sequence = task / context.model.heads;
  head.head = task % context.model.heads;
  head.tokens = context.shape.length;
  head.keys = lengths[head.sequence];
  head.size = context.model.head_size();
  head.stride = 3 * h;
  head.causal = context.model.mask == Mask::causal;
  head.query = qkv + head.sequence * head.tokens * head.stride + head.head * head.size;
  head.key = head.query + h;
  head.value = head.query + 2 * h;
  return head;
}

std::int64_t block_of(const Head& head) { return head.causal ? kCausalBlock : head.tokens; }

/// Queries [first, first + block) and the keys that any of them sees.
SoftmaxRows rows_of(const Head& head, std::int64_t first, const DropoutKey* keys) {
  SoftmaxRows rows;
  rows.rows = std::min(block_of(head), head.tokens - first);
  rows.keys = head.causal ? std::min(head.keys, first + rows.rows) : head.keys;
  rows.first_row = first;
  rows.causal = head.causal;
  rows.ld = head.tokens;
  rows.scale = 1.0F / std::sqrt(static_cast<float>(head.size));
  rows.dropout = keys == nullptr ? nullptr : keys + head.sequence;
  rows.elements_per_row = static_cast<std::uint64_t>(head.tokens);
  rows.first_element =
      static_cast<std::uint64_t>(head.head * head.tokens + first) * rows.elements_per_row;
  return rows;
}

}  // namespace

std::int64_t attention_scratch(std::int64_t sequence_length) {
  return 2 * sequence_length * sequence_length + sequence_length + 128;
}

void attention_forward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                       const float* qkv, float* probabilities, float* output) {
  const std::int64_t s = context.shape.length;
  const std::int64_t h = context.model.hidden;
  const auto keys = context.dropout(DropoutSite::attention(layer), context.model.attention_dropout);
  const std::int64_t tasks = context.shape.sequences * context.model.heads;
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t task = 0; task < tasks; ++task) {
    const Head head = head_of(context, task, lengths, qkv);
    float* dropped = context.thread_scratch();
    float* out = output + head.sequence * s * h + head.head * head.size;
    for (std::int64_t first = 0; first < s; first += block_of(head)) {
      const SoftmaxRows rows = rows_of(head, first, data_or_null(keys));
      float* scores = probabilities + (task * s + first) * s;
      sgemm(false, true, rows.rows, rows.keys, head.size, 1.0F, head.query + first * head.stride,
            head.stride, head.key, head.stride, 0.0F, scores, s);
      context.kernels.softmax_forward(rows, scores, dropped, dropped + 2 * s * s);
      sgemm(false, false, rows.rows, head.size, rows.keys, 1.0F,
            rows.dropout != nullptr ? dropped : scores, s, head.value, head.stride, 0.0F,
            out + first * h, h);
    }
  }
}

void attention_backward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                        const float* qkv, const float* probabilities, const float* d_output,
                        float* d_qkv, float* bias_partials) {
  const std::int64_t s = context.shape.length;
  const std::int64_t h = context.model.hidden;
  const auto keys = context.dropout(DropoutSite::attention(layer), context.model.attention_dropout);
  const std::int64_t tasks = context.shape.sequences * context.model.heads;
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t task = 0; task < tasks; ++task) {
    const Head head = head_of(context, task, lengths, qkv);
    float* dropped = context.thread_scratch();
    float* d_scores = dropped + s * s;
    float* d_query = d_qkv + (head.query - qkv);
    float* d_key = d_query + h;
    float* d_value = d_query + 2 * h;
    // From the last block, which sees every key and so writes what the others add to.
    const std::int64_t last = (s - 1) / block_of(head) * block_of(head);
    for (std::int64_t first = last; first >= 0; first -= block_of(head)) {
      const SoftmaxRows rows = rows_of(head, first, data_or_null(keys));
      const float* p = probabilities + (task * s + first) * s;
      const float* d_out = d_output + (head.sequence * s + first) * h + head.head * head.size;
      const float* query = head.query + first * head.stride;
      const float add = first == last ? 0.0F : 1.0F;
      sgemm(false, true, rows.rows, rows.keys, head.size, 1.0F, d_out, h, head.value, head.stride,
            0.0F, d_scores, s);
      context.kernels.softmax_backward(rows, p, d_scores, dropped, dropped + 2 * s * s);
      sgemm(true, false, rows.keys, head.size, rows.rows, 1.0F,
            rows.dropout != nullptr ? dropped : p, s, d_out, h, add, d_value, head.stride);
      sgemm(false, false, rows.rows, head.size, rows.keys, 1.0F, d_scores, s, head.key, head.stride,
            0.0F, d_query + first * head.stride, head.stride);
      sgemm(true, false, rows.keys, head.size, rows.rows, 1.0F, d_scores, s, query, head.stride,
            add, d_key, head.stride);
    }
    for (std::int64_t row = head.keys; row < s; ++row) {
      std::fill_n(d_key + row * head.stride, head.size, 0.0F);
      std::fill_n(d_value + row * head.stride, head.size, 0.0F);
    }
    float* sums = bias_partials + head.sequence * 3 * h + head.head * head.size;
    for (const auto& [from, to] :
         {std::pair{d_query, sums}, std::pair{d_key, sums + h}, std::pair{d_value, sums + 2 * h}}) {
      std::fill_n(to, head.size, 0.0F);
      context.kernels.column_sums(s, head.size, head.stride, from, to);
    }
  }
  float* d_bias =
      context.gradients + context.layout.layers[static_cast<std::size_t>(layer)].qkv.bias;
  context.kernels.column_sums(context.shape.sequences, 3 * h, 3 * h, bias_partials, d_bias);
}

}  // namespace bert
