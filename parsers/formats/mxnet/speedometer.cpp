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
// is not the job's: a notice. Scripts that hand Speedometer the batch of all workers (NVIDIA's
// for MLPerf) show by their stamps: Speed times the time of a batch is several times batch_size.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/core/line.h"
#include "parsers/core/notice.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_speedometer {
namespace {

// Where a line of MXNet's Speedometer, or of a script that prints like it, stands in the training.

struct SpeedometerPlace {
  std::int64_t epoch = 0, batch = 0;
  std::optional<std::int64_t> from;  ///< "[20-40]"
  std::int64_t per_epoch = 0;        ///< batches; 0: not stated
};

// "Epoch[3] Batch [20]", "Epoch[3] Batch [0-20]", "Iter[3] Batch[20]", "[Epoch 3][Batch 99]",
// "Epoch[015] Batch [0019]/[0056]"; R names no epoch: "Batch [20] Speed: ", and counts on from the
// `epoch` and `batch` of the line before.
std::optional<SpeedometerPlace> speedometer_place(const Line& line, std::int64_t newest_epoch,
                                                  std::int64_t newest_batch) {
  Cursor cursor(line);
  SpeedometerPlace out;
  if (cursor.literal("Batch [")) {  // of R
    if (!cursor.read(out.batch, "] Speed: ") || out.batch < 1) return std::nullopt;
    out.epoch = std::max<std::int64_t>(0, newest_epoch);
    if (out.batch <= newest_batch) ++out.epoch;
    return out;
  }
  const bool gluon = cursor.skip_past("[Epoch ");
  if (!gluon && !cursor.skip_past("Epoch[") && !cursor.skip_past("Iter[")) return std::nullopt;
  if (!cursor.read(out.epoch, "]", kBlanks) ||
      !(gluon ? cursor.literal("[Batch ") : cursor.read("Batch", kBlanks, "[")) ||
      !cursor.read(out.batch)) {
    return std::nullopt;
  }
  if (cursor.literal("-")) {
    out.from = out.batch;
    if (!cursor.read(out.batch)) return std::nullopt;
  }
  std::int64_t all = 0;
  if (cursor.read("]/[", all) && all > out.batch) out.per_epoch = all;
  return out;
}

/// Speed against the stamps of the lines.
class SpeedTimes {
 public:
  /// A line after `batches` that took `seconds`.
  void add(double speed, std::int64_t batches, double seconds) {
    if (batches < 1 || !(seconds > 0)) return;
    samples_ += speed * seconds;
    batches_ += static_cast<double>(batches);
    ++lines_;
  }

  /// How many workers' batches Speed counts; 0 if the stamps do not show several.
  [[nodiscard]] double workers(double batch_size) const {
    constexpr std::int64_t kLinesForAVerdict = 4;
    constexpr double kWholeRatioGap = 0.03;
    if (lines_ < kLinesForAVerdict) return 0;
    const double ratio = samples_ / batches_ / batch_size;
    if (!(ratio > 1.5 && ratio < 1e6)) return 0;
    const double whole = std::round(ratio);
    return std::abs(ratio / whole - 1) < kWholeRatioGap ? whole : 0;
  }

 private:
  double samples_ = 0, batches_ = 0;
  std::int64_t lines_ = 0;
};

/// Whether the Speed of lines is that of many batches: that of one jumps from line to line.
class SpeedJumps {
 public:
  void add(double speed) {
    constexpr double kJump = 1.3;
    if (!(speed > 0)) return;
    if (newest_ > 0) {
      ++lines_;
      if (std::max(speed, newest_) > kJump * std::min(speed, newest_)) ++jumps_;
    }
    newest_ = speed;
  }

  [[nodiscard]] bool any() const { return newest_ > 0; }
  [[nodiscard]] bool steady() const { return lines_ > 0 && jumps_ * 8 <= lines_; }

