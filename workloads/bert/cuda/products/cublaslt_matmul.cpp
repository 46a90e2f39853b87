// Matrix products by cuBLASLt: one plan a shape, made at its first use.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "workloads/bert/cuda/products/algorithm_cache.h"
#include "workloads/bert/cuda/products/cublaslt_plan.h"

namespace bert::cuda {
namespace {

constexpr int kCandidates = 32;
constexpr int kTimedRuns = 7;
constexpr std::int64_t kFlush = 128LL << 20;  ///< more than any L2, written between timed runs

class CublasLtMatmul final : public Matmul {
 public:
  explicit CublasLtMatmul(const MatmulOptions& options)
      : options_(options), workspace_(Memory::Place::device, kCublasLtWorkspace) {
    check_cublas(cublaslt().create(&handle_), "cublasLtCreate");
    if (!options_.algorithm_cache.empty()) cache_.emplace(options_.algorithm_cache);
  }
  ~CublasLtMatmul() override { cublaslt().destroy(handle_); }
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  void run(const Product& p, Stream stream) override {
    for (const Inside& inside : ways(p, options_)) {
      CublasLtPlan& plan = plan_of(p, inside, stream);
      if (!plan.usable) continue;
      const cublasStatus_t status =
          plan.run(handle_, p, target_of(p, inside), plan.algorithm, workspace_, stream);
      if (inside != Inside{} && is_refusal(status)) {  // what the heuristic did not know
        plan.usable = false;
        continue;
      }
      check_cublas(status, "cublasLtMatmul");
      return add_rest(p, inside, stream);
    }
    throw std::runtime_error("cuBLASLt has no algorithm for " + CublasLtKey(p, {}).text());
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override { return kCublasLtWorkspace; }

  [[nodiscard]] std::vector<std::string> settings() const override {
    const std::size_t v = cublaslt().version();
    std::vector<std::string> out = {"cuBLASLt " + std::to_string(v / 10000) + "." +
                                    std::to_string(v / 100 % 100) + "." + std::to_string(v % 100)};
    out.push_back(cache_ ? "algorithms: searched, kept in " + options_.algorithm_cache
                         : std::string("algorithms: first choice of the heuristic"));
    if (options_.deterministic) out.emplace_back("no in-place reductions");
    return out;
  }

  /// Asks the heuristic; a search would need operands to time.
  [[nodiscard]] std::string way_of(const Product& p) override {
    for (const Inside& inside : ways(p, options_)) {
      const CublasLtPlan plan(p, inside, options_.tf32);
      if (plan.candidates(handle_, p, options_.deterministic, 1).empty()) continue;
      return label(p, inside);
    }
    return "no algorithm";
  }

 private:
  [[nodiscard]] std::string file_key(const std::string& key) const {
    std::string device = options_.device;
    std::replace(device.begin(), device.end(), ' ', '_');
    return device + ",lt" + std::to_string(cublaslt().version()) + "," + key +
           (options_.tf32 ? ",tf32" : "") + (options_.deterministic ? ",deterministic" : "");
  }

  CublasLtPlan& plan_of(const Product& p, const Inside& inside, Stream stream) {
    const CublasLtKey shape(p, inside);
    auto& plan = plans_[shape];
    if (plan != nullptr) return *plan;
    const std::string key = cache_ ? file_key(shape.text()) : std::string();
    plan = std::make_unique<CublasLtPlan>(p, inside, options_.tf32);
    if (cache_) {
      if (const auto words = cache_->find(key); words && restore(*plan, *words)) {
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
      cache_->add(key, words_of(plan->algorithm));
    }
    return *plan;
  }

  using Words = AlgorithmCache::Words;
  static Words words_of(const cublasLtMatmulAlgo_t& algorithm) {
    Words words(sizeof algorithm / sizeof(std::uint64_t));
    std::memcpy(words.data(), &algorithm, words.size() * sizeof(std::uint64_t));
    return words;
  }
  bool restore(CublasLtPlan& plan, const Words& words) {
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
  void search(CublasLtPlan& plan, const Product& p,
              const std::vector<cublasLtMatmulAlgo_t>& candidates, Stream stream) {
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
  double median_seconds(CublasLtPlan& plan, const Product& p, const Memory& c, const Memory& flush,
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
  std::map<CublasLtKey, std::unique_ptr<CublasLtPlan>> plans_;
};

}  // namespace

std::unique_ptr<Matmul> make_matmul(const MatmulOptions& options) {
  return std::make_unique<CublasLtMatmul>(options);
}

}  // namespace bert::cuda
