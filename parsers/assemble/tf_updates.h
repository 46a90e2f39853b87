// TfUpdates: the updates of one run of NVIDIA's BERT for TensorFlow, by what its lines count.
//
// The script prints "Iteration: n" after update n - 1, and at every tenth n with
// --display_loss_steps=10: the first line then holds nine updates. An update that the loss scaler
// skips leaves the number where it is. All that the log closes with is computed from
// --num_train_steps, also where a checkpoint had done a part of them: run_pretraining.py of
// DeepLearningExamples TensorFlow/LanguageModeling/BERT (class _LogSessionRunHook and main).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/line.h"
#include "parsers/lines/tf_message.h"

namespace bertbench {

class TfUpdates {
 public:
  /// "Restoring parameters from .../model.ckpt-60" before the first step.
  void note_restored(std::int64_t updates) { restored_ = updates; }
  /// "Skipping time record for  61  due to ...": the updates done after the line that follows.
  void note_left_out(std::int64_t updates);
  /// "Saving checkpoints for 60 into ...": the last one follows the last update.
  void note_saved(std::int64_t updates) { saved_ = updates; }
  /// The log begins with the run, so that what its first line counts more was done before.
  void note_head() { headed_ = true; }
  /// --num_train_steps.
  void note_planned(std::int64_t updates) { planned_ = updates; }
  /// Of one GPU: "  Batch size = 4" before the training, "  num_accumulation_steps: 4".
  void note_batch(std::int64_t sequences) { micro_batch_ = sequences; }
  void note_accumulation(std::int64_t micro_steps) { accumulation_ = micro_steps; }
  /// "... for Sentences = 480" after the run; of the steady rate where `steady`.
  void note_sentences(std::int64_t sentences, bool steady) {
    (steady ? steady_sentences_ : sentences_) = sentences;
  }
  /// Whether a line's number is one that an earlier launch of the same file would go on from.
  [[nodiscard]] bool begins_anew(std::int64_t iteration) const { return iteration < printed_; }
  /// Whether a line's number was printed already: an update was skipped, or a rank's copy.
  [[nodiscard]] bool stands_still(std::int64_t iteration) const { return iteration <= printed_; }
  void read_step(const TfDleLine& read, const Line& line, RunDraft& run);
  /// What its lines and closing statements state of the run that is taken; begins anew.
  void end(RunDraft* run);

 private:
  void put(const Sample& sample, RunDraft& run);
  void put_waiting(RunDraft& run, std::int64_t stride);
  void fill_steps(RunDraft& run) const;
  void fill_batch_by_rates(RunDraft& run) const;
  void fill_work(RunDraft& run) const;
  [[nodiscard]] std::int64_t done_before(const RunDraft& run) const;

  std::optional<std::int64_t> restored_, left_out_, saved_, planned_;
  std::optional<std::int64_t> micro_batch_, accumulation_;
  std::optional<Sample> waiting_;  ///< the first line: the second shows how many updates it holds
  std::optional<std::int64_t> sentences_, steady_sentences_;
  std::int64_t printed_ = -1;          ///< newest number
  std::int64_t stride_ = 1;            ///< from one line to the next
  std::int64_t ahead_ = 0;             ///< of a printed number over the updates done
  std::optional<std::int64_t> begin_;  ///< updates done before the run
  bool headed_ = false;
};

}  // namespace bertbench
