#include "workloads/bert/cuda/products/fp8_linears.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bert::cuda {
namespace {

/// In the order of their weights.
std::array<const LinearOffsets*, 4> linears_of(const LayerOffsets& layer) {
  return {&layer.qkv, &layer.attention_output, &layer.intermediate, &layer.output};
}

/// Of a linear layer: weight, input, gradient. cuBLASLt wants each at a multiple of 16 bytes.
constexpr std::int64_t kScales = 3;
constexpr std::int64_t kFloatsApart = 4;

std::int64_t weight_bytes(const ParameterLayout& layout) {
  std::int64_t bytes = 0;
  for (const LayerOffsets& layer : layout.layers) {
    for (const LinearOffsets* at : linears_of(layer)) bytes += 2 * at->outputs * at->inputs;
  }
  return bytes;
}

std::int64_t linear_count(const ParameterLayout& layout) {
  return static_cast<std::int64_t>(layout.layers.size()) * 4;
}

std::int64_t scale_bytes(const ParameterLayout& layout) {
  return linear_count(layout) * kScales * kFloatsApart * 4;
}

}  // namespace

std::int64_t Fp8Linears::bytes(const ParameterLayout& layout) {
  return weight_bytes(layout) + scale_bytes(layout) + linear_count(layout) * kScales * 4;
}

Fp8Linears::Fp8Linears(const ParameterLayout& layout, std::int64_t hidden, bool flash)
    : weights_(Memory::Place::device, weight_bytes(layout)),
      scales_(Memory::Place::device, scale_bytes(layout)),
      largest_(Memory::Place::device, linear_count(layout) * kScales * 4) {
  std::byte* codes = weights_.data();
  float* scale = scales_.as<float>();
  const std::int64_t count = linear_count(layout);
  std::uint32_t* largest = largest_.as<std::uint32_t>();
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    std::int64_t columns = 0;
    for (const LinearOffsets* at : linears_of(layout.layers[i])) {
      Linear one;
      one.weight_at = at->weight;
      one.outputs = at->outputs;
      one.inputs = at->inputs;
      one.layer = i;
      one.kept_columns = columns;
      const std::int64_t size = at->outputs * at->inputs;
      one.codes = codes;
      one.transposed = codes + size;
      one.weight = {scale, largest};
      one.input = {scale + kFloatsApart, largest + count};
      one.gradient = {scale + 2 * kFloatsApart, largest + 2 * count};
      linears_.push_back(one);
      columns += at->inputs;
      codes += 2 * size;
      scale += kScales * kFloatsApart;
      ++largest;
    }
    auto* const own = linears_.data() + linears_.size() - 4;
    own[0].gradient.found = own[1].input.found = flash;
    own[0].input.found = own[1].gradient.found = own[2].input.found = own[3].gradient.found =
        hidden % 64 == 0;
  }
  if (hidden % 64 != 0) return;
  norms_[layout.embedding_norm.weight].input = linears_.front().input.largest;
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const Linear* own = &linears_[4 * i];
    const bool last = i + 1 == layout.layers.size();
    norms_[layout.layers[i].attention_norm.weight] = {own[2].input.largest,
                                                      own[1].gradient.largest};
    norms_[layout.layers[i].output_norm.weight] = {last ? nullptr : own[4].input.largest,
                                                   own[3].gradient.largest};
  }
}

auto Fp8Linears::around_attention(std::size_t layer) const -> Places {
  const Linear* own = &linears_[4 * layer];
  if (!own[1].input.found) return {};
  return {own[1].input.largest, own[0].gradient.largest};
}

auto Fp8Linears::around_norm(const NormOffsets& at) const -> Places {
  const auto found = norms_.find(at.weight);
  return found == norms_.end() ? Places{} : found->second;
}

void Fp8Linears::add_sizes(const BackendOptions& options, ActivationSizes& sizes) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  const std::int64_t rows = fp8_row_count(tokens);
  const std::int64_t widest = std::max(model.intermediate, 3 * model.hidden);
  sizes.operand_scratch = rows * widest * (options.inference ? 1 : 2);
  sizes.activated_element = 0;
  if (options.inference) return;
  sizes.operands = rows * (3 * model.hidden + model.intermediate);
  sizes.partials = std::max(sizes.partials, cast_partials_bytes(tokens, model.intermediate));
}

void Fp8Linears::begin(const std::byte* copy, Stream stream) {
  const std::int64_t part = static_cast<std::int64_t>(linears_.size()) * 4;
  fill_zero(largest_.data() + part, 2 * part, stream);
  ready_ = nullptr;
  if (current_) return;
  current_ = true;
  fill_zero(largest_.data(), part, stream);
  for (const Linear& one : linears_) {
    CastFp8 matrix;
    matrix.rows = one.outputs;
    matrix.width = static_cast<int>(one.inputs);
    matrix.input = copy + one.weight_at * size_of(DType::bf16);
    matrix.output = one.codes;
    matrix.transposed = one.transposed;
    cast(Fp8::e4m3, one.weight, matrix, stream);
  }
}

