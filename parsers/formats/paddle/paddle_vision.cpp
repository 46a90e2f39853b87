// paddle-vision: training lines of PaddlePaddle's vision suites.
//
//   [date] ppcls INFO: [Train][Epoch 1/120][Iter: 10/5005]lr(Piecewise): 0.1, top1: 0.0,
//       CELoss: 7.0, loss: 7.02506, batch_cost: 0.79642s, reader_cost: 0.02113,
//       ips: 321.4 samples/s, eta: ...
//   [date] ppcls INFO: epoch:0   train step:10   lr: 0.1, loss:  7.2 top1:  0.0
//       batch_cost: 0.18718 s, reader_cost: 0.00063 s, ips: 1367.69679 samples/sec.
//       (PaddleClas, static graph)
//   [date] ppocr INFO: epoch: [1/2], global_step: 100, lr: 5e-06, loss: 69.3,
//       avg_reader_cost: 0.01 s, avg_batch_cost: 0.18023 s, avg_samples: 64.0,
//       ips: 355.1 samples/s, eta: 0:32:33
//   [07/21 14:40:44] ppdet.engine INFO: Epoch: [0] [ 20/200] learning_rate: 2e-05 loss: 1.6
//       eta: ... batch_cost: 1.7087 data_cost: 0.0102 ips: 11.1193 images/s
//   2020-09-25 15:11:54,840-INFO: iter: 2, lr: 0.000035, 'loss': '1264.2', batch_cost: 20.69376 s,
//       eta: 6:53:11, ips: 0.38659 images/sec                            (PaddleDetection, 2020)
//   date-INFO: iter: 20, lr: 0.005, 'loss': '38.3', time: 0.888, eta: 14:48:05  (before September)
//   date [INFO] [TRAIN] epoch: 1, iter: 20/500, loss: 2.0, lr: 0.009, batch_cost: 0.5344,
//       reader_cost: 0.07273, ips: 3.7425 samples/sec | ETA 00:04:16     (PaddleSeg)
//   [Epoch 59, iter: 900] lr: 4e-05, loss: -0.89, avg_reader_cost: 0.00019 sec,
//       avg_batch_cost: 0.16477 sec, avg_samples: 18.0, avg_ips: 109.2 images/sec.
//   [date] root INFO: [epoch 0, iter 0][TRAIN]avg_samples: 32.0 , ... avg_ips: 2880.2 images/sec
//       (both: the template of reproductions)
//   Epoch [1/2], Iter [01/14], reader_cost: 1.00473 s, batch_cost: 74.52487 s, ips: 54.9 samples/s,
//       eta: 0:34:46                                                 (means since the epoch began)
//   epoch: 0, batch_id: 100, auc:0.6,  avg_reader_cost: 0.01 sec, avg_batch_cost: 0.02000 sec,
//       avg_samples: 512.00000, ips: 25600.00000 ins/s                  (PaddleRec)
//   [date] epoch:[  1/25 ] train step:100  loss: 3.4 ... batch_cost: 1.94236 sec,
//       reader_cost: 1.53779 sec, ips: 32.94963 instance/sec.
//   [date] END epoch:1   train loss_avg: 3.9 ... batch_cost_sum: 199.92121 sec,
//       avg_ips: 47.69879 instance/sec.                                 (both: PaddleVideo)
//   INFO:utils.utility:[Pass 0, train batch 10]   loss 21.7, lr 0.1, batch_cost 0.13110 sec,
//       reader_cost 0.00069 sec, ips 976.32917 images/sec               (models of 2020)
//
// ips is the batch of ONE card over batch_cost; a step is the job's all the same, so that the rate
// is kept as steps/s and the sequences of the job follow from batch and cards. PLSC alone prints
// the ips of all cards. PaddleClas' two are means since the sixth batch of the epoch, the others'
// of the batches since the line before. PaddleOCR divides a shorter interval at the end of an epoch
// by the usual number of batches: its ips is right there, its batch_cost is not. Until 2021 it
// counts iterations from 0 and divides the N + 1 batches before line N by N: the samples of
// its first line are more than a batch. A line of PaddleVideo is about the one batch before
// it, the line that ends an epoch of all: that is the record.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "parsers/assemble/rank_copies.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/training_clock.h"
#include "parsers/formats/format.h"
#include "parsers/formats/paddle/paddle_counts.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

