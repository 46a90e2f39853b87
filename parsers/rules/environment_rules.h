// EnvironmentRules: what logs of many trainers state about software and hardware in the same
// words: versions of CUDA, cuDNN, NCCL and frameworks, name and number of the GPUs that are listed
// ("gpu_count": of a node or of all workers, as the log lists them), the optimizer, clipping.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/facts.h"
#include "parsers/core/line.h"

namespace bertbench {

class EnvironmentRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);

  /// Adds what was stated before `end_line` and is not known yet. Up to `first_record` the newest
  /// statement counts, after it only what is still unknown is taken.
  void apply(Facts& facts, std::int64_t end_line, std::int64_t first_record) const;

 private:
  struct Statement {
    std::int64_t line = 0;
    std::string_view key;  ///< of a rule: versions "nccl", "gpu" ..., axes "optimizer" ...
    std::string value;
    bool axis = false;
  };
  void state(const Line& line, std::string_view key, std::string value, bool axis);
  void read_gpu(const Line& line);
  void read_gpu_index(const Line& line, std::int64_t index);

  std::vector<Statement> statements_;
  std::int64_t gpus_ = 0, gpu_line_ = 0;  ///< of the list of GPUs that was seen last
};

}  // namespace bertbench