 private:
  double newest_ = 0;
  std::int64_t lines_ = 0, jumps_ = 0;
};

constexpr std::int64_t kBatchLimit = 1'000'000;  ///< more is a damaged number

/// gluon-cv's detection scripts (SSD, YOLO, CenterNet, Faster and Mask R-CNN):
///   Namespace(batch_size=64, ..., gpus='0,1', num_samples=16551, save_prefix='yolo3_voc', ...)
struct Detection {
  std::optional<std::int64_t> batch;    ///< of all devices, with horovod of all workers
  std::optional<std::int64_t> devices;  ///< unknown with horovod
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> samples;  ///< of an epoch
  bool usual = false;                   ///< samples are those the dataset's name stands for
  /// What a notice adds where the time of whole epochs is taken.
  [[nodiscard]] std::optional<Notice> notice() const {
    if (!samples) return std::nullopt;
    return make_notice(NoticeCode::epoch_of_images, 0, *samples,
                       usual ? "as the dataset's name suggests" : "as the log states");
  }
};

std::optional<Detection> detection_of(const Line& line) {
  if (!has(line, "Namespace(") || !has(line, "save_prefix='")) return std::nullopt;
  Detection out;
  out.batch = count_of(line.text, {"batch_size"});
  if (out.batch > kBatchLimit) out.batch.reset();
  out.epochs = count_of(line.text, {"epochs"});
  out.samples = count_of(line.text, {"num_samples"});
  if (!out.samples) {  // trainval of 2007 and 2012; train2017's images that have objects
    out.usual = true;
    if (has(line, "dataset='voc'")) out.samples = 16'551;
    if (has(line, "dataset='coco'")) out.samples = 117'266;
  }

  Cursor gpus(line);
  if (!has(line, "horovod=True") && gpus.skip_past(" gpus='")) {
    if (const auto list = gpus.until("'")) out.devices = count_of_list(*list);
  }
  return out;
}

/// "Training cost: 50.8" of epochs whose last batches have no line.
class EpochCosts {
 public:
  /// `batches` were seen of the epoch, the next line would have covered `interval` more.
  void add(double seconds, std::int64_t batches, std::int64_t interval) {
    if (!(seconds > 0 && seconds < 1e9)) return;
    seconds_ += seconds;
    least_ += static_cast<double>(batches);
    most_ += static_cast<double>(batches + std::max<std::int64_t>(0, interval - 1));
  }

  /// "; the epochs' own times give 1.5 to 1.8 batches/s"; nothing without epochs.
  [[nodiscard]] std::optional<Notice> notice() const {
    if (!(seconds_ > 0)) return std::nullopt;
    return make_notice(NoticeCode::epochs_give_batches, 0, least_ / seconds_, most_ / seconds_);
  }

 private:
  double seconds_ = 0, least_ = 0, most_ = 0;
};

constexpr std::string_view kTotalBatch = "Total batch size is set to ";
struct TotalBatch {
  std::optional<std::int64_t> batch, devices;
};
/// Of all GPUs; of 0 where the CPU computes.
std::optional<TotalBatch> total_batch(std::int64_t batch, std::int64_t gpus) {
  if (batch < 1 || batch > kBatchLimit || gpus < 0 || gpus > kBatchLimit) return std::nullopt;
  return TotalBatch{batch, gpus >= 1 ? std::optional(gpus) : std::nullopt};
}
/// From arguments that name the batch of one GPU: "batch_size=32, ..., num_gpus=8".
std::optional<TotalBatch> batch_of_gpus(const Line& line) {
  const auto each = count_of(line.text, {"batch_size"});
  const auto gpus = count_after(line, " num_gpus=");
  if (!each || !gpus || *gpus > kBatchLimit) return std::nullopt;
  return total_batch(*each * std::max<std::int64_t>(1, *gpus), *gpus);
}
/// "Total batch size is set to 200 on 8 GPUs", or the arguments of the scripts for classification
/// and poses.
std::optional<TotalBatch> total_batch_of(const Line& line) {
  std::int64_t batch = 0, gpus = 0;
  if (!has(line, kTotalBatch)) {
    const bool ours = has(line, "Namespace(") && has(line, " last_gamma=");
    return ours ? batch_of_gpus(line) : std::nullopt;
  }
  const bool read = Cursor(line).read(Past{kTotalBatch}, batch, " on ", gpus);
  return read ? total_batch(batch, gpus) : std::nullopt;
}

/// Of an epoch of gluon-cv's scripts for CIFAR-10, which leave out the batch that is not full; 0 of
/// other "Namespace(...)".
double images_of_cifar(const Line& line) {
  constexpr std::int64_t kImages = 50'000;
  const auto total = has(line, "model='cifar_") ? batch_of_gpus(line) : std::nullopt;
  return total ? static_cast<double>(kImages / *total->batch * *total->batch) : 0;
}

constexpr Begin kRuns[] = {{.unit = IterationUnit::optimizer_step,
                            .rate = RateUnit::sequences_per_second,
                            .restart = Restart::never,
                            .after_end = AfterEnd::reopens}};

struct Speedometer {
  // How many batches an epoch has is not printed: it is at least what was seen of it, and the
  // speeds of the lines stand on their own, so the counter may miss the tail of an epoch.
  void put(std::int64_t of_epoch, std::int64_t of_batch, std::int64_t batches, double rate,
           const Line& line, Emit emit) {
    const std::int64_t since = of_epoch == epoch ? of_batch - batch : 0;
    if (std::exchange(speeds, false))
      emit(Withdraw{.of = Of::open});  // it began with an epoch's end
    if (of_epoch < epoch || (of_epoch == epoch && of_batch < batch - 2 * interval)) {
      emit(kRuns[0]);
      epoch = step = -1;
      base = batch = 0;
    }
    if (of_epoch != epoch) base += std::exchange(batch, 0);
    if (of_batch > batch) interval = of_batch - batch;
    epoch = of_epoch;
    batch = std::max(batch, of_batch);
    Step at{.step = base + of_batch,
            .iterations = batches,
            .rate = rate,
            .loss = number_after(line, {"\tloss=", "cross-entropy=", "lossvalue=", "Loss "}),
            .clock = Clock{1e-3, true}};
    // Then the lines' times are known, and slow ones count for as long as they took.
    if (total_batch && rate > 0 && !last_batch) {
      at.seconds = static_cast<double>(*total_batch) * static_cast<double>(batches) / rate;
    }
    // "2018-04-01 03:35:35,136 Epoch...", also after "INFO:root:" or "Training: "
    at.time_s = front_time(line.text);
    times.add(rate, since, at.time_s - std::exchange(newest_s, at.time_s));
    several_ranks |= rank >= 0 && line.rank >= 0 && line.rank != rank;
    rank = std::max(rank, line.rank);
    emit(at);
  }

