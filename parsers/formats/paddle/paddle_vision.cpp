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
#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/assemble/rank_copies.h"
#include "parsers/core/line.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_paddle_vision {
namespace {

// The counters and stamps of PaddlePaddle's vision suites.

/// Above it no number of such a line is meant.
constexpr double kMostPaddle = 1e12;

/// Where a training line stands.
struct Count {
  std::int64_t epoch = 0;
  std::int64_t step = 0;       ///< done: of the epoch, or of the run
  std::int64_t per_epoch = 0;  ///< 0: not stated
  bool of_run = false;
  bool mean_of_epoch = false;  ///< the times are means since the epoch began
  bool all_cards = false;
  std::int64_t planned = 0;  ///< last step of the run; 0: not stated
  bool of_epoch = false;     ///< cost x step is the time since the epoch began
};

enum PlaceOf : std::uint8_t {
  kFromZero = 1,   ///< batches count from 0
  kOfRun = 2,      ///< the step counts over all epochs
  kMean = 4,       ///< Count::mean_of_epoch
  kPerEpoch = 8,   ///< the batches of an epoch follow
  kPlanned = 16,   ///< the last step of the run may follow
  kNotFirst = 32,  ///< number 0 is one batch, which the line divides by the usual number
  kCards = 64,     ///< of all cards, where a blank follows: PLSC
};
/// What stands around the epoch and the step.
struct Place {
  std::string_view head, between;
  std::uint8_t of = 0;
  std::string_view end{};
};
constexpr Place kPlaces[] = {
    {"[Train][Epoch ", "][Iter: ", kFromZero | kMean | kPerEpoch | kCards, "]"},
    {"[Pass ", ", train batch ", kFromZero},
    {"epoch:[", " train step:", kFromZero | kMean},
    {"epoch:", " train step:", kFromZero | kMean},
    {"[TRAIN] epoch=", ", iter=", kOfRun | kPlanned},  // to 2021
    {"[TRAIN] epoch: ", ", iter: ", kOfRun | kPlanned},
    {"epoch: [", "], global_step: ", kOfRun},
    {"epoch: [", "], iter: ", kOfRun},
    {"Epoch: [", "] [", kFromZero | kPerEpoch},
    {"Epoch: ", ", iter: ", kPerEpoch},
    {"[epoch ", ", iter ", 0, "][TRAIN]"},
    {"[Epoch ", ", iter: ", 0, "] "},
    {"[TRAIN] epoch=", ", batch_id=", kNotFirst},
    {"epoch: ", ", batch_id: ", kNotFirst},
};

bool read_place(Cursor cursor, const Place& place, Count& out) {
  const auto is = [&](PlaceOf what) { return (place.of & what) != 0; };
  if (!cursor.read(Past{place.head}, kBlanks, out.epoch, Past{place.between}, kBlanks, out.step) ||
      (is(kPerEpoch) && !cursor.read("/", kBlanks, out.per_epoch)) || !cursor.literal(place.end)) {
    return false;
  }
  if (is(kPlanned)) cursor.read("/", kBlanks, out.planned);
  if ((is(kPerEpoch) && out.step > out.per_epoch) || (is(kNotFirst) && out.step < 1)) return false;
  out.of_run = is(kOfRun);
  out.mean_of_epoch = is(kMean);
  out.all_cards = is(kCards) && cursor.literal(" ");
  out.step += is(kFromZero) ? 1 : 0;
  return true;
}

// "2020-09-25 15:11:54,840-INFO: iter: 2, lr: 0.000035, " of PaddleDetection in 2020; nothing lies
// before number 0
bool iter_count(Cursor cursor, Count& out) {
  out.of_run = true;
  return cursor.read(Past{"INFO: iter: "}, kBlanks, out.step, ", lr: ") && out.step >= 1;
}

// "Epoch [1/2], Iter [01/14], "
bool mean_count(Cursor cursor, Count& out) {
  out.of_epoch = true;
  std::int64_t epochs = 0;
  if (!cursor.read(Past{"Epoch ["}, kBlanks, out.epoch, "/", kBlanks, epochs, "], Iter [", kBlanks,
                   out.step, "/", kBlanks, out.per_epoch, "]") ||
      out.epoch < 1 || epochs < out.epoch || out.step < 1 || out.step > out.per_epoch) {
    return false;
  }
  constexpr std::int64_t kFactorLimit = 1'000'000;
  if (epochs < kFactorLimit && out.per_epoch < kFactorLimit) out.planned = epochs * out.per_epoch;
  return true;
}

// Of a training line of PaddleClas, PaddleOCR, PaddleDetection, PaddleSeg, PLSC, the models of
// 2020 or the template of reproductions; lines of evaluations have none.
std::optional<Count> paddle_count(const Line& line) {
  constexpr std::int64_t kFactorLimit = 1'000'000'000;  // the product of two counts fits
  for (const std::string_view other : {"[Eval]", "valid step", "END epoch", "step_idx:"}) {
    if (has(line, other)) return std::nullopt;
  }
  Count count;
  const bool read = std::ranges::any_of(kPlaces,
                                        [&](const Place& place) {
                                          count = {};
                                          return read_place(Cursor(line), place, count);
                                        }) ||
                    mean_count(Cursor(line), count = {}) || iter_count(Cursor(line), count = {});
  const bool fits = count.epoch <= kFactorLimit && count.per_epoch <= kFactorLimit;
  return read && fits ? std::optional(count) : std::nullopt;
}

// Seconds of a batch.
std::optional<double> paddle_cost(const Line& line) {
  auto cost =
      number_after(line, {"batch_cost:", "batch_cost ", "batch_cost=", "elapse:", " elapse "});
  if (!cost && has(line, "-INFO: iter: ")) cost = number_after(line, "', time:");
  return cost;
}

constexpr Begin kRuns[] = {{.unit = IterationUnit::micro_step,
                            .clock = {1, true, true},
                            .restart = Restart::never,
                            .without_evaluations = true}};

struct PaddleVision {
  // The counter of the run. False: another run begins.
  bool counts_on(const Count& count) {
    if (count.epoch > epoch && open && !count.of_run) {
      if (count.per_epoch == 0 && ended_epoch != epoch) unknown_length = true;
      base = count.per_epoch > 0 ? base + per_epoch * (count.epoch - epoch) : newest;
    }
    const bool on = !open || base + count.step >= newest;
    if (!on || !open) base = newest = stride = 0;
    if (count.of_epoch) base = (count.epoch - 1) * count.per_epoch;
    epoch = count.epoch;
    per_epoch = count.per_epoch;
    return on;
  }

