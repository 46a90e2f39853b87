#include "workloads/bert/cuda/step.h"

#include "workloads/bert/model/dropout.h"

namespace bert::cuda {

Dropout Step::dropout(std::uint32_t site, double probability) const {
  Dropout out;
  out.on = training && probability > 0;
  if (!out.on) return out;
  out.key = dropout_key(options.seed, optimizer_step, site, 0, probability);
  out.first_sequence = batch.first_sequence;
  return out;
}

NormForward Step::norm(std::int64_t rows, const float* gamma, const float* beta) const {
  NormForward norm;
  norm.rows = rows;
  norm.width = static_cast<int>(model().hidden);
  norm.rows_per_sequence = static_cast<int>(batch.length);
  norm.places = batch.places;
  norm.gamma = gamma;
  norm.beta = beta;
  norm.epsilon = static_cast<float>(model().layer_norm_epsilon);
  return norm;
}

void Step::clear_tail(void* values, std::int64_t width) const {
  const std::int64_t row_bytes = width * size_of(type);
  const std::int64_t tail = batch.row_count - batch.token_count;
  if (tail == 0) return;
  fill_zero(static_cast<std::byte*>(values) + batch.token_count * row_bytes, tail * row_bytes,
            stream);
}

namespace {

void embeddings_forward(Step& s) {
  const ParameterLayout& at = s.layout;
  NormForward norm = s.norm(s.batch.rows(), s.weights + at.embedding_norm_weight,
                            s.weights + at.embedding_norm_bias);
  norm.tokens = s.batch.tokens;
  norm.segments = s.batch.segments;
  norm.word = s.copy_at(at.word_embeddings);
  norm.position = s.copy_at(at.position_embeddings);
  if (s.model().segment_types > 0) norm.segment = s.copy_at(at.segment_embeddings);
  (s.stream_of_sums() ? norm.before : norm.after) =
      s.dropout(DropoutSite::kEmbeddings, s.model().hidden_dropout);
  norm.sum = s.act.embedding_sum;
  norm.output = s.act.layers[0].input;
  norm.mean = s.act.embedding_mean;
  norm.rstd = s.act.embedding_rstd;
  norm_forward(s.type, norm, s.stream);
}

/// Gradients of the position table, from `d` of the tables' sum.
void position_sums(Step& s, const void* d) {
  const std::int64_t h = s.model().hidden;
  float* output = s.gradients + s.layout.position_embeddings;
  if (!s.accumulate) {  // positions beyond the sequence length get no sum
    fill_zero(output, s.model().max_positions * h * 4, s.stream);
  }
  SegmentSums positions;
  if (s.batch.unpadded) {
    positions.targets = s.batch.position_targets;
    positions.starts = s.batch.position_starts;
    positions.sources = s.batch.position_sources;
    positions.runs = s.batch.position_runs;
  } else {
    positions.runs = s.batch.length;
    positions.regular_count = static_cast<int>(s.batch.sequences);
    positions.regular_step = static_cast<int>(s.batch.length);
  }
  positions.width = static_cast<int>(h);
  positions.input = d;
  positions.output = output;
  positions.to_float = true;
  segment_sums(s.type, positions, s.stream);
}

/// Of the table of sentences A and B.
void segment_type_sums(Step& s, void* d) {
  const std::int64_t h = s.model().hidden;
  for (std::int64_t segment = 0; segment < s.model().segment_types; ++segment) {
    ColumnSums sums;
    sums.mode = ColumnSums::Mode::of_segment;
    sums.rows = s.batch.rows();
    sums.width = static_cast<int>(h);
    sums.stride = h;
    sums.values = d;
    sums.segments = s.batch.segments;
    sums.segment = static_cast<int>(segment);
    sums.partials = s.act.partials;
    sums.sums = s.gradients + s.layout.segment_embeddings + segment * h;
    sums.accumulate = s.accumulate;
    column_sums(s.type, sums, s.stream);
  }
}

/// Of the word table, which the tied decoder has written already.
void word_sums(Step& s, const void* d) {
  SegmentSums words;
  words.targets = s.batch.word_targets;
  words.starts = s.batch.word_starts;
  words.sources = s.batch.word_sources;
  words.runs = s.batch.word_runs;
  words.width = static_cast<int>(s.model().hidden);
  words.input = d;
  words.output = s.gradients + s.layout.word_embeddings;
  words.to_float = true;
  segment_sums(s.type, words, s.stream);
}

void embeddings_backward(Step& s) {
  const ParameterLayout& at = s.layout;
  NormBackward norm;
  norm.rows = s.batch.rows();
  norm.width = static_cast<int>(s.model().hidden);
  norm.rows_per_sequence = static_cast<int>(s.batch.length);
  norm.places = s.batch.places;
  norm.d_output = s.act.d_hidden;
  norm.d_sum = s.act.d_sum;
  norm.sum = s.act.embedding_sum;
  norm.mean = s.act.embedding_mean;
  norm.rstd = s.act.embedding_rstd;
  norm.gamma = s.weights + at.embedding_norm_weight;
  (s.stream_of_sums() ? norm.before : norm.after) =
      s.dropout(DropoutSite::kEmbeddings, s.model().hidden_dropout);
  if (s.stream_of_sums()) {
    norm.d_beside = s.act.d_sum;
    norm.d_input = s.act.d_hidden;
  }
  norm.partials = s.act.partials;
  norm.sum_gamma = s.gradients + at.embedding_norm_weight;
  norm.sum_beta = s.gradients + at.embedding_norm_bias;
  norm.accumulate = s.accumulate;
  norm_backward(s.type, norm, s.stream);

  void* d = s.act.d_hidden;  // of the tables' sum, in either place
  position_sums(s, d);
  segment_type_sums(s, d);
  word_sums(s, d);
}

Attention attention_of(const Step& s, std::int64_t layer, const LayerActivations& act) {
  Attention a;
  a.sequences = s.batch.sequences;
  a.length = static_cast<int>(s.batch.length);
  a.heads = static_cast<int>(s.model().heads);
  a.size = static_cast<int>(s.model().head_size());
  a.causal = s.model().mask == Mask::causal;
  a.lengths = s.batch.lengths;
  a.starts = s.batch.unpadded ? s.batch.first_rows : nullptr;
  a.qkv = act.qkv;
  a.output = act.attention;
  a.log_sums = act.log_sums;
  a.dropout = s.dropout(DropoutSite::attention(layer), s.model().attention_dropout);
  return a;
}

/// From d_narrow, the gradient of the feed-forward block's second product, to d_wide under the
/// GELU.
void wide_backward(Step& s, const LayerActivations& act, const LayerOffsets& at) {
  const std::int64_t rows = s.batch.rows();
  const std::int64_t wide = s.model().intermediate;
  const Product product =
      s.input_product(rows, wide, s.model().hidden, s.act.d_narrow, at.output_weight, s.act.d_wide);
  if (s.gelu_in_products()) {
    return s.matmul.run(s.with_gelu_backward(product, act.wide, at.intermediate_bias), s.stream);
  }
  s.matmul.run(product, s.stream);
  s.gelu_slopes(rows, wide, s.act.d_wide, act.wide, at.intermediate_bias);
}

void layer_forward(Step& s, std::int64_t layer, void* output) {
  const LayerActivations& act = s.act.layers[static_cast<std::size_t>(layer)];
  const LayerOffsets& at = s.layout.layers[static_cast<std::size_t>(layer)];
  const std::int64_t rows = s.batch.rows();
  const std::int64_t h = s.model().hidden;
  const std::int64_t wide = s.model().intermediate;
  s.linear(rows, h, 3 * h, act.input, at.qkv_weight, at.qkv_bias, act.qkv);
  attention_forward(s.type, attention_of(s, layer, act), s.plain_attention, s.stream);
  s.clear_tail(act.attention, h);

  s.linear(rows, h, h, act.attention, at.attention_output_weight, Step::kNone, act.attention_sum);
  NormForward norm =
      s.norm(rows, s.weights + at.attention_norm_weight, s.weights + at.attention_norm_bias);
  norm.input = norm.sum = act.attention_sum;
  norm.bias = s.weights + at.attention_output_bias;
  norm.residual = act.residual;
  norm.before = s.dropout(DropoutSite::attention_output(layer), s.model().hidden_dropout);
  norm.output = act.middle;
  norm.mean = act.attention_mean;
  norm.rstd = act.attention_rstd;
  norm_forward(s.type, norm, s.stream);

  s.linear_gelu(rows, h, wide, act.middle, at.intermediate_weight, at.intermediate_bias, act.wide,
                act.activated);

  s.linear(rows, wide, h, act.activated, at.output_weight, Step::kNone, act.output_sum);
  norm.input = norm.sum = act.output_sum;
  norm.bias = s.weights + at.output_bias;
  norm.residual = s.stream_of_sums() ? act.attention_sum : act.middle;
  norm.gamma = s.weights + at.output_norm_weight;
  norm.beta = s.weights + at.output_norm_bias;
  norm.before = s.dropout(DropoutSite::output(layer), s.model().hidden_dropout);
  norm.output = output;
  norm.mean = act.output_mean;
  norm.rstd = act.output_rstd;
  norm_forward(s.type, norm, s.stream);
}

/// A layer's input again, from the sum that it is the LayerNorm of.
void layer_input_again(Step& s, std::int64_t layer) {
  const LayerActivations& act = s.act.layers[static_cast<std::size_t>(layer)];
  const ParameterLayout& at = s.layout;
  const auto last = static_cast<std::size_t>(layer - 1);
  NormForward norm = layer == 0
                         ? s.norm(s.batch.rows(), s.weights + at.embedding_norm_weight,
                                  s.weights + at.embedding_norm_bias)
                         : s.norm(s.batch.rows(), s.weights + at.layers[last].output_norm_weight,
                                  s.weights + at.layers[last].output_norm_bias);
  norm.input = norm.sum = act.residual;
  norm.output = act.input;
  norm.mean = act.attention_mean;  // the same as before; the layer has not come to its own yet
  norm.rstd = act.attention_rstd;
  norm_forward(s.type, norm, s.stream);
}

/// act.d_hidden and act.d_sum hold the gradients at the layer's end and end as those at its
/// beginning. What is said of the two in the CPU backend's layer_backward() holds here.
void layer_backward(Step& s, std::int64_t layer) {
  void* d = s.act.d_hidden;
  const bool beside = s.stream_of_sums();
  const LayerActivations& act = s.act.layers[static_cast<std::size_t>(layer)];
  const LayerOffsets& at = s.layout.layers[static_cast<std::size_t>(layer)];
  const std::int64_t rows = s.batch.rows();
  const std::int64_t h = s.model().hidden;
  const std::int64_t wide = s.model().intermediate;
  float* g = s.gradients;

  NormBackward norm;
  norm.rows = rows;
  norm.width = static_cast<int>(h);
  norm.rows_per_sequence = static_cast<int>(s.batch.length);
  norm.places = s.batch.places;
  norm.d_output = d;
  norm.d_sum = s.act.d_sum;
  norm.d_beside = beside ? s.act.d_sum : nullptr;
  norm.d_input = s.act.d_narrow;
  norm.sum = act.output_sum;
  norm.mean = act.output_mean;
  norm.rstd = act.output_rstd;
  norm.gamma = s.weights + at.output_norm_weight;
  norm.before = s.dropout(DropoutSite::output(layer), s.model().hidden_dropout);
  norm.partials = s.act.partials;
  norm.sum_gamma = g + at.output_norm_weight;
  norm.sum_beta = g + at.output_norm_bias;
  norm.sum_bias = g + at.output_bias;
  norm.accumulate = s.accumulate;
  norm_backward(s.type, norm, s.stream);

  s.linear_weight(rows, wide, h, s.act.d_narrow, act.activated, at.output_weight);
  wide_backward(s, act, at);
  s.linear_weight(rows, h, wide, s.act.d_wide, act.middle, at.intermediate_weight);
  s.linear_input(rows, h, wide, s.act.d_wide, at.intermediate_weight, d, !beside);

  norm.sum = act.attention_sum;
  norm.mean = act.attention_mean;
  norm.rstd = act.attention_rstd;
  norm.gamma = s.weights + at.attention_norm_weight;
  norm.before = s.dropout(DropoutSite::attention_output(layer), s.model().hidden_dropout);
  norm.sum_gamma = g + at.attention_norm_weight;
  norm.sum_beta = g + at.attention_norm_bias;
  norm.sum_bias = g + at.attention_output_bias;
  norm_backward(s.type, norm, s.stream);

  s.linear_weight(rows, h, h, s.act.d_narrow, act.attention, at.attention_output_weight);
  void* d_attention = s.act.d_wide;  // its gradient is spent
  s.linear_input(rows, h, h, s.act.d_narrow, at.attention_output_weight, d_attention, false);
  Attention attention = attention_of(s, layer, act);
  attention.d_output = d_attention;
  attention.delta = s.act.delta;
  attention.d_qkv = s.act.d_qkv;
  attention_backward(s.type, attention, s.plain_attention, s.stream);
  s.clear_tail(s.act.d_qkv, 3 * h);
  s.linear_weight(rows, h, 3 * h, s.act.d_qkv, act.input, at.qkv_weight, at.qkv_bias, 3 * h);
  s.linear_input(rows, h, 3 * h, s.act.d_qkv, at.qkv_weight, d, !beside);
}

void* output_of(Step& s, std::size_t layer) {
  return layer + 1 < s.act.layers.size() ? s.act.layers[layer + 1].input : s.act.hidden;
}

}  // namespace

void forward(Step& s) {
  embeddings_forward(s);
  for (std::size_t i = 0; i < s.act.layers.size(); ++i) {
    layer_forward(s, static_cast<std::int64_t>(i), output_of(s, i));
  }
}

void backward(Step& s, const GradientReady& finished) {
  if (s.layout.heads < s.layout.total) finished(s.layout.heads, s.layout.total - s.layout.heads);
  if (s.stream_of_sums()) {  // which ends with the LayerNorm before the head
    fill_zero(s.act.d_sum, s.batch.rows() * s.model().hidden * size_of(s.type), s.stream);
  }
  for (std::size_t i = s.act.layers.size(); i-- > 0;) {
    const auto index = static_cast<std::int64_t>(i);
    // Checkpointing: all layers share one set of activations; the last layer's are still there.
    if (s.options.activation_checkpointing && i + 1 < s.act.layers.size()) {
      if (s.stream_of_sums()) layer_input_again(s, index);
      layer_forward(s, index, output_of(s, i));
    }
    layer_backward(s, index);
    const LayerOffsets& at = s.layout.layers[i];
    finished(at.begin, at.end - at.begin);
  }
  embeddings_backward(s);
  finished(0, s.layout.layers.front().begin);
}

}  // namespace bert::cuda
