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

#include "parsers/assemble/assembler.h"
#include "parsers/core/line.h"
#include "parsers/core/thinned_series.h"

namespace bertbench {

/// NVIDIA's "DLL 2023-08-02 10:01:00.756283 - Iteration: 12  throughput_train : 1007.394
/// sequences/s mlm_loss : ...", ResNet's "(0, 380) total_ips : 11633.7", or the closing line
/// without an iteration. Rates are of all ranks.
struct TfDleLine {
  std::optional<std::int64_t> iteration;
  double rate = 0;         ///< sequences/s
  bool sample = false;     ///< of one iteration of those since the line before
  bool one_ahead = false;  ///< pre-training's number, one above the updates done
  bool scaled = false;     ///< with the loss scale that half precision has
  double time_s = kUnknown;
  std::optional<double> loss;
};

/// What a log of TensorFlow states of a whole run.
struct TfClosing {
  std::optional<Stated> summary;
  Totals totals;  ///< training_s and sequences as stated
  bool well = false;
  std::int64_t first_line = 0, line = 0;  ///< of its statements; 0: there is none

  /// A statement stands on this line.
  TfClosing& on(std::int64_t number) {
    if (first_line == 0) first_line = number;
    line = number;
    return *this;
  }
};

class TfUpdates {
 public:
  /// The track of the steps, whose runs only Begin ends.
  explicit TfUpdates(int track) : track_(track) {}
  /// Whether a line's number is one that an earlier launch of the same file would go on from.
  [[nodiscard]] bool begins_anew(std::int64_t iteration) const { return iteration < printed_; }
  /// Whether a line's number was printed already: an update was skipped, or a rank's copy.
  [[nodiscard]] bool stands_still(std::int64_t iteration) const { return iteration <= printed_; }
  void read_step(const TfDleLine& read, const Line& line, Emit emit);
  /// The run that the log's statements are of, on this track, is over, which is of the lines up to
  /// `closing.line`: emits what they and the steps make of it, and begins anew.
  void end(int track, TfClosing closing, Emit emit);

  // What lines state.
  std::optional<std::int64_t> restored;  ///< updates of the checkpoint before the first step
  /// "Skipping time record for  61  due to ...": the updates done after the line that follows, as
  /// the first such line names them.
  std::optional<std::int64_t> left_out;
  std::optional<std::int64_t> saved;    ///< "Saving checkpoints for 60": the last follows all
  std::optional<std::int64_t> planned;  ///< --num_train_steps
  /// Of one GPU: "  Batch size = 4" before the training, "  num_accumulation_steps: 4".
  std::optional<std::int64_t> micro_batch, accumulation;
  /// "... for Sentences = 480" after the run, and those of the steady rate.
  std::optional<std::int64_t> sentences, steady_sentences;
  /// The log begins with the run, so that what its first line counts more was done before.
  bool headed = false;
  bool not_finite = false;  ///< a loss, on any line

 private:
  void put(Step step, Emit emit);
  void put_waiting(Emit emit, std::int64_t stride);
  void read_rate(const Step& step);
  void fill_steps(TfClosing& closing, Emit emit) const;
  void fill_batch_by_rates(Emit emit) const;
  std::optional<std::int64_t> fill_work(int track, TfClosing& closing, Emit emit) const;
  [[nodiscard]] std::int64_t done_before(const TfClosing& closing) const;

  int track_;
  std::optional<Step> waiting_;  ///< the first line: the second shows how many updates it holds
  std::optional<Step> first_;    ///< as it was put
  std::int64_t iterations_ = 0;  ///< of all steps
  std::int64_t line_ = 0;        ///< of the newest step
  bool scaled_ = false;
  ThinnedSeries<double> batches_;      ///< sequences of an iteration, by rate and time of each line
  double time_s_ = kUnknown;           ///< of the newest step
  std::int64_t printed_ = -1;          ///< newest number
  std::int64_t stride_ = 1;            ///< from one line to the next
  std::int64_t ahead_ = 0;             ///< of a printed number over the updates done
  std::optional<std::int64_t> begin_;  ///< updates done before the run
};

}  // namespace bertbench
