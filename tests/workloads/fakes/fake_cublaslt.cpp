#include "tests/workloads/fakes/fake_cublaslt.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "workloads/bert/cuda/emulated/tf32.h"
#include "workloads/bert/cuda/products/cublaslt_library.h"

namespace bert::emulated {
/// Of emulated/device.h, whose other names are also CUDA's.
void submit(void* stream, std::function<void()> work);
}  // namespace bert::emulated

namespace bert::fakes {

FakeCublasLt& fake_cublaslt() {
  static FakeCublasLt state;
  return state;
}

namespace {

struct Layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t ld;
};

struct Descriptor {
  cublasComputeType_t compute;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  void* aux = nullptr;
  std::int64_t aux_ld = 0;
  std::int32_t bias_type = -1, aux_type = -1;
  const float *a_scale = nullptr, *b_scale = nullptr;
  std::int8_t fast_accumulation = 0;
};

struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  ///< of A, B, C, D
  std::uint32_t reductions = ~0U;
};

/// What is in a cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t number, signature, workspace, in_place;
  std::uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

template <typename To, typename From>
To& as(From* opaque) {
  return *reinterpret_cast<To*>(opaque);
}

cublasStatus_t fault(const std::string& text) {
  fake_cublaslt().faults.push_back(text);
  return CUBLAS_STATUS_INVALID_VALUE;
}

bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
float load(cudaDataType_t type, const void* array, std::int64_t at) {
  if (is_fp8(type)) {
    return __half2float(
        __half(__nv_cvt_fp8_to_halfraw(static_cast<const __nv_fp8_storage_t*>(array)[at],
                                       type == CUDA_R_8F_E4M3 ? __NV_E4M3 : __NV_E5M2)));
  }
  if (type == CUDA_R_32F) return static_cast<const float*>(array)[at];
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(array)[at]);
  return __bfloat162float(static_cast<const __nv_bfloat16*>(array)[at]);
}
void store(cudaDataType_t type, void* array, std::int64_t at, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(array)[at] = value;
  } else if (type == CUDA_R_16F) {
    static_cast<__half*>(array)[at] = __float2half_rn(value);
  } else {
    static_cast<__nv_bfloat16*>(array)[at] = __float2bfloat16_rn(value);
  }
}

bool has(const Descriptor& d, cublasLtEpilogue_t part) {
  return (d.epilogue & static_cast<unsigned>(part)) == static_cast<unsigned>(part);
}
bool has_aux(const Descriptor& d) { return (d.epilogue & 128U) != 0; }
bool has_gradient(const Descriptor& d) { return (d.epilogue & 16U) != 0; }
bool has_vector(const Descriptor& d) {
  return has(d, CUBLASLT_EPILOGUE_BIAS) || has_gradient(d) || has(d, CUBLASLT_EPILOGUE_BGRADB);
}

struct Call {
  const Descriptor& desc;
  const Layout &a, &b, &c, &d;
  [[nodiscard]] std::uint64_t k() const {
    return desc.transpose_a == CUBLAS_OP_N ? a.columns : a.rows;
  }
  [[nodiscard]] bool fp8() const { return is_fp8(a.type) || is_fp8(b.type); }
  [[nodiscard]] std::uint64_t signature() const {
    std::string text = std::to_string(desc.compute);
    const auto add = [&](auto value) { text += "," + std::to_string(value); };
    add(desc.transpose_a);
    add(desc.transpose_b);
    add(desc.epilogue);
    add(desc.aux_ld);
    add(desc.fast_accumulation);
    for (const Layout* layout : {&a, &b, &c, &d}) {
      add(layout->type);
      add(layout->rows);
      add(layout->columns);
      add(layout->ld);
    }
    return std::hash<std::string>{}(text);
  }
};