std::ptrdiff_t Fp8Linears::find(const LinearOffsets& at) const {
  const auto found = std::lower_bound(
      linears_.begin(), linears_.end(), at.weight,
      [](const Linear& one, std::int64_t weight) { return one.weight_at < weight; });
  return found != linears_.end() && found->weight_at == at.weight ? found - linears_.begin() : -1;
}

auto Fp8Linears::linear(const LinearOffsets& at) const -> const Linear& {
  return linears_[static_cast<std::size_t>(find(at))];
}

void Fp8Linears::cast(Fp8 format, const Operand& operand, CastFp8 matrix, Stream stream) {
  if (!operand.found) {
    largest_magnitude(matrix.input, matrix.rows * matrix.width, operand.largest, stream);
  }
  matrix.largest = operand.largest;
  matrix.inverse_scale = operand.scale;
  cast_fp8(format, matrix, stream);
}

std::byte* Fp8Linears::kept_input(const Linear& one, Activations<void>& act) {
  // Rows may be fewer than planned, but each input keeps its place.
  return act.layers[one.layer].operands + one.kept_columns * fp8_row_count(act.tokens());
}

std::byte* Fp8Linears::gradient_transposed(const Linear& one, std::int64_t rows,
                                           Activations<void>& act) {
  return act.operand_scratch + fp8_row_count(rows) * one.outputs;
}

void Fp8Linears::cast_forward(const LinearOffsets& at, Activations<void>& act, bool keep,
                              Product& p, Stream stream) {
  const Linear& one = linear(at);
  if (std::exchange(ready_, nullptr) != &one) {
    CastFp8 matrix;
    matrix.rows = p.m;
    matrix.width = static_cast<int>(one.inputs);
    matrix.input = p.a;
    matrix.output = act.operand_scratch;
    matrix.transposed = keep ? kept_input(one, act) : nullptr;
    cast(Fp8::e4m3, one.input, matrix, stream);
  }
  p.a = act.operand_scratch;
  p.b = one.codes;
  p.a_format = p.b_format = Fp8::e4m3;
  p.a_scale = one.input.scale;
  p.b_scale = one.weight.scale;
}

void Fp8Linears::cast_weight(const LinearOffsets& at, Activations<void>& act, Product& p,
                             Stream stream) {
  const Linear& one = linear(at);
  std::byte* const transposed = gradient_transposed(one, p.k, act);
  if (std::exchange(ready_, nullptr) != &one) {
    CastFp8 matrix;
    matrix.rows = p.k;
    matrix.width = static_cast<int>(one.outputs);
    matrix.input = p.a;
    matrix.output = act.operand_scratch;
    matrix.transposed = transposed;
    cast(Fp8::e5m2, one.gradient, matrix, stream);
  }
  p.a = transposed;
  p.b = kept_input(one, act);
  p.transpose_a = false;
  p.transpose_b = true;
  p.k = p.lda = p.ldb = fp8_row_count(p.k);
  p.a_format = Fp8::e5m2;
  p.b_format = Fp8::e4m3;
  p.a_scale = one.gradient.scale;
  p.b_scale = one.input.scale;
}

void Fp8Linears::cast_input(const LinearOffsets& at, Activations<void>& act, Product& p) const {
  const Linear& one = linear(at);
  p.a = act.operand_scratch;
  p.b = one.transposed;
  p.transpose_b = true;
  p.ldb = one.outputs;
  p.a_format = Fp8::e5m2;
  p.b_format = Fp8::e4m3;
  p.a_scale = one.gradient.scale;
  p.b_scale = one.weight.scale;
}

void Fp8Linears::cast_gelu(const LinearOffsets& at, Activations<void>& act, std::int64_t rows,
                           bool keep, bool tanh, const void* wide, Stream stream) {
  const Linear& next = *(&linear(at) + 1);  // the block's second
  CastFp8 matrix;
  matrix.source = CastFp8::Source::gelu;
  matrix.rows = rows;
  matrix.width = static_cast<int>(next.inputs);
  matrix.input = wide;
  matrix.output = act.operand_scratch;
  matrix.transposed = keep ? kept_input(next, act) : nullptr;
  matrix.tanh = tanh;
  cast(Fp8::e4m3, next.input, matrix, stream);
  ready_ = &next;
}

void Fp8Linears::cast_gelu_backward(const LinearOffsets& at, Activations<void>& act,
                                    std::int64_t rows, const GeluGradient& gradient,
                                    Stream stream) {
  const Linear& one = linear(at);
  CastFp8 matrix;
  matrix.source = CastFp8::Source::gelu_backward;
  matrix.rows = rows;
  matrix.width = static_cast<int>(one.outputs);
  matrix.input = gradient.d;
  matrix.wide = gradient.wide;
  matrix.output = act.operand_scratch;
  matrix.transposed = gradient_transposed(one, rows, act);
  matrix.tanh = gradient.tanh;
  matrix.partials = act.partials;
  matrix.sums = gradient.sums;
  matrix.accumulate = gradient.accumulate;
  cast(Fp8::e5m2, one.gradient, matrix, stream);
  ready_ = &one;
}

}  // namespace bert::cuda
