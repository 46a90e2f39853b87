// StatedRules: what trainers print of one GPU next to their steps, known by the unit.
//
//   throughput per GPU (TFLOP/s/GPU): 812.5 | energy per GPU (J/iter/GPU): 4311.2 |
//     power per GPU (W/GPU): 623.1 |                                          (Megatron-LM)
//   Step Time : 9.12s GPU utilization: 812.5MODEL_TFLOP/s/GPU                 (Megatron-Bridge)
//   throughput per GPU (TFLOP/s/GPU): 612.4/610.2 | tokens per GPU (tokens/s/GPU): 9.1/9.0 (Primus)
//   TFLOP/s/device: 120.123, Tokens/s/device: 4000.0                          (MaxText)
//   tps: 6,709  tflops: 62.26  mfu: 20.88%                                    (torchtitan)
//
// Where two numbers stand, the first is of the newest steps, the second a mean since the start.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "parsers/core/line.h"
#include "parsers/core/stated_values.h"

namespace bertbench {

class StatedRules {
 public:
  /// What stands on every such line, next to the value.
  struct Anchor {
    std::string_view literal;
    StatedValue of;
  };
  static constexpr auto kAnchors =
      std::to_array<Anchor>({{"TFLOP/s/GPU", StatedValue::tflops},
                             {"TFLOP/s/device", StatedValue::tflops},
                             {"  tflops: ", StatedValue::tflops},
                             {"(W/GPU)", StatedValue::watts},
                             {"(J/iter/GPU)", StatedValue::joules},
                             {"(tokens/s/GPU)", StatedValue::tokens},
                             {"Tokens/s/device", StatedValue::tokens}});

  /// `anchor`: its place in kAnchors; `begin`: where it stands in the line.
  void see(const Line& line, std::size_t anchor, std::size_t begin);
  /// Those of the lines [begin_line, end_line).
  [[nodiscard]] StatedSeries of(std::int64_t begin_line, std::int64_t end_line) const;

 private:
  StatedSeries values_;
};

}  // namespace bertbench