  bool batch_speed(const Line& line, Emit emit) {
    const auto place = speedometer_place(line, epoch, batch);
    const auto rate = number_after(line, "Speed:");
    if (!place || !rate || !(*rate >= 0)) return false;
    if (has(line, "RPN_Conf=")) rcnn.add(*rate);
    last_batch |= has(line, "][Batch ");
    const bool digits = line.at >= 7 && line.text[line.at - 7] == '.';
    if (!last_batch && digits && has(line, "accuracy=") && !has(line, "lr=")) {
      long_speed = line.number;
    }
    per_epoch = place->per_epoch;
    const std::int64_t from = place->from.value_or(place->epoch == epoch ? batch : 0);
    put(place->epoch, place->batch, std::max<std::int64_t>(1, place->batch - from), *rate, line,
        emit);
    return true;
  }

  // insightface for PyTorch: one counter over all epochs.
  bool global_step(const Line& line, Emit emit) {
    const auto at = count_after(line, "Global Step:");
    double rate = 0;
    if (!at || !Cursor::after(line).read(rate, " samples/sec")) return false;
    const std::int64_t before = std::exchange(step, *at);
    const bool goes_on = before >= 0 && *at > before;
    put(0, *at, goes_on ? *at - before : std::max<std::int64_t>(1, *at), rate, line, emit);
    return true;
  }

  // A record that is an epoch; whether it begins a run.
  bool put_epoch(Step at, Emit emit) {
    const bool begins = at.step < newest_epoch;
    if (begins) emit(kRuns[0]);
    const bool first = begins || newest_epoch == 0;
    newest_epoch = at.step;
    at.iterations = 1;
    at.unit = IterationUnit::unknown;
    at.last = epochs && at.step >= *epochs;
    emit(at);
    return first;
  }

  // A whole epoch, its validation included; how many batches it has is not printed.
  bool cifar_epoch(const Line& line, Emit emit) {
    Step at{.loss = number_after(line, " loss="), .rate_unit = RateUnit::unknown};
    const auto seconds = number_after(line, " time:");
    if (!Cursor(line).read(Past{"[Epoch "}, at.step, "] train=") || !seconds ||
        !(*seconds > 0 && *seconds < 1e9)) {
      return false;
    }
    ++at.step;
    // Its seconds are none of a step: a batch given by the user would make sequences of epochs.
    if (cifar_images > 0) {
      at.rate = cifar_images / *seconds;
      at.rate_unit = RateUnit::sequences_per_second;
    }
    epochs_only = true;
    if (put_epoch(at, emit)) {
      emit.note_here(cifar_images > 0 ? NoticeCode::epoch_of_cifar
                                      : NoticeCode::epoch_without_length);
    }
    return true;
  }

