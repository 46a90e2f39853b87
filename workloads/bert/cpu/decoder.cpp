#include "workloads/bert/cpu/decoder.h"

#include <vector>

namespace bert {

double decode(const Context& context, const Decoder& decoder) {
  const std::int64_t h = context.model.hidden;
  const std::int64_t classes = context.model.vocabulary;
  const std::int64_t rows = decoder.rows;
  const float* table = context.weights + context.layout.word_embeddings;
  const bool biased = decoder.bias != ParameterLayout::kAbsent;
  const float* bias = biased ? context.weights + decoder.bias : nullptr;
  context.gemm.forward(rows, classes, h, decoder.input, table, nullptr, decoder.logits);

  std::vector<double> losses(static_cast<std::size_t>(rows));
  const auto scale = static_cast<float>(decoder.scale);
#pragma omp parallel for num_threads(context.threads) schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    losses[static_cast<std::size_t>(row)] = context.kernels.cross_entropy(
        classes, decoder.logits + row * classes, bias, decoder.labels[row], scale);
  }
  double loss = 0;
  for (const double one : losses) loss += one;

  const float* d_logits = decoder.logits;
  if (biased) {
    for_columns(context, classes, [&](std::int64_t begin, std::int64_t end) {
      context.kernels.column_sums(rows, end - begin, classes, d_logits + begin,
                                  context.gradients + decoder.bias + begin);
    });
  }
  Gemm::backward_weight(rows, classes, h, d_logits, decoder.input,
                        context.gradients + context.layout.word_embeddings, decoder.accumulate);
  Gemm::backward_input(rows, classes, h, d_logits, table, decoder.d_input, false);
  return loss;
}

}  // namespace bert
