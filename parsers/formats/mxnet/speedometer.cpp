// speedometer: MXNet's Speedometer callback, gluon-cv's scripts and those that print like them.
//
//   INFO:root:Epoch[0] Batch [20]\tSpeed: 1067.63 samples/sec\taccuracy=0.877757       (to 1.3)
//   INFO:root:Epoch[0] Batch [0-20]\tSpeed: 520.85 samples/sec\tacc=0.57               (1.4 on)
//   Iter[3] Batch [200]\tSpeed: 70941.64 samples/sec\tTrain-accuracy=0.38               (2016)
//   Batch [50] Speed: 26130.0133261041 samples/sec Train-accuracy=0.111875                (R)
//   Epoch[0] Batch [49]\tSpeed: 1176.72 samples/sec\taccuracy=0.1\tlr=0.05             (gluon-cv)
//   Epoch[0] Batch [49]\tSpeed: 829.012392 samples/sec\taccuracy=0.17          (gluon examples)
//   [Epoch 0][Batch 99], Speed: 35.167 samples/sec, ObjLoss=8.1, ...            (gluon-cv, YOLO)
//   [Epoch 12] speed: 75 samples/sec\ttime cost: 3461.229136          (gluon-cv, after an epoch)
//   [Epoch 12] train=0.861378 val=0.787100 loss=0.400076 time: 16.224660     (gluon-cv, CIFAR-10)
//   Training: 2021-01-01 10:00:00,123-Speed 2345.12 samples/sec   Loss 45.1 ... Global Step: 100
//
// A batch is an optimizer step. The counter starts again with each epoch. Speed is what the process
// that prints it trains, on all of its devices: with several workers, or several printing ranks, it
// is not the job's, which is said. Scripts that hand Speedometer the batch of all workers (NVIDIA's
// for MLPerf) are told by their stamps: Speed times the time of a batch is several times
// batch_size.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/mxnet/gluon_text.h"
#include "parsers/formats/mxnet/speedometer_place.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

/// After the last validation of gluon-cv's R-CNN: "Total Training with validation: 1543.1 secs".
constexpr std::string_view kTrained = "Total Training with validation: ";
/// Sockeye: "Training finished. Best checkpoint: 12. Best validation perplexity: 9.8".
constexpr std::string_view kBest = ". Best checkpoint: ";

constexpr std::string_view kAnchors[] = {
    " samples/sec",      "kv_store=", "kvstore=",       "Time cost=",    "-Speed ", "num_epochs=",
    "] Training cost: ", "] train=",  kGluonTotalBatch, "save_prefix='", kTrained,  kBest};

class SpeedometerParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_global_step(const Line& line, RunBuilder& out);
  bool see_epoch(const Line& line, RunBuilder& out);
  bool see_epoch_end(Cursor& cursor, const Line& line, RunBuilder& out);
  bool see_epoch_rate(std::int64_t epoch, Cursor& cursor, const Line& line, RunBuilder& out);
  void see_epoch_speed(std::int64_t epoch, double speed, const Line& line, RunBuilder& out);
  void join_epoch(std::int64_t batches, double rate, double seconds, const Line& line,
                  RunDraft& run);
  void see_arguments(const Line& line);
  void put(std::int64_t epoch, std::int64_t batch, std::int64_t batches, const Line& line,
           double rate, RunBuilder& out);

  std::int64_t epoch_ = -1, batch_ = 0, base_ = 0, interval_ = 0, step_ = -1;
  double newest_s_ = kUnknown;  ///< stamp of the newest line
  SpeedTimes times_;
  std::optional<double> batch_size_;                   ///< of the process
  std::optional<std::int64_t> total_batch_, devices_;  ///< of the process and all its devices
  std::int64_t per_epoch_ = 0;                         ///< batches, where lines tell them
  std::set<int> ranks_;
  std::optional<std::string> store_;
  std::optional<std::int64_t> epochs_;  ///< planned
  bool last_batch_ = false;             ///< gluon-cv's detection scripts
  GluonDetection detection_;
  SpeedJumps rcnn_;
  bool epochs_only_ = false, joined_ = false;
  std::int64_t long_speed_ = 0;  ///< newest line of six digits without a learning rate
  GluonEpochCosts costs_;
  double cifar_images_ = 0;                           ///< of an epoch
  double epochs_told_ = 0, epochs_per_sample_s_ = 0;  ///< that tell their own speed
  RunDraft* speeds_run_ = nullptr;                    ///< of epochs without other lines
};

