#include "workloads/bert/cuda/step.h"

#include <algorithm>

#include "workloads/bert/cuda/products/epilogue.h"

namespace bert::cuda {
namespace {

/// Rows of logits that a next_word head has at a time, where BackendOptions::logit_rows leaves it
/// to the backend.
constexpr std::int64_t kLogitRows = 8192;

/// Of the log of each row's softmax denominator, after which the attention's dropout bits lie.
std::int64_t log_sums_bytes(const BackendOptions& options) {
  const std::int64_t rows =
      options.micro_batch_size * options.sequence_length * options.model.heads;
  return (rows * 4 + 255) / 256 * 256;
}

}  // namespace

ActivationSizes activation_sizes(const BackendOptions& options, DType type,
                                 std::int64_t masked_per_sequence, bool fp8) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  ActivationSizes sizes;
  sizes.element = size_of(type);
  sizes.alignment = 256;
  sizes.softmax = sizes.attention_scratch = log_sums_bytes(options);
  if (model.hidden_dropout > 0 && !options.inference) {
    sizes.norm_dropout = tokens * model.hidden / 8;
  }
  const std::int64_t masked = options.micro_batch_size * masked_per_sequence;
  const bool next_word = model.objective == Objective::next_word;
  sizes.partials =
      std::max({norm_partials_bytes(model.hidden),
                column_partials_bytes(tokens, std::max(model.intermediate, 3 * model.hidden)),
                next_word ? 0 : column_partials_bytes(masked, decoder_columns(model))});
  if (has_flash_attention(type, static_cast<int>(model.head_size()))) {
    const std::int64_t sequences = options.micro_batch_size;
    const std::int64_t length = options.sequence_length;
    const bool own = options.attention == AttentionBy::kernels;
    if (own && model.attention_dropout > 0 && !options.inference) {
      sizes.softmax += attention_kept_bytes(sequences, length, model.heads);
    }
    sizes.partials =
        std::max(sizes.partials, attention_partials_bytes(sequences, length, model.hidden));
  }
  sizes.logit_columns = decoder_columns(model);
  sizes.logit_rows = kLogitRows;
  if (fp8) Fp8Linears::add_sizes(options, sizes);
  return sizes;
}

// ---- products ----------------------------------------------------------------------------------

std::int64_t Step::columns(const LinearOffsets& at) const {
  return at.weight == layout.decoder.weight ? decoder_columns(model) : at.outputs;
}

Product Step::linear_product(const LinearOffsets& at, std::int64_t rows, const void* x,
                             void* y) const {
  Product p;
  p.transpose_b = true;
  p.m = rows;
  p.n = p.ldc = columns(at);
  p.k = p.lda = p.ldb = at.inputs;
  p.a = x;
  p.b = copy_at(at.weight);
  p.c = y;
  p.type = p.output = type;
  if (at.bias != kAbsent) p.bias = copy_at(at.bias);
  return p;
}

Product Step::input_product(const LinearOffsets& at, std::int64_t rows, const void* dy,
                            void* dx) const {
  Product p;
  p.m = rows;
  p.n = p.ldb = p.ldc = at.inputs;
  p.k = p.lda = columns(at);
  p.a = dy;
  p.b = copy_at(at.weight);
  p.c = dx;
  p.type = p.output = type;
  return p;
}

Product Step::weight_product(const LinearOffsets& at, std::int64_t rows, const void* dy,
                             const void* x) const {
  Product p;
  p.transpose_a = true;
  p.m = p.lda = columns(at);
  p.n = p.ldb = p.ldc = at.inputs;
  p.k = rows;
  p.a = dy;
  p.b = x;
  p.c = gradients + at.weight;
  p.type = type;
  p.output = DType::f32;
  p.accumulate = accumulate;
  if (at.bias != kAbsent) {
    p.sums = gradients + at.bias;
    p.sum_count = at.outputs;
    p.accumulate_sums = accumulate;
    p.partials = act.partials;
  }
  return p;
}

Product Step::with_gelu(Product product, void* wide) const {
  product.activation = Product::Activation::gelu;
  product.aux = wide;
  return product;
}

