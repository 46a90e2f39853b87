// What stands in the lines of MindSpore's callbacks; parsers/formats/mindspore/mindspore.cpp makes
// runs of it.
#pragma once

#include <cstdint>
#include <optional>

#include "parsers/core/line.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

inline constexpr std::int64_t kMostMindspore = 1'000'000'000;  ///< epochs or steps: products fit

struct MindsporeDuration {
  double ms = 0;
  bool in_seconds = false;  ///< shown in seconds, with fewer digits
};
/// Milliseconds unless "s" is printed; some scripts print "16.7 s", some "31.05s".
[[nodiscard]] std::optional<MindsporeDuration> mindspore_duration(Cursor& cursor);

/// "epoch 2: ", "epoch[2/200], ", "epoch: [2/90] " before the times.
[[nodiscard]] std::optional<std::int64_t> mindspore_epoch(const Line& line);

/// A line of steps, MindOCR's or MindYOLO's.
struct MindsporeStep {
  std::int64_t epoch = 0, epochs = 0, step = 0, all = 0;  ///< from 1; steps of the epoch
  double each_ms = 0;                                     ///< of a step since the line before
  double images_per_s = 0;                                ///< 0: not printed
  bool per_card = false;                                  ///< images/s are labelled as of one card
  std::optional<double> loss;
};
[[nodiscard]] std::optional<MindsporeStep> mindspore_step(const Line& line);

/// "Epoch:[  1/  2], step:[    2/   19], loss: 10.6, per_step_time: 1865ms, ..." of MindFormers.
struct MindformersLine {
  std::int64_t epoch = 1, epochs = 0, step = 0, all = 0;  ///< from 1; 0 epochs: not printed
  double ms = 0;                                          ///< of a step
  bool of_sink = false;                                   ///< or of a sink of steps (2023)
  std::optional<double> loss;
};
[[nodiscard]] std::optional<MindformersLine> mindformers_line(const Line& line);

}  // namespace bertbench