using Count = PaddleCount;

constexpr std::string_view kAnchors[] = {"batch_cost: ",
                                         ", batch_cost=",
                                         "init nccl context nranks: ",
                                         " train step:",
                                         ", train batch ",
                                         "-INFO: iter: ",
                                         "][Avg]",
                                         " distributed : False",
                                         "pipeline with num_shards: ",
                                         "GPUs used: ",
                                         "INFO:     batch_size : ",
                                         "INFO: TRAIN : ",
                                         "INFO: VALID : ",
                                         "] Local processes completed."};

class PaddleVisionParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  /// What one run of several in a file has for itself.
  struct Own {
    std::optional<std::int64_t> batch, world;
  };
  bool see_step(const Line& line, RunBuilder& out);
  void close(RunBuilder& out);
  [[nodiscard]] Own common_own() const;
  void see_batch(double product, double cost, bool whole_interval, const Line& line);
  void see_setting(const Line& line);
  bool see_epoch_end(const Line& line);
  bool counts_on(const Count& count);
  void see_mean(const Count& count, double cost, Sample& sample);
  void see_rate(const Count& count, double cost, std::optional<double> ips, const Line& line,
                Sample& sample);
  void see_clock(const Count& count, double cost, const Line& line, Sample& sample);

  RunDraft* run_ = nullptr;
  std::int64_t epoch_ = -1, base_ = 0, step_ = 0, stride_ = 0, per_epoch_ = 0;
  double time_s_ = kUnknown, wrap_s_ = 0;
  std::int64_t mean_epoch_ = -1, mean_step_ = 0;
  double mean_s_ = 0;  ///< since the epoch began
  std::int64_t ended_epoch_ = -1;
  std::int64_t at_ = 0;  ///< of the epoch, as the newest line counts
  RankCopies ranks_;
  std::optional<std::int64_t> batch_;           ///< of a card, in the open run
  std::optional<std::int64_t> global_, world_;  ///< as told last
  std::map<const RunDraft*, Own> own_;
  bool one_batch_ = false;  ///< lines tell the time of the batch before them
  bool in_train_ = false, mean_ = false, all_cards_ = false, untold_length_ = false;
  bool ips_ = false;
  double cost_s_ = 0;  ///< of a batch, on the newest line of training
  TrainingClock clock_;
};

// The counter of the run. False: another run begins.
bool PaddleVisionParser::counts_on(const Count& count) {
  const bool next = count.epoch > epoch_ && run_ != nullptr && !count.of_run;
  if (next) {
    if (count.per_epoch == 0 && ended_epoch_ != epoch_) untold_length_ = true;
    base_ = count.per_epoch > 0 ? base_ + per_epoch_ * (count.epoch - epoch_) : step_;
  }
  const bool on = run_ == nullptr || base_ + count.step >= step_;
  if (!on || run_ == nullptr) {
    base_ = step_ = stride_ = 0;
    time_s_ = kUnknown;
    wrap_s_ = 0;
  }
  if (count.of_epoch) base_ = (count.epoch - 1) * count.per_epoch;
  epoch_ = count.epoch;
  per_epoch_ = count.per_epoch;
  return on;
}

// What the means since the epoch began say of the batches since the line before.
void PaddleVisionParser::see_mean(const Count& count, double cost, Sample& sample) {
  const double whole_s = cost * static_cast<double>(count.step);
  const bool same = count.epoch == mean_epoch_ && count.step > mean_step_;
  sample.iterations = same ? count.step - mean_step_ : count.step;
  const double seconds = same ? whole_s - mean_s_ : whole_s;
  if (seconds > 0) {
    sample.seconds = seconds;
    sample.rate = static_cast<double>(sample.iterations) / seconds;
  }
  mean_epoch_ = count.epoch;
  mean_step_ = count.step;
  mean_s_ = whole_s;
}

