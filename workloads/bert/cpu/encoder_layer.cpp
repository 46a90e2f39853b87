#include "workloads/bert/cpu/encoder_layer.h"

#include "workloads/bert/cpu/attention.h"
#include "workloads/bert/cpu/norm.h"

namespace bert {

void layer_forward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                   const LayerActivations& act, float* output) {
  const LayerOffsets& at = context.layout.layers[static_cast<std::size_t>(layer)];
  const float* w = context.weights;
  const std::int64_t rows = context.shape.tokens();
  const std::int64_t h = context.model.hidden;
  const std::int64_t wide = context.model.intermediate;

  context.gemm.forward(rows, 3 * h, h, act.input, w + at.qkv_weight, w + at.qkv_bias, act.qkv);
  attention_forward(context, layer, lengths, act.qkv, act.probabilities, act.attention);
  context.gemm.forward(rows, h, h, act.attention, w + at.attention_output_weight, nullptr,
                       act.attention_sum);
  const auto attention_keys =
      context.dropout(DropoutSite::attention_output(layer), context.model.hidden_dropout);
  NormForward norm;
  norm.width = h;
  norm.rows_per_sequence = context.shape.length;
  norm.epsilon = static_cast<float>(context.model.layer_norm_epsilon);
  norm.input = norm.sum = act.attention_sum;
  norm.bias = w + at.attention_output_bias;
  norm.residual = act.residual;
  norm.gamma = w + at.attention_norm_weight;
  norm.beta = w + at.attention_norm_bias;
  norm.before = data_or_null(attention_keys);
  norm.output = act.middle;
  norm.mean = act.attention_mean;
  norm.rstd = act.attention_rstd;
  run_norm_forward(context, norm, rows);

  context.gemm.forward(rows, wide, h, act.middle, w + at.intermediate_weight, nullptr, act.wide);
  for_row_blocks(context, rows, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    context.kernels.gelu_forward(context.model.gelu, end - begin, wide, act.wide + begin * wide,
                                 w + at.intermediate_bias, act.activated + begin * wide);
  });
  context.gemm.forward(rows, h, wide, act.activated, w + at.output_weight, nullptr, act.output_sum);
  const auto output_keys =
      context.dropout(DropoutSite::output(layer), context.model.hidden_dropout);
  norm.input = norm.sum = act.output_sum;
  norm.bias = w + at.output_bias;
  norm.residual = context.stream_of_sums() ? act.attention_sum : act.middle;
  norm.gamma = w + at.output_norm_weight;
  norm.beta = w + at.output_norm_bias;
  norm.before = data_or_null(output_keys);
  norm.output = output;
  norm.mean = act.output_mean;
  norm.rstd = act.output_rstd;
  run_norm_forward(context, norm, rows);
}

void layer_input_again(const Context& context, std::int64_t layer, const LayerActivations& act) {
  const auto before = static_cast<std::size_t>(layer - 1);
  const ParameterLayout& at = context.layout;
  NormForward norm;
  norm.width = context.model.hidden;
  norm.rows_per_sequence = context.shape.length;
  norm.sum = act.residual;
  norm.gamma = context.weights +
               (layer == 0 ? at.embedding_norm_weight : at.layers[before].output_norm_weight);
  norm.beta =
      context.weights + (layer == 0 ? at.embedding_norm_bias : at.layers[before].output_norm_bias);
  norm.output = act.input;
  norm.mean = act.input_mean;
  norm.rstd = act.input_rstd;
  norm.again = true;
  run_norm_forward(context, norm, context.shape.tokens());
}

void layer_backward(const Context& context, std::int64_t layer, const std::int32_t* lengths,
                    const LayerActivations& act, const LayerScratch& scratch,
                    const GradientFlow& d) {
  const LayerOffsets& at = context.layout.layers[static_cast<std::size_t>(layer)];
  const float* w = context.weights;
  float* g = context.gradients;
  const std::int64_t rows = context.shape.tokens();
  const std::int64_t h = context.model.hidden;
  const std::int64_t wide = context.model.intermediate;
  const bool accumulate = context.accumulate;
  const bool beside = context.stream_of_sums();

  // Second LayerNorm: d.sum becomes the gradient of the sum, so also of the residual. That is
  // `middle`, whose gradient the products add to, or the first sum, and theirs stands alone.
  const auto output_keys =
      context.dropout(DropoutSite::output(layer), context.model.hidden_dropout);
  NormBackward norm;
  norm.width = h;
  norm.rows_per_sequence = context.shape.length;
  norm.d_output = d.output;
  norm.d_sum = d.sum;
  norm.d_beside = beside ? d.sum : nullptr;
  norm.d_input = scratch.d_narrow;
  norm.sum = act.output_sum;
  norm.mean = act.output_mean;
  norm.rstd = act.output_rstd;
  norm.gamma = w + at.output_norm_weight;
  norm.before = data_or_null(output_keys);
  run_norm_backward(context, norm, rows,
                    {g + at.output_norm_weight, g + at.output_norm_bias, g + at.output_bias});

  Gemm::backward_weight(rows, h, wide, scratch.d_narrow, act.activated, g + at.output_weight,
                        accumulate);
  Gemm::backward_input(rows, h, wide, scratch.d_narrow, w + at.output_weight, scratch.d_wide,
                       false);
  run_gelu_backward(context, rows, wide, act.wide, w + at.intermediate_bias, scratch.d_wide,
                    g + at.intermediate_bias);
  Gemm::backward_weight(rows, wide, h, scratch.d_wide, act.middle, g + at.intermediate_weight,
                        accumulate);
  Gemm::backward_input(rows, wide, h, scratch.d_wide, w + at.intermediate_weight, d.output,
                       !beside);

  const auto attention_keys =
      context.dropout(DropoutSite::attention_output(layer), context.model.hidden_dropout);
  norm.sum = act.attention_sum;
  norm.mean = act.attention_mean;
  norm.rstd = act.attention_rstd;
  norm.gamma = w + at.attention_norm_weight;
  norm.before = data_or_null(attention_keys);
  run_norm_backward(
      context, norm, rows,
      {g + at.attention_norm_weight, g + at.attention_norm_bias, g + at.attention_output_bias});

  Gemm::backward_weight(rows, h, h, scratch.d_narrow, act.attention, g + at.attention_output_weight,
                        accumulate);
  float* d_attention = scratch.d_wide;  // its gradient is spent
  Gemm::backward_input(rows, h, h, scratch.d_narrow, w + at.attention_output_weight, d_attention,
                       false);
  attention_backward(context, layer, lengths, act.qkv, act.probabilities, d_attention,
                     scratch.d_qkv, scratch.bias_partials);
  Gemm::backward_weight(rows, 3 * h, h, scratch.d_qkv, act.input, g + at.qkv_weight, accumulate);
  Gemm::backward_input(rows, 3 * h, h, scratch.d_qkv, w + at.qkv_weight, d.output, !beside);
}

}  // namespace bert
