// MarkRules: lines about work other than training steps, so that a report can show where the time
// went. Fed by the same anchor pass as the formats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/run_log.h"
#include "parsers/core/stated_values.h"
#include "parsers/rules/rank_time_rules.h"

namespace bertbench {

/// NonFiniteRules: gradient norms and results of evaluations that a log prints as NaN. Unlike a
/// loss that is NaN they end no training, but what follows is worth a look: NVIDIA's Transformer
/// (corpus nvidia-dle-pytorch/transformer_v100_fp16_gpu1_nanwarn.log, line 7238), Megatron-LM
/// (quoted/nonfinite_rules.name_the_step_of_a_gradient_norm_or_an_evaluation_that_is_nan).
class NonFiniteRules {
 public:
  void see(const Line& line);

  /// Adds to the run what lines [begin_line, end_line) print: how many there are and the step of
  /// the first.
  void add_notices(RunLog& run, std::int64_t begin_line, std::int64_t end_line) const;

 private:
  static constexpr std::size_t kLinesHeld = 4096;  ///< of each; bounded: a log may print no others
  std::vector<std::int64_t> gradients_, evaluations_;
};

/// OverflowRules: the fp16 loss scaler of apex.amp, whose lines each rank prints for itself (corpus
/// nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log: 8 ranks, 24 lines, 3 steps).
///
///   Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0
///
/// The trainers that use it count such a step as any other. Skipped steps that a format's own lines
/// state go before these.
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
  struct Overflow {
    std::int64_t line = 0;
    double scale = 0;  ///< the new one
    int rank = -1;     ///< of a label; -1 = none
  };
  static constexpr std::size_t kOverflowsHeld = 16384;  ///< bounded: a log may hold nothing else
  std::vector<Overflow> overflows_;
};

/// StatedRules: what trainers print of one GPU next to their steps, known by the unit.
///
///   throughput per GPU (TFLOP/s/GPU): 812.5 | energy per GPU (J/iter/GPU): 4311.2 |
///     power per GPU (W/GPU): 623.1 |                                          (Megatron-LM)
///   Step Time : 9.12s GPU utilization: 812.5MODEL_TFLOP/s/GPU                 (Megatron-Bridge)
///   throughput per GPU (TFLOP/s/GPU): 612.4/610.2 |
///     tokens per GPU (tokens/s/GPU): 9.1/9.0                                  (Primus)
///   TFLOP/s/device: 120.123, Tokens/s/device: 4000.0                          (MaxText)
///   tps: 6,709  tflops: 62.26  mfu: 20.88%                                    (torchtitan)
///
/// Where two numbers stand, the first is of the newest steps, the second a mean since the start.
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

/// "Starting training!": in any of the languages of logs of loops that people wrote for themselves.
[[nodiscard]] bool announces_training(std::string_view line);
/// "Saving model to out/model.pt", "Saving checkpoint run/model_step_15000.pt"
[[nodiscard]] bool saves_model(std::string_view line);

class MarkRules {
 public:
  /// Lines without any of these are never looked at.
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);
  /// Marks on the lines [begin_line, end_line), in order.
  [[nodiscard]] std::vector<Mark> of(std::int64_t begin_line, std::int64_t end_line) const;
  [[nodiscard]] const OverflowRules& overflows() const { return overflows_; }
  [[nodiscard]] const NonFiniteRules& nonfinite() const { return nonfinite_; }
  [[nodiscard]] const RankTimeRules& rank_times() const { return rank_times_; }
  [[nodiscard]] const StatedRules& stated() const { return stated_; }
  /// Whether an evaluation begins on one of the lines (after_line, before_line), and nothing on
  /// those that follow it up to there begins a training.
  [[nodiscard]] bool evaluates(std::int64_t after_line, std::int64_t before_line) const;
  /// Whether a training or a launch begins on one of the lines (after_line, before_line).
  [[nodiscard]] bool trains(std::int64_t after_line, std::int64_t before_line) const;

 private:
  void mark(MarkKind kind, std::int64_t line);

  static constexpr std::size_t kMostMarks = 4096;  ///< bounded: a log may hold nothing else
  std::vector<Mark> marks_;
  std::vector<std::int64_t> trainings_;  ///< lines on which a training or a launch begins
  OverflowRules overflows_;
  NonFiniteRules nonfinite_;
  RankTimeRules rank_times_;
  StatedRules stated_;
};

}  // namespace bertbench