Product Step::with_gelu_backward(Product product, void* wide, std::int64_t bias) const {
  product.activation = Product::Activation::gelu_backward;
  product.aux = wide;
  product.sums = gradients + bias;
  product.sum_count = product.n;
  product.accumulate_sums = accumulate;
  product.partials = act.partials;
  return product;
}

void Step::linear(const LinearOffsets& at, std::int64_t rows, const void* x, void* y) {
  if (rows == 0) return;
  Product p = linear_product(at, rows, x, y);
  if (in_fp8(at)) fp8->cast_forward(at, act, gradients != nullptr, p, stream);
  matmul.run(p, stream);
}

void Step::linear_input(const LinearOffsets& at, std::int64_t rows, const void* dy, void* dx,
                        bool add) {
  if (rows == 0) return;
  Product p = input_product(at, rows, dy, dx);
  p.accumulate = add;
  if (in_fp8(at)) fp8->cast_input(at, act, p);
  matmul.run(p, stream);
}

void Step::linear_weight(const LinearOffsets& at, std::int64_t rows, const void* dy,
                         const void* x) {
  if (rows > 0) {
    Product p = weight_product(at, rows, dy, x);
    if (in_fp8(at)) {
      if (at.bias != kAbsent) add_rest(p, {}, stream);  // sums of what is not rounded to 8 bits
      p.sums = nullptr;
      fp8->cast_weight(at, act, p, stream);
    }
    return matmul.run(p, stream);
  }
  clear_gradient(at.weight, at.outputs * at.inputs);
  if (at.bias != kAbsent) clear_gradient(at.bias, at.outputs);
}

void Step::linear_gelu(const LinearOffsets& at, std::int64_t rows, const void* x, void* wide,
                       void* y) {
  if (rows == 0) return;
  if (in_fp8(at)) {
    linear(at, rows, x, wide);
    return fp8->cast_gelu(at, act, rows, gradients != nullptr, model.gelu == Gelu::tanh, wide,
                          stream);
  }
  if (gelu_in_products()) {
    return matmul.run(with_gelu(linear_product(at, rows, x, y), wide), stream);
  }
  linear(at.unbiased(), rows, x, wide);
  GeluForward gelu;
  gelu.rows = rows;
  gelu.width = static_cast<int>(at.outputs);
  gelu.input = wide;
  gelu.bias = weights + at.bias;
  gelu.output = y;
  gelu_forward(type, gelu, stream);
}

void Step::linear_input_gelu(const LinearOffsets& at, const LinearOffsets& gelu_at,
                             std::int64_t rows, const void* dy, void* wide, void* d_wide) {
  Product product = input_product(at, rows, dy, d_wide);
  if (in_fp8(at)) {
    fp8->cast_input(at, act, product);
    matmul.run(product, stream);
    return fp8->cast_gelu_backward(
        gelu_at, act, rows,
        {d_wide, wide, gradients + gelu_at.bias, accumulate, model.gelu == Gelu::tanh}, stream);
  }
  if (gelu_in_products()) {
    return matmul.run(with_gelu_backward(product, wide, gelu_at.bias), stream);
  }
  matmul.run(product, stream);
  gelu_backward(gelu_at, rows, wide, d_wide);
}

void Step::gelu_backward(const LinearOffsets& at, std::int64_t rows, const void* wide, void* d) {
  if (rows == 0) return clear_gradient(at.bias, at.outputs);
  ColumnSums gelu;
  gelu.mode = ColumnSums::Mode::gelu_backward;
  gelu.rows = rows;
  gelu.width = static_cast<int>(at.outputs);
  gelu.stride = at.outputs;
  gelu.values = d;
  gelu.input = wide;
  gelu.bias = gelu_in_products() ? nullptr : weights + at.bias;
  gelu.tanh = gelu_in_products();
  gelu.partials = act.partials;
  gelu.sums = gradients + at.bias;
  gelu.accumulate = accumulate;
  column_sums(type, gelu, stream);
}

