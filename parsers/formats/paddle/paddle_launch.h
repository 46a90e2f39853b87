// PaddleLaunch: what the command line and the launcher of a Paddle run state about it.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/facts.h"
#include "parsers/core/line.h"

namespace bertbench {

/// The command line stands before the log or, with `set -x` after `tee`, after it.
class PaddleLaunch {
 public:
  void see(const Line& line);
  /// Cards, nodes and merged gradients, as far as they are stated.
  void give_to(Facts& facts) const;

  /// Trainers of parameter servers.
  [[nodiscard]] std::optional<std::int64_t> trainers() const { return trainers_; }
  /// Steps that are planned, counted as the lines count them.
  [[nodiscard]] std::optional<std::int64_t> max_steps() const { return max_steps_; }
  /// The launcher's last word, on the other stream: the last steps may stand after it.
  [[nodiscard]] bool ended_well() const { return ended_well_; }

 private:
  std::optional<std::int64_t> cards_, nodes_, merge_, max_steps_, trainers_;
  bool ended_well_ = false;
};

}  // namespace bertbench