// How many batches an epoch has is not printed: it is at least what was seen of it, and the speeds
// of the lines stand on their own, so the counter may miss the tail of an epoch.
void SpeedometerParser::put(std::int64_t epoch, std::int64_t batch, std::int64_t batches,
                            const Line& line, double rate, RunBuilder& out) {
  const std::int64_t since = epoch == epoch_ ? batch - batch_ : 0;
  if (speeds_run_ != nullptr) {  // the log's first line ended an epoch
    speeds_run_->discard = true;
    speeds_run_ = nullptr;
    out.close(WorkKind::training);
  }
  if (epoch_ >= 0 && (epoch < epoch_ || (epoch == epoch_ && batch < batch_ - 2 * interval_))) {
    out.close(WorkKind::training);
    epoch_ = -1;
    base_ = 0;
    step_ = -1;
  }
  if (epoch_ >= 0 && epoch > epoch_) base_ += batch_;
  if (epoch != epoch_) batch_ = 0;
  if (batch > batch_) interval_ = batch - batch_;
  epoch_ = epoch;
  batch_ = std::max(batch_, batch);
  Sample sample;
  sample.step = base_ + batch;
  sample.iterations = batches;
  sample.rate = rate;
  // Then the lines' times are known, and slow ones count for as long as they took.
  if (total_batch_ && rate > 0 && !last_batch_) {
    sample.seconds = static_cast<double>(*total_batch_ * batches) / rate;
  }
  if (const auto colon = line.text.find(':'); colon != std::string_view::npos) {
    // "2018-04-01 03:35:35,136 Epoch...", also after "INFO:root:" or "Training: "
    const auto year = line.text.find("20");
    const auto stamp = year != std::string_view::npos && year < 16
                           ? date_time(line.text.substr(year))
                           : std::nullopt;
    if (stamp) sample.time_s = *stamp;
  }
  const double took = sample.time_s - std::exchange(newest_s_, sample.time_s);
  times_.add(rate, since, took);
  sample.line = line.number;
  sample.rank = line.rank;
  std::optional<double> loss;
  for (const std::string_view key : {"\tloss=", "cross-entropy=", "lossvalue=", "Loss "}) {
    if (!loss) loss = number_after(line, key);
  }
  sample.loss = loss;
  if (line.rank >= 0 && ranks_.size() < 65536) ranks_.insert(line.rank);
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.log.clock_is_wall = true;
  draft.log.clock_resolution_s = 1e-3;
  draft.ended_well = false;  // an epoch ended, not the run
  draft.add(sample);
}

// insightface for PyTorch: one counter over all epochs.
bool SpeedometerParser::see_global_step(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("-Speed ")) return false;
  const auto rate = cursor.number();
  if (!rate || !cursor.literal(" samples/sec")) return false;
  const auto step = number_after(line, "Global Step:");
  if (!step || !(*step >= 0 && *step < 1e12)) return false;
  const auto at = static_cast<std::int64_t>(*step);
  const std::int64_t batches =
      step_ >= 0 && at > step_ ? at - step_ : std::max<std::int64_t>(1, at);
  step_ = at;
  put(0, at, batches, line, *rate, out);
  return true;
}

// A whole epoch, its validation included; how many batches it has is not told.
bool SpeedometerParser::see_epoch(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("[Epoch ")) return false;
  const auto epoch = cursor.integer();
  const auto seconds = number_after(line, " time:");
  if (!epoch || *epoch < 0 || *epoch > 1'000'000'000 || !cursor.literal("] train=") || !seconds ||
      !(*seconds > 0 && *seconds < 1e9)) {
    return false;
  }
  Sample sample;
  sample.step = *epoch + 1;
  sample.iterations = 1;
  sample.loss = number_after(line, " loss=");
  sample.line = line.number;
  sample.rank = line.rank;
  // Its seconds are none of a step: a batch given by the user would make sequences of epochs.
  if (cifar_images_ > 0) sample.rate = cifar_images_ / *seconds;
  RunDraft& draft = out.add(WorkKind::training, sample);
  if (draft.count() == 1) {
    draft.log.notices.push_back(make_notice(
        cifar_images_ > 0 ? NoticeCode::epoch_of_cifar : NoticeCode::epoch_without_length,
        line.number));
  }
  draft.log.iteration_unit = IterationUnit::unknown;
  if (cifar_images_ > 0) draft.log.rate_unit = RateUnit::sequences_per_second;
  draft.ended_well = epochs_ && *epoch + 1 >= *epochs_;
  epochs_only_ = true;
  return true;
}

