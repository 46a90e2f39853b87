// FactRules: facts that logs of many formats state the same way (command lines, Namespace(...),
// shell traces, launcher arguments). Fed by the same anchor pass as the formats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/rules/environment_rules.h"
#include "parsers/rules/memory_rules.h"
#include "parsers/rules/score_rules.h"

namespace bertbench {

class RunDraft;

class FactRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);

  /// Adds to a run what was stated before `end_line`, where the next run begins: before its first
  /// record the newest statement counts, after it only what is still unknown is taken. After
  /// `before_line`, where the run before ended (0: none), a launch that states its ranks or its
  /// precision states all of it. Statements that disagree are notices. What the format itself found
  /// stays.
  void apply(RunDraft& run, std::int64_t before_line, std::int64_t end_line) const;
  /// What the log has stated so far of a run that is still going on.
  [[nodiscard]] Facts so_far(const RunDraft& run) const;

 private:
  enum class Key {
    batch_argument,  ///< divided by the accumulation in NVIDIA's and the first Hugging Face scripts
    micro_batch,
    script_batch,  ///< "Batch size = 32" of a script: of all GPUs that its process drives
    process_gpus,  ///< GPUs of one process (torch's DataParallel)
    global_batch,
    tf_batch,  ///< of all devices, or of each: TensorFlow scripts differ
    accumulation,
    gpus_per_node,
    nodes,
    world,
    sequence_length,
    precision,
    no_half,  ///< a switch of half precision is off
    no_amp,   ///< automatic mixed precision was asked for and left out
    model,
    framework,
    cuda,
    planned,       ///< optimizer steps that the run aims at
    loader_batch,  ///< of a command line next to which DeepSpeed has a configuration of its own
    communicator,  ///< ranks of a communicator of NCCL; 0 = it cannot be of all
    estimator_workers,
    estimator_strategy,  ///< "None": what a worker trains is not distributed over devices
    count_
  };
  struct Statement {
    std::int64_t line = 0;
    Key key = Key::count_;
    std::string value;
    std::int64_t newest_line = 0;  ///< where it was stated again
  };
  /// A command line of bert_train: the part of the identity that lies in its options.
  struct OptionStatement {
    std::int64_t line = 0;
    std::map<std::string, std::string> axes;
  };
  struct Stated;  ///< what holds of one run
  void state(const Line& line, Key key, std::string_view value);
  void state_options(const Line& line, std::string_view command);
  [[nodiscard]] const OptionStatement* options_of(const RunDraft& run, std::int64_t before_line,
                                                  std::int64_t end_line) const;
  [[nodiscard]] std::optional<Statement> one_communicator(std::int64_t end_line) const;
  /// Those of other launches are left out.
  [[nodiscard]] Stated stated_of(const RunDraft& run, std::int64_t before_line,
                                 std::int64_t end_line) const;
  void read_arguments(const Line& line);
  void read_contexts(const Line& line);
  void read_model(const Line& line);
  void read_megatron_command(const Line& line);
  void read_engine_batch(const Line& line);
  void read_communicator(const Line& line);
  void read_bert_train(const Line& line);
  void read_dll_parameter(const Line& line);
  void read_launcher(const Line& line);
  void read_process(const Line& line);
  void read_estimator(const Line& line);
  void read_environment(const Line& line);
  void read_nvidia_options(const Line& line);
  void read_torch_launch(const Line& line);
  void read_paddle_launch(const Line& line);
  void read_command(const Line& line);
  void read_announcement(const Line& line);
  void read_precision(const Line& line);
  void read_framework(const Line& line);

  std::vector<Statement> statements_;
  std::vector<OptionStatement> options_;  ///< of bert_train, in order
  EnvironmentRules environment_;
  MemoryRules memory_;
  ScoreRules scores_;
  /// Newest lines with an option of torchrun's for the nodes, and with one for ranks only.
  std::int64_t nodes_line_ = -1000, one_node_line_ = -1000;
  bool evaluating_ = false;  ///< between "Running evaluation" and "Running training"
};

}  // namespace bertbench
