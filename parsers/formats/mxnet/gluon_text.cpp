#include "parsers/formats/mxnet/gluon_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr double kDay = 86400;
constexpr std::int64_t kBatchLimit = 1'000'000'000, kEpochLimit = 1'000'000;  // more is damaged

}  // namespace

GluonStamp gluon_stamp(std::string_view text) {
  if (const auto time = date_time(text)) return {*time, 1e-3, true};
  const auto start = text.find(':', text.starts_with("INFO:") ? 5 : std::string_view::npos);
  if (start == std::string_view::npos) return {};
  Cursor cursor(text.substr(start + 1), false);
  const std::string_view digits = cursor.rest().substr(0, 8);
  if (digits.size() < 8 || digits[2] != ':' || digits[5] != ':') return {};
  const auto time = cursor.duration();
  return time ? GluonStamp{*time, 1, false} : GluonStamp{};
}

double GluonClock::at(const GluonStamp& stamp) {
  if (std::isnan(stamp.time_s)) return kUnknown;
  shortened_ = shortened_ || off_s_ > 0;
  return days_.at({stamp.time_s, stamp.has_date, stamp.has_date}) - off_s_;
}

bool GluonClock::take_off(double seconds, int rank) {
  if (!(seconds > 0 && seconds < 1e9) || rank_.value_or(rank) != rank) return false;
  rank_ = rank;
  off_s_ += seconds;
  return true;
}

void GluonClock::evaluated(double seconds, int rank, const GluonStamp& stamp) {
  if (!take_off(seconds, rank)) return;
  evaluations_s_ += seconds;
  evaluated_ = stamp;
}

void GluonClock::saved(const Line& line) {
  if (!evaluated_ || rank_ != line.rank) return;
  const GluonStamp stamp = gluon_stamp(line.text);
  if (evaluated_->has_date != stamp.has_date) return;
  const double seconds = stamp.time_s - evaluated_->time_s;
  const bool next_day = seconds < -kDay / 2 && !stamp.has_date;
  if (take_off(next_day ? seconds + kDay : seconds, line.rank)) saving_too_ = true;
  evaluated_.reset();
}

std::optional<NoticeCode> GluonClock::shortened_by() const {
  if (!shortened_) return std::nullopt;
  return saving_too_ ? NoticeCode::saving_off_the_clock : NoticeCode::saving_on_the_clock;
}

std::optional<double> last_of_sum(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  auto value = cursor.number();
  while (value && cursor.literal("/")) value = cursor.number();
  return value;
}

std::optional<GluonSegmentation> gluon_segmentation(const Line& line) {
  GluonSegmentation out;
  if (!Cursor(line).read("Epoch ", out.epoch, " iteration ", out.iteration, "/", out.total,
                         ": training loss ", out.loss)) {
    return std::nullopt;
  }
  if (out.total < 1 || out.total > kBatchLimit || out.epoch > kEpochLimit) return std::nullopt;
  return out;
}

std::optional<GluonBatch> gluon_batch(const Line& line) {
  Cursor cursor(line);
  GluonBatch out;
  if (cursor.skip_past("[Epoch ")) {
    if (!cursor.read(out.epoch, " Batch ")) return std::nullopt;
  } else if (cursor.skip_past("Epoch: ")) {
    if (!cursor.read(out.epoch, ", Batch: ")) return std::nullopt;
    out.squad = true;
  } else if (!has(line, "Thoughput=") || !cursor.skip_past(" Batch: ")) {
    return std::nullopt;
  } else {
    out.squad = true;
  }
  if (!cursor.read(out.batch, "/", out.total) || out.batch > kBatchLimit || out.total < 1 ||
      out.total > kBatchLimit || out.epoch.value_or(0) > kEpochLimit) {
    return std::nullopt;
  }
  auto loss = number_after(line, out.squad ? "Loss=" : "loss=");
  out.from_one = out.squad && !loss;
  if (out.from_one) loss = last_of_sum(line, "/total=");
  if (!loss) return std::nullopt;
  out.loss = *loss;
  return out;
}

std::optional<std::int64_t> gluon_validated(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("[Epoch ")) return std::nullopt;
  const auto epoch = cursor.integer();
  return cursor.literal("] valid ") ? epoch : std::nullopt;
}

bool GluonIntervals::begins_epoch(GluonInterval& line, std::int64_t in_epoch) {
  if (line.iterations <= newest_.iterations || newest_.iterations < 2) {
    newest_ = line;
    return false;
  }
  // Time and samples are each what is nearer to the line before.
  const double more =
      static_cast<double>(line.iterations) / static_cast<double>(newest_.iterations);
  const double middle = (1 + more) / 2;
  if (!(line.seconds < middle * newest_.seconds)) return false;
  line.iterations = newest_.iterations;
  if (std::abs(in_epoch - newest_.iterations) > 1) return true;  // lines were left out
  if (line.rate * line.seconds > middle * newest_.rate * newest_.seconds) line.rate /= more;
  return true;
}

