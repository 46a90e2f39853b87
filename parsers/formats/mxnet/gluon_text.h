// What stands in the lines of gluon-nlp's and gluon-cv's scripts;
// parsers/formats/mxnet/gluonnlp.cpp and speedometer.cpp make runs of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/core/line.h"
#include "parsers/core/notice.h"
#include "parsers/core/record.h"
#include "parsers/lines/clock.h"

namespace bertbench {

/// A stamp before a message: "INFO:root:04:17:43 ...", "2019-12-19 07:06:00,663 - root - ...".
struct GluonStamp {
  double time_s = kUnknown;
  double resolution_s = kUnknown;
  bool has_date = false;
};
[[nodiscard]] GluonStamp gluon_stamp(std::string_view text);

inline constexpr std::string_view kGluonSaved = "params saved in: ";

/// The stamps of a log as seconds: those without a date begin again at midnight.
class GluonClock {
 public:
  [[nodiscard]] double at(const GluonStamp& stamp);
  /// An evaluation of so many seconds ended at `stamp`, as the first rank prints: the stamps that
  /// follow are shortened by it.
  void evaluated(double seconds, int rank, const GluonStamp& stamp);
  /// Likewise the saving after it, that a line which holds kGluonSaved states.
  void saved(const Line& line);
  /// Training goes on: what is saved from here on does not begin with the evaluation's end.
  void trains() { evaluated_.reset(); }
  /// Seconds of the evaluations since the last call; counts anew.
  double take_evaluations() { return std::exchange(evaluations_s_, 0); }
  /// A notice of what the stamps are shortened by; null if by nothing.
  [[nodiscard]] std::optional<NoticeCode> shortened_by() const;

 private:
  bool take_off(double seconds, int rank);

  YearClock days_;
  double off_s_ = 0, evaluations_s_ = 0;
  bool shortened_ = false, saving_too_ = false;
  std::optional<int> rank_;
  std::optional<GluonStamp> evaluated_;
};

/// The last number of "span/answer/total=0.7/0.1/0.9": the sum of the others.
[[nodiscard]] std::optional<double> last_of_sum(const Line& line, std::string_view key);

/// "Epoch 0 iteration 0020/1263: training loss 0.151" of gluon-cv.
struct GluonSegmentation {
  std::int64_t epoch = 0, iteration = 0, total = 0;
  double loss = 0;
};
[[nodiscard]] std::optional<GluonSegmentation> gluon_segmentation(const Line& line);

/// The head of a line of fine-tuning or translation:
///   [Epoch 1 Batch 10/119] ...                     (GLUE, translation)
///   Epoch: 0, Batch: 299/22161, Loss=5.43 ...      (SQuAD; 1.0: "Loss span/answer/total=")
///   Batch: 4512/7387, Loss=4.10 ... Thoughput=...  (SQuAD with horovod: no epoch)
struct GluonBatch {
  std::optional<std::int64_t> epoch;
  std::int64_t batch = 0, total = 0;
  double loss = 0;
  bool squad = false;
  bool from_one = false;  ///< batches count from 1 (1.0), not from 0
};
[[nodiscard]] std::optional<GluonBatch> gluon_batch(const Line& line);

/// The epoch of "[Epoch 0] valid loss=0.478, valid acc=0.8154, ...", which follows its batches.
[[nodiscard]] std::optional<std::int64_t> gluon_validated(const Line& line);

/// What a line of SQuAD's scripts contains. They start the clock anew with an epoch, but go on to
/// count the samples: the rate of the first line holds those after the last line of the epoch
/// before, whose time no line has.
struct GluonInterval {
  std::int64_t iterations = 0;  ///< since the line before; 0 = there is none
  double seconds = kUnknown, rate = kUnknown;
};
class GluonIntervals {
 public:
  /// Whether a line, `in_epoch` batches into its epoch, is such a first one: then its iterations
  /// and rate become those of its time.
  [[nodiscard]] bool begins_epoch(GluonInterval& line, std::int64_t in_epoch);

