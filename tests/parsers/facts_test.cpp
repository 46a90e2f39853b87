// Facts that trainers and launchers print in the same words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

/// A run of three bars behind `head`.
RunLog run_behind(const std::string& head) {
  auto runs = read_text(head +
                        "Iteration:  10%|#| 1/10 [00:01<00:09,  1.00it/s]\n"
                        "Iteration:  20%|##| 2/10 [00:02<00:08,  1.00it/s]\n");
  EXPECT_EQ(runs.size(), 1u);
  return runs.empty() ? RunLog{} : runs.front();
}

std::string version(const RunLog& run, const char* name) {
  const auto at = run.facts.versions.find(name);
  return at == run.facts.versions.end() ? "" : at->second;
}

TEST(Facts, APrecisionIsASwitchOfItsOwnNameOnly) {
  const std::string head = "Namespace(allreduce_post_accumulation_fp16=True, amp=False, ";
  EXPECT_EQ(run_behind(head + "fp16=False, train_batch_size=4)\n").facts.precision.value, "fp32");
  EXPECT_EQ(run_behind(head + "fp16=True, train_batch_size=4)\n").facts.precision.value, "fp16");
  EXPECT_EQ(run_behind("bf16=True,\nfp16=False,\n").facts.precision.value, "bf16");
  EXPECT_EQ(run_behind("fp16=False,\nbf16=True,\n").facts.precision.value, "bf16");
  EXPECT_EQ(run_behind("use_amp=1, use_pure_fp16=False\n").facts.precision.value, "fp16");
  EXPECT_FALSE(run_behind("use_amp='O1', fp16=False\n").facts.precision.known());
}

TEST(Facts, GpusAreCountedAsTheyAreListed) {
  const RunLog torch = run_behind("GPU 0: NVIDIA A100-SXM4-80GB\nGPU 1: NVIDIA A100-SXM4-80GB\n");
  EXPECT_EQ(version(torch, "gpu"), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(version(torch, "gpu_count"), "2");
  const RunLog mmcv = run_behind("GPU 0,1,2,3: Tesla V100-SXM2-32GB\n");
  EXPECT_EQ(version(mmcv, "gpu_count"), "4");
  const RunLog again = run_behind("GPU 0: A40\nGPU 1: A40\nGPU 0: A40\nGPU 1: A40\n");
  EXPECT_EQ(version(again, "gpu_count"), "2") << "two ranks list the same ones";
}

TEST(Facts, LaunchersTellTheWorld) {
  const RunLog srun = run_behind(
      "+ srun -l --ntasks=8 true\n"
      "+ srun -l --mpi=none --ntasks=64 --ntasks-per-node=8 run.sh\n");
  EXPECT_EQ(srun.facts.nodes.value, 8);
  EXPECT_EQ(srun.facts.gpus_per_node.value, 8);
  EXPECT_EQ(run_behind("[INFO] [launch.py:164:main] dist_world_size=16\n").facts.world(), 16);
}

TEST(Facts, VersionsOfWhatABuildUsedAreNotThoseOfTheLibrary) {
  const RunLog run = run_behind(
      "CUDA used to build PyTorch: 11.6\nPyTorch version: 1.12.0\n"
      "/usr/lib/libcudnn.so.8.4.0\n"
      "Could not load dynamic library 'libcudnn.so.7'\n");
  EXPECT_EQ(version(run, "torch"), "1.12.0");
  EXPECT_EQ(version(run, "cudnn"), "8.4.0");
}

TEST(Facts, ThePeakOfMemoryIsTheMostThatWasSaid) {
  const RunLog run = run_behind(
      "[Rank 1] memory (MB) | allocated: 10.5 | max allocated: 20.5 | reserved: 30\n"
      "[Rank 0] memory (MB) | allocated: 10.5 | max allocated: 19.5 | reserved: 30\n");
  ASSERT_TRUE(run.memory);
  EXPECT_EQ(run.memory->peak_bytes, static_cast<std::int64_t>(20.5 * (1 << 20)));
}

}  // namespace
}  // namespace bertbench
