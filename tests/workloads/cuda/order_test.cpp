// Emulated device only: what a missing barrier would show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/values.h"
#include "workloads/bert/cuda/emulated/device.h"

namespace bert {
namespace {

constexpr emulated::Order kOrders[] = {emulated::Order::ascending, emulated::Order::descending,
                                       emulated::Order::lowest_first,
                                       emulated::Order::highest_first};

/// body() under each order.
template <typename Body>
auto in_all_orders(const Body& body) {
  std::vector<decltype(body())> results;
  for (const emulated::Order order : kOrders) {
    emulated::set_order(order);
    results.push_back(body());
  }
  emulated::set_order(emulated::Order::ascending);
  return results;
}

TEST(CudaOrder, threads_in_every_order_give_the_same_bits) {
  using Case = std::pair<ModelConfig, const char*>;
  for (const Case& one :
       {Case{testing::even_model(1), "fp32"}, Case{testing::even_model(1), "bf16"},
        Case{testing::even_gpt2(1), "bf16"}, Case{testing::even_model(1), "fp8"}}) {
    // Longer than a block of the attention kernels. Sequences are blocks of their own.
    const Batch batch = testing::make_batch(one.first, 1, 70, 4);
    const auto endings = in_all_orders([&] {
      const auto options = testing::options_for(one.first, 1, 70);
      return testing::one_step(*testing::cuda_backend(options, one.second), batch);
    });
    for (const auto& ending : endings) {
      EXPECT_TRUE(ending == endings.front()) << one.first.name << one.second;
    }
  }
}

// Rows for more than one turn of each team, so that its warps meet again where they met before.
TEST(CudaOrder, warps_that_share_a_row_in_every_order_give_the_same_bits) {
  constexpr std::int64_t rows = 2 * 256 * 2 + 1;
  constexpr int width = 1032;
  using cuda::testing::random_values;
  using cuda::testing::Values;
  const auto d_output = random_values<float>(rows * width, 1);
  const auto sum = random_values<float>(rows * width, 2);
  const auto mean = random_values<float>(rows, 3);
  const auto rstd = random_values<float>(rows, 4);
  const auto gamma = random_values<float>(width, 5);
  const auto endings = in_all_orders([&] {
    Values<float> partials(static_cast<std::size_t>(cuda::norm_partials_bytes(width)) / 4);
    Values<float> out(rows * width + 2 * width);
    cuda::NormBackward b;
    b.rows = rows;
    b.width = width;
    b.d_output = d_output.data();
    b.sum = sum.data();
    b.mean = mean.data();
    b.rstd = rstd.data();
    b.gamma = gamma.data();
    b.d_sum = out.data();
    b.partials = partials.data();
    b.sum_gamma = out.data() + rows * width;
    b.sum_beta = b.sum_gamma + width;
    cuda::norm_backward(cuda::DType::f32, b, nullptr);
    return out;
  });
  for (const auto& ending : endings) EXPECT_TRUE(ending == endings.front());
}

struct Neighbours {
  float* out;
  bool barrier;
};
/// Each thread publishes a number and reads its neighbour's.
void neighbour_kernel(Neighbours job) {
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
  const auto run = [](bool barrier) {
    return in_all_orders([&] {
      std::vector<float> out(64);
      const Neighbours job{out.data(), barrier};
      emulated::run_grid(dim3(1), dim3(64), 0, [&] { neighbour_kernel(job); });
      return out;
    });
  };
  EXPECT_THAT(run(true), ::testing::Each(run(true).front()));
  const auto without = run(false);
  EXPECT_NE(without[0], without[1]);
  EXPECT_NE(without[2], without[3]);
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