// Where batch and number of batches are told, the time of an epoch is that of all of them; lines
// leave out those after the last one, and begin with the start of the loaders.
void SpeedometerParser::join_epoch(std::int64_t batches, double rate, double seconds,
                                   const Line& line, RunDraft& run) {
  if (batches <= batch_) return;
  joined_ = true;
  Sample end;
  end.step = base_ + batches;
  end.iterations = batches - batch_;
  end.line = line.number;
  end.rank = line.rank;
  run.add(end);
  run.join_records_after(base_);
  end.rate = rate;
  end.seconds = seconds;
  run.add(end);
  batch_ = batches;
}

// gluon-cv's own mean over the batches of an epoch. Where no batch has a line, the epochs are the
// records.
void SpeedometerParser::see_epoch_speed(std::int64_t epoch, double speed, const Line& line,
                                        RunBuilder& out) {
  if (!(speed > 0 && speed < 1e12)) return;
  ++epochs_told_;
  epochs_per_sample_s_ += 1 / speed;
  if (out.open(WorkKind::training) != nullptr && speeds_run_ == nullptr) return;
  Sample sample;
  sample.step = epoch + 1;
  sample.iterations = 1;
  sample.rate = speed;
  sample.line = line.number;
  sample.rank = line.rank;
  speeds_run_ = &out.add(WorkKind::training, sample);
  speeds_run_->log.iteration_unit = IterationUnit::unknown;
  speeds_run_->log.rate_unit = RateUnit::sequences_per_second;
}

// After "[Epoch ": "0] Training cost: 50.8, ...", "099] speed: 75 samples/sec\ttime cost: 3461.2".
bool SpeedometerParser::see_epoch_end(Cursor& cursor, const Line& line, RunBuilder& out) {
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > 1'000'000'000) return false;
  if (cursor.literal("] Training cost: ")) {
    RunDraft* run = out.open(WorkKind::training);
    const auto seconds = cursor.number();
    if (run == nullptr || !seconds || !(*seconds > 0) || *epoch != epoch_) return false;
    costs_.add(*seconds, batch_ + 1, interval_);
    if (detection_.samples && total_batch_ && *seconds < 1e9 && !rcnn_.any()) {
      const auto samples = static_cast<double>(*detection_.samples);
      const auto batches = std::llround(samples / static_cast<double>(*total_batch_));
      if (batches <= batch_ + 1 + interval_)
        join_epoch(batches, samples / *seconds, *seconds, line, *run);
    }
    run->ended_well = epochs_ && *epoch + 1 >= *epochs_;
    run->last_line = line.number;
    return true;
  }
  return cursor.literal("] speed: ") && see_epoch_rate(*epoch, cursor, line, out);
}

// "75 samples/sec", cut to whole ones.
bool SpeedometerParser::see_epoch_rate(std::int64_t epoch, Cursor& cursor, const Line& line,
                                       RunBuilder& out) {
  const auto speed = cursor.number();
  if (speed && cursor.literal(" samples/sec")) see_epoch_speed(epoch, *speed, line, out);
  RunDraft* run = out.open(WorkKind::training);
  if (run == nullptr) return false;
  constexpr double kDigits = 50;
  if (speed && epoch == epoch_ && run != speeds_run_ && total_batch_ && *speed >= kDigits &&
      !last_batch_) {
    join_epoch(per_epoch_, *speed, static_cast<double>(*total_batch_ * per_epoch_) / *speed, line,
               *run);
  }
  run->ended_well = epochs_ && epoch + 1 >= *epochs_;
  run->last_line = line.number;
  return true;
}

void SpeedometerParser::see_arguments(const Line& line) {
  if (const auto total = gluon_total_batch(line)) {
    total_batch_ = total->batch;
    devices_ = total->devices;
  }
  if (const auto detection = gluon_detection(line)) {
    detection_ = *detection;
    total_batch_ = detection->batch;
    devices_ = detection->devices;
    epochs_ = detection->epochs;
  }
  if (has(line, "Namespace(")) cifar_images_ = gluon_cifar_images(line);
  if (const auto epochs = size_after(line, " num_epochs=")) epochs_ = epochs;
  if (const auto batch = number_after(line, " batch_size=")) batch_size_ = *batch;
  for (const std::string_view key : {"kv_store='", "kvstore='", "kv_store=", "kvstore="}) {
    Cursor cursor(line);
    if (store_ || !cursor.skip_past(key)) continue;
    if (const auto name = cursor.until("', )\t")) store_ = std::string(*name);
  }
}

