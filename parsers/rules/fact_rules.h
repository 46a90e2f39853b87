// FactRules: facts that logs of many formats state the same way (command lines, Namespace(...),
// shell traces, launcher arguments), with its parts for software and hardware, memory and scores.
// Fed by the same anchor pass as the formats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/core/line.h"
#include "parsers/core/run_log.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

class RunDraft;

/// Device memory that a run used at most, as its log states it.
///
/// Trainers print what PyTorch calls max_memory_allocated. Three sources state it otherwise:
///
///   Hugging Face Trainer (--skip_memory_metrics False), in its closing dict, in the table of
///   log_metrics (MB = 2^20) and in train_results.json. TrainerMemoryTracker of
///   transformers/trainer_utils.py: of each stage, alloc_delta is what was allocated at its end
///   less at its begin, and peaked_delta is the stage's peak less its end, so (documentation of
///   Trainer.log_metrics) alloc_delta + peaked_delta is what the stage needed beyond its begin.
///   The stage "train" begins with what stood before "init" and what that left, hence
///     peak = before_init_mem_gpu + init_mem_gpu_alloc_delta
///            + train_mem_gpu_alloc_delta + train_mem_gpu_peaked_delta
///   or the peak of "init" by the same rule, where that is more. Releases before 4.9 do not print
///   before_init_mem_gpu: it counts as 0 there, and the peak is then the least that was used.
///   It is of one process and its first GPU, without caches of the allocator and the context.
///
///   nvidia-smi's table in a log, while the run trains: of one moment, with all that uses the GPU.
///   A table from before the first record shows nothing of the run but the GPU's capacity
///   (quoted/facts.nvidia_smi_tells_of_a_run_only_while_it_runs).
///
///   The format's own statement (a user's format, bert_train's summary) goes before all of them.
class MemoryRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  /// The line holds one of the literals, see Line::at.
  void see(const Line& line);

  /// Sets RunLog::memory to the most that lines [0, end_line) state of a run whose first record is
  /// in line `first_record`; to nothing when they state none.
  void set_memory(RunLog& run, std::int64_t first_record, std::int64_t end_line) const;

 private:
  struct Statement {
    std::int64_t line = 0;
    MemoryUse use;
    bool moment = false;  ///< nvidia-smi's
  };
  void state(const Statement& statement);
  void read_trainer(const Line& line);
  void read_nvidia_smi(const Line& line);

  /// What the Trainer printed since the last whole statement, in bytes.
  struct Stages {
    std::optional<double> before, init_alloc, init_peaked, train_alloc, train_peaked;
  };
  Stages stages_;
  /// Repetitions of the newest value are left out.
  std::vector<Statement> statements_;
};

/// What a log states of the model's quality after an evaluation: exact match, F1 and accuracy, as
/// SQuAD's and GLUE's scripts, the Trainer of Hugging Face and the rest print them.
class ScoreRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);

  /// The last value of each score that lines [begin_line, end_line) state, in percent by the names
  /// "exact_match", "f1" and "accuracy". Scores that are all at most 1 are fractions there.
  [[nodiscard]] std::map<std::string, double> last(std::int64_t begin_line,
                                                   std::int64_t end_line) const;

 private:
  struct Statement {
    std::int64_t line = 0;
    std::string_view score;
    double value = 0;
  };
  std::vector<Statement> statements_;  ///< bounded: of very many the newest ones stay
};

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
    cuda,          ///< a library that was opened
    planned,       ///< optimizer steps that the run aims at
    loader_batch,  ///< of a command line next to which DeepSpeed has a configuration of its own
    communicator,  ///< ranks of a communicator of NCCL; 0 = it cannot be of all
    estimator_workers,
    estimator_strategy,  ///< "None": what a worker trains is not distributed over devices
    version,             ///< of software, or a name of hardware: Statement::name states which
    axis,                ///< likewise of an option that a comparison holds equal
    count_
  };
  struct Statement {
    std::int64_t line = 0;
    Key key = Key::count_;
    std::string value;
    std::int64_t newest_line = 0;  ///< where it was stated again
    std::string_view name{};       ///< "nccl", "gpu", "gpu_count" ..., "optimizer" ...
  };
  /// A command line of bert_train: the part of the identity that lies in its options.
  struct OptionStatement {
    std::int64_t line = 0;
    std::map<std::string, std::string> axes;
  };
  /// How a value is written.
  enum class Form {
    size,     ///< a count of 1 or more, digits grouped or not
    version,  ///< begins with a digit; '+' and what follows belong to it, but not in NCCL's
    number,   ///< a plain number; 0 is stated as well
    word,     ///< letters, digits, '_', in lower case
    on,       ///< a word that is "true"
    option,   ///< of a command line: on, unless "False" or "0" stands after it
  };
  struct Rule;
  struct Stated;  ///< what holds of one run
  void state(const Line& line, Key key, std::string_view value, std::string_view name = {});
  /// Nothing where there is no count.
  void state_count(const Line& line, Key key, std::optional<std::int64_t> count);
  /// Ranks of the job, and of a node where they are known and divide them.
  void state_job(const Line& line, std::int64_t all, std::optional<std::int64_t> each);
  void state_options(const Line& line, std::string_view command);
  [[nodiscard]] const OptionStatement* options_of(const RunDraft& run, std::int64_t before_line,
                                                  std::int64_t end_line) const;
  [[nodiscard]] std::optional<Statement> one_communicator(std::int64_t end_line) const;
  /// Those of other launches are left out.
  [[nodiscard]] Stated stated_of(const RunDraft& run, std::int64_t before_line,
                                 std::int64_t end_line) const;
  /// What stands after a rule's literal: a size, a number of ranks, torch's name of a type.
  void state_size(const Line& line, Key key);
  void state_value(const Line& line, std::string_view name, Form form);
  void state_ranks(const Line& line);
  void read_world_size(const Line& line);
  void state_type(const Line& line, Cursor type);
  /// The half precision that the option's value names, if it does.
  void state_half(const Line& line, std::string_view option);
  void read_arguments(const Line& line);
  void read_contexts(const Line& line);
  void read_model(const Line& line);
  void read_precision(const Line& line);
  void read_launcher(const Line& line);
  void read_torch_launch(const Line& line);
  void read_command(const Line& line);
  void read_bert_train(const Line& line);
  void read_simulated_cluster(const Line& line);
  void read_environment(const Line& line);
  void read_communicator(const Line& line);
  void read_paddle_launch(const Line& line);
  void read_process(const Line& line);
  void read_listed_gpu(const Line& line);
  void read_gpu_of_nvidia_smi(const Line& line);
  void read_gpu_of_tensorflow(const Line& line);
  void read_gpu_of_fairseq(const Line& line);
  void state_gpu(const Line& line, std::string_view name,
                 std::optional<std::int64_t> index = std::nullopt);

  std::vector<Statement> statements_;
  std::vector<OptionStatement> options_;  ///< of bert_train, in order
  MemoryRules memory_;
  ScoreRules scores_;
  /// Newest lines with an option of torchrun's for the nodes, and with one for ranks only.
  std::int64_t nodes_line_ = -1000, one_node_line_ = -1000;
  std::int64_t gpus_ = 0, gpu_line_ = 0;  ///< of the list of GPUs that was seen last
  bool evaluating_ = false;               ///< between "Running evaluation" and "Running training"
};

}  // namespace bertbench
