// MllogSetting: what an MLPerf log states of its batch, its processes and its benchmark.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parsers/core/facts.h"

namespace bertbench {

/// What a log states once, for all of its runs.
struct MllogSetting {
  std::string benchmark;
  std::optional<double> global_batch, accumulation, sequence_length, data_set;
  std::optional<double> epoch_samples;               ///< samples that the log calls an epoch
  std::optional<double> ranks, nodes, accelerators;  ///< of a run of the HPC benchmarks
  std::optional<double> local_batch;                 ///< of one process
  std::optional<double> micro_batch, tensor, pipeline, context;  ///< from round 5.1 on
  std::string precision;  ///< the lowest one of linear layers; empty if it has no name here
  bool loosely = false;   ///< the batch is stated under round 0.5's key
  bool old = false;       ///< the lines are of rounds 0.5 and 0.6
  bool varied = false;    ///< train_samples was stated with several values: it is no data set
  /// Of the Transformer: Google's are sentences, 2048 of up to 256 tokens. As tokens these would be
  /// a few of the longest sentences for thousands of chips.
  [[nodiscard]] bool in_tokens() const {
    constexpr double kLongest = 32;
    const bool few = global_batch && *global_batch < kLongest * sequence_length.value_or(0);
    return benchmark == "transformer" && !few;
  }
  /// Where the value of this key goes that is a number and no more; or null.
  [[nodiscard]] static std::optional<double> MllogSetting::*number_of(std::string_view key);
  /// The batch of one GPU, where none shares it with others.
  [[nodiscard]] std::optional<double> batch_of_one() const;
  /// GPUs that share the batch evenly.
  [[nodiscard]] std::optional<double> processes() const;
  [[nodiscard]] static bool names_precision(std::string_view key);
  void see_precision(std::string_view name);
  [[nodiscard]] Facts facts() const;
  [[nodiscard]] bool is_ssd() const { return benchmark == "ssd" || benchmark == "retinanet"; }
};

}  // namespace bertbench
