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
      one.weight = at->weight;
      one.outputs = at->outputs;
      one.inputs = at->inputs;
      one.layer = i;
      one.kept_columns = columns;
      const std::int64_t size = at->outputs * at->inputs;
      one.codes = codes;
      one.transposed = codes + size;
      one.weight_scale = scale;
      one.input_scale = scale + kFloatsApart;
      one.gradient_scale = scale + 2 * kFloatsApart;
      one.weight_largest = largest;
      one.input_largest = largest + count;
      one.gradient_largest = largest + 2 * count;
      linears_.push_back(one);
      columns += at->inputs;
      codes += 2 * size;
      scale += kScales * kFloatsApart;
      ++largest;
    }
    auto* const own = linears_.data() + linears_.size() - 4;
    own[0].gradient_found = own[1].input_found = flash;
    own[0].input_found = own[1].gradient_found = own[2].input_found = own[3].gradient_found =
        hidden % 64 == 0;
  }
  if (hidden % 64 != 0) return;
  norms_[layout.embedding_norm.weight].input = linears_.front().input_largest;
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const Linear* own = &linears_[4 * i];
    const bool last = i + 1 == layout.layers.size();
    norms_[layout.layers[i].attention_norm.weight] = {own[2].input_largest,
                                                      own[1].gradient_largest};
    norms_[layout.layers[i].output_norm.weight] = {last ? nullptr : own[4].input_largest,
                                                   own[3].gradient_largest};
  }
}

auto Fp8Linears::around_attention(std::size_t layer) const -> Places {
  const Linear* own = &linears_[4 * layer];
  if (!own[1].input_found) return {};
  return {own[1].input_largest, own[0].gradient_largest};
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
  sizes.keeps_activated = false;
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
    CastFp8 cast;
    cast.rows = one.outputs;
    cast.width = static_cast<int>(one.inputs);
    cast.input = copy + one.weight * size_of(DType::bf16);
    cast.largest = one.weight_largest;
    cast.output = one.codes;
    cast.transposed = one.transposed;
    cast.inverse_scale = one.weight_scale;
    largest_magnitude(cast.input, one.outputs * one.inputs, one.weight_largest, stream);
    cast_fp8(Fp8::e4m3, cast, stream);
  }
}

std::ptrdiff_t Fp8Linears::find(const LinearOffsets& at) const {
  const auto found =
      std::lower_bound(linears_.begin(), linears_.end(), at.weight,
                       [](const Linear& one, std::int64_t weight) { return one.weight < weight; });
  return found != linears_.end() && found->weight == at.weight ? found - linears_.begin() : -1;
}

auto Fp8Linears::linear(const LinearOffsets& at) const -> const Linear& {
  return linears_[static_cast<std::size_t>(find(at))];
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
    CastFp8 cast;
    cast.rows = p.m;
    cast.width = static_cast<int>(one.inputs);
    cast.input = p.a;
    cast.largest = one.input_largest;
    cast.output = act.operand_scratch;
    cast.transposed = keep ? kept_input(one, act) : nullptr;
    cast.inverse_scale = one.input_scale;
    if (!one.input_found) {
      largest_magnitude(p.a, p.m * one.inputs, one.input_largest, stream);
    }
    cast_fp8(Fp8::e4m3, cast, stream);
  }
  p.a = act.operand_scratch;
  p.b = one.codes;
  p.a_format = p.b_format = Fp8::e4m3;
  p.a_scale = one.input_scale;
  p.b_scale = one.weight_scale;
}

void Fp8Linears::cast_weight(const LinearOffsets& at, Activations<void>& act, Product& p,
                             Stream stream) {
  const Linear& one = linear(at);
  std::byte* const transposed = gradient_transposed(one, p.k, act);
  if (std::exchange(ready_, nullptr) != &one) {
    CastFp8 cast;
    cast.rows = p.k;
    cast.width = static_cast<int>(one.outputs);
    cast.input = p.a;
    cast.largest = one.gradient_largest;
    cast.output = act.operand_scratch;
    cast.transposed = transposed;
    cast.inverse_scale = one.gradient_scale;
    if (!one.gradient_found) {
      largest_magnitude(p.a, p.k * one.outputs, one.gradient_largest, stream);
    }
    cast_fp8(Fp8::e5m2, cast, stream);
  }
  p.a = transposed;
  p.b = kept_input(one, act);
  p.transpose_a = false;
  p.transpose_b = true;
  p.k = p.lda = p.ldb = fp8_row_count(p.k);
  p.a_format = Fp8::e5m2;
  p.b_format = Fp8::e4m3;
  p.a_scale = one.gradient_scale;
  p.b_scale = one.input_scale;
}

void Fp8Linears::cast_input(const LinearOffsets& at, Activations<void>& act, Product& p) const {
  const Linear& one = linear(at);
  p.a = act.operand_scratch;
  p.b = one.transposed;
  p.transpose_b = true;
  p.ldb = one.outputs;
  p.a_format = Fp8::e5m2;
  p.b_format = Fp8::e4m3;
  p.a_scale = one.gradient_scale;
  p.b_scale = one.weight_scale;
}

void Fp8Linears::cast_gelu(const LinearOffsets& at, Activations<void>& act, std::int64_t rows,
                           bool keep, bool tanh, const void* wide, Stream stream) {
  const Linear& next = *(&linear(at) + 1);  // the block's second
  CastFp8 cast;
  cast.source = CastFp8::Source::gelu;
  cast.rows = rows;
  cast.width = static_cast<int>(next.inputs);
  cast.input = wide;
  cast.largest = next.input_largest;
  cast.output = act.operand_scratch;
  cast.transposed = keep ? kept_input(next, act) : nullptr;
  cast.inverse_scale = next.input_scale;
  cast.tanh = tanh;
  largest_magnitude(wide, rows * next.inputs, next.input_largest, stream);
  cast_fp8(Fp8::e4m3, cast, stream);
  ready_ = &next;
}

void Fp8Linears::cast_gelu_backward(const LinearOffsets& at, Activations<void>& act,
                                    std::int64_t rows, const GeluGradient& gradient,
                                    Stream stream) {
  const Linear& one = linear(at);
  CastFp8 cast;
  cast.source = CastFp8::Source::gelu_backward;
  cast.rows = rows;
  cast.width = static_cast<int>(one.outputs);
  cast.input = gradient.d;
  cast.wide = gradient.wide;
  cast.largest = one.gradient_largest;
  cast.output = act.operand_scratch;
  cast.transposed = gradient_transposed(one, rows, act);
  cast.inverse_scale = one.gradient_scale;
  cast.tanh = gradient.tanh;
  cast.partials = act.partials;
  cast.sums = gradient.sums;
  cast.accumulate = gradient.accumulate;
  largest_magnitude(gradient.d, rows * one.outputs, one.gradient_largest, stream);
  cast_fp8(Fp8::e5m2, cast, stream);
  ready_ = &one;
}

}  // namespace bert::cuda
