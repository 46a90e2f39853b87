// MemoryRules: device memory that trainers say they used at most.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/format.h"

namespace bertbench {

class MemoryRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  /// True when the line is one of these: it tells nothing else.
  bool see(const Line& line);

  /// The most that lines [begin_line, end_line) tell of; nothing when they tell of none.
  [[nodiscard]] std::optional<MemoryUse> most(std::int64_t begin_line, std::int64_t end_line) const;

 private:
  struct Statement {
    std::int64_t line = 0;
    MemoryUse use;
  };
  /// Repetitions of the newest value are left out.
  std::vector<Statement> statements_;
};

}  // namespace bertbench
