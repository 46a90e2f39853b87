#include "workloads/bert/cpu/attention.h"

#include <algorithm>
#include <cmath>

namespace bert {
namespace {

/// Queries of a causal model that share one product, which also computes what a query does not
/// attend to: on average half as many keys as this.
constexpr std::int64_t kCausalBlock = 128;

/// The slice of one head of one sequence. Everything of it fits the core's cache, so the pass over
/// the scores costs no memory traffic.
struct Head {
  std::int64_t sequence, head;
  std::int64_t tokens;  ///< rows of the sequence, from first_row on
  std::int64_t first_row, width, keys, size, stride;
  bool causal;
  const float *query, *key, *value;
};

Head head_of(const Context& context, std::int64_t task, const std::int32_t* lengths,
             const float* qkv) {
  const std::int64_t h = context.model.hidden;
  Head head{};
  head.sequence = task / context.model.heads;
  head.head = task % context.model.heads;
  head.first_row = context.first_row(head.sequence);
  head.tokens = context.first_row(head.sequence + 1) - head.first_row;
  head.width = context.shape.length;
  head.keys = lengths[head.sequence];
  head.size = context.model.head_size();
  head.stride = 3 * h;
  head.causal = context.model.mask == Mask::causal;
  head.query = qkv + head.first_row * head.stride + head.head * head.size;
  head.key = head.query + h;
  head.value = head.query + 2 * h;
  return head;
}

/// A product in bf16 has as many keys as a multiple of this, or all: oneDNN makes code for each
/// shape, and sequences may have as many lengths as tokens.
constexpr std::int64_t kKeyStep = 32;

void multiply(const Context& context, const HeadProduct& p) {
  if (context.bf16 != nullptr) return context.bf16->head(p);
  sgemm(p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1.0F, p.a, p.lda, p.b, p.ldb,
        p.accumulate ? 1.0F : 0.0F, p.c, p.ldc);
}

/// Keys that the products of these rows compute with.
std::int64_t product_keys(const Context& context, const SoftmaxRows& rows) {
  // Without padding the rows after a sequence are those of the next one.
  if (context.bf16 == nullptr || context.unpadded) return rows.keys;
  return std::min(rows.ld, (rows.keys + kKeyStep - 1) / kKeyStep * kKeyStep);
}

/// What follows the softmax of `rows`: no weight on keys that are there for the product alone, and
/// the precision in which a GPU multiplies.
void as_operand(const Context& context, const SoftmaxRows& rows, std::int64_t keys, float* values) {
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    float* at = values + row * rows.ld;
    std::fill(at + rows.keys, at + keys, 0.0F);
    if (context.fp16) context.kernels.round_to_fp16(keys, at, at);
  }
}

std::int64_t block_of(const Head& head) { return head.causal ? kCausalBlock : head.tokens; }

/// Queries [first, first + block) and the keys that any of them attends to.
SoftmaxRows rows_of(const Head& head, std::int64_t first, const DropoutKey* keys) {
  SoftmaxRows rows;
  rows.rows = std::min(block_of(head), head.tokens - first);
  rows.keys = head.causal ? std::min(head.keys, first + rows.rows) : head.keys;
  rows.first_row = first;
  rows.causal = head.causal;
  rows.ld = head.width;
  rows.scale = 1.0F / std::sqrt(static_cast<float>(head.size));
  rows.dropout = keys == nullptr ? nullptr : keys + head.sequence;
  rows.elements_per_row = static_cast<std::uint64_t>(head.width);
  rows.first_element =
      static_cast<std::uint64_t>(head.head * head.width + first) * rows.elements_per_row;
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
  const DropoutKey* keys =
      context.dropout(DropoutSite::attention(layer), context.model.attention_dropout);
  const std::int64_t tasks = context.shape.sequences * context.model.heads;
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t task = 0; task < tasks; ++task) {
    const Head head = head_of(context, task, lengths, qkv);
    float* dropped = context.thread_scratch();
    float* out = output + head.first_row * h + head.head * head.size;
    for (std::int64_t first = 0; first < head.tokens; first += block_of(head)) {
      const SoftmaxRows rows = rows_of(head, first, keys);
      const std::int64_t n = product_keys(context, rows);
      float* scores = probabilities + (task * s + first) * s;
      multiply(context, {.transpose_b = true,
                         .m = rows.rows,
                         .n = n,
                         .k = head.size,
                         .a = head.query + first * head.stride,
                         .lda = head.stride,
                         .b = head.key,
                         .ldb = head.stride,
                         .c = scores,
                         .ldc = s});
      context.kernels.softmax_forward(rows, scores, dropped, dropped + 2 * s * s);
      float* weights = rows.dropout != nullptr ? dropped : scores;
      as_operand(context, rows, n, weights);
      multiply(context, {.m = rows.rows,
                         .n = head.size,
                         .k = n,
                         .a = weights,
                         .lda = s,
                         .b = head.value,
                         .ldb = head.stride,
                         .c = out + first * h,
                         .ldc = h});
    }
  }
}

