#include "workloads/bert/cpu/embeddings.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "workloads/bert/cpu/norm.h"

namespace bert {
namespace {

/// Starts of runs of equal tokens in `order`, with the end as the last entry.
std::vector<std::int64_t> runs_of(const std::vector<std::int32_t>& tokens,
                                  const std::vector<std::int32_t>& order) {
  std::vector<std::int64_t> starts;
  const auto token = [&](std::size_t i) { return tokens[static_cast<std::size_t>(order[i])]; };
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || token(i) != token(i - 1)) starts.push_back(static_cast<std::int64_t>(i));
  }
  starts.push_back(static_cast<std::int64_t>(order.size()));
  return starts;
}

void add_word_gradients(const Context& context, const std::vector<std::int32_t>& tokens,
                        const float* d_sum) {
  const std::int64_t h = context.model.hidden;
  std::vector<std::int32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return tokens[static_cast<std::size_t>(a)] < tokens[static_cast<std::size_t>(b)];
  });
  const std::vector<std::int64_t> starts = runs_of(tokens, order);
  const auto runs = static_cast<std::int64_t>(starts.size()) - 1;
#pragma omp parallel for num_threads(context.threads) schedule(dynamic, 16)
  for (std::int64_t run = 0; run < runs; ++run) {
    const auto at = static_cast<std::size_t>(run);
    const auto first = static_cast<std::size_t>(order[static_cast<std::size_t>(starts[at])]);
    float* row = context.gradients + context.layout.word_embeddings + tokens[first] * h;
    for (std::int64_t i = starts[at]; i < starts[at + 1]; ++i) {
      context.kernels.add(h, d_sum + order[static_cast<std::size_t>(i)] * h, row);
    }
  }
}

void add_segment_gradients(const Context& context, const std::vector<std::int32_t>& segments,
                           const float* d_sum) {
  const std::int64_t h = context.model.hidden;
  float* table = context.gradients + context.layout.segment_embeddings;
  for_columns(context, h, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < context.shape.tokens(); ++row) {
      const std::int64_t segment = segments[static_cast<std::size_t>(row)];
      context.kernels.add(end - begin, d_sum + row * h + begin, table + segment * h + begin);
    }
  });
}

}  // namespace

void embeddings_forward(const Context& context, const Batch& batch, const EmbeddingActivations& act,
                        float* output) {
  const std::int64_t h = context.model.hidden;
  const std::int64_t s = context.shape.length;
  const float* w = context.weights;
  const ParameterLayout& at = context.layout;
  const auto keys = context.dropout(DropoutSite::kEmbeddings, context.model.hidden_dropout);
  NormForward norm;
  norm.width = h;
  norm.rows_per_sequence = s;
  norm.epsilon = static_cast<float>(context.model.layer_norm_epsilon);
  norm.input = norm.sum = act.sum;
  norm.gamma = w + at.embedding_norm_weight;
  norm.beta = w + at.embedding_norm_bias;
  // A stream is dropped itself, and with LayerNorm after the sum what comes out of it.
  (context.stream_of_sums() ? norm.before : norm.after) = data_or_null(keys);
  norm.output = output;
  norm.mean = act.mean;
  norm.rstd = act.rstd;
  for_row_blocks(
      context, context.shape.tokens(), [&](std::int64_t begin, std::int64_t end, std::int64_t) {
        for (std::int64_t row = begin; row < end; ++row) {
          const auto i = static_cast<std::size_t>(row);
          float* sum = act.sum + row * h;
          std::copy_n(w + at.word_embeddings + batch.tokens[i] * h, h, sum);
          context.kernels.add(h, w + at.position_embeddings + (row % s) * h, sum);
          if (context.model.segment_types > 0) {
            context.kernels.add(h, w + at.segment_embeddings + batch.segments[i] * h, sum);
          }
        }
        context.kernels.norm_forward(norm, begin, end, context.thread_scratch());
      });
}

void embeddings_backward(const Context& context, const Batch& batch,
                         const EmbeddingActivations& act, const GradientFlow& d) {
  const std::int64_t h = context.model.hidden;
  const std::int64_t s = context.shape.length;
  const std::int64_t rows = context.shape.tokens();
  float* g = context.gradients;
  const ParameterLayout& at = context.layout;
  const auto keys = context.dropout(DropoutSite::kEmbeddings, context.model.hidden_dropout);
  NormBackward norm;
  norm.width = h;
  norm.rows_per_sequence = s;
  norm.d_output = d.output;
  norm.d_sum = d.sum;
  norm.sum = act.sum;
  norm.mean = act.mean;
  norm.rstd = act.rstd;
  norm.gamma = context.weights + at.embedding_norm_weight;
  const float* d_tables = d.sum;
  if (context.stream_of_sums()) {
    norm.d_beside = d.sum;
    norm.d_input = d.output;
    norm.before = data_or_null(keys);
    d_tables = d.output;
  } else {
    norm.after = data_or_null(keys);
  }
  run_norm_backward(context, norm, rows,
                    {g + at.embedding_norm_weight, g + at.embedding_norm_bias, nullptr});

#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t position = 0; position < s; ++position) {
    context.kernels.column_sums(context.shape.sequences, h, s * h, d_tables + position * h,
                                g + at.position_embeddings + position * h);
  }
  if (context.model.segment_types > 0) add_segment_gradients(context, batch.segments, d_tables);
  add_word_gradients(context, batch.tokens, d_tables);
}

}  // namespace bert
