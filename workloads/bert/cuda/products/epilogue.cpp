#include "workloads/bert/cuda/products/epilogue.h"

#include <stdexcept>

#include "workloads/bert/cuda/kernels/kernels.h"

namespace bert::cuda {
namespace {

using Activation = Product::Activation;

/// Of a matrix whose columns are summed.
ColumnSums sums_over(const Product& p, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                     void* values) {
  ColumnSums sums;
  sums.rows = rows;
  sums.width = static_cast<int>(columns);
  sums.stride = stride;
  sums.values = values;
  sums.partials = p.partials;
  sums.sums = p.sums;
  sums.accumulate = p.accumulate_sums;
  return sums;
}

void gelu_of_aux(const Product& p, const Inside& inside, Stream stream) {
  GeluForward gelu;
  gelu.rows = p.m;
  gelu.width = static_cast<int>(p.n);
  gelu.input = p.aux;
  if (!inside.bias) {
    gelu.bias_copy = p.bias;
    gelu.biased = p.aux;
  }
  gelu.output = p.c;
  gelu.tanh = true;
  gelu_forward(p.type, gelu, stream);
}

}  // namespace

std::vector<Inside> ways(const Product& p, const MatmulOptions& options) {
  std::vector<Inside> out;
  if (options.epilogues != Epilogues::kernels) {
    const bool sums = p.sums != nullptr && !options.deterministic && p.output != DType::f16;
    const bool gelu = p.n % 8 == 0;
    switch (p.activation) {
      case Activation::none:
        if (p.bias != nullptr) out.push_back({true, false, false});
        if (sums) out.push_back({false, false, true});
        break;
      case Activation::gelu:
        if (gelu) out.push_back({p.bias != nullptr, true, false});
        break;
      case Activation::gelu_backward:
        if (gelu && sums) out.push_back({false, true, true});
        if (gelu) out.push_back({false, true, false});
        break;
    }
  }
  // Inside the product, sums and GELU's gradient took longer than by kernels, bias and GELU did not
  // (BERT-large, 256 x 128 tokens, H100, cuBLASLt 13.1).
  const bool kernels_first = options.epilogues == Epilogues::automatic && p.sums != nullptr;
  out.insert(kernels_first ? out.begin() : out.end(), Inside{});
  return out;
}

Inside wanted_of(const Product& p) {
  return {p.bias != nullptr, p.activation != Activation::none, p.sums != nullptr};
}

void* target_of(const Product& p, const Inside& inside) {
  return p.activation == Activation::gelu && !inside.activation ? p.aux : p.c;
}

void* sums_of(const Product& p) { return p.partials; }

void add_rest(const Product& p, const Inside& inside, Stream stream) {
  if (p.activation != Activation::none &&
      (p.output != p.type || p.accumulate || p.ldc != p.n || p.aux == nullptr ||
       (p.sums != nullptr && p.sum_count != p.n))) {
    throw std::logic_error("a product with GELU needs a dense result of its own type");
  }
  if (p.activation == Activation::gelu) {
    if (!inside.activation) gelu_of_aux(p, inside, stream);
  } else if (p.bias != nullptr && !inside.bias) {
    add_bias(p.output, p.m, static_cast<int>(p.n), p.bias, p.c, stream);
  }
  const bool backward = p.activation == Activation::gelu_backward;
  if (inside.sums) {
    add_sums(p.output, sums_of(p), p.sum_count, p.sums, p.accumulate_sums, stream);
  } else if (backward) {
    ColumnSums sums = sums_over(p, p.m, p.n, p.ldc, p.c);
    if (!inside.activation) {
      sums.mode = ColumnSums::Mode::gelu_backward;
      sums.input = p.aux;
      sums.tanh = true;
    } else if (p.sums == nullptr) {
      return;
    }
    column_sums(p.type, sums, stream);
  } else if (p.sums != nullptr) {
    if (!p.transpose_a) throw std::logic_error("sums of an operand need it stored transposed");
    column_sums(p.type, sums_over(p, p.k, p.sum_count, p.lda, const_cast<void*>(p.a)), stream);
  }
}

std::string label(const Product& p, const Inside& inside) {
  struct Part {
    bool wanted, inside;
    const char* name;
  };
  const bool backward = p.activation == Activation::gelu_backward;
  std::string done;
  std::string left;
  for (const Part& part : {Part{p.bias != nullptr, inside.bias, "bias"},
                           Part{p.activation != Activation::none, inside.activation,
                                backward ? "GELU backward" : "GELU"},
                           Part{p.sums != nullptr, inside.sums, "bias gradient"}}) {
    if (!part.wanted) continue;
    std::string& list = part.inside ? done : left;
    list += std::string(list.empty() ? "" : " and ") + part.name;
  }
  if (done.empty()) return left + " by kernels";
  return done + " inside" + (left.empty() ? "" : ", " + left + " by a kernel");
}

std::string key_of(Activation activation, const Inside& inside) {
  std::string key;
  const auto add = [&](const char* part) { key += std::string(key.empty() ? "" : "+") + part; };
  if (inside.bias) add("bias");
  if (inside.activation) add(activation == Activation::gelu ? "gelu" : "gelu_backward");
  if (inside.sums) add("sums");
  return key.empty() ? "plain" : key;
}

}  // namespace bert::cuda
