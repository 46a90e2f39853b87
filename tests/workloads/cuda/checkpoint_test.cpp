// Both backends read each other's checkpoints.
#include "workloads/bert/train/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scratch_folder.h"
#include "tests/workloads/cuda/support.h"
#include "workloads/bert/cpu/cpu_backend.h"

namespace bert {
namespace {

void three_steps(Backend& backend, std::int64_t first) {
  UpdateRequest request;
  request.learning_rate = 1e-3;
  for (std::int64_t step = first; step < first + 3; ++step) {
    request.update = step;
    backend.zero_gradients();
    backend.forward_backward(testing::make_batch(testing::odd_model(), 2, 16, 3, 2 * step), 1.0,
                             true, step, {});
    backend.update(request);
  }
}

TEST(CudaCheckpoint, a_run_goes_on_with_the_other_backend) {
  const bertbench::test::ScratchFolder scratch;
  const std::string folder = scratch.path("checkpoints");
  const BackendOptions options = testing::options_for(testing::odd_model(), 2, 16);
  const CheckpointFacts facts{"odd", "adamw", 16, 2, 42, 3};
  for (const bool from_cpu : {true, false}) {
    std::filesystem::remove_all(folder);
    const auto make = [&](bool cpu) {
      return cpu ? make_cpu_backend(options) : testing::cuda_backend(options, "fp32");
    };
    const auto source = make(from_cpu);
    const auto target = make(!from_cpu);
    three_steps(*source, 1);
    const auto written = write_checkpoint(folder, facts, *source);
    ASSERT_TRUE(written) << written.error().message;
    const auto resumed = read_newest_checkpoint(folder, facts, *target);
    ASSERT_TRUE(resumed) << resumed.error().message;
    for (const auto array :
         {StateArray::weights, StateArray::first_moments, StateArray::second_moments}) {
      EXPECT_EQ(testing::state_of(*target, array), testing::state_of(*source, array));
    }
    three_steps(*source, 4);
    three_steps(*target, 4);
    const auto a = testing::state_of(*target, StateArray::weights);
    const auto b = testing::state_of(*source, StateArray::weights);
    EXPECT_TRUE(testing::within(1e-4, source->parameters(), a, b));
  }
}

}  // namespace
}  // namespace bert