// ips x batch_cost is the batch, where the digits leave no doubt. A partial batch is smaller, the
// first of PaddleOCR's old lines holds more than one.
void PaddleVisionParser::see_batch(double product, double cost, bool whole_interval,
                                   const Line& line) {
  constexpr double kHalfDigit = 6e-5;
  double doubt = product * (kHalfDigit / cost) + 1e-3;
  const auto told = number_after(line, "avg_samples:");  // settles what the digits leave open
  if (told && std::abs(*told - product) <= doubt) {
    product = *told;
    doubt = 1e-3;
  }
  const double near = std::round(product);
  if (!whole_interval || !(near >= 1 && near < 1e9) || doubt > 0.3 ||
      std::abs(product - near) > doubt) {
    return;
  }
  if (run_ == nullptr && has(line, "], iter: ") && has(line, "samples: ")) return;
  if (!batch_ || near > static_cast<double>(*batch_)) batch_ = static_cast<std::int64_t>(near);
}

void PaddleVisionParser::close(RunBuilder& out) {
  out.close(WorkKind::training);
  run_ = nullptr;
  batch_.reset();
}

bool PaddleVisionParser::see_step(const Line& line, RunBuilder& out) {
  const auto count = paddle_count(line);
  const auto cost = paddle_cost(line);
  if (!count || !cost || !(*cost > 0 && *cost < kMostPaddle)) return false;
  const bool after = count->epoch < epoch_ || (count->epoch == epoch_ && count->step <= at_);
  if (ranks_.is_copy(line.rank, run_ != nullptr && after)) return true;
  const bool again = !count->of_run &&
                     (count->epoch + 1 < epoch_ || (count->epoch < epoch_ && count->step <= at_));
  at_ = count->step;
  const auto ips = number_after(line, {" ips:", " ips ", " avg_ips:"});
  ips_ = ips_ || ips.has_value();
  // An epoch again, or other cards than at the run's first line: another launch, wherever it
  // counts.
  const bool other = run_ != nullptr && own_[run_].world && world_ != own_[run_].world;
  if (run_ != nullptr && (other || again)) close(out);
  if (!counts_on(*count) && run_ != nullptr) close(out);
  Sample sample;
  sample.step = base_ + count->step;
  see_rate(*count, *cost, ips, line, sample);
  see_clock(*count, *cost, line, sample);
  sample.loss = number_after(line, {" loss:", " loss=", "loss ", "'loss': '"});
  sample.line = line.number;
  sample.rank = line.rank;
  run_ = &out.run(WorkKind::training, line.number);
  Own& own = own_[run_];
  if (!own.world) own.world = world_;
  own.batch = batch_;
  run_->log.iteration_unit = IterationUnit::micro_step;
  run_->log.rate_unit =
      count->all_cards ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
  run_->log.clock_resolution_s = 1;
  run_->log.clock_is_wall = true;
  if (count->planned > 0) run_->planned = count->planned;
  run_->add(sample);
  one_batch_ = one_batch_ || has(line, " instance/sec");
  mean_ = mean_ || (count->mean_of_epoch && !one_batch_);
  all_cards_ = count->all_cards;
  step_ = sample.step;
  return true;
}

