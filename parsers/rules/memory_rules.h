// MemoryRules: device memory that a run used at most, as its log states it.
//
// Trainers print what PyTorch calls max_memory_allocated. Three sources state it otherwise:
//
//   Hugging Face Trainer (--skip_memory_metrics False), in its closing dict, in the table of
//   log_metrics (MB = 2^20) and in train_results.json. TrainerMemoryTracker of
//   transformers/trainer_utils.py: of each stage, alloc_delta is what was allocated at its end
//   less at its begin, and peaked_delta is the stage's peak less its end, so (documentation of
//   Trainer.log_metrics) alloc_delta + peaked_delta is what the stage needed beyond its begin.
//   The stage "train" begins with what stood before "init" and what that left, hence
//     peak = before_init_mem_gpu + init_mem_gpu_alloc_delta
//            + train_mem_gpu_alloc_delta + train_mem_gpu_peaked_delta
//   or the peak of "init" by the same rule, where that is more. Releases before 4.9 do not print
//   before_init_mem_gpu: it counts as 0 there, and the peak is then the least that was used.
//   It is of one process and its first GPU, without caches of the allocator and the context.
//
//   nvidia-smi's table in a log, while the run trains: of one moment, with all that uses the GPU.
//   A table from before the first record shows nothing of the run but the GPU's capacity
//   (quoted/facts.nvidia_smi_tells_of_a_run_only_while_it_runs).
//
//   The format's own statement (a user's format, bert_train's summary) goes before all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/run_log.h"

namespace bertbench {

class MemoryRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  /// True when the line is one of these and holds nothing else.
  bool see(const Line& line);

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
  bool read_trainer(const Line& line);
  bool read_nvidia_smi(const Line& line);

  /// What the Trainer printed since the last whole statement, in bytes.
  struct Stages {
    std::optional<double> before, init_alloc, init_peaked, train_alloc, train_peaked;
  };
  Stages stages_;
  /// Repetitions of the newest value are left out.
  std::vector<Statement> statements_;
};

}  // namespace bertbench