GluonArguments gluon_arguments(const Line& line) {
  GluonArguments out;
  out.one_worker = has(line, "comm_backend='horovod'") || has(line, "comm_backend='byteps'");
  out.length = has(line, "max_seq_length=");
  Cursor gpus(line);  // with horovod the list is not used: a worker has the GPU of its rank
  if (!out.one_worker && gpus.skip_past("gpus='")) {
    if (const auto list = gpus.until("'")) {
      out.world = static_cast<std::int64_t>(split(*list, ',').size());
      out.devices = *out.world;
    }
  }
  const auto count = [&](std::string_view key) { return size_after(line, key); };
  if (has(line, kGluonDict)) {
    out.epochs = count("'epochs': ");
    out.batch = count("'batch_size': ");
    if (has(line, "'gpu_id': ")) out.world = 1;
    return out;
  }
  out.accumulation = has(line, "accumulate=None") ? 1 : count("accumulate=");
  out.steps = count(" num_steps=");
  if (!out.steps) out.steps = count("(num_steps=");
  out.interval = count("log_interval=");
  out.start = count("start_step=");
  // The second phase counts from 0 again.
  if (const auto before = count("phase1_num_steps="); before && has(line, "phase2=True")) {
    out.start = out.start > *before ? std::optional(*out.start - *before) : std::nullopt;
  }
  out.evaluation = count(" total_batch_size_eval=");
  if (has(line, "synthetic_data=True")) out.synthetic = count(" max_seq_length=");
  if (has(line, "model='bert_12_768_12'")) out.model = "bert-base";
  if (has(line, "model='bert_24_1024_16'")) out.model = "bert-large";
  // Without a list the pre-training script computes on the CPU, in one process.
  if (has(line, "comm_backend='device'") && (has(line, "gpus=None") || has(line, "gpus=''")))
    out.world = 1;
  out.epochs = count(" epochs=");
  out.all = count(" total_batch_size=");
  out.batch = count(" batch_size=");
  if (!out.batch) out.batch = count("(batch_size=");
  // XLNet's scripts divide their batch among as many GPUs as "gpu=" states; elsewhere that is a
  // GPU's number.
  const auto gpus_used = has(line, "='xlnet_") ? count(" gpu=") : std::nullopt;
  if (gpus_used && out.batch) {
    out.divided = true;
    out.world = gpus_used;
    if (out.accumulation) out.all = *out.batch * *out.accumulation;
    if (*out.batch % *gpus_used == 0) {
      out.batch = *out.batch / *gpus_used;
    } else {
      out.batch.reset();
    }
  }
  if (!out.one_worker && has(line, " gpu=True,")) out.world = 1;  // the first script: not which one
  // "batch_size" counts tokens then.
  if (has(line, "by_token=True") || has(line, "use_avg_len=True")) {
    out.divided = true;
    out.batch.reset();
    out.all.reset();
  }
  // gluon-cv's batch is of all its devices.
  if (has(line, "ngpus=")) {
    out.world = count("ngpus=");
    out.batch.reset();
  }
  return out;
}

std::optional<std::int64_t> gluon_workers(const Line& line) {
  Cursor cursor(line);
  std::int64_t buckets = 0, workers = 0;
  if (!cursor.skip_past(kGluonWorkers) || !cursor.read(buckets, ", num_workers: ", workers) ||
      workers < 1 || workers > 1'000'000) {
    return std::nullopt;
  }
  return workers;
}

std::optional<GluonStep> gluon_step(const Line& line) {
  Cursor cursor(line);
  GluonStep out;
  if (!cursor.skip_past("[step ") || !cursor.read(out.step, "]")) return std::nullopt;
  const auto rate = number_after(line, "throughput=");
  const auto loss = number_after(line, "mlm_loss=");
  if (!rate || !loss) return std::nullopt;
  out.tokens_per_second = *rate * (has(line, "K tks/s") ? 1000 : 1);
  out.loss = *loss;
  const auto learning_rate = number_after(line, "\tlr=");
  out.trains = !learning_rate || *learning_rate != 0;
  const auto time = number_after(line, " time=");
  if (time) out.seconds = *time;
  // The latency is the time over the interval's steps: 0.1 ms of each, where the time has 10 ms.
  const auto latency = number_after(line, " latency=");
  out.counts_done = latency && has(line, " ms/step");
  if (time && latency && *latency > 0 && *latency < 1e12) {
    constexpr double kRounding = 0.005, kLatency = 0.05e-3;  // halves of the last digits
    const double steps = std::round(*time * 1e3 / *latency);
    const double finer = steps * *latency / 1e3;
    if (steps >= 1 && steps * kLatency < kRounding &&
        std::abs(finer - *time) <= kRounding + steps * kLatency) {
      out.seconds = finer;
    }
  }
  return out;
}

