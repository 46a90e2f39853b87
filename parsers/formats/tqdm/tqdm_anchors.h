// What the lines of tqdm's logs are told by, and which of it stands on a line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace bertbench::tqdm_anchors {

inline constexpr std::string_view kAnchors[] = {"it/s",
                                                "s/it",
                                                "Average Loss = ",
                                                ": Loss ",
                                                "step_loss : ",
                                                "{'loss':",
                                                "***** Running training",
                                                "train_runtime",
                                                "train_samples_per_second",
                                                "training throughput",
                                                "Total time taken",
                                                "training_sequences_per_second",
                                                "TrainingArguments",
                                                "train/global_step",
                                                "real\t",
                                                "train_steps_per_second ",
                                                "batch/s",
                                                "batches/s",
                                                "s/batch",
                                                "step/s",
                                                "steps/s",
                                                "s/step",
                                                "iter/s",
                                                "example/s",
                                                "examples/s",
                                                "s/example",
                                                "sample/s",
                                                "samples/s",
                                                "s/sample",
                                                "img/s",
                                                "s/img",
                                                "imgs/s",
                                                "images/s",
                                                "ex/s",
                                                "ba/s",
                                                "s/ba",
                                                "seq/s",
                                                "seqs/s",
                                                "sequences/s",
                                                "sentences/s",
                                                "Continuing training from global step ",
                                                "Resuming training from checkpoint with epoch ",
                                                "Traceback (most recent",
                                                "CANCELLED AT",
                                                "avg_throughput: ",
                                                " samples/sec, TFLOPS per GPU",
                                                "_runtime':",
                                                "Total optimization steps = ",
                                                "`Trainer.fit` stopped: `max_",
                                                "\"loss\": ",
                                                "Total Steps:",
                                                "bing_bert_progress: step=",
                                                "SamplesPerSec="};
inline constexpr std::uint64_t kBarAnchors = 0b11;  ///< the first two
static_assert(kAnchors[0] == "it/s" && kAnchors[1] == "s/it");

/// Line::anchors of some of them: what else stands on a line need not be looked for.
consteval std::uint64_t bits_of(std::initializer_list<std::string_view> anchors) {
  std::uint64_t bits = 0;
  for (const std::string_view anchor : anchors) {
    const auto at = std::ranges::find(kAnchors, anchor) - std::begin(kAnchors);
    bits |= std::uint64_t{1} << (at < 63 ? at : throw "no anchor, or one of many");
  }
  return bits;
}
inline constexpr std::uint64_t kProgress = bits_of({"bing_bert_progress: step="});
inline constexpr std::uint64_t kStepLine = bits_of({"Average Loss = ", "Total Steps:"}) | kProgress;
/// DeepSpeed's timer, whose lines have a clock and a format of their own.
inline constexpr std::uint64_t kTimer = bits_of({"SamplesPerSec="});
inline constexpr std::uint64_t kLosses =
    bits_of({": Loss ", "step_loss : ", "{'loss':", "\"loss\": "});
inline constexpr std::uint64_t kTrainer = bits_of(
    {"{'loss':", "***** Running training", "TrainingArguments", "train/global_step", "_runtime':"});
inline constexpr std::uint64_t kClosing =
    bits_of({"train_runtime", "train_samples_per_second", "train_steps_per_second ",
             "training throughput", "Total time taken", "training_sequences_per_second", "real\t",
             "avg_throughput: ", " samples/sec, TFLOPS per GPU", "_runtime':"});
/// The Trainer says at which step it goes on.
inline constexpr std::uint64_t kResumed = bits_of(
    {"Continuing training from global step ", "Resuming training from checkpoint with epoch "});
inline constexpr std::uint64_t kPlan = bits_of({"Total optimization steps = "});
/// Lightning's last words.
inline constexpr std::uint64_t kStopped = bits_of({"`Trainer.fit` stopped: `max_"});
/// Behind such a line a bar that had not ended begins in another run.
inline constexpr std::uint64_t kFailures = bits_of({"Traceback (most recent", "CANCELLED AT"});

}  // namespace bertbench::tqdm_anchors