void attention_backward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                        const float* qkv, const float* probabilities, const float* d_output,
                        float* d_qkv, float* bias_partials) {
  const std::int64_t s = context.shape.length;
  const std::int64_t h = context.model.hidden;
  const DropoutKey* keys =
      context.dropout(DropoutSite::attention(layer), context.model.attention_dropout);
  const std::int64_t tasks = context.shape.sequences * context.model.heads;
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t task = 0; task < tasks; ++task) {
    const Head head = head_of(context, task, lengths, qkv);
    float* dropped = context.thread_scratch();
    float* d_scores = dropped + s * s;
    float* d_query = d_qkv + (head.query - qkv);
    float* d_key = d_query + h;
    float* d_value = d_query + 2 * h;
    // From the last block, which attends to every key and so writes what the others add to.
    const std::int64_t last = (head.tokens - 1) / block_of(head) * block_of(head);
    for (std::int64_t first = last; first >= 0; first -= block_of(head)) {
      const SoftmaxRows rows = rows_of(head, first, keys);
      const float* p = probabilities + (task * s + first) * s;
      const float* d_out = d_output + (head.first_row + first) * h + head.head * head.size;
      const float* query = head.query + first * head.stride;
      const std::int64_t n = product_keys(context, rows);
      const bool add = first != last;
      multiply(context, {.transpose_b = true,
                         .m = rows.rows,
                         .n = n,
                         .k = head.size,
                         .a = d_out,
                         .lda = h,
                         .b = head.value,
                         .ldb = head.stride,
                         .c = d_scores,
                         .ldc = s});
      context.kernels.softmax_backward(rows, p, d_scores, dropped, dropped + 2 * s * s);
      as_operand(context, rows, n, d_scores);
      if (rows.dropout != nullptr) as_operand(context, rows, n, dropped);
      HeadProduct to_value{.transpose_a = true,
                           .m = n,
                           .n = head.size,
                           .k = rows.rows,
                           .a = rows.dropout != nullptr ? dropped : p,
                           .lda = s,
                           .b = d_out,
                           .ldb = h,
                           .c = d_value,
                           .ldc = head.stride,
                           .accumulate = add};
      multiply(context, to_value);
      multiply(context, {.m = rows.rows,
                         .n = head.size,
                         .k = n,
                         .a = d_scores,
                         .lda = s,
                         .b = head.key,
                         .ldb = head.stride,
                         .c = d_query + first * head.stride,
                         .ldc = head.stride});
      HeadProduct to_key = to_value;
      to_key.a = d_scores;
      to_key.b = query;
      to_key.ldb = head.stride;
      to_key.c = d_key;
      multiply(context, to_key);
    }
    for (std::int64_t row = head.keys; row < head.tokens; ++row) {
      std::fill_n(d_key + row * head.stride, head.size, 0.0F);
      std::fill_n(d_value + row * head.stride, head.size, 0.0F);
    }
    float* sums = bias_partials + head.sequence * 3 * h + head.head * head.size;
    for (const auto& [from, to] :
         {std::pair{d_query, sums}, std::pair{d_key, sums + h}, std::pair{d_value, sums + 2 * h}}) {
      std::fill_n(to, head.size, 0.0F);
      context.kernels.column_sums(head.tokens, head.size, head.stride, from, to);
    }
  }
  float* d_bias =
      context.gradients + context.layout.layers[static_cast<std::size_t>(layer)].qkv.bias;
  context.kernels.column_sums(context.shape.sequences, 3 * h, 3 * h, bias_partials, d_bias);
}

}  // namespace bert
