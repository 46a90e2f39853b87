// Matrix products by cuBLASLt: one plan a shape, made at its first use.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "workloads/bert/cuda/algorithm_cache.h"
#include "workloads/bert/cuda/column_major.h"
#include "workloads/bert/cuda/cublaslt_library.h"
#include "workloads/bert/cuda/kernels.h"
#include "workloads/bert/cuda/matmul.h"

namespace bert::cuda {
namespace {

constexpr std::int64_t kWorkspace = 64LL << 20;
constexpr int kCandidates = 32;
constexpr int kTimedRuns = 7;
constexpr std::int64_t kFlush = 128LL << 20;  ///< more than any L2, written between timed runs

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublaslt().status_string(status));
}

cudaDataType_t data_type(DType type) {
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

/// Largest power of two up to 256 that divides the address.
std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

class Layout {
 public:
  Layout(const StoredMatrix& matrix, DType type) {
    check(
        cublaslt().layout_create(&layout_, data_type(type), static_cast<std::uint64_t>(matrix.rows),
                                 static_cast<std::uint64_t>(matrix.columns), matrix.ld),
        "cublasLtMatrixLayoutCreate");
  }
  ~Layout() { cublaslt().layout_destroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  [[nodiscard]] cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Preference {
 public:
  Preference() { check(cublaslt().preference_create(&preference_), "cublasLtMatmulPreference"); }
  ~Preference() { cublaslt().preference_destroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <typename Value>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check(cublaslt().preference_set(preference_, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  [[nodiscard]] cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

/// Everything about one shape but the addresses.
class Plan {
 public:
  Plan(const Product& product, bool tf32)
      : shape_(column_major(product)),
        a_(shape_.a, product.type),
        b_(shape_.b, product.type),
        d_(shape_.d, product.output),
        accumulate_(product.accumulate),
        bias_(product.bias != nullptr) {
    check(cublaslt().desc_create(&desc_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, shape_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, shape_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (!bias_) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.type));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  }
  ~Plan() { cublaslt().desc_destroy(desc_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Best guess first. Empty when the library cannot do it.
  [[nodiscard]] std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle,
                                                             const Product& p, bool deterministic,
                                                             int most) const {
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::size_t>(kWorkspace));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c));
    if (deterministic) {  // in-place reductions add in the order in which blocks arrive
      const std::uint32_t mask =
          CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
      preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, mask);
    }
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
    int count = 0;
    const cublasStatus_t status =
        cublaslt().heuristic(handle, desc_, a_.get(), b_.get(), d_.get(), d_.get(),
                             preference.get(), most, results.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    std::vector<cublasLtMatmulAlgo_t> out;
    for (int i = 0; i < count; ++i) {
      const auto& result = results[static_cast<std::size_t>(i)];
      if (result.state == CUBLAS_STATUS_SUCCESS) out.push_back(result.algo);
    }
    return out;
  }

  /// Whether an algorithm from a file still fits this library and device.
  [[nodiscard]] bool accepts(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& offered) const {
    cublasLtMatmulHeuristicResult_t result{};
    return cublaslt().algorithm_check(handle, desc_, a_.get(), b_.get(), d_.get(), d_.get(),
                                      &offered, &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= static_cast<std::size_t>(kWorkspace);
  }

  [[nodiscard]] cublasStatus_t run(cublasLtHandle_t handle, const Product& p, void* c,
                                   const cublasLtMatmulAlgo_t& chosen, const Memory& workspace,
                                   Stream stream) {
    if (bias_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const float alpha = 1;
    const float beta = accumulate_ ? 1 : 0;
    return cublaslt().matmul(handle, desc_, &alpha, p.b, a_.get(), p.a, b_.get(), &beta, c,
                             d_.get(), c, d_.get(), &chosen, workspace.data(),
                             static_cast<std::size_t>(workspace.bytes()),
                             static_cast<cudaStream_t>(stream));
  }

  cublasLtMatmulAlgo_t algorithm{};
  bool usable = false;

 private:
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublaslt().desc_set(desc_, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }

  ColumnMajorProduct shape_;
  Layout a_, b_, d_;
  bool accumulate_, bias_;
  cublasLtMatmulDesc_t desc_ = nullptr;
};

class CublasLtMatmul final : public Matmul {
 public:
  explicit CublasLtMatmul(const MatmulOptions& options)
      : options_(options), workspace_(Memory::Place::device, kWorkspace) {
    check(cublaslt().create(&handle_), "cublasLtCreate");
    if (!options_.algorithm_cache.empty()) cache_.emplace(options_.algorithm_cache);
  }
  ~CublasLtMatmul() override { cublaslt().destroy(handle_); }
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  void run(const Product& p, Stream stream) override {
    Plan& plan = plan_of(p, stream);
    if (!plan.usable && p.bias != nullptr) {
      // No algorithm with the bias inside: without it, and the bias by a kernel of its own.
      Product plain = p;
      plain.bias = nullptr;
      run(plain, stream);
      return add_bias(p.output, p.m, static_cast<int>(p.n), p.bias, p.c, stream);
    }
    if (!plan.usable) throw std::runtime_error("cuBLASLt has no algorithm for " + key_of(p));
    check(plan.run(handle_, p, p.c, plan.algorithm, workspace_, stream), "cublasLtMatmul");
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override { return kWorkspace; }

  [[nodiscard]] std::vector<std::string> settings() const override {
    const std::size_t v = cublaslt().version();
    std::vector<std::string> out = {"cuBLASLt " + std::to_string(v / 10000) + "." +
                                    std::to_string(v / 100 % 100) + "." + std::to_string(v % 100)};
    out.push_back(cache_ ? "algorithms: searched, kept in " + options_.algorithm_cache
                         : std::string("algorithms: first choice of the heuristic"));
    if (options_.deterministic) out.emplace_back("no in-place reductions");
    return out;
  }

 private:
  static std::string key_of(const Product& p) {
    const auto type = [](DType t) {
      return t == DType::f32 ? "f32" : t == DType::bf16 ? "bf16" : "f16";
    };
    std::string key = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
    key += std::string(p.transpose_a ? ",t" : ",n") + (p.transpose_b ? "t" : "n");
    key += std::string(",") + type(p.type) + "-" + type(p.output);
    for (const std::int64_t ld : {p.lda, p.ldb, p.ldc}) key += "," + std::to_string(ld);
    for (const void* at : {p.a, p.b, static_cast<const void*>(p.c)}) {
      key += "," + std::to_string(alignment_of(at));
    }
    key += p.accumulate ? ",add" : ",set";
    key += p.bias != nullptr ? ",bias" : ",plain";
    return key;
  }
  [[nodiscard]] std::string file_key(const std::string& key) const {
    std::string device = options_.device;
    std::replace(device.begin(), device.end(), ' ', '_');
    return device + ",lt" + std::to_string(cublaslt().version()) + "," + key +
           (options_.tf32 ? ",tf32" : "") + (options_.deterministic ? ",deterministic" : "");
  }

  Plan& plan_of(const Product& p, Stream stream) {
    const std::string key = key_of(p);
    auto& plan = plans_[key];
    if (plan != nullptr) return *plan;
    plan = std::make_unique<Plan>(p, options_.tf32);
    if (cache_) {
      if (const auto words = cache_->find(file_key(key)); words && restore(*plan, *words)) {
        return *plan;
      }
    }
    const auto candidates =
        plan->candidates(handle_, p, options_.deterministic, cache_ ? kCandidates : 1);
    if (candidates.empty()) return *plan;
    plan->algorithm = candidates.front();
    plan->usable = true;
    if (cache_) {
      search(*plan, p, candidates, stream);
      cache_->add(file_key(key), words_of(plan->algorithm));
    }
    return *plan;
  }

  using Words = AlgorithmCache::Words;
  static Words words_of(const cublasLtMatmulAlgo_t& algorithm) {
    Words words(sizeof algorithm / sizeof(std::uint64_t));
    std::memcpy(words.data(), &algorithm, words.size() * sizeof(std::uint64_t));
    return words;
  }
  bool restore(Plan& plan, const Words& words) {
    cublasLtMatmulAlgo_t algorithm{};
    if (words.size() * sizeof(std::uint64_t) != sizeof algorithm) return false;
    std::memcpy(&algorithm, words.data(), sizeof algorithm);
    if (!plan.accepts(handle_, algorithm)) return false;
    plan.algorithm = algorithm;
    plan.usable = true;
    return true;
  }

  /// Median of runs with a cold L2, into memory of its own; keeps the heuristic's first choice when
  /// there is no memory to search with.
  void search(Plan& plan, const Product& p, const std::vector<cublasLtMatmulAlgo_t>& candidates,
              Stream stream) {
    try {
      const Memory c(Memory::Place::device, p.m * p.ldc * size_of(p.output));
      const Memory flush(Memory::Place::device, kFlush);
      double best = 1e30;
      for (const auto& candidate : candidates) {
        const double seconds = median_seconds(plan, p, c, flush, candidate, stream);
        if (seconds >= best) continue;
        best = seconds;
        plan.algorithm = candidate;
      }
    } catch (const std::bad_alloc&) {
      plan.algorithm = candidates.front();
    }
  }
  double median_seconds(Plan& plan, const Product& p, const Memory& c, const Memory& flush,
                        const cublasLtMatmulAlgo_t& candidate, Stream stream) {
    std::array<double, kTimedRuns> seconds{};
    Event begin(true);
    Event end(true);
    for (int i = -1; i < kTimedRuns; ++i) {  // the first run loads the kernel
      fill_zero(flush.data(), flush.bytes(), stream);
      begin.record(stream);
      if (plan.run(handle_, p, c.data(), candidate, workspace_, stream) != CUBLAS_STATUS_SUCCESS) {
        return 1e30;
      }
      end.record(stream);
      end.wait_on_host();
      if (i >= 0) seconds[static_cast<std::size_t>(i)] = end.seconds_since(begin);
    }
    std::nth_element(seconds.begin(), seconds.begin() + kTimedRuns / 2, seconds.end());
    return seconds[kTimedRuns / 2];
  }

  MatmulOptions options_;
  Memory workspace_;
  cublasLtHandle_t handle_ = nullptr;
  std::optional<AlgorithmCache> cache_;
  std::map<std::string, std::unique_ptr<Plan>> plans_;
};

}  // namespace

std::unique_ptr<Matmul> make_matmul(const MatmulOptions& options) {
  return std::make_unique<CublasLtMatmul>(options);
}

}  // namespace bert::cuda
