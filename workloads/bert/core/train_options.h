// TrainOptions: what a run of bert_train was asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"

namespace bert {

/// Schedule: the learning rate of each optimizer step.
/// Linear warm-up, then polynomial decay to zero, as BERT is trained (power 1 in Devlin et al.,
/// 0.5 in NVIDIA's LAMB recipe), or exponential decay (DeepSpeed's bing_bert).
struct Schedule {
  enum class Decay { polynomial, exponential };
  double peak = 1e-4;             ///< learning rate at the end of the warm-up
  std::int64_t warmup_steps = 0;  ///< optimizer steps
  std::int64_t decay_steps = 1;   ///< optimizer steps in all, warm-up included; zero after these
  double power = 1;               ///< 0 = constant after the warm-up
  Decay decay = Decay::polynomial;
  double rate = 0.9;               ///< exponential: factor for each rate_steps
  std::int64_t rate_steps = 1000;  ///< optimizer steps

  /// Learning rate of optimizer step `step`, counted from 1:
  ///   step <= warmup:  peak * step / warmup
  ///   polynomial:      peak * (1 - (step - 1 - warmup) / (decay - warmup)) ^ power, at least 0
  ///   exponential:     peak * rate ^ ((step - warmup) / rate_steps)
  /// The last is warmup_linear_decay_exp of DeepSpeedExamples/bing_bert, whose steps count from 0.
  [[nodiscard]] double learning_rate(std::int64_t step) const;
};

/// The cluster that --comm sim simulates. Defaults: 8-GPU nodes, NVLink inside, 100 Gbit/s
/// Ethernet.
struct SimulatedCluster {
  int nodes = 1;
  int gpus_per_node = 1;
  double latency_in_node_s = 5e-6;
  double latency_across_s = 20e-6;
  double bandwidth_in_node = 200e9;  ///< bytes/s, bus bandwidth of a ring inside a node
  double bandwidth_per_node = 11e9;  ///< bytes/s between nodes

  [[nodiscard]] std::string label() const {  ///< "4n8g"
    return std::to_string(nodes) + "n" + std::to_string(gpus_per_node) + "g";
  }
  [[nodiscard]] int world_size() const { return nodes * gpus_per_node; }
};

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
  std::string vocabulary;  ///< file; empty = learnt, where one is needed
  bool whole_word_masking = false;
  std::string lengths = "full";  ///< of sequences, by the names in data/sequence_source.h
  double dropout = 0.1;
  bool activation_checkpointing = false;
  Gelu gelu = Gelu::erf;
  bool unpadded = false;
  bool inference = false;  ///< forward only
  std::string task = "pretraining";
  bool shuffle_labels = false;
  bool all_positions = false;   ///< logits at every position
  std::int64_t evaluate = 512;  ///< held-out sequences that a fine-tuned model is scored on
  std::string
      init_checkpoint;  ///< folder whose weights training begins with; empty = from the seed
  LossScaleOptions loss_scale;
  bool probe_pairs = false;            ///< no training: what an all-reduce takes each pair of ranks
  double handicap = 0;                 ///< share of each step that is spun away, to prove a gate
  std::int64_t handicapped_rank = -1;  ///< the rank that does so; below 0: all
  double turn_s = 0;  ///< of a turn among the trainers of a machine; 0: it runs by itself

  OptimizerOptions optimizer;
  Schedule schedule;
  /// schedule.decay_steps was not given: it is `steps` less those of the phases before.
  bool decay_until_last_step = false;
  double gradient_clipping = 1.0;  ///< bound of the global L2 norm, 0 = none

  std::string log_style = "native";
  std::int64_t log_every = 1;  ///< optimizer steps
  std::string timings;         ///< path, empty = none
  std::string checkpoint;      ///< folder, empty = none
  std::int64_t checkpoint_every = 0;
  std::string resume;
  bool new_phase = false;  ///< `resume` is the end of a phase before this one

  bool deterministic = false;
  int threads = 0;  ///< 0: cores / ranks of the node
  std::string comm = "auto";
  double comm_timeout_s = 120;
  double bucket_mb = 8;         ///< 2^20 bytes
  int zero_stage = 0;           ///< 1: optimizer state is sharded over ranks
  std::string algorithm_cache;  ///< file, empty = none
  Epilogues matmul_epilogues = Epilogues::automatic;
  AttentionBy attention = AttentionBy::kernels;
  CudaGraphs cuda_graph = CudaGraphs::off;
  double memory_limit_mb = 0;  ///< 2^20 bytes that this rank may plan to use, 0 = what there is
  SimulatedCluster cluster;
  bool cluster_named = false;  ///< else its topology is that of the ranks that run
  int expect_world_size = 0;   ///< 0: not checked

  std::vector<std::string> command;  ///< argv as given, for the log

  [[nodiscard]] std::int64_t bucket_bytes() const {
    return static_cast<std::int64_t>(bucket_mb * (1 << 20));
  }
  [[nodiscard]] const char* optimizer_name() const {
    return optimizer.kind == OptimizerOptions::Kind::lamb ? "lamb" : "adamw";
  }
  /// The named model with what the options change in it.
  [[nodiscard]] ModelConfig configured_model() const {
    ModelConfig config = *named_model(model);
    config.hidden_dropout = config.attention_dropout = dropout;
    config.gelu = gelu;
    config.head_everywhere = all_positions;
    if (task == "squad") config.objective = Objective::spans;
    if (task == "classification") config.objective = Objective::classes;
    return config;
  }
};

}  // namespace bert