std::vector<std::string> Step::epilogue_settings() const {
  const auto& own = act.layers.front();
  const LayerOffsets& at = layout.layers.front();
  const std::int64_t rows = options.micro_batch_size * options.sequence_length;
  std::vector<std::string> out;
  if (fp8 != nullptr) return out;  // the products below are of 16 bits
  const auto add = [&](const char* name, const Product& product) {
    out.push_back(std::string(name) + ": " + matmul.way_of(product));
  };
  add("query, key, value", linear_product(at.qkv, rows, own.input, own.qkv));
  if (gelu_in_products()) {
    add("feed-forward",
        with_gelu(linear_product(at.intermediate, rows, own.middle, own.activated), own.wide));
  }
  if (gradients == nullptr) return out;
  if (!on_tensor_cores()) {
    add("gradient of query, key, value", weight_product(at.qkv, rows, act.d_qkv, own.input));
  }
  if (gelu_in_products()) {
    add("gradient of feed-forward",
        with_gelu_backward(input_product(at.output, rows, act.d_narrow, act.d_wide), own.wide,
                           at.intermediate.bias));
  }
  return out;
}

// ---- LayerNorm and attention -------------------------------------------------------------------

Dropout Step::dropout(std::optional<std::uint32_t> site, double probability) const {
  Dropout out;
  out.on = training && site && probability > 0;
  if (!out.on) return out;
  out.key = dropout_key(options.seed, optimizer_step, *site, 0, probability);
  out.first_sequence = batch.first_sequence;
  return out;
}

StepValues Step::own_values() const {
  StepValues own;
  own.first_sequence = batch.first_sequence;
  own.step = static_cast<std::uint32_t>(optimizer_step);
  own.word_scale = loss_scale(word_rows());
  own.sentence_scale = loss_scale(sequences());
  return own;
}

NormForward Step::forward_of(const NormStep<void>& step, std::int64_t rows) const {
  NormForward norm;
  norm.rows = rows;
  norm.width = static_cast<int>(model.hidden);
  norm.rows_per_sequence = static_cast<int>(batch.length);
  norm.input = norm.sum = step.sum;
  if (step.bias != kAbsent) norm.bias = weights + step.bias;
  norm.residual = step.residual;
  norm.gamma = weights + step.at.weight;
  norm.beta = weights + step.at.bias;
  norm.drops_output = step.after.has_value();
  norm.dropout = dropout(norm.drops_output ? step.after : step.before, model.hidden_dropout);
  if (norm.dropout.on) {
    norm.places = batch.places;
    norm.values = step_values;
  }
  norm.epsilon = static_cast<float>(model.layer_norm_epsilon);
  norm.output = step.output;
  norm.mean = step.mean;
  norm.rstd = step.rstd;
  if (fp8 != nullptr) norm.largest = fp8->around_norm(step.at).input;
  if (norm.dropout.on) {
    norm.kept = reinterpret_cast<std::uint8_t*>(step.rstd +
                                                options.micro_batch_size * options.sequence_length);
  }
  return norm;
}

void Step::norm(const NormStep<void>& step, std::int64_t rows) const {
  norm_forward(type, forward_of(step, rows), stream);
}

void Step::norm_backward(const NormStep<void>& step, std::int64_t rows,
                         const NormGradients<void>& d) const {
  if (rows == 0) {
    clear_gradient(step.at.weight, model.hidden);
    return clear_gradient(step.at.bias, model.hidden);
  }
  const NormForward forward = forward_of(step, rows);
  NormBackward norm;
  norm.rows = rows;
  norm.width = forward.width;
  norm.rows_per_sequence = forward.rows_per_sequence;
  norm.places = forward.places;
  norm.d_output = d.d_output;
  norm.d_sum = d.d_sum;
  norm.d_bypass = d.d_bypass;
  norm.d_input = d.d_input;
  norm.sum = step.sum;
  norm.mean = step.mean;
  norm.rstd = step.rstd;
  norm.gamma = forward.gamma;
  norm.dropout = forward.dropout;
  norm.drops_output = forward.drops_output;
  norm.kept = forward.kept;
  norm.values = forward.values;
  norm.partials = act.partials;
  norm.sum_gamma = gradients + step.at.weight;
  norm.sum_beta = gradients + step.at.bias;
  if (step.bias != kAbsent) norm.sum_bias = gradients + step.bias;
  norm.accumulate = accumulate;
  if (fp8 != nullptr) norm.largest = fp8->around_norm(step.at).gradient;
  cuda::norm_backward(type, norm, stream);
}

