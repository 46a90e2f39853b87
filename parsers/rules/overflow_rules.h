// OverflowRules: the fp16 loss scaler of apex.amp, whose lines each rank prints for itself (corpus
// nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log: 8 ranks, 24 lines, 3 steps).
//
//   Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0
//
// The trainers that use it count such a step as any other. Skipped steps that a format's own lines
// state go before these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"

namespace bertbench {

class OverflowRules {
 public:
  /// On every such line.
  static constexpr std::string_view kAnchor = "Gradient overflow.  Skipping step";

  void see(const Line& line);

  /// Optimizer steps skipped on the lines [begin_line, end_line): of one rank where labels
  /// distinguish the ranks, else the lines over the ranks, `world`. Nothing where it is not known
  /// how many ranks print, where no line does, or too many do.
  [[nodiscard]] std::optional<std::int64_t> steps(std::int64_t begin_line, std::int64_t end_line,
                                                  std::optional<std::int64_t> world) const;

 private:
  struct Said {
    std::int64_t line = 0;
    double scale = 0;  ///< the new one
    int rank = -1;     ///< of a label; -1 = none
  };
  static constexpr std::size_t kOverflowsHeld = 16384;  ///< bounded: a log may hold nothing else
  std::vector<Said> said_;
};

}  // namespace bertbench
