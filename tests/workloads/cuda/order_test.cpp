// Emulated device only: what a missing barrier would show.
#include <gtest/gtest.h>

#include "tests/workloads/cuda/support.h"
#include "workloads/bert/cuda/emulated/device.h"

namespace bert {
namespace {

TEST(CudaOrder, threads_in_opposite_orders_give_the_same_bits) {
  const ModelConfig model = testing::even_model();
  for (const char* precision : {"fp32", "bf16"}) {
    const auto ascending = testing::weights_after_one_step(model, precision);
    emulated::set_order(emulated::Order::descending);
    const auto descending = testing::weights_after_one_step(model, precision);
    emulated::set_order(emulated::Order::ascending);
    EXPECT_EQ(ascending, descending) << precision;
  }
}

struct Job {
  float* out;
  bool barrier;
};
/// Each thread publishes a number and reads its neighbour's.
void neighbour_kernel(Job job) {
  __shared__ float shared[64];
  const unsigned i = threadIdx.x;
  shared[i] = 0;
  __syncthreads();
  shared[i] = static_cast<float>(i + 1);
  if (job.barrier) __syncthreads();
  job.out[i] = shared[(i + 1) % 64];
  __syncthreads();
}

TEST(CudaOrder, a_missing_barrier_is_seen) {
  const auto run = [](emulated::Order order, bool barrier) {
    emulated::set_order(order);
    std::vector<float> out(64);
    const Job job{out.data(), barrier};
    emulated::run_grid(dim3(1), dim3(64), 0, [&] { neighbour_kernel(job); });
    emulated::set_order(emulated::Order::ascending);
    return out;
  };
  using enum emulated::Order;
  EXPECT_EQ(run(ascending, true), run(descending, true));
  EXPECT_NE(run(ascending, false), run(descending, false));
}

TEST(CudaOrderDeathTest, a_barrier_that_not_all_reach_is_an_error) {
  const auto divergent = [] {
    emulated::run_grid(dim3(1), dim3(32), 0, [] {
      if (threadIdx.x < 16) __syncwarp();
    });
  };
  EXPECT_DEATH(divergent(), "ended while its warp waits|without all 32 lanes|every thread waits");
}

}  // namespace
}  // namespace bert