  // Where batch and number of batches are printed, the time of an epoch is that of all of them;
  // lines leave out those after the last one, and begin with the start of the loaders.
  void join_epoch(std::int64_t batches, double rate, double seconds, Emit emit) {
    if (batches <= batch) return;
    joined = true;
    emit(Step{.step = base + batches,
              .iterations = batches - batch,
              .seconds = seconds,
              .rate = rate,
              .joins_after = base});
    batch = batches;
  }

  void end_epoch(std::int64_t ended, Emit emit) {
    emit(Statement{});
    if (epochs && ended + 1 >= *epochs) emit(End{});
  }

  // "[Epoch 0] Training cost: 50.8, ..."
  bool epoch_cost(const Line& line, Emit emit) {
    std::int64_t ended = 0;
    double seconds = 0;
    if (!Cursor(line).read(Past{"[Epoch "}, ended, "] Training cost: ", seconds) ||
        !(seconds > 0) || ended != epoch) {
      return false;
    }
    costs.add(seconds, batch + 1, interval);
    if (detection.samples && total_batch && seconds < 1e9 && !rcnn.any()) {
      const auto samples = static_cast<double>(*detection.samples);
      const auto batches = std::llround(samples / static_cast<double>(*total_batch));
      if (batches <= batch + 1 + interval) join_epoch(batches, samples / seconds, seconds, emit);
    }
    end_epoch(ended, emit);
    return true;
  }

  // "[Epoch 099] speed: 75 samples/sec\ttime cost: 3461.2", "Epoch[0]\t\tSpeed: 1281 samples/sec
  // over 116 secs" of the poses: gluon-cv's own mean over the batches of an epoch, cut to whole
  // ones. Where no batch has a line, the epochs are the records.
  bool epoch_speed(const Line& line, Emit emit) {
    Cursor cursor(line);
    std::int64_t ended = 0;
    double speed = 0;
    if (!cursor.read(Past{"[Epoch "}, ended, "] speed: ") &&
        !cursor.read(Past{"Epoch["}, ended, "]\t\tSpeed: ")) {
      return false;
    }
    if (cursor.read(speed, " samples/sec") && speed > 0 && speed < 1e12) {
      ++epochs_with_speed;
      epochs_per_sample_s += 1 / speed;
      if (epoch < 0 && !epochs_only) {
        speeds = true;
        put_epoch({.step = ended + 1, .rate = speed}, emit);
        return true;
      }
    }
    constexpr double kDigits = 50;
    if (ended == epoch && total_batch && speed >= kDigits && !last_batch) {
      join_epoch(per_epoch, speed,
                 static_cast<double>(*total_batch) * static_cast<double>(per_epoch) / speed, emit);
    }
    end_epoch(ended, emit);
    return true;
  }

  bool end(const Line&, Emit emit) {
    emit(End{});
    return epoch >= 0 || newest_epoch > 0;
  }

  // "Epoch[0] Time cost=50.885" ends an epoch.
  bool time_cost(const Line& line, Emit emit) { return has(line, "Epoch[") && end(line, emit); }

  void arguments(const Line& line) {
    if (const auto total = total_batch_of(line)) {
      total_batch = total->batch;
      devices = total->devices;
    }
    if (const auto found = detection_of(line)) {
      detection = *found;
      total_batch = found->batch;
      devices = found->devices;
      epochs = found->epochs;
    }
    if (has(line, "Namespace(")) cifar_images = images_of_cifar(line);
    if (const auto all = count_of(line.text, {"num_epochs"})) epochs = all;
    if (const auto size = count_of(line.text, {"batch_size"})) batch_size = size;
    for (const std::string_view name : {"kv_store", "kvstore"}) {
      if (!store) store = argument(line.text, name);
    }
  }

