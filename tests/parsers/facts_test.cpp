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

struct Launch {
  const char* lines;
  std::int64_t nodes, gpus_per_node;  ///< 0 = not told
  std::int64_t world;
  const char* precision;  ///< "" = not told
};

TEST(Facts, CommandLinesOfLaunchersTellWorldAndPrecision) {
  const std::vector<Launch> launches = {
      {"deepspeed --num_gpus=8 --num_nodes 2 train.py --fp16 --lr 1\n", 2, 8, 16, "fp16"},
      {"deepspeed --num_gpus=8 train.py\n", 0, 8, 0, ""},
      {"deepspeed --include localhost:0,1,2,3 train.py\n", 1, 4, 4, ""},
      {"accelerate launch --num_processes 16 --num_machines 2 --mixed_precision bf16 a.py\n", 2, 8,
       16, "bf16"},
      {"mpirun -np 16 -H n1:8,n2:8 -x NCCL_DEBUG=INFO python a.py\n", 0, 0, 16, ""},
      {"+ mpirun --allow-run-as-root -n 16 -npernode 8 python a.py\n", 2, 8, 16, ""},
      {"mpirun -np 1 ./start_all.sh\n", 0, 0, 0, ""},
      {"horovodrun -np 4 -H localhost:4 python a.py --bf16\n", 0, 0, 4, "bf16"},
      {"srun --nodes=4 --ntasks-per-node=8 python a.py\n", 4, 8, 32, ""},
      {"Namespace(lr=0.1, world_size=8)\n", 0, 0, 8, ""},
      {"Namespace(lr=0.1, world_size=1)\n", 0, 0, 0, ""},
      {"Num processes: 8\nProcess index: 0\nMixed precision type: fp16\n", 0, 0, 8, "fp16"},
      {"Using 16bit Automatic Mixed Precision (AMP)\n"
       "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8\n",
       0, 0, 8, "fp16"},
      {"usage: a.py [--fp16] [--bf16]\n", 0, 0, 0, ""},
  };
  for (const Launch& launch : launches) {
    const Facts facts = run_behind(launch.lines).facts;
    EXPECT_EQ(facts.nodes.value.value_or(0), launch.nodes) << launch.lines;
    EXPECT_EQ(facts.gpus_per_node.value.value_or(0), launch.gpus_per_node) << launch.lines;
    EXPECT_EQ(facts.world().value_or(0), launch.world) << launch.lines;
    EXPECT_EQ(facts.precision.value.value_or(""), launch.precision) << launch.lines;
  }
}

TEST(Facts, AWorldOfAnotherSizeThanTheLauncherStartsIsANotice) {
  const RunLog run = run_behind("torchrun --nproc_per_node=8 --nnodes=2 a.py\nWORLD_SIZE=8\n");
  EXPECT_EQ(run.facts.world(), 16);
  ASSERT_EQ(run.notices.size(), 1u);
  EXPECT_THAT(run.notices[0].text, testing::HasSubstr("world size is 8"));
  EXPECT_EQ(run.notices[0].line, 2);
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