  // What the means since the epoch began show of the batches since the line before.
  void split_mean(const Count& count, double cost, Step& at) {
    const double whole_s = cost * static_cast<double>(count.step);
    const bool same = count.epoch == mean_epoch && count.step > mean_step;
    at.iterations = same ? count.step - mean_step : count.step;
    const double seconds = same ? whole_s - mean_s : whole_s;
    if (seconds > 0) {
      at.seconds = seconds;
      at.rate = static_cast<double>(at.iterations) / seconds;
    }
    mean_epoch = count.epoch;
    mean_step = count.step;
    mean_s = whole_s;
  }

  // ips x batch_cost is the batch, where the digits leave no doubt. A partial batch is smaller, the
  // first of PaddleOCR's old lines holds more than one.
  void take_batch(double product, double cost, const Line& line) {
    constexpr double kHalfDigit = 6e-5;
    double doubt = product * (kHalfDigit / cost) + 1e-3;
    const auto printed = number_after(line, "avg_samples:");  // settles what the digits leave open
    if (printed && std::abs(*printed - product) <= doubt) {
      product = *printed;
      doubt = 1e-3;
    }
    if (!open && has(line, "], iter: ") && has(line, "samples: ")) return;
    if (const auto size = whole_near(product, doubt)) batch = std::max(batch.value_or(0), *size);
  }

  void conclude(std::optional<std::int64_t> cards, Emit emit) {
    if (rated && !all_cards && !job_world(cards)) {
      emit(Note{make_notice(NoticeCode::rate_of_one_gpu, 0, "ips")});
    }
  }

  void close(Emit emit) {
    conclude(run_world, emit);
    emit(kRuns[0]);
    open = false;
    batch.reset();
    run_world.reset();
  }