/// The rules of the cuBLAS manual for operands of 8 bits, on devices that read both along k alone.
/// It has more results than these, of types that the trainer does not ask for.
cublasStatus_t checked_fp8(const Call& call) {
  if (!is_fp8(call.a.type) || !is_fp8(call.b.type)) return fault("one operand of 8 bits");
  if (call.a.type == CUDA_R_8F_E5M2 && call.b.type == CUDA_R_8F_E5M2) {
    return fault("both operands in E5M2");
  }
  if (call.c.type != call.d.type || (call.d.type != CUDA_R_16BF && call.d.type != CUDA_R_32F)) {
    return fault("type of a result of operands of 8 bits");
  }
  if (call.desc.transpose_a != CUBLAS_OP_T || call.desc.transpose_b != CUBLAS_OP_N) {
    return fault("operands of 8 bits that are not read along k");
  }
  if (call.desc.compute != CUBLAS_COMPUTE_32F) return fault("compute type for 8 bits");
  if (call.d.rows % 16 != 0 || call.k() % 16 != 0) return fault("size in 8 bits");
  for (const Layout* layout : {&call.a, &call.b, &call.c, &call.d}) {
    if (layout->ld % 16 != 0) return fault("leading dimension in 8 bits");
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// Of the addresses, which the heuristic does not get.
cublasStatus_t checked_fp8_addresses(const Descriptor& desc, const void* a, const void* b,
                                     const void* d) {
  const auto aligned = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  };
  if (!aligned(a) || !aligned(b) || !aligned(d)) return fault("address in 8 bits");
  // No manual states it; found on an H200, where the heuristic offers an algorithm all the same.
  if (!aligned(desc.a_scale) || !aligned(desc.b_scale)) return fault("address of a scale");
  return CUBLAS_STATUS_SUCCESS;
}

/// The rules of cublasLt.h.
cublasStatus_t checked(const Call& call) {
  const Descriptor& desc = call.desc;
  for (const Layout* layout : {&call.a, &call.b, &call.c, &call.d}) {
    if (layout->ld < static_cast<std::int64_t>(layout->rows)) return fault("ld below the rows");
  }
  const bool plain_a = desc.transpose_a == CUBLAS_OP_N;
  const bool plain_b = desc.transpose_b == CUBLAS_OP_N;
  if ((plain_a ? call.a.rows : call.a.columns) != call.d.rows ||
      (plain_b ? call.b.columns : call.b.rows) != call.d.columns ||
      (plain_b ? call.b.rows : call.b.columns) != call.k()) {
    return fault("the matrices do not fit together");
  }
  if (call.fp8()) {
    if (const auto status = checked_fp8(call); status != CUBLAS_STATUS_SUCCESS) return status;
  } else if (call.a.type != call.b.type || call.c.type != call.d.type ||
             (call.d.type != call.a.type && call.d.type != CUDA_R_32F)) {
    return fault("types that no kernel multiplies");
  } else if (desc.a_scale != nullptr || desc.b_scale != nullptr) {
    return fault("scales of operands that take none");
  }
  switch (static_cast<int>(desc.epilogue)) {
    case kDefault:
    case kBias:
    case kGeluAuxBias:
    case kDGelu:
    case kDGeluBgrad:
    case kBgradB:
      break;
    default:
      return fault("epilogue " + std::to_string(desc.epilogue));
  }
  if (has_vector(desc)) {
    if (desc.bias == nullptr) return fault("no bias pointer");
    if (desc.bias_type != -1 && desc.bias_type != call.d.type) return fault("type of the bias");
  }
  if (has_aux(desc)) {
    if (desc.aux == nullptr) return fault("no auxiliary pointer");
    if (desc.aux_ld % 8 != 0 || desc.aux_ld < static_cast<std::int64_t>(call.d.rows)) {
      return fault("leading dimension of the auxiliary matrix");
    }
    if (desc.aux_type != -1 && desc.aux_type != call.d.type) return fault("auxiliary type");
    if (reinterpret_cast<std::uintptr_t>(desc.aux) % 16 != 0) return fault("auxiliary address");
  }
  return fake_cublaslt().refused.contains(static_cast<int>(desc.epilogue))
             ? CUBLAS_STATUS_NOT_SUPPORTED
             : CUBLAS_STATUS_SUCCESS;
}

// GELU(x) = x Phi~(x), the tanh form.
double inner(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
double gelu(double x) { return x / 2 * (1 + std::tanh(inner(x))); }
double gelu_slope(double x) {
  const double t = std::tanh(inner(x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

void compute(const Call& call, const void* a, const void* b, float beta, const void* c, void* d) {
  const Descriptor& desc = call.desc;
  const auto m = static_cast<std::int64_t>(call.d.rows);
  const auto n = static_cast<std::int64_t>(call.d.columns);
  const auto k = static_cast<std::int64_t>(call.k());
  const bool tf32 = desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const float scale =
      (desc.a_scale == nullptr ? 1 : *desc.a_scale) * (desc.b_scale == nullptr ? 1 : *desc.b_scale);
  const auto operand = [&](const Layout& layout, const void* values, bool transpose, std::int64_t i,
                           std::int64_t j) {
    const float x = load(layout.type, values, transpose ? i * layout.ld + j : j * layout.ld + i);
    return tf32 ? emulated::rounded_to_tf32(x) : x;
  };
  std::vector<float> left(static_cast<std::size_t>(m * k));  // by columns
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      left[static_cast<std::size_t>(j * m + i)] =
          operand(call.a, a, desc.transpose_a == CUBLAS_OP_T, i, j);
    }
  }
  std::vector<float> column(static_cast<std::size_t>(m));
  std::vector<float> row_sums(column.size());
  for (std::int64_t j = 0; j < n; ++j) {
    column.assign(column.size(), 0.0F);
    float inner_sum = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      const float x = operand(call.b, b, desc.transpose_b == CUBLAS_OP_T, l, j);
      inner_sum += x;
      const float* from = left.data() + l * m;
      for (std::size_t i = 0; i < column.size(); ++i) column[i] += from[i] * x;
    }
    for (std::int64_t i = 0; i < m; ++i) {
      float x = scale * column[static_cast<std::size_t>(i)];
      if (beta != 0) x += beta * load(call.c.type, c, j * call.c.ld + i);
      if (has(desc, CUBLASLT_EPILOGUE_BIAS)) x += load(call.d.type, desc.bias, i);
      if (has(desc, CUBLASLT_EPILOGUE_GELU)) {
        store(call.d.type, desc.aux, j * desc.aux_ld + i, x);
        x = static_cast<float>(gelu(static_cast<double>(x)));
      } else if (has(desc, CUBLASLT_EPILOGUE_DGELU)) {
        const float z = load(call.d.type, desc.aux, j * desc.aux_ld + i);
        x *= static_cast<float>(gelu_slope(static_cast<double>(z)));
      }
      row_sums[static_cast<std::size_t>(i)] += x;
      store(call.d.type, d, j * call.d.ld + i, x);
    }
    if (has(desc, CUBLASLT_EPILOGUE_BGRADB)) {
      store(call.d.type, const_cast<void*>(desc.bias), j, inner_sum);
    }
  }
  for (std::int64_t i = 0; has_gradient(desc) && i < m; ++i) {
    store(call.d.type, const_cast<void*>(desc.bias), i, row_sums[static_cast<std::size_t>(i)]);
  }
}

template <typename Value>
bool take(Value& to, const void* from, std::size_t size) {
  if (size != sizeof to) return false;
  std::memcpy(&to, from, size);
  return true;
}

cublasStatus_t taken(bool good) {
  return good ? CUBLAS_STATUS_SUCCESS : fault("size of an attribute");
}

cublasStatus_t desc_set(cublasLtMatmulDesc_t opaque, cublasLtMatmulDescAttributes_t attribute,
                        const void* value, std::size_t size) {
  auto& desc = as<Descriptor>(opaque);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return taken(take(desc.transpose_a, value, size));
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return taken(take(desc.transpose_b, value, size));
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return taken(take(desc.epilogue, value, size));
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return taken(take(desc.bias, value, size));
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return taken(take(desc.aux, value, size));
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return taken(take(desc.aux_ld, value, size));
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return taken(take(desc.bias_type, value, size));
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return taken(take(desc.aux_type, value, size));
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return taken(take(desc.a_scale, value, size));
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return taken(take(desc.b_scale, value, size));
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return taken(take(desc.fast_accumulation, value, size));
    default:
      return fault("attribute " + std::to_string(attribute) + " of a descriptor");
  }
}

cublasStatus_t preference_set(cublasLtMatmulPreference_t opaque,
                              cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                              std::size_t size) {
  auto& preference = as<Preference>(opaque);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return taken(take(preference.workspace, value, size));
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return taken(
          take(preference.alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
               size));
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return taken(take(preference.reductions, value, size));
    default:
      return fault("attribute of a preference");
  }
}

