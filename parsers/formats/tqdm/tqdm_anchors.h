// The literals of tqdm's lines, and what each means for a line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parsers/core/line.h"

namespace bertbench::tqdm_anchors {

enum Kind : std::uint32_t {
  kPerSecond = 1,     ///< "it/s"
  kPerIteration = 2,  ///< "s/it"
  kOtherUnit = 4,     ///< of a bar whose unit has a name
  kProgress = 8,      ///< bing_bert's line of a step
  kStepLine = 16,     ///< NVIDIA's, or that
  kTimer = 32,        ///< DeepSpeed's timer, whose lines have a clock and a format of their own
  kLosses = 64,       ///< a loss on a line of its own
  kTrainer = 128,     ///< Hugging Face's Trainer prints it
  kClosing = 256,     ///< a statement on the whole run
  kResumed = 512,     ///< at which step the Trainer goes on
  kPlan = 1024,
  kStopped = 2048,    ///< Lightning's last words
  kEpochLine = 8192,  ///< may say that an epoch begins
  kFailures = 4096,   ///< after such a line a bar that had not ended begins in another run
};
inline constexpr std::uint32_t kBars = kPerSecond | kPerIteration;

struct Literal {
  std::string_view text;
  std::uint32_t kinds;
};
inline constexpr Literal kLiterals[] = {
    {"it/s", kPerSecond},
    {"s/it", kPerIteration},
    {"batch/s", kOtherUnit},
    {"batches/s", kOtherUnit},
    {"s/batch", kOtherUnit},
    {"step/s", kOtherUnit},
    {"steps/s", kOtherUnit},
    {"s/step", kOtherUnit},
    {"iter/s", kOtherUnit},
    {"example/s", kOtherUnit},
    {"examples/s", kOtherUnit},
    {"s/example", kOtherUnit},
    {"sample/s", kOtherUnit},
    {"samples/s", kOtherUnit},
    {"s/sample", kOtherUnit},
    {"img/s", kOtherUnit},
    {"s/img", kOtherUnit},
    {"imgs/s", kOtherUnit},
    {"images/s", kOtherUnit},
    {"ex/s", kOtherUnit},
    {"ba/s", kOtherUnit},
    {"s/ba", kOtherUnit},
    {"seq/s", kOtherUnit},
    {"seqs/s", kOtherUnit},
    {"sequences/s", kOtherUnit},
    {"sentences/s", kOtherUnit},
    {"Average Loss = ", kStepLine},
    {"Total Steps:", kStepLine},
    {"bing_bert_progress: step=", kStepLine | kProgress},
    {"SamplesPerSec=", kTimer},
    {": Loss ", kLosses},
    {"step_loss : ", kLosses},
    {"{'loss':", kLosses | kTrainer},
    {"\"loss\": ", kLosses},
    {"***** Running training", kTrainer},
    {"TrainingArguments", kTrainer},
    {"train/global_step", kTrainer},
    {"_runtime':", kTrainer | kClosing},
    {"train_runtime", kClosing},
    {"train_samples_per_second", kClosing},
    {"train_steps_per_second ", kClosing},
    {"training throughput", kClosing},
    {"Total time taken", kClosing},
    {"training_sequences_per_second", kClosing},
    {"real\t", kClosing},
    {"avg_throughput: ", kClosing},
    {" samples/sec, TFLOPS per GPU", kClosing},
    {"Continuing training from global step ", kResumed},
    {"Resuming training from checkpoint with epoch ", kResumed},
    {"Total optimization steps = ", kPlan},
    {"`Trainer.fit` stopped: `max_", kStopped},
    {"Epoch ", kEpochLine},
    {"Epoch: ", kEpochLine},
    {"EPOCH ", kEpochLine},
    {"epoch [", kEpochLine},
    {"Traceback (most recent", kFailures},
    {"CANCELLED AT", kFailures},
};

inline constexpr auto kAnchors = [] {
  std::array<std::string_view, std::size(kLiterals)> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kLiterals[i].text;
  return out;
}();

/// What the literals on the line show of it.
inline std::uint32_t kinds_of(const Line& line) {
  std::uint32_t kinds = 0;
  any_row(line, [&](std::uint32_t row, std::size_t) {
    kinds |= kLiterals[row].kinds;
    return false;
  });
  return kinds;
}

}  // namespace bertbench::tqdm_anchors