bool Step::on_tensor_cores() const {
  return !plain_attention && attention_library == nullptr &&
         has_flash_attention(type, static_cast<int>(model.head_size()));
}

Attention Step::attention_of(std::size_t layer) const {
  const auto& own = act.layers[layer];
  Attention a;
  a.sequences = batch.sequences;
  a.length = static_cast<int>(batch.length);
  a.heads = static_cast<int>(model.heads);
  a.size = static_cast<int>(model.head_size());
  a.causal = model.mask == Mask::causal;
  a.padded = batch.padded;
  a.lengths = batch.lengths;
  a.starts = batch.unpadded ? batch.first_rows : nullptr;
  a.qkv = own.qkv;
  a.output = own.attention;
  a.log_sums = own.softmax;
  a.kept = reinterpret_cast<std::uint32_t*>(own.softmax + log_sums_bytes(options) / 4);
  a.dropout =
      dropout(DropoutSite::attention(static_cast<std::int64_t>(layer)), model.attention_dropout);
  if (a.dropout.on) a.values = step_values;
  if (fp8 != nullptr) {
    const Fp8Linears::Places places = fp8->around_attention(layer);
    a.largest = places.input;
    a.d_largest = places.gradient;
  }
  return a;
}

void Step::attention(std::size_t layer) const {
  if (attention_library != nullptr) {
    attention_library->forward(attention_of(layer), stream);
  } else {
    attention_forward(type, attention_of(layer), plain_attention, stream);
  }
  clear_tail(act.layers[layer].attention, model.hidden);
}

void Step::attention_backward(std::size_t layer, const void* d_attention) {
  Attention a = attention_of(layer);
  a.d_output = d_attention;
  a.delta = act.attention_scratch;
  a.d_qkv = act.d_qkv;
  const LinearOffsets& at = layout.layers[layer].qkv;
  const bool sums = on_tensor_cores();
  if (sums) {
    a.sums = gradients + at.bias;
    a.partials = act.partials;
    a.accumulate = accumulate;
  }
  if (attention_library != nullptr) {
    attention_library->backward(a, stream);
  } else {
    cuda::attention_backward(type, a, plain_attention, stream);
  }
  clear_tail(act.d_qkv, 3 * model.hidden);
  linear_weight(sums ? at.unbiased() : at, rows(), act.d_qkv, act.layers[layer].input);
}

// ---- embeddings --------------------------------------------------------------------------------

void Step::embed(const NormStep<void>& step) const {
  NormForward norm = forward_of(step, rows());
  norm.places = batch.places;
  norm.input = nullptr;
  norm.tokens = batch.tokens;
  norm.segments = batch.segments;
  norm.word = copy_at(layout.word_embeddings);
  norm.position = copy_at(layout.position_embeddings);
  if (model.segment_types > 0) norm.segment = copy_at(layout.segment_embeddings);
  norm_forward(type, norm, stream);
}

void Step::add_to_tables(void* d_sum) const {
  const std::int64_t h = model.hidden;
  float* positions = gradients + layout.position_embeddings;
  // Positions beyond the sequence length get no sum.
  clear_gradient(layout.position_embeddings, model.max_positions * h);
  if (batch.unpadded) {
    add_runs(batch.positions, d_sum, positions, true);
  } else {
    SegmentSums sums;
    sums.runs = batch.length;
    sums.regular_count = static_cast<int>(batch.sequences);
    sums.regular_step = static_cast<int>(batch.length);
    sums.width = static_cast<int>(h);
    sums.input = d_sum;
    sums.output = positions;
    sums.to_float = true;
    segment_sums(type, sums, stream);
  }
  for (std::int64_t segment = 0; segment < model.segment_types; ++segment) {
    ColumnSums sums;
    sums.mode = ColumnSums::Mode::of_segment;
    sums.rows = rows();
    sums.width = static_cast<int>(h);
    sums.stride = h;
    sums.values = d_sum;
    sums.segments = batch.segments;
    sums.segment = static_cast<int>(segment);
    sums.partials = act.partials;
    sums.sums = gradients + layout.segment_embeddings + segment * h;
    sums.accumulate = accumulate;
    column_sums(type, sums, stream);
  }
  // The tied decoder has written the word table already.
  add_runs(batch.words, d_sum, gradients + layout.word_embeddings, true);
}