  bool step(const Line& line, Emit emit) {
    const auto count = paddle_count(line);
    const auto cost = paddle_cost(line);
    if (!count || !cost || !(*cost > 0 && *cost < kMostPaddle)) return false;
    const bool after = count->epoch < epoch || (count->epoch == epoch && count->step <= epoch_step);
    if (ranks.is_copy(line.rank, open && after)) return true;
    const bool again = !count->of_run && (count->epoch + 1 < epoch ||
                                          (count->epoch < epoch && count->step <= epoch_step));
    epoch_step = count->step;
    const auto ips = number_after(line, {" ips:", " ips ", " avg_ips:"});
    rated |= ips.has_value();
    // An epoch again, or other cards than at the run's first line: another launch, wherever it
    // counts.
    if (open && ((run_world && world != run_world) || again)) close(emit);
    if (!counts_on(*count) && open) close(emit);
    Step at{.step = base + count->step,
            .time_s = front_time(line.text),
            .loss = number_after(line, {" loss:", " loss=", "loss ", "'loss': '"}),
            .rate_unit = count->all_cards ? RateUnit::sequences_per_second
                                          : RateUnit::iterations_per_second};
    take_rate(*count, *cost, ips, line, at);
    // Where the stamps are the clock, an interval with an evaluation takes what its batches do.
    if (open && count->mean_of_epoch) at.own_s = cost_s * static_cast<double>(at.iterations);
    cost_s = *cost;
    if (count->planned > 0) at.planned = count->planned;
    if (!run_world) run_world = world;
    one_batch |= has(line, " instance/sec");
    mean |= count->mean_of_epoch && !one_batch;
    all_cards = count->all_cards;
    newest = at.step;
    open = true;
    emit(at);
    return true;
  }

  // Iterations since the line before, their time and their rate.
  void take_rate(const Count& count, double cost, std::optional<double> ips, const Line& line,
                 Step& at) {
    const bool has_ips = ips && *ips > 0;
    const std::int64_t iterations = at.step - newest;
    const bool samples = has(line, "samples: ");
    if (has_ips && (stride == 0 || iterations == stride || !samples)) {
      take_batch(*ips * cost, cost, line);
    }
    if (open && iterations > 0) stride = std::max(stride, iterations);
    at.iterations = open ? std::max<std::int64_t>(1, iterations) : 1;
    double seconds = cost;
    if (samples && batch && has_ips) seconds = static_cast<double>(*batch) / *ips;
    at.rate = count.all_cards && ips ? *ips : 1 / seconds;
    if (count.of_epoch) {
      split_mean(count, cost, at);
    } else if (!count.mean_of_epoch && open) {
      at.each_s = seconds;
    }
  }

  // The length of an epoch is not printed, but follows from its samples: then the epoch is one
  // record.
  bool epoch_end(const Line& line, Emit emit) {
    std::int64_t ended = 0;
    if (!open || !batch || !Cursor::after(line).read(ended, kBlanks, "train ") || ended != epoch)
      return false;
    const auto seconds = number_after(line, "batch_cost_sum:");
    const auto ips = number_after(line, " avg_ips:");
    if (!seconds || !ips || !(*seconds > 0 && *seconds < kMostPaddle) || !(*ips > 0)) return false;
    const double product = *ips * *seconds / static_cast<double>(*batch);
    const double near = std::round(product);
    constexpr double kWholeGap = 0.05;
    const std::int64_t seen = newest - base;
    if (!(near < kMostPaddle) || std::abs(product - near) > kWholeGap ||
        static_cast<std::int64_t>(near) < seen) {
      return false;
    }
    newest = base + static_cast<std::int64_t>(near);
    emit(Step{.step = newest,
              .iterations = static_cast<std::int64_t>(near) - seen,
              .seconds = *seconds,
              .time_s = front_time(line.text),
              .rate = near / *seconds,
              .joins_after = base});
    ended_epoch = epoch;
    return true;
  }

  // The last epoch's mean, and the launcher's last word.
  bool last_mean(const Line& line, Emit emit) {
    std::int64_t ended = 0, epochs = 0;
    if (!open || !Cursor(line).read(Past{"[Train][Epoch "}, ended, "/", epochs) ||
        ended != epochs) {
      return false;
    }
    emit(End{});
    return true;
  }
  bool end(const Line&, Emit emit) {
    emit(End{});
    return open;
  }