std::optional<std::int64_t> gluon_saving(const Line& line) {
  Cursor cursor(line);
  std::int64_t step = 0;
  if (!cursor.skip_past("[step ") || !cursor.read(step, kGluonSaving) ||
      (!cursor.literal("trainer states to ") && !cursor.literal("model params to "))) {
    return std::nullopt;
  }
  return step;
}

std::optional<GluonDetection> gluon_detection(const Line& line) {
  if (!has(line, "Namespace(") || !has(line, "save_prefix='")) return std::nullopt;
  const auto count = [&](std::string_view key) {
    const auto value = size_after(line, fmt::format(" {}=", key));
    return value ? value : size_after(line, fmt::format("({}=", key));
  };
  GluonDetection out;
  out.batch = count("batch_size");
  if (out.batch > 1'000'000) out.batch.reset();
  out.epochs = count("epochs");
  out.samples = count("num_samples");
  if (!out.samples) {  // trainval of 2007 and 2012; train2017's images that have objects
    out.usual = true;
    if (has(line, "dataset='voc'")) out.samples = 16'551;
    if (has(line, "dataset='coco'")) out.samples = 117'266;
  }
  Cursor gpus(line);
  if (!has(line, "horovod=True") && gpus.skip_past(" gpus='")) {
    if (const auto list = gpus.until("'")) {
      out.devices = static_cast<std::int64_t>(split(*list, ',').size());
    }
  }
  return out;
}

std::optional<Notice> GluonDetection::notice() const {
  if (!samples) return std::nullopt;
  return make_notice(NoticeCode::epoch_of_images, 0, *samples,
                     usual ? "as the dataset's name suggests" : "as the log states");
}

void GluonEpochCosts::add(double seconds, std::int64_t batches, std::int64_t interval) {
  if (!(seconds > 0 && seconds < 1e9)) return;
  seconds_ += seconds;
  least_ += static_cast<double>(batches);
  most_ += static_cast<double>(batches + std::max<std::int64_t>(0, interval - 1));
}

std::optional<Notice> GluonEpochCosts::notice() const {
  if (!(seconds_ > 0)) return std::nullopt;
  return make_notice(NoticeCode::epochs_give_batches, 0, least_ / seconds_, most_ / seconds_);
}

std::optional<GluonTotalBatch> gluon_total_batch(const Line& line) {
  constexpr std::int64_t kSizeLimit = 1'000'000;
  Cursor cursor(line);
  GluonTotalBatch out;
  if (!cursor.skip_past(kGluonTotalBatch)) {
    if (!has(line, "Namespace(") || !has(line, " last_gamma=")) {
      return std::nullopt;
    }
    const auto each = number_after(line, {"(batch_size=", " batch_size="});
    const auto gpus = number_after(line, " num_gpus=");
    if (!each || !gpus || !(*each >= 1 && *each <= 1e6) || !(*gpus >= 0 && *gpus <= 1e6)) {
      return std::nullopt;
    }
    const auto all = std::max<std::int64_t>(1, static_cast<std::int64_t>(*gpus));
    out.batch = static_cast<std::int64_t>(*each) * all;
    if (*out.batch > kSizeLimit) return std::nullopt;
    if (*gpus >= 1) out.devices = all;
    return out;
  }
  const auto batch = cursor.integer();
  const auto devices = cursor.literal(" on ") ? cursor.integer() : std::nullopt;
  if (batch && *batch >= 1 && *batch <= kSizeLimit && devices && *devices <= kSizeLimit) {
    out.batch = batch;
    if (*devices >= 1) out.devices = devices;
  }
  return out;
}

double gluon_cifar_images(const Line& line) {
  constexpr double kImages = 50'000;
  if (!has(line, "model='cifar_")) return 0;
  const auto each = number_after(line, {"(batch_size=", " batch_size="});
  const auto gpus = number_after(line, " num_gpus=");
  if (!each || !gpus || !(*each >= 1 && *gpus >= 0)) return 0;
  const double batch = *each * std::max(1.0, *gpus);
  return batch <= kImages ? std::floor(kImages / batch) * batch : 0;
}

}  // namespace bertbench