// Iterations since the line before, their time and their rate.
void PaddleVisionParser::see_rate(const Count& count, double cost, std::optional<double> ips,
                                  const Line& line, Sample& sample) {
  const bool first = run_ == nullptr;
  const bool told = ips && *ips > 0;
  const std::int64_t iterations = sample.step - step_;
  const bool samples = has(line, "samples: ");
  if (told) see_batch(*ips * cost, cost, stride_ == 0 || iterations == stride_ || !samples, line);
  if (!first && iterations > 0) stride_ = std::max(stride_, iterations);
  sample.iterations = first ? 1 : std::max<std::int64_t>(1, iterations);
  double seconds = cost;
  if (samples && batch_ && told) seconds = static_cast<double>(*batch_) / *ips;
  sample.rate = count.all_cards && ips ? *ips : 1 / seconds;
  if (count.of_epoch) {
    see_mean(count, cost, sample);
  } else if (!count.mean_of_epoch && !first) {
    sample.seconds = seconds * static_cast<double>(sample.iterations);
  }
}

// Where the stamps are the clock, an interval with an evaluation takes what its batches do.
void PaddleVisionParser::see_clock(const Count& count, double cost, const Line& line,
                                   Sample& sample) {
  constexpr double kYear = 366.0 * 86400;
  double stamp_s = paddle_stamp(line) + wrap_s_;
  if (time_s_ - stamp_s > kYear / 2) {
    wrap_s_ += kYear;
    stamp_s += kYear;
  }
  const bool known = run_ != nullptr && count.mean_of_epoch;
  const double own = known ? cost_s_ * static_cast<double>(sample.iterations) : kUnknown;
  cost_s_ = cost;
  time_s_ = stamp_s;
  sample.time_s = clock_.at(stamp_s, own);
}

// The length of an epoch is not told, but follows from its samples: then the epoch is one record.
bool PaddleVisionParser::see_epoch_end(const Line& line) {
  Cursor cursor(line);
  if (run_ == nullptr || !batch_ || !cursor.skip_past("END epoch:")) return false;
  const auto epoch = cursor.integer();
  cursor.blanks();
  if (epoch != epoch_ || !cursor.literal("train ")) return false;
  const auto seconds = number_after(line, "batch_cost_sum:");
  const auto ips = number_after(line, " avg_ips:");
  if (!seconds || !ips || !(*seconds > 0 && *seconds < kMostPaddle) || !(*ips > 0)) return false;
  const double batches = *ips * *seconds / static_cast<double>(*batch_);
  const double near = std::round(batches);
  constexpr double kDoubt = 0.05;
  const std::int64_t seen = step_ - base_;
  if (!(near < kMostPaddle) || std::abs(batches - near) > kDoubt ||
      static_cast<std::int64_t>(near) < seen) {
    return false;
  }
  Sample end;
  end.step = base_ + static_cast<std::int64_t>(near);
  end.iterations = static_cast<std::int64_t>(near) - seen;
  end.time_s = paddle_stamp(line) + wrap_s_ - clock_.off_s();
  end.line = line.number;
  end.rank = line.rank;
  if (end.iterations > 0) run_->add(end);
  run_->join_records_after(base_);
  end.seconds = *seconds;
  end.rate = near / *seconds;
  run_->add(end);
  step_ = end.step;
  ended_epoch_ = epoch_;
  return true;
}

// The launcher's settings are read for all formats; these are the suites' own.
void PaddleVisionParser::see_setting(const Line& line) {
  if (const auto shards = number_after(line, "pipeline with num_shards:")) {
    const bool training = has(line, "(Train)") || has(line, " Train ");
    if (training && *shards >= 1 && *shards < kMostPaddle)
      world_ = static_cast<std::int64_t>(*shards);
  } else if (const auto ranks = number_after(line, "init nccl context nranks:")) {
    const bool all = has(line, " ring id: 0");  // the other rings may be of some ranks
    if (all && *ranks >= 1 && *ranks < kMostPaddle) world_ = static_cast<std::int64_t>(*ranks);
  } else if (line.text.starts_with("GPUs used: ")) {  // PaddleSeg: the ranks of the job
    const auto used = number_after(line, "GPUs used:");
    if (used && *used >= 1 && *used < kMostPaddle) world_ = static_cast<std::int64_t>(*used);
  } else if (has(line, " distributed : False")) {
    world_ = 1;
  } else if (has(line, "INFO: TRAIN : ") || has(line, "INFO: VALID : ")) {
    in_train_ = has(line, "INFO: TRAIN : ");
  } else if (const auto batch = number_after(line, "INFO:     batch_size :"); batch && in_train_) {
    // PaddleClas of 2020: of all cards
    if (*batch >= 1 && *batch < kMostPaddle) global_ = static_cast<std::int64_t>(*batch);
    in_train_ = false;
  }
}

