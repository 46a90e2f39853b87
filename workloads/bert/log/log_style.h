// LogStyle: how the log of a run is printed. One file per style, one list of them all.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/bert/core/train_options.h"
#include "workloads/bert/log/timings.h"

namespace bert {

/// What is known of a run before its first step: its options, and what they led to.
struct RunFacts : TrainOptions {
  RunFacts() = default;
  explicit RunFacts(const TrainOptions& options) : TrainOptions(options) {}

  std::string backend_description, communicator, data_description;
  std::string gpu;                       ///< as Backend::gpu()
  std::int64_t masked_per_sequence = 0;  ///< predicted positions
  bool next_word = false;  ///< GPT-2: they are all, and masked_lm is the loss of the next word
  /// A rank counts as a GPU; 0 = unknown. With --comm sim those of the simulated cluster.
  int world_size = 1, nodes = 0, gpus_per_node = 0;
  int ranks = 1;  ///< that run
  std::int64_t parameters = 0;
  std::int64_t first_step = 1;  ///< optimizer step; the last one that is intended is `steps`
  std::int64_t planned_bytes = 0;
  std::string simulated_topology;  ///< empty unless --comm sim
  std::string launcher;            ///< whose variables named the ranks
  std::string host;
  std::string version, commit, compiler;
  std::string emulated_by;            ///< as Backend::emulated_by()
  std::vector<std::string> settings;  ///< of backend and communicator: versions, variables

  [[nodiscard]] std::int64_t global_batch_size() const {
    return micro_batch_size * gradient_accumulation_steps * world_size;
  }
};

/// What parts of a step took on this rank, in seconds; below 0: not measured. What runs at the same
/// time counts in each.
struct StepParts {
  double forward = -1, backward = -1;  ///< of all micro-steps
  double reduce = -1;                  ///< of gradients over ranks, while nothing else ran
  double optimizer = -1;
  double data = -1;  ///< the host makes the batches
};

/// One optimizer step, the same on every rank.
struct StepFacts {
  std::int64_t step = 0;  ///< from 1, over the whole training
  double loss = 0;        ///< mean over the global batch; masked_lm + next_sentence
  double masked_lm = 0, next_sentence = 0;
  double last_micro_loss = 0;  ///< of the last micro-step, mean over ranks
  double learning_rate = 0;
  double gradient_norm = 0;  ///< before clipping
  /// Of all ranks' sequences, padding left out: tokens, and their square, which attention computes
  /// on. 0 = unknown.
  double mean_length = 0, mean_square_length = 0;
  double communication_s = 0, exposed_communication_s = 0;
  StepParts parts;
  double device_s = -1;   ///< of the step by the device's clock; below 0 = not measured
  double loss_scale = 0;  ///< fp16; 0 = none
  bool skipped = false;   ///< a gradient overflowed: no update
  double next_loss_scale = 0;
};

/// Of a batch of inference, by the host's clock from the batch to its result.
struct Latency {
  static constexpr std::array<int, 4> kShares = {50, 90, 95, 99};  ///< per cent of the batches
  std::int64_t count = 0;                                          ///< of batches; 0 = none timed
  double mean_s = 0, most_s = 0;
  /// The least time that kShares[i] per cent of the batches did not exceed (nearest rank).
  std::array<double, kShares.size()> percentile_s{};
};

/// Of a fine-tuned model on held-out sequences, per cent; below 0 = does not apply.
struct Scores {
  std::int64_t sequences = 0;
  double exact_match = -1, f1 = -1, accuracy = -1;
};

struct RunEnd {
  std::int64_t step = 0;        ///< last step that was done
  std::int64_t steps_done = 0;  ///< in this run
  double training_s = 0;        ///< from the start of the first step to the end of the last
  double data_s = 0;            ///< in which batches were made
  /// The part of it in which nothing was computed: on the CPU all, next to a device at most what
  /// the step took longer than the device.
  double data_wait_s = 0;
  int signal = 0;                   ///< that ended it, 0 = ran to its end
  std::int64_t first_nan_step = 0;  ///< 0 = none
  std::int64_t peak_bytes = 0;
  std::int64_t predicted_peak_bytes = 0, measured_peak_bytes = 0;  ///< 0 = unknown
  bool loss_scaling = false;
  std::int64_t skipped_steps = 0;  ///< of this run, without an update (fp16)
  std::string checkpoint;          ///< file that was written, empty = none
  Latency latency;
  Scores scores;
};

/// Calls: begin, then per micro-step micro_step, where the last of an optimizer step comes after
/// step(), as a progress bar around the original's loop body does; then end. Stamps never go back.
class LogStyle {
 public:
  virtual ~LogStyle() = default;
  virtual void begin(const RunFacts& facts, Stamp now) = 0;
  virtual void micro_step(std::int64_t /*done*/, Stamp /*now*/) {}
  virtual void step(const StepFacts& facts, Stamp now) = 0;
  /// A checkpoint of the newest step was written. Those of other trainers' styles print what those
  /// trainers print at their end.
  virtual void checkpoint(std::int64_t /*step*/, const std::string& /*path*/, Stamp /*now*/) {}
  virtual void end(const RunEnd& end, Stamp now) = 0;
};

/// A style's entry in the list. `make` writes to a stream that outlives the style.
struct LogStyleEntry {
  std::string_view name;
  std::unique_ptr<LogStyle> (*make)(std::ostream& out);
};
[[nodiscard]] const LogStyleEntry* find_log_style(std::string_view name);  ///< null: none
[[nodiscard]] std::vector<std::string> log_style_names();

}  // namespace bert