// ---- heads -------------------------------------------------------------------------------------

void Step::gather_masked() const {
  gather_rows(type, act.hidden, batch.masked, masked_rows(), static_cast<int>(model.hidden),
              act.heads.gathered, stream);
}

/// Two masked rows may name the same position.
void Step::scatter_masked(const void* d_gathered) const {
  add_runs(batch.masked_positions, d_gathered, act.d_output, false);
}

void Step::gather_first() const {
  gather_rows(type, act.hidden, batch.first_rows, sequences(), static_cast<int>(model.hidden),
              act.heads.first_tokens, stream);
}

void Step::scatter_first(const void* d_first) const {
  SegmentSums add;
  add.targets = batch.first_rows;
  add.runs = sequences();
  add.regular_count = 1;
  add.width = static_cast<int>(model.hidden);
  add.input = d_first;
  add.output = act.d_output;
  segment_sums(type, add, stream);
}

void Step::cross_entropy(std::int64_t first, std::int64_t count, std::int64_t total) const {
  CrossEntropy loss;
  loss.rows = count;
  loss.classes = static_cast<int>(model.vocabulary);
  loss.stride = decoder_columns(model);
  loss.logits = act.heads.logits;
  if (layout.decoder.bias != kAbsent) loss.bias = weights + layout.decoder.bias;
  loss.labels = batch.labels + first;
  loss.scale = loss_scale(total);
  loss.values = step_values;
  loss.losses = act.heads.losses + first;
  cuda::cross_entropy(type, loss, stream);
}

void Step::next_sentence() const {
  NextSentence head;
  head.sequences = sequences();
  head.width = static_cast<int>(model.hidden);
  head.pooled = act.heads.pooled;
  head.pooler_bias = weights + layout.pooler.bias;
  head.classifier = weights + layout.next_sentence.weight;
  head.classifier_bias = weights + layout.next_sentence.bias;
  head.labels = batch.next_sentence;
  head.scale = loss_scale(sequences());
  head.values = step_values;
  head.d_pooled = act.heads.d_pooled;
  head.d_logits = act.heads.d_logits;
  head.losses = act.heads.sequence_losses;
  if (gradients != nullptr) {
    head.d_classifier = gradients + layout.next_sentence.weight;
    head.d_classifier_bias = gradients + layout.next_sentence.bias;
  }
  head.accumulate = accumulate;
  cuda::next_sentence(type, head, stream);
}

void Step::sum_losses() const {
  const bool next_word = model.objective == Objective::next_word;
  sum_values(act.heads.losses, word_rows(), losses, stream);
  sum_values(act.heads.sequence_losses, next_word ? 0 : sequences(), losses + 1, stream);
}

// ---- memory ------------------------------------------------------------------------------------

void Step::fill_zero(void* values) const {
  cuda::fill_zero(values, rows() * model.hidden * size_of(type), stream);
}

/// Unless gradients accumulate.
void Step::clear_gradient(std::int64_t offset, std::int64_t size) const {
  if (!accumulate) cuda::fill_zero(gradients + offset, size * 4, stream);
}

/// Zeros in the rows of [rows, width] that attention left out.
void Step::clear_tail(void* values, std::int64_t width) const {
  const std::int64_t row_bytes = width * size_of(type);
  const std::int64_t tail = batch.row_count - batch.token_count;
  if (tail == 0) return;
  cuda::fill_zero(static_cast<std::byte*>(values) + batch.token_count * row_bytes, tail * row_bytes,
                  stream);
}

void Step::add_runs(const DeviceRuns& runs, const void* input, void* output, bool to_float) const {
  SegmentSums sums;
  sums.targets = runs.targets;
  sums.starts = runs.starts;
  sums.sources = runs.sources;
  sums.runs = runs.count;
  sums.width = static_cast<int>(model.hidden);
  sums.input = input;
  sums.output = output;
  sums.to_float = to_float;
  segment_sums(type, sums, stream);
}

}  // namespace bert::cuda
