// TrainOptions: the command line of bert_train.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "workloads/bert/backend.h"
#include "workloads/bert/comm/sim.h"
#include "workloads/bert/failure.h"
#include "workloads/bert/schedule.h"

namespace bert {

struct TrainOptions {
  std::string model = "bert-tiny";
  std::string backend = "cpu";
  std::string precision = "fp32";
  std::int64_t micro_batch_size = 8;             ///< sequences per rank per micro-step
  std::int64_t gradient_accumulation_steps = 1;  ///< micro-steps per optimizer step
  std::int64_t sequence_length = 128;
  std::int64_t steps = 100;  ///< the last optimizer step, counted from the start of training
  std::uint64_t seed = 1;
  std::string data = "synthetic";
  bool variable_lengths = false;
  double dropout = 0.1;
  bool activation_checkpointing = false;
  Gelu gelu = Gelu::erf;
  bool unpadded = false;
  bool inference = false;  ///< forward only
  LossScaleOptions loss_scale;

  OptimizerOptions optimizer;
  Schedule schedule;
  double gradient_clipping = 1.0;  ///< bound of the global L2 norm, 0 = none

  std::string log_style = "native";
  std::int64_t log_every = 1;  ///< optimizer steps
  std::string timings;         ///< path, empty = none
  std::string checkpoint;      ///< folder, empty = none
  std::int64_t checkpoint_every = 0;
  std::string resume;

  bool deterministic = false;
  int threads = 0;  ///< 0: cores / ranks of the node
  std::string comm = "auto";
  double comm_timeout_s = 120;
  double bucket_mb = 8;         ///< 2^20 bytes
  int zero_stage = 0;           ///< 1: optimizer state is sharded over ranks
  std::string algorithm_cache;  ///< file, empty = none
  bool matmul_epilogues = true;
  double memory_limit_mb = 0;  ///< 2^20 bytes that this rank may plan to use, 0 = what there is
  SimulatedCluster cluster;
  bool cluster_named = false;  ///< else its topology is that of the ranks that run
  int expect_world_size = 0;   ///< 0: not checked

  std::vector<std::string> command;  ///< argv as given, for the log
};

/// Help or version that was asked for: print to stdout, end with status 0.
struct TextAnswer {
  std::string text;
};

/// Every value is checked for range and name here; what a backend lacks is found when it is made.
[[nodiscard]] Result<std::variant<TrainOptions, TextAnswer>> parse_options(int argc,
                                                                           const char* const* argv);

}  // namespace bert