  void finish(Emit emit) {
    if (epochs_only) return;
    // Those of R-CNN are of one batch until 2019, then of all of an interval and of all workers.
    const bool steady = rcnn.steady();
    if (steady) last_batch = false;
    const bool distributed = store && (store->starts_with("dist") || *store == "horovod");
    // The speed of single batches adds nothing to the time of all.
    const bool single = last_batch || long_speed > 0 || several_ranks;
    const double workers =
        batch_size && !single ? times.workers(static_cast<double>(*batch_size)) : 0;
    const bool of_job = distributed && workers > 0;
    const bool several = several_ranks || (distributed && !of_job);
    const auto note = [&](const Notice& notice) { emit(Note{notice, 0, Of::all}); };
    if (total_batch && !several) {
      emit.log_fact(&Facts::global_batch_size, *total_batch);
      emit.log_fact(&Facts::world_size, devices);
    }
    if (epochs_with_speed > 0 && !speeds) {
      note(make_notice(NoticeCode::rate_of_epochs_own_lines, 0,
                       epochs_with_speed / epochs_per_sample_s));
    }
    if (last_batch) {
      note(make_notice(NoticeCode::rate_of_single_iterations, 0,
                       "the Speed of most of gluon-cv's detection scripts"));
      if (const auto more = joined ? detection.notice() : costs.notice()) note(*more);
    }
    if (long_speed > 0) {
      note(make_notice(NoticeCode::rate_of_single_iterations, long_speed,
                       "the Speed of image_classification.py of MXNet's gluon examples (six "
                       "digits, no learning rate)"));
    }
    if (of_job) {
      note(make_notice(NoticeCode::rate_taken_for_all_workers, 0, workers));
    } else if (several) {
      emit(Statement{.of = Of::all, .rate_unit = RateUnit::unknown});
      note(make_notice(NoticeCode::rate_of_one_process_left_out, 0, "Speed"));
    } else if (!store && !steady && !devices) {
      note(make_notice(NoticeCode::rate_of_one_process, 0, "Speed"));
    }
  }

  std::int64_t epoch = -1, batch = 0, base = 0, interval = 0, step = -1;
  double newest_s = kUnknown;  ///< stamp of the newest line
  SpeedTimes times;
  std::optional<std::int64_t> batch_size;            ///< of the process
  std::optional<std::int64_t> total_batch, devices;  ///< of the process and all its devices
  std::int64_t per_epoch = 0;                        ///< batches, where lines state them
  int rank = -1;
  bool several_ranks = false;
  std::optional<std::string> store;
  std::optional<std::int64_t> epochs;  ///< planned
  bool last_batch = false;             ///< gluon-cv's detection scripts
  Detection detection;
  SpeedJumps rcnn;
  bool epochs_only = false, joined = false;
  std::int64_t long_speed = 0;  ///< newest line of six digits without a learning rate
  EpochCosts costs;
  double cifar_images = 0;                                ///< of an epoch
  double epochs_with_speed = 0, epochs_per_sample_s = 0;  ///< that print their own speed
  std::int64_t newest_epoch = 0;                          ///< that is a record, from 1
  bool speeds = false;                                    ///< the open run is of such epochs
};

constexpr Row kRows[] = {
    on<&Speedometer::arguments>("kv_store="),
    on<&Speedometer::arguments>("kvstore="),
    on<&Speedometer::arguments>("num_epochs="),
    on<&Speedometer::arguments>(kTotalBatch),
    on<&Speedometer::arguments>("save_prefix='"),
    // After the last validation of gluon-cv's R-CNN: "... with validation: 1543.1 secs".
    on<&Speedometer::end>("Total Training with validation: "),
    // Sockeye: "Training finished. Best checkpoint: 12. Best validation perplexity: 9.8".
    on<&Speedometer::end>(". Best checkpoint: "),
    on<&Speedometer::global_step>("-Speed "),
    on<&Speedometer::cifar_epoch>("] train="),
    on<&Speedometer::batch_speed>(" samples/sec"),
    on<&Speedometer::epoch_speed>(" samples/sec"),
    on<&Speedometer::epoch_cost>("] Training cost: "),
    on<&Speedometer::time_cost>("] Time cost="),
};

}  // namespace

extern const Format entry{
    .name = "speedometer",
    .title = "MXNet Speedometer, gluon-cv: Speed: 1067.63 samples/sec",
    .reference = "https://github.com/apache/mxnet python/mxnet/callback.py; gluon-cv scripts",
    .table = table_of<Speedometer>(kRows, kRuns)};

}  // namespace bertbench::format_speedometer
