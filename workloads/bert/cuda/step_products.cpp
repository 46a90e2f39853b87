// The matrix products of a step, with what stands around them.
#include "workloads/bert/cuda/step.h"

namespace bert::cuda {

Product Step::linear_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                             const void* x, std::int64_t weight, std::int64_t bias, void* y) const {
  Product p;
  p.transpose_b = true;
  p.m = rows;
  p.n = p.ldc = outputs;
  p.k = p.lda = p.ldb = inputs;
  p.a = x;
  p.b = copy_at(weight);
  p.c = y;
  p.type = p.output = type;
  p.bias = bias != kNone ? copy_at(bias) : nullptr;
  return p;
}

Product Step::input_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                            const void* dy, std::int64_t weight, void* dx) const {
  Product p;
  p.m = rows;
  p.n = p.ldb = p.ldc = inputs;
  p.k = p.lda = outputs;
  p.a = dy;
  p.b = copy_at(weight);
  p.c = dx;
  p.type = p.output = type;
  return p;
}

Product Step::weight_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                             const void* dy, const void* x, std::int64_t weight, std::int64_t bias,
                             std::int64_t bias_size) const {
  Product p;
  p.transpose_a = true;
  p.m = p.lda = outputs;
  p.n = p.ldb = p.ldc = inputs;
  p.k = rows;
  p.a = dy;
  p.b = x;
  p.c = gradients + weight;
  p.type = type;
  p.output = DType::f32;
  p.accumulate = accumulate;
  if (bias != kNone) {
    p.sums = gradients + bias;
    p.sum_count = bias_size;
    p.accumulate_sums = accumulate;
    p.partials = act.partials;
  }
  return p;
}

Product Step::with_gelu(Product product, void* aux) const {
  product.activation = Product::Activation::gelu;
  product.aux = aux;
  return product;
}

Product Step::with_gelu_backward(Product product, void* aux, std::int64_t bias) const {
  product.activation = Product::Activation::gelu_backward;
  product.aux = aux;
  product.sums = gradients + bias;
  product.sum_count = product.n;
  product.accumulate_sums = accumulate;
  product.partials = act.partials;
  return product;
}

void Step::linear_gelu(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const void* x,
                       std::int64_t weight, std::int64_t bias, void* aux, void* y) {
  if (gelu_in_products()) {
    return matmul.run(with_gelu(linear_product(rows, inputs, outputs, x, weight, bias, y), aux),
                      stream);
  }
  linear(rows, inputs, outputs, x, weight, kNone, aux);
  GeluForward gelu;
  gelu.rows = rows;
  gelu.width = static_cast<int>(outputs);
  gelu.input = aux;
  gelu.bias = weights + bias;
  gelu.output = y;
  gelu_forward(type, gelu, stream);
}

void Step::gelu_slopes(std::int64_t rows, std::int64_t width, void* values, const void* aux,
                       std::int64_t bias) const {
  ColumnSums gelu;
  gelu.mode = ColumnSums::Mode::gelu_backward;
  gelu.rows = rows;
  gelu.width = static_cast<int>(width);
  gelu.stride = width;
  gelu.values = values;
  gelu.input = aux;
  gelu.bias = gelu_in_products() ? nullptr : weights + bias;
  gelu.tanh = gelu_in_products();
  gelu.partials = act.partials;
  gelu.sums = gradients + bias;
  gelu.accumulate = accumulate;
  column_sums(type, gelu, stream);
}

void Step::linear(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const void* x,
                  std::int64_t weight, std::int64_t bias, void* y) {
  if (rows > 0) matmul.run(linear_product(rows, inputs, outputs, x, weight, bias, y), stream);
}

void Step::linear_input(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                        const void* dy, std::int64_t weight, void* dx, bool add) {
  if (rows == 0) return;
  Product p = input_product(rows, inputs, outputs, dy, weight, dx);
  p.accumulate = add;
  matmul.run(p, stream);
}

void Step::linear_weight(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                         const void* dy, const void* x, std::int64_t weight, std::int64_t bias,
                         std::int64_t bias_size) {
  if (rows > 0) {
    return matmul.run(weight_product(rows, inputs, outputs, dy, x, weight, bias, bias_size),
                      stream);
  }
  if (accumulate) return;
  fill_zero(gradients + weight, outputs * inputs * 4, stream);
  if (bias != kNone) fill_zero(gradients + bias, bias_size * 4, stream);
}

std::vector<std::string> epilogue_settings(Step& s) {
  const LayerActivations& act = s.act.layers.front();
  const LayerOffsets& at = s.layout.layers.front();
  const std::int64_t rows = s.options.micro_batch_size * s.options.sequence_length;
  const std::int64_t h = s.model().hidden;
  const std::int64_t wide = s.model().intermediate;
  std::vector<std::string> out;
  const auto tell = [&](const char* name, const Product& product) {
    out.push_back(std::string(name) + ": " + s.matmul.way_of(product));
  };
  tell("query, key, value",
       s.linear_product(rows, h, 3 * h, act.input, at.qkv_weight, at.qkv_bias, act.qkv));
  if (s.gelu_in_products()) {
    tell("feed-forward",
         s.with_gelu(s.linear_product(rows, h, wide, act.middle, at.intermediate_weight,
                                      at.intermediate_bias, act.activated),
                     act.wide));
  }
  if (s.gradients == nullptr) return out;
  tell("gradient of query, key, value",
       s.weight_product(rows, h, 3 * h, s.act.d_qkv, act.input, at.qkv_weight, at.qkv_bias, 3 * h));
  if (s.gelu_in_products()) {
    tell("gradient of feed-forward",
         s.with_gelu_backward(
             s.input_product(rows, wide, h, s.act.d_narrow, at.output_weight, s.act.d_wide),
             act.wide, at.intermediate_bias));
  }
  return out;
}

}  // namespace bert::cuda