 private:
  GluonInterval newest_;  ///< that does not begin an epoch
};

/// Stands in the arguments that the script of natural language inference prints as a dictionary:
///   main.py:train_model: {'gpu_id': 0, ..., 'batch_size': 32, 'print_interval': 5000, ...}
inline constexpr std::string_view kGluonDict = "'print_interval': ";

/// What "Namespace(...)" or that dictionary contains, the scripts' arguments.
struct GluonArguments {
  std::optional<std::int64_t> world, accumulation, batch, steps, epochs;
  std::int64_t devices = 1;         ///< of the process that prints
  std::optional<std::int64_t> all;  ///< "total_batch_size": of an optimizer step of all workers
  std::optional<std::int64_t> evaluation;  ///< likewise "total_batch_size_eval"
  std::optional<std::int64_t> interval;    ///< steps from one line to the next
  std::optional<std::int64_t> start;       ///< updates that an earlier launch did
  std::string model;                       ///< "bert-base"; empty: unknown
  bool one_worker = false;                 ///< horovod, BytePS: rates are of the worker that prints
  std::optional<std::int64_t> synthetic;   ///< tokens of each sequence, where no data is read
  bool length = false;                     ///< the sequences' length is stated
  bool divided = false;                    ///< "batch_size" is not the sequences of one GPU
  /// Whether tokens/s would become a wrong number of sequences/s.
  [[nodiscard]] bool no_tokens() const { return one_worker || length; }
  /// Of epochs that count from 0; false where their number is not stated.
  [[nodiscard]] bool last_epoch(std::int64_t epoch) const { return epochs && epoch + 1 >= *epochs; }
};
[[nodiscard]] GluonArguments gluon_arguments(const Line& line);

/// "args.num_buckets: 1, num_workers: 2, rank: 0": the workers among which the data is divided.
inline constexpr std::string_view kGluonWorkers = "args.num_buckets: ";
[[nodiscard]] std::optional<std::int64_t> gluon_workers(const Line& line);

/// A line of pre-training, or of the evaluation within it, which has the same words:
///   [step 249]\tmlm_loss=9.2\t...\tthroughput=122.0K tks/s\tlr=0.0000025 time=163.24
///   [step 10]\tmlm_loss=9.2\t...\tlr=0.0000900 time=7.20, latency=719.9 ms/step
struct GluonStep {
  std::int64_t step = 0;
  double tokens_per_second = 0;  ///< without padding; with horovod of one worker
  double seconds = kUnknown;     ///< of the interval; the finer of the two that the line holds
  double loss = 0;
  bool trains = true;        ///< false where the learning rate is 0, as in all of an evaluation
  bool counts_done = false;  ///< releases with a latency by step count the updates done
};
[[nodiscard]] std::optional<GluonStep> gluon_step(const Line& line);

/// The updates done as "[step 10] Saving trainer states to ..." (or "model params") states them.
inline constexpr std::string_view kGluonSaving = "] Saving ";
[[nodiscard]] std::optional<std::int64_t> gluon_saving(const Line& line);

/// gluon-cv's detection scripts (SSD, YOLO, CenterNet, Faster and Mask R-CNN), which
/// parsers/formats/mxnet/speedometer.cpp reads:
///   Namespace(batch_size=64, ..., gpus='0,1', num_samples=16551, save_prefix='yolo3_voc', ...)
struct GluonDetection {
  std::optional<std::int64_t> batch;    ///< of all devices, with horovod of all workers
  std::optional<std::int64_t> devices;  ///< unknown with horovod
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> samples;  ///< of an epoch
  bool usual = false;                   ///< samples are those the dataset's name stands for
  /// What a notice adds where the time of whole epochs is taken.
  [[nodiscard]] std::optional<Notice> notice() const;
};
[[nodiscard]] std::optional<GluonDetection> gluon_detection(const Line& line);

/// "Training cost: 50.8" of epochs whose last batches have no line.
class GluonEpochCosts {
 public:
  /// `batches` were seen of the epoch, the next line would have covered `interval` more.
  void add(double seconds, std::int64_t batches, std::int64_t interval);
  /// "; the epochs' own times give 1.5 to 1.8 batches/s"; nothing without epochs.
  [[nodiscard]] std::optional<Notice> notice() const;

 private:
  double seconds_ = 0, least_ = 0, most_ = 0;
};

/// "Total batch size is set to 200 on 8 GPUs" of gluon-cv.
inline constexpr std::string_view kGluonTotalBatch = "Total batch size is set to ";
struct GluonTotalBatch {
  std::optional<std::int64_t> batch, devices;
};
/// That line, or the arguments of the scripts for classification and poses, which name the batch of
/// one GPU.
[[nodiscard]] std::optional<GluonTotalBatch> gluon_total_batch(const Line& line);

/// Of an epoch of gluon-cv's scripts for CIFAR-10, which leave out the batch that is not full; 0 of
/// other "Namespace(...)".
[[nodiscard]] double gluon_cifar_images(const Line& line);

}  // namespace bertbench