bool SpeedometerParser::parse(const Line& line, RunBuilder& out) {
  see_arguments(line);
  const auto end = [&] {
    if (RunDraft* run = out.open(WorkKind::training)) {
      run->ended_well = true;
      run->last_line = line.number;
      return true;
    }
    return false;
  };
  if (has(line, kTrained) || has(line, kBest)) return end();
  if (see_global_step(line, out) || see_epoch(line, out)) return true;
  const auto place = speedometer_place(line, epoch_, batch_);
  if (!place) {
    Cursor cursor(line);
    if (cursor.skip_past("[Epoch ")) return see_epoch_end(cursor, line, out);
    // "Epoch[0] Time cost=50.885" ends an epoch, "Epoch[0]\t\tSpeed: 1281 samples/sec over 116
    // secs" one of the poses'.
    const auto epoch = cursor.skip_past("Epoch[") ? cursor.integer() : std::nullopt;
    if (!epoch || *epoch < 0 || *epoch > 1'000'000'000) return false;
    if (cursor.literal("] Time cost=")) return end();
    return cursor.literal("]\t\tSpeed: ") && see_epoch_rate(*epoch, cursor, line, out);
  }
  const auto rate = number_after(line, "Speed:");
  if (!rate || !(*rate >= 0) || line.text.find(" samples/sec") == std::string_view::npos) {
    return false;
  }
  if (has(line, "RPN_Conf=")) rcnn_.add(*rate);
  last_batch_ = last_batch_ || has(line, "][Batch ");
  const auto unit = line.text.find(" samples/sec");
  const bool digits = unit >= 7 && line.text[unit - 7] == '.';
  if (!last_batch_ && digits && has(line, "accuracy=") && !has(line, "lr="))
    long_speed_ = line.number;
  per_epoch_ = place->per_epoch;
  const std::int64_t from = place->from.value_or(place->epoch == epoch_ ? batch_ : 0);
  put(place->epoch, place->batch, std::max<std::int64_t>(1, place->batch - from), line, *rate, out);
  return true;
}

void SpeedometerParser::finish(RunBuilder& out) {
  // Those of R-CNN tell of one batch until 2019, then of all of an interval and of all workers.
  const bool rcnn = rcnn_.steady();
  if (rcnn) last_batch_ = false;
  const bool distributed = store_ && (store_->starts_with("dist") || *store_ == "horovod");
  // The speed of single batches adds nothing to the time of all.
  const bool single = last_batch_ || long_speed_ > 0 || ranks_.size() > 1;
  const double workers = batch_size_ && !single ? times_.workers(*batch_size_) : 0;
  const bool of_job = distributed && workers > 0;
  const bool several = ranks_.size() > 1 || (distributed && !of_job);
  const bool alone = (store_ || rcnn || devices_) && !several;
  for (const auto& draft : out.drafts()) {
    if (draft->count() == 0 || epochs_only_) continue;
    if (total_batch_ && !several) {
      draft->log.facts.global_batch_size.set(*total_batch_, FactSource::log);
      if (devices_) draft->log.facts.world_size.set(*devices_, FactSource::log);
    }
    if (epochs_told_ > 0 && draft.get() != speeds_run_) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_of_epochs_own_lines, 0,
                                               epochs_told_ / epochs_per_sample_s_));
    }
    if (last_batch_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_of_single_iterations, 0,
                      "the Speed of most of gluon-cv's detection scripts"));
      if (const auto more = joined_ ? detection_.notice() : costs_.notice()) {
        draft->log.notices.push_back(*more);
      }
    }
    if (long_speed_ > 0) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_of_single_iterations, long_speed_,
                      "the Speed of image_classification.py of MXNet's gluon examples (six digits, "
                      "no learning rate)"));
    }
    if (of_job) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_taken_for_all_workers, 0, workers));
    } else if (several) {
      draft->log.rate_unit = RateUnit::unknown;
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_of_one_process_left_out, 0, "Speed"));
    } else if (!alone) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_of_one_process, 0, "Speed"));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<SpeedometerParser>(); }

}  // namespace

extern const Format format_speedometer;
const Format format_speedometer = {
    "speedometer", "MXNet Speedometer, gluon-cv: Speed: 1067.63 samples/sec",
    "https://github.com/apache/mxnet python/mxnet/callback.py; gluon-cv scripts", kAnchors, make};

}  // namespace bertbench
