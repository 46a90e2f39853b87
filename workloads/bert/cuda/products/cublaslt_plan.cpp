#include "workloads/bert/cuda/products/cublaslt_plan.h"

#include <stdexcept>

namespace bert::cuda {
namespace {

cudaDataType_t data_type(DType type, Fp8 format = Fp8::none) {
  if (format != Fp8::none) return format == Fp8::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
  switch (type) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

class Preference {
 public:
  Preference() {
    check_cublas(cublaslt().preference_create(&preference_), "cublasLtMatmulPreference");
  }
  ~Preference() { cublaslt().preference_destroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <typename Value>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check_cublas(cublaslt().preference_set(preference_, attribute, &value, sizeof value),
                 "cublasLtMatmulPreferenceSetAttribute");
  }
  [[nodiscard]] cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

/// By columns, a row-major result is its transpose: its columns are D's rows, so the vectors of a
/// bias and of its gradient have the lengths that cuBLASLt wants. The sums over k of op(a) are
/// those of D's second operand.
cublasLtEpilogue_t epilogue_of(const Product& p, const Inside& inside) {
  switch (p.activation) {
    case Product::Activation::gelu:
      if (!inside.activation) break;
      return inside.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case Product::Activation::gelu_backward:
      if (!inside.activation) break;
      return inside.sums ? CUBLASLT_EPILOGUE_DGELU_BGRAD : CUBLASLT_EPILOGUE_DGELU;
    case Product::Activation::none:
      if (inside.sums) return CUBLASLT_EPILOGUE_BGRADB;
      break;
  }
  return inside.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/// Largest power of two up to 256 that divides the address.
std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

}  // namespace

void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublaslt().status_string(status));
}

CublasLtLayout::CublasLtLayout(std::int64_t rows, std::int64_t columns, std::int64_t ld, DType type,
                               Fp8 format) {
  check_cublas(cublaslt().layout_create(&layout_, data_type(type, format),
                                        static_cast<std::uint64_t>(columns),
                                        static_cast<std::uint64_t>(rows), ld),
               "cublasLtMatrixLayoutCreate");
}

CublasLtPlan::CublasLtPlan(const Product& product, const Inside& inside, bool tf32)
    : inside_(inside),
      a_(product.transpose_b ? product.n : product.k, product.transpose_b ? product.k : product.n,
         product.ldb, product.type, product.b_format),
      b_(product.transpose_a ? product.k : product.m, product.transpose_a ? product.m : product.k,
         product.lda, product.type, product.a_format),
      d_(product.m, product.n, product.ldc, product.output, Fp8::none),
      accumulate_(product.accumulate) {
  check_cublas(cublaslt().desc_create(
                   &desc_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate");
  set(CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product, inside));
  if (inside.bias || inside.sums) {
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.output));
  }
  if (inside.activation) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, data_type(product.output));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.n);
  }
  // Forward may add up with fewer bits, as TransformerEngine has it; gradients, of E5M2, may not.
  if (product.a_format == Fp8::e4m3 && product.b_format == Fp8::e4m3) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
  set_addresses(product);
}

void CublasLtPlan::set_addresses(const Product& p) {
  if (p.a_format != Fp8::none) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.b_scale);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.a_scale);
  }
  if (inside_.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  if (inside_.sums) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums_of(p));
  if (inside_.activation) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.aux);
}

CublasLtKey::CublasLtKey(const Product& p)
    : sizes_{p.m, p.n, p.k, p.lda, p.ldb, p.ldc},
      type_(p.type),
      output_(p.output),
      a_format_(p.a_format),
      b_format_(p.b_format),
      activation_(p.activation),
      transpose_a_(p.transpose_a),
      transpose_b_(p.transpose_b),
      accumulate_(p.accumulate) {
  const void* const addresses[] = {p.a,  p.b, p.c, p.bias, p.sums != nullptr ? sums_of(p) : nullptr,
                                   p.aux};
  for (std::size_t i = 0; i < alignments_.size(); ++i) {
    if (addresses[i] != nullptr) alignments_[i] = alignment_of(addresses[i]);
  }
}

std::string name_of(const Product& p, const Inside& inside) {
  const auto type = [](DType t) {
    return t == DType::f32 ? "f32" : t == DType::bf16 ? "bf16" : "f16";
  };
  const auto format = [&](Fp8 f) {
    return f == Fp8::none ? type(p.type) : f == Fp8::e4m3 ? "e4m3" : "e5m2";
  };
  std::string text = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) +
                     (p.transpose_a ? ",t" : ",n") + (p.transpose_b ? "t" : "n") + "," +
                     format(p.a_format);
  if (p.a_format != Fp8::none) text += std::string("x") + format(p.b_format);
  text += std::string("-") + type(p.output);
  const auto add = [&](std::int64_t number) { text += "," + std::to_string(number); };
  for (const std::int64_t ld : {p.lda, p.ldb, p.ldc}) add(ld);
  for (const void* const operand : {p.a, p.b}) add(alignment_of(operand));
  add(alignment_of(target_of(p, inside)));
  text += (p.accumulate ? ",add," : ",set,") + key_of(p.activation, inside);
  if (inside.bias || inside.sums) add(alignment_of(inside.sums ? sums_of(p) : p.bias));
  if (inside.activation) add(alignment_of(p.aux));
  return text;
}

std::vector<cublasLtMatmulAlgo_t> CublasLtPlan::candidates(cublasLtHandle_t handle,
                                                           const Product& p, bool deterministic,
                                                           int most) const {
  Preference preference;
  const void* target = target_of(p, inside_);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 static_cast<std::size_t>(kCublasLtWorkspace));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(target));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(target));
  // Products split along k: partial sums of 16 bits would be rounded before they are added. In
  // which order reductions in place add is not documented.
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (p.output == DType::f32) {
    reductions |= CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    if (!deterministic) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  }
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int count = 0;
  const cublasStatus_t status =
      cublaslt().heuristic(handle, desc_, a_.get(), b_.get(), d_.get(), d_.get(), preference.get(),
                           most, results.data(), &count);
  if (is_refusal(status)) return {};
  check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<cublasLtMatmulAlgo_t> out;
  for (int i = 0; i < count; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) out.push_back(result.algo);
  }
  return out;
}

bool CublasLtPlan::accepts(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& offered) const {
  cublasLtMatmulHeuristicResult_t result{};
  return cublaslt().algorithm_check(handle, desc_, a_.get(), b_.get(), d_.get(), d_.get(), &offered,
                                    &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<std::size_t>(kCublasLtWorkspace);
}

cublasStatus_t CublasLtPlan::run(cublasLtHandle_t handle, const Product& p, void* target,
                                 const cublasLtMatmulAlgo_t& chosen, const Memory& workspace,
                                 Stream stream) {
  set_addresses(p);
  const float alpha = 1;
  const float beta = accumulate_ ? 1 : 0;
  return cublaslt().matmul(handle, desc_, &alpha, p.b, a_.get(), p.a, b_.get(), &beta, target,
                           d_.get(), target, d_.get(), &chosen, workspace.data(),
                           static_cast<std::size_t>(workspace.bytes()),
                           static_cast<cudaStream_t>(stream));
}

}  // namespace bert::cuda
