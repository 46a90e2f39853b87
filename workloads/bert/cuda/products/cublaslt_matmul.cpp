// Matrix products by cuBLASLt: plans of a product are made at its first use, one for each way to do
// what stands around it.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>

#include "workloads/bert/cuda/products/algorithm_cache.h"
#include "workloads/bert/cuda/products/cublaslt_library.h"
#include "workloads/bert/cuda/products/cublaslt_plan.h"

namespace bert::cuda {
namespace {

using State = CublasLtPlan::State;

constexpr int kCandidates = 32;
constexpr int kTimedRuns = 7;
constexpr double kNever = 1e30;  ///< seconds
/// Part of the file's keys: 2 = 16-bit results without partial sums of 16 bits. What a search under
/// other rules found is searched again.
constexpr const char* kSearchRules = ",rules2";

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
    for (const auto& plan : plans_of(p, stream)) {
      if (run_plan(*plan, p, stream)) return;
    }
    throw std::runtime_error("cuBLASLt has no algorithm for " + name_of(p, {}));
  }

  void end_search() override { searching_ = false; }

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
    std::string text;
    for (const auto& plan : new_plans(p)) {
      if (plan->candidates(handle_, p, options_.deterministic, 1).empty()) continue;
      text += (text.empty() ? "" : " or ") + label(p, plan->inside());
      if (!times_ways()) break;
    }
    return text.empty() ? "no algorithm" : text;
  }

 private:
  [[nodiscard]] std::string file_key(const std::string& key) const {
    std::string device = options_.device;
    std::replace(device.begin(), device.end(), ' ', '_');
    return device + kSearchRules + ",lt" + std::to_string(cublaslt().version()) + "," + key +
           (options_.tf32 ? ",tf32" : "") + (options_.deterministic ? ",deterministic" : "");
  }

  [[nodiscard]] bool times_ways() const {
    return cache_.has_value() && options_.epilogues == Epilogues::automatic;
  }

  /// In the order in which they are tried.
  using Plans = std::vector<std::unique_ptr<CublasLtPlan>>;

  [[nodiscard]] Plans new_plans(const Product& p) const {
    Plans plans;
    for (const Inside& inside : ways(p, options_)) {
      plans.push_back(std::make_unique<CublasLtPlan>(p, inside, options_.tf32));
    }
    return plans;
  }

  /// The fastest first where they are timed.
  const Plans& plans_of(const Product& p, Stream stream) {
    const auto [known, is_new] = plans_.try_emplace(CublasLtKey(p));
    Plans& plans = known->second;
    if (!is_new) return plans;
    plans = new_plans(p);
    if (plans.size() == 1 || !times_ways()) return plans;
    const std::string key = file_key(name_of(p, wanted_of(p))) + ",way";
    auto best = plans.end();
    if (const auto kept = cache_->find(key); kept && kept->size() == 1) {
      best = std::ranges::find(plans, kept->front(),
                               [](const auto& plan) { return bits_of(plan->inside()); });
    }
    if (best == plans.end() && searching_) {
      if (const auto timed = fastest(p, plans, stream)) {
        best = plans.begin() + static_cast<std::ptrdiff_t>(*timed);
        cache_->add(key, {bits_of((*best)->inside())});
      }
    }
    if (best != plans.end()) std::rotate(plans.begin(), best, best + 1);
    return plans;
  }

  /// False: the library cannot do it this way.
  bool run_plan(CublasLtPlan& plan, const Product& p, Stream stream) {
    if (plan.state == State::untried) choose(plan, p, stream);
    if (plan.state == State::refused) return false;
    const Inside& inside = plan.inside();
    const cublasStatus_t status =
        plan.run(handle_, p, target_of(p, inside), plan.algorithm, workspace_, stream);
    if (inside != Inside{} && is_refusal(status)) {  // what the heuristic did not know
      plan.state = State::refused;
      return false;
    }
    check_cublas(status, "cublasLtMatmul");
    if (waits_for_each_call()) synchronize_product(p, inside, stream);
    add_rest(p, inside, stream);
    return true;
  }

  static void synchronize_product(const Product& p, const Inside& inside, Stream stream) {
    try {
      synchronize(stream);
    } catch (const std::exception& error) {
      throw std::runtime_error("product " + name_of(p, inside) + ": " + error.what());
    }
  }

  /// A way in the file: which parts are inside, whatever order ways() has them in.
  static std::uint64_t bits_of(const Inside& inside) {
    return (inside.bias ? 1U : 0U) | (inside.activation ? 2U : 0U) | (inside.sums ? 4U : 0U);
  }

  /// Index of the plan that takes least time with all that stands around the product. Results go to
  /// memory of the search; nothing where there is none, or where no plan ran.
  std::optional<std::size_t> fastest(const Product& p, const Plans& plans, Stream stream) {
    // First, as the search of algorithms needs as much memory for itself.
    for (const auto& plan : plans) choose(*plan, p, stream);
    try {
      const Memory c(Memory::Place::device, p.m * p.ldc * size_of(p.output));
      const Memory sums(Memory::Place::device, std::max(p.m, p.n) * 4);
      const Memory flush(Memory::Place::device, 2 * options_.l2_bytes);
      Product scratch = p;
      scratch.c = c.data();
      if (p.sums != nullptr) scratch.sums = reinterpret_cast<float*>(sums.data());
      std::optional<std::size_t> best;
      double least = kNever;
      for (std::size_t i = 0; i < plans.size(); ++i) {
        const double seconds =
            median_seconds(flush, stream, [&] { return run_plan(*plans[i], scratch, stream); });
        if (seconds >= least) continue;
        least = seconds;
        best = i;
      }
      return best;
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  }

  /// The algorithm of an untried plan: from the file, searched, or the heuristic's first choice.
  void choose(CublasLtPlan& plan, const Product& p, Stream stream) {
    const std::string key = cache_ ? file_key(name_of(p, plan.inside())) : std::string();
    plan.state = State::usable;
    if (cache_) {
      if (const auto words = cache_->find(key); words && restore(plan, *words)) return;
    }
    const bool timed = cache_.has_value() && searching_;
    const auto candidates =
        plan.candidates(handle_, p, options_.deterministic, timed ? kCandidates : 1);
    if (!candidates.empty()) plan.algorithm = candidates.front();
    if (candidates.empty() || (timed && !search(plan, p, candidates, stream))) {
      plan.state = State::refused;
    } else if (timed) {
      cache_->add(key, words_of(plan.algorithm));
    }
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
    return true;
  }

  /// Chooses the fastest, by runs into memory of the search; the heuristic's first choice stays
  /// where there is no memory to search with. False: none of them ran.
  bool search(CublasLtPlan& plan, const Product& p,
              const std::vector<cublasLtMatmulAlgo_t>& candidates, Stream stream) {
    try {
      // What aux gets, each run writes anew; c may be added to, and its old value is still needed.
      const Memory c(Memory::Place::device, p.m * p.ldc * size_of(p.output));
      const Memory flush(Memory::Place::device, 2 * options_.l2_bytes);
      double least = kNever;
      for (const auto& candidate : candidates) {
        const double seconds = median_seconds(flush, stream, [&] {
          const cublasStatus_t status =
              plan.run(handle_, p, c.data(), candidate, workspace_, stream);
          if (!is_refusal(status)) check_cublas(status, "cublasLtMatmul");
          return status == CUBLAS_STATUS_SUCCESS;
        });
        if (seconds >= least) continue;
        least = seconds;
        plan.algorithm = candidate;
      }
      return least < kNever;
    } catch (const std::bad_alloc&) {
      return true;
    }
  }

  /// Median of runs with a cold L2; kNever when `run` returns that it cannot.
  template <typename Run>
  static double median_seconds(const Memory& flush, Stream stream, const Run& run) {
    std::array<double, kTimedRuns> seconds{};
    Event begin(true);
    Event end(true);
    for (int i = -1; i < kTimedRuns; ++i) {  // the first run loads the kernel
      if (flush.bytes() > 0) fill_zero(flush.data(), flush.bytes(), stream);
      begin.record(stream);
      if (!run()) return kNever;
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
  bool searching_ = true;
  std::map<CublasLtKey, Plans> plans_;
};

}  // namespace

std::unique_ptr<Matmul> make_matmul(const MatmulOptions& options) {
  return std::make_unique<CublasLtMatmul>(options);
}

}  // namespace bert::cuda