  // The launcher's settings are read for all formats; these are the suites' own. PaddleClas (2.4):
  // "Building DALI Train pipeline with num_shards: 8, num_gpus: 8"
  void shards(const Line& line) {
    if (has(line, "(Train)") || has(line, " Train ")) set_world(line);
  }
  void nccl(const Line& line) {
    if (has(line, " ring id: 0")) set_world(line);  // the other rings may be of some ranks
  }
  void gpus(const Line& line) {
    if (line.at == 0) set_world(line);  // PaddleSeg: the ranks of the job
  }
  void set_world(const Line& line) {
    if (const auto size = size_here(line)) world = size;
  }
  // PaddleClas of 2020: of all cards
  void batch_size(const Line& line) {
    if (in_train) global = size_here(line);
    in_train = false;
  }

  void facts(Facts& facts) const {
    if (all_cards) {
      facts.global_batch_size.set(batch, FactSource::log);
      if (batch) facts.gradient_accumulation_steps.set(1, FactSource::log);
      return;
    }
    facts.micro_batch_size.set(batch, FactSource::log);
    facts.world_size.set(job_world(run_world), FactSource::log);
  }
  [[nodiscard]] std::optional<std::int64_t> job_world(std::optional<std::int64_t> cards) const {
    return cards || !global || !batch || *global % *batch != 0 ? cards : *global / *batch;
  }

  void finish(Emit emit) {
    conclude(world, emit);
    if (all_cards) {
      emit.note(NoticeCode::rate_taken_as_of_job, "ips", "PLSC");
      return;
    }
    if (one_batch) {
      emit.note(NoticeCode::rate_of_single_iterations,
                "a batch_cost or ips, where no line gives the time of the epoch,");
    }
    if (mean) {
      emit.note(NoticeCode::rate_is_mean_of_window, "a batch_cost or ips",
                "all batches of the epoch since the sixth");
    }
    if (unknown_length) {
      emit.note(NoticeCode::iterations_in_no_line,
                "the batches after the last line of an epoch of unknown length");
    }
  }

  bool open = false;
  std::int64_t epoch = -1, base = 0, stride = 0, per_epoch = 0;
  std::int64_t newest = 0;      ///< counter of the open run
  std::int64_t epoch_step = 0;  ///< of the epoch, as the newest line counts
  std::int64_t mean_epoch = -1, mean_step = 0;
  double mean_s = 0;  ///< since the epoch began
  std::int64_t ended_epoch = -1;
  RankCopies ranks;
  std::optional<std::int64_t> batch, run_world;  ///< of a card, and the cards, in the open run
  std::optional<std::int64_t> global, world;     ///< as stated last
  bool one_batch = false;                        ///< lines state the time of the batch before them
  bool in_train = false, mean = false, all_cards = false, unknown_length = false;
  bool rated = false;
  double cost_s = 0;  ///< of a batch, on the newest line of training
};

constexpr auto kEvaluated = [](PaddleVision&, const Line&, Emit emit) { emit(Evaluated{}); };

constexpr Row kRows[] = {
    on<&PaddleVision::step>("batch_cost: "),
    on<&PaddleVision::step>(", batch_cost="),
    on<&PaddleVision::step>(" train step:"),
    on<&PaddleVision::step>(", train batch "),
    on<&PaddleVision::step>("-INFO: iter: "),
    on<&PaddleVision::epoch_end>("END epoch:"),
    on<kEvaluated>("[Eval][Epoch "),
    on<kEvaluated>("] val step:"),
    on<&PaddleVision::last_mean>("][Avg]"),
    on<&PaddleVision::end>("] Local processes completed."),
    on<[](PaddleVision& s, const Line&) { s.world = 1; }>(" distributed : False"),
    on<&PaddleVision::shards>("pipeline with num_shards: "),
    on<&PaddleVision::nccl>("init nccl context nranks: "),
    on<&PaddleVision::gpus>("GPUs used: "),
    on<&PaddleVision::in_train>("INFO: TRAIN : "),
    on<[](PaddleVision& s, const Line&) { s.in_train = false; }>("INFO: VALID : "),
    on<&PaddleVision::batch_size>("INFO:     batch_size : "),
};

}  // namespace

extern const Format entry{
    .name = "paddle-vision",
    .title =
        "PaddleClas, PaddleOCR, PaddleDetection, PaddleSeg, PLSC, PaddleRec: batch_cost and ips",
    .reference =
        "https://github.com/PaddlePaddle/PaddleClas ppcls/engine/train/utils.py; "
        "PaddleOCR tools/program.py; PaddleDetection ppdet/engine/callbacks.py",
    .framework = "paddle",
    .table = table_of<PaddleVision>(kRows, kRuns)};

}  // namespace bertbench::format_paddle_vision
