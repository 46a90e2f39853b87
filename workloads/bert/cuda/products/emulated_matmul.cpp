// Stand-in for cuBLASLt in tests: the same products by plain loops, fp32 sums. Of what stands
// around a product it does the bias alone.
#include <stdexcept>

#include "workloads/bert/cuda/device/fp8.h"
#include "workloads/bert/cuda/emulated/tf32.h"
#include "workloads/bert/cuda/kernels/dispatch.h"
#include "workloads/bert/cuda/products/epilogue.h"
#include "workloads/bert/cuda/products/matmul.h"

namespace bert::cuda {
namespace {

template <typename T>
std::vector<float> dense(const void* stored, bool transpose, std::int64_t rows,
                         std::int64_t columns, std::int64_t ld, bool tf32) {
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  const T* values = static_cast<const T*>(stored);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float x = to_float(values[transpose ? j * ld + i : i * ld + j]);
      out[static_cast<std::size_t>(i * columns + j)] = tf32 ? emulated::rounded_to_tf32(x) : x;
    }
  }
  return out;
}

std::vector<float> dense(Fp8 format, const void* stored, const float* scale, std::int64_t rows,
                         std::int64_t columns, std::int64_t ld) {
  std::vector<float> out;
  const auto* codes = static_cast<const std::uint8_t*>(stored);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      out.push_back(float_of(format, codes[i * ld + j]) * *scale);
    }
  }
  return out;
}

std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> out(values.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      out[static_cast<std::size_t>(j * rows + i)] =
          values[static_cast<std::size_t>(i * columns + j)];
    }
  }
  return out;
}

class PlainMatmul final : public Matmul {
 public:
  explicit PlainMatmul(const MatmulOptions& options) : tf32_(options.tf32) {}

  void run(const Product& wanted, Stream stream) override {
    const Inside inside{wanted.activation == Product::Activation::none && wanted.bias != nullptr,
                        false, false};
    Product p = wanted;
    p.c = target_of(wanted, inside);
    if (!inside.bias) p.bias = nullptr;
    emulated::submit(stream, [p, tf32 = tf32_] { multiply(p, tf32); });
    add_rest(wanted, inside, stream);
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override { return 0; }
  [[nodiscard]] std::vector<std::string> settings() const override { return {"plain loops"}; }
  [[nodiscard]] std::string way_of(const Product&) override { return "by kernels"; }

 private:
  static void multiply(const Product& p, bool tf32) {
    if (p.bias != nullptr && p.output != p.type) {
      throw std::logic_error("a bias needs an output of its own type");
    }
    const bool fp8 = p.a_format != Fp8::none;
    if (fp8 && (p.b_format == Fp8::none || p.transpose_a || !p.transpose_b || p.k % 16 != 0 ||
                p.n % 16 != 0 || p.lda % 16 != 0 || p.ldb % 16 != 0)) {
      throw std::logic_error("a product that cuBLASLt does not have in 8 bits");
    }
    with_type(p.type, [&]<typename T>(Tag<T>) {
      const auto a = fp8 ? dense(p.a_format, p.a, p.a_scale, p.m, p.k, p.lda)
                         : dense<T>(p.a, p.transpose_a, p.m, p.k, p.lda, tf32);
      const auto b = fp8 ? transposed(dense(p.b_format, p.b, p.b_scale, p.n, p.k, p.ldb), p.n, p.k)
                         : dense<T>(p.b, p.transpose_b, p.k, p.n, p.ldb, tf32);
      std::vector<float> row(static_cast<std::size_t>(p.n));
      for (std::int64_t i = 0; i < p.m; ++i) {
        row.assign(row.size(), 0.0F);
        for (std::int64_t k = 0; k < p.k; ++k) {
          const float x = a[static_cast<std::size_t>(i * p.k + k)];
          const float* from = b.data() + k * p.n;
          for (std::size_t j = 0; j < row.size(); ++j) row[j] += x * from[j];
        }
        if (p.output == DType::f32) {
          finish<T, float>(p, i, row);
        } else {
          finish<T, T>(p, i, row);
        }
      }
    });
  }

  template <typename T, typename Output>
  static void finish(const Product& p, std::int64_t i, const std::vector<float>& row) {
    Output* c = static_cast<Output*>(p.c) + i * p.ldc;
    for (std::size_t j = 0; j < row.size(); ++j) {
      float x = row[j];
      if (p.bias != nullptr) x += to_float(static_cast<const T*>(p.bias)[j]);
      if (p.accumulate) x += to_float(c[j]);
      c[j] = from_float<Output>(x);
    }
  }
  bool tf32_;
};

}  // namespace

std::unique_ptr<Matmul> make_matmul(const MatmulOptions& options) {
  return std::make_unique<PlainMatmul>(options);
}

}  // namespace bert::cuda