bool PaddleVisionParser::parse(const Line& line, RunBuilder& out) {
  if (see_step(line, out) || see_epoch_end(line)) return true;
  if (has(line, "[Eval][Epoch ") || has(line, "] val step:")) clock_.see_evaluation();
  Cursor last(line);
  const bool launched = has(line, "] Local processes completed.");
  if (run_ != nullptr && (launched || last.skip_past("[Train][Epoch "))) {
    const auto epoch = last.integer();
    if (!launched && (!epoch || !last.literal("/") || last.integer() != epoch)) return false;
    run_->ended_well = true;
    run_->last_line = line.number;
    return true;
  }
  see_setting(line);
  return false;
}

// For runs that tell nothing: the batch that all others have, and cards that none was told ahead.
PaddleVisionParser::Own PaddleVisionParser::common_own() const {
  Own common{std::nullopt, world_};
  std::set<std::int64_t> batches;
  for (const auto& [run, own] : own_) {
    if (own.batch) batches.insert(*own.batch);
    if (own.world) common.world.reset();
  }
  if (batches.size() == 1) common.batch = *batches.begin();
  return common;
}

void PaddleVisionParser::finish(RunBuilder& out) {
  out.facts.framework.set("paddle", FactSource::log);
  const Own common = common_own();
  for (const auto& draft : out.drafts()) {
    Facts& facts = draft->log.facts;
    auto [batch, world] = own_[draft.get()];
    if (!batch) batch = common.batch;
    if (!world) world = common.world;
    if (!world && global_ && batch && *global_ % *batch == 0) world = *global_ / *batch;
    const auto add = [&](NoticeCode code, const auto&... values) {
      draft->log.notices.push_back(make_notice(code, 0, values...));
    };
    if (clock_.off_s() > 0) {
      add(NoticeCode::evaluations_off_the_clock);
    }
    if (all_cards_) {
      if (batch) facts.global_batch_size.set(*batch, FactSource::log);
      if (batch) facts.gradient_accumulation_steps.set(1, FactSource::log);
      add(NoticeCode::rate_taken_as_of_job, "ips", "PLSC");
      continue;
    }
    if (batch) facts.micro_batch_size.set(*batch, FactSource::log);
    if (one_batch_) {
      add(NoticeCode::rate_of_single_iterations,
          "a batch_cost or ips, where no line gives the time of the epoch,");
    }
    if (world && *world >= 1 && *world < 1'000'000) {
      facts.world_size.set(*world, FactSource::log);
    } else if (ips_) {
      add(NoticeCode::rate_of_one_gpu, "ips");
    }
    if (mean_) {
      add(NoticeCode::rate_is_mean_of_window, "a batch_cost or ips",
          "all batches of the epoch since the sixth");
    }
    if (untold_length_) {
      add(NoticeCode::iterations_in_no_line,
          "the batches after the last line of an epoch of unknown length");
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<PaddleVisionParser>(); }

}  // namespace

extern const Format format_paddle_vision;
const Format format_paddle_vision = {
    "paddle-vision",
    "PaddleClas, PaddleOCR, PaddleDetection, PaddleSeg, PLSC, PaddleRec: batch_cost and ips",
    "https://github.com/PaddlePaddle/PaddleClas ppcls/engine/train/utils.py; PaddleOCR "
    "tools/program.py; PaddleDetection ppdet/engine/callbacks.py",
    kAnchors, make};

}  // namespace bertbench