/// Three: the first reduces in place where it may, the second takes a workspace, the third is
/// named but cannot be had.
cublasStatus_t heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                         cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int most,
                         cublasLtMatmulHeuristicResult_t* results, int* count) {
  ++fake_cublaslt().heuristics;
  const Call call{as<Descriptor>(desc), as<Layout>(a), as<Layout>(b), as<Layout>(c), as<Layout>(d)};
  *count = 0;
  if (const auto status = checked(call); status != CUBLAS_STATUS_SUCCESS) return status;
  const auto& wanted = as<Preference>(preference);
  for (std::uint64_t i = 0; i < 3 && static_cast<int>(i) < most; ++i) {
    Algorithm algorithm{i,
                        call.signature(),
                        i == 1 ? wanted.workspace : 0,
                        i == 0 && (wanted.reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE) != 0,
                        {}};
    std::memcpy(algorithm.alignment, wanted.alignment, sizeof algorithm.alignment);
    cublasLtMatmulHeuristicResult_t& result = results[*count];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace;
    result.state = i == 2 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    ++*count;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t algorithm_check(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                               cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                               cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                               const cublasLtMatmulAlgo_t* offered,
                               cublasLtMatmulHeuristicResult_t* result) {
  ++fake_cublaslt().checks;
  const Call call{as<Descriptor>(desc), as<Layout>(a), as<Layout>(b), as<Layout>(c), as<Layout>(d)};
  if (const auto status = checked(call); status != CUBLAS_STATUS_SUCCESS) return status;
  const auto& algorithm = as<const Algorithm>(offered);
  result->workspaceSize = algorithm.workspace;
  return algorithm.signature == call.signature() && algorithm.number < 2
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t matmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b,
                      cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                      cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                      const cublasLtMatmulAlgo_t* chosen, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream) {
  const Call call{as<Descriptor>(desc), as<Layout>(a_layout), as<Layout>(b_layout),
                  as<Layout>(c_layout), as<Layout>(d_layout)};
  if (const auto status = checked(call); status != CUBLAS_STATUS_SUCCESS) return status;
  const auto& algorithm = as<const Algorithm>(chosen);
  if (algorithm.signature != call.signature()) return fault("an algorithm of another product");
  if (algorithm.number > 1) return fault("an algorithm that cannot be had");
  if (workspace == nullptr || workspace_bytes < algorithm.workspace) return fault("workspace");
  if (*static_cast<const float*>(alpha) != 1) return fault("alpha");
  const void* addresses[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(addresses[i]) % algorithm.alignment[i] != 0) {
      return fault("an address less aligned than the preference said");
    }
  }
  if (call.fp8()) {
    const auto status = checked_fp8_addresses(call.desc, a, b, d);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  FakeCublasLt& state = fake_cublaslt();
  if (state.refused_late.contains(static_cast<int>(call.desc.epilogue))) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  ++state.products[static_cast<int>(call.desc.epilogue)];
  state.in_place += algorithm.in_place != 0 ? 1 : 0;
  state.eight_bits += call.fp8() ? 1 : 0;
  // When the stream gets there the descriptor may be that of another product's addresses.
  emulated::submit(
      stream, [=, desc = call.desc, layouts = std::array{call.a, call.b, call.c, call.d},
               factor = *static_cast<const float*>(beta)] {
        compute({desc, layouts[0], layouts[1], layouts[2], layouts[3]}, a, b, factor, c, d);
      });
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Thing, typename Opaque>
cublasStatus_t make(Opaque** out, const Thing& value) {
  ++fake_cublaslt().alive;
  *out = reinterpret_cast<Opaque*>(new Thing(value));
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Thing, typename Opaque>
cublasStatus_t destroy(Opaque* opaque) {
  --fake_cublaslt().alive;
  delete reinterpret_cast<Thing*>(opaque);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace bert::fakes

namespace bert::cuda {

const CublasLt& cublaslt() {
  using namespace bert::fakes;
  static const CublasLt table = [] {
    CublasLt lt{};
    lt.create = [](cublasLtHandle_t* handle) {
      return make<int>(reinterpret_cast<int**>(handle), 1);
    };
    lt.destroy = [](cublasLtHandle_t handle) {
      return destroy<int>(static_cast<int*>(static_cast<void*>(handle)));
    };
    lt.version = [] { return std::size_t{130100}; };
    lt.status_string = [](cublasStatus_t) { return "status of the fake"; };
    lt.matmul = matmul;
    lt.desc_create = [](cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t) {
      Descriptor desc{};
      desc.compute = compute;
      return make(out, desc);
    };
    lt.desc_destroy = [](cublasLtMatmulDesc_t desc) { return destroy<Descriptor>(desc); };
    lt.desc_set = desc_set;
    lt.layout_create = [](cublasLtMatrixLayout_t* out, cudaDataType_t type, std::uint64_t rows,
                          std::uint64_t columns, std::int64_t ld) {
      return make(out, Layout{type, rows, columns, ld});
    };
    lt.layout_destroy = [](cublasLtMatrixLayout_t layout) { return destroy<Layout>(layout); };
    lt.preference_create = [](cublasLtMatmulPreference_t* out) { return make(out, Preference{}); };
    lt.preference_destroy = [](cublasLtMatmulPreference_t preference) {
      return destroy<Preference>(preference);
    };
    lt.preference_set = preference_set;
    lt.heuristic = heuristic;
    lt.algorithm_check = algorithm_check;
    return lt;
  }();
  return table;
}

}  // namespace bert::cuda
