// No memory is asked for inside a step after the first: counted where this program itself calls
// operator new. What oneDNN and libgomp keep for themselves is theirs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/workloads/support.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/cpu_backend.h"

extern "C" {
// Of the linker: the first and the last byte of this program's code.
extern const char __executable_start;
extern const char etext;
}

namespace {

std::atomic<bool> counting{false};
std::atomic<long> counted{0};

void* counted_new(std::size_t size, const void* caller) {
  const char* from = static_cast<const char*>(caller);
  if (counting && from >= &__executable_start && from < &etext) ++counted;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted_new(size, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return counted_new(size, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace bert {
namespace {

struct Case {
  const char* name;
  CpuPrecision precision = CpuPrecision::fp32;
  bool gpt2 = false, unpadded = false, checkpointing = false;
  Objective objective = Objective::masked_words;
  OptimizerOptions::Kind optimizer = OptimizerOptions::Kind::adamw;
};

class EveryStep : public ::testing::TestWithParam<Case> {};

TEST_P(EveryStep, after_the_first_asks_for_no_memory) {
  const Case& one = GetParam();
  if (one.precision == CpuPrecision::bf16 && !Bf16Products::is_native()) {
    GTEST_SKIP() << "this processor multiplies no bf16";
  }
  ModelConfig model = one.gpt2 ? testing::odd_gpt2() : testing::odd_model();
  if (!one.gpt2) model.objective = one.objective;
  BackendOptions options = testing::options_for(model, 3, 20);
  options.unpadded = one.unpadded;
  options.activation_checkpointing = one.checkpointing;
  const auto backend = make_cpu_backend(options, one.precision);
  UpdateRequest request;
  request.optimizer.kind = one.optimizer;
  request.learning_rate = 1e-3;
  request.gradient_clipping = 1;
  const auto step = [&](const Batch& batch, std::int64_t number) {
    backend->zero_gradients();
    backend->forward_backward(batch, 1.0, true, number, {});
    request.update = number;
    backend->update(request);
  };
  // Sequences of the same lengths with other tokens: lengths repeat every four sequences.
  const Batch first = testing::make_batch(model, 3, 20, 4, 0);
  const Batch second = testing::make_batch(model, 3, 20, 4, 4);
  step(first, 1);
  counted = 0;
  counting = true;
  step(second, 2);
  counting = false;
  EXPECT_EQ(counted, 0);
  // The counter counts: a vector of this test is seen.
  counting = true;
  std::vector<float> seen(static_cast<std::size_t>(backend->peak_bytes() > 0 ? 100 : 1));
  counting = false;
  EXPECT_EQ(counted, 1) << seen.size();
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryStep,
    ::testing::Values(Case{"fp32"}, Case{"fp16", CpuPrecision::fp16},
                      Case{"bf16", CpuPrecision::bf16}, Case{.name = "gpt2", .gpt2 = true},
                      Case{.name = "unpadded", .unpadded = true},
                      Case{.name = "checkpointing", .checkpointing = true},
                      Case{.name = "spans", .objective = Objective::spans},
                      Case{.name = "classes", .objective = Objective::classes},
                      Case{.name = "lamb", .optimizer = OptimizerOptions::Kind::lamb}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace bert
