// pytorch: progress lines after the manner of PyTorch's example trainers.
//
//   Epoch: [0][  10/5005]\tTime  0.435 ( 1.263)\tData  0.000 ( 0.831)\tLoss 6.98 (7.02) (examples)
//   Train: [0/300][10/1251]\teta 0:12:34 lr 0.000001\ttime 0.4021 (0.5012)\tloss 6.9 (6.9)   (Swin)
//   Epoch: [0]  [  10/1251]  eta: 0:12:34  loss: 6.9 (6.9)  time: 0.6102  data: 0.0003
//       (MetricLogger)
//   Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.96)  Time: 0.403s,  635.2/s  (0.512s, 500.0/s)
//       (timm)
//   Epoch: [1][20/782] Elapsed 0m 26s (remain 16m 37s) Loss: 1.77(1.80) Grad: 4.2
//       (Kaggle)
//
// "0.435 ( 1.263)" is the last iteration and the mean of the epoch so far: mean times iterations is
// the time since the epoch began, which is the clock here (evaluations between epochs are not in
// it). MetricLogger's time is the mean of the last 20 iterations; its clock is the line that ends
// an epoch. timm's images/s are of the whole job; a Speed elsewhere may be of one process and is
// not taken. What is counted are batches.
#include <algorithm>
#include <cmath>
#include <optional>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/evaluation_words.h"

namespace bertbench::format_pytorch {
namespace {

constexpr std::int64_t kMaxEpochs = 1'000'000, kMaxBatches = 1'000'000'000;
constexpr double kRounding_s = 0.0005;  ///< of a printed mean

// " time: 0.6102", "\tTime  0.435"
bool find_word(std::string_view word, Cursor& cursor) {
  if (!cursor.read(Word{word})) return false;
  cursor.literal(":");
  cursor.blanks();
  return true;
}

std::optional<double> loss_of(const Line& line) {
  for (const std::string_view name : {"Loss", "loss", "train_loss"}) {
    if (const auto loss = number_named(line, name)) return loss;
  }
  return std::nullopt;
}

/// "EVALUATING - Epoch: [47][0/20]", "Val Epoch: [3][10/50]": the word before the counter.
bool is_of_evaluation(const Line& line) {
  std::string_view before = line.text.substr(0, line.at);
  while (!before.empty() && !is_letter(before.back())) before.remove_suffix(1);
  std::size_t begin = before.size();
  while (begin > 0 && is_letter(before[begin - 1])) --begin;
  return is_evaluation_word(lower(before.substr(begin)));
}

// "[10/5005]", "[  50/1251 (  4%)]"
bool read_batches(Cursor& cursor, std::int64_t& index, std::int64_t& total) {
  if (!cursor.read("[", kBlanks, index, kBlanks, "/", kBlanks, total)) return false;
  if (cursor.literal(" (") && !cursor.skip_past("%)")) return false;
  return cursor.literal("]") && total >= 1 && index <= total && total <= kMaxBatches;
}

struct Pytorch {
  // Where the line stands among those before it: a run of its own, an epoch of its own. Nothing for
  // a copy.
  std::optional<Step> place(std::int64_t n, std::int64_t batch, std::int64_t batches,
                            std::optional<std::int64_t> of, const Line& line, Emit emit) {
    const bool back = n < epoch || (n == epoch && (batch < index || batches != total));
    if (back || !started) {
      if (back) emit(Begin{kRun});
      base_s = elapsed_s = whole_s = 0;
      mean_s = stamp_s = kUnknown;
      index = offset = whole = 0;
      last_step = -1;
      images = 0;
      first_epoch = n;
      fold_ended = false;
    }
    if (back || !started || n != epoch) begin_epoch(batch);
    started = true;
    epoch = n;
    total = batches;
    epochs = of;
    index = batch;
    done = std::min(total, index + offset);
    most_done = std::max(most_done, done);
    // Epochs are counted from that of the first line: 0 or 1, or where a run was resumed.
    Step at{.step = (epoch - first_epoch) * total + done};
    if (std::exchange(last_step, at.step) == at.step) return std::nullopt;
    at.last = fold_ended || (epochs && epoch + 1 >= *epochs && done == total);
    at.loss = loss_of(line);
    speed |= has(line, "Speed");
    return at;
  }

  // The clock of the next epoch starts where this one ends: its batches after the last line are
  // taken at the epoch's mean.
  void begin_epoch(std::int64_t batch) {
    const auto all = static_cast<double>(total), so_far = static_cast<double>(index + offset);
    if (!std::isnan(mean_s)) {
      base_s += mean_s * all;
    } else if (so_far > 0) {
      base_s += elapsed_s / so_far * all;
    }
    offset = batch == 0 ? 1 : 0;
    mean_s = kUnknown;
    elapsed_s = 0;
  }

  /// A meter that is never reset counts more than went by on the stamps of a logger before the
  /// lines (YOLOP's, whose mean of a batch is that of the job so far).
  void check_by_stamps(double time_s, const Line& line) {
    constexpr double kMostOfStamps = 2, kOfAnyRun_s = 60;  // times what went by, and more
    const double stamp = front_time(line.whole.empty() ? line.text : line.whole);
    if (std::isnan(stamp)) return;
    if (std::isnan(stamp_s)) {
      stamp_s = stamp;
      time_at_stamp_s = time_s;
    }
    outlasts_stamps |= time_s - time_at_stamp_s > kMostOfStamps * (stamp - stamp_s) + kOfAnyRun_s;
  }

  void take_mean(Step& at, double last_s, double mean) {
    // A mean that begins with the epoch is, after one batch, that batch's time.
    if (std::isnan(mean_s) && done == 1) {
      cumulative = std::abs(mean - last_s) <= 0.002 * last_s + 0.0011;
    }
    // A meter that is reset after each line shows the same number twice: two means of an epoch give
    // the time of the batch between them, which the line prints as well.
    if (cumulative && !std::isnan(mean_s) && done == mean_of + 1) {
      constexpr double kBatchTimeGap = 0.05;  // share of the batch's time
      const auto n = static_cast<double>(done);
      const double own = mean * n - mean_s * (n - 1);
      cumulative = std::abs(own - last_s) <= kBatchTimeGap * last_s + 2 * kRounding_s * n;
    }
    mean_s = mean;
    mean_of = done;
    if (cumulative) {
      const auto batches = static_cast<double>(done);
      at.time_s = base_s + mean_s * batches;
      // The mean has three digits after the dot; each epoch's share of the clock is rounded so.
      at.clock = Clock{std::max(kRounding_s * batches, 1e-3)};
      if (mean_s > 0) rounding = kRounding_s / mean_s;
    } else if (!at.rate_unit) {
      take_rate(at, last_s);
    }
  }

  static void take_rate(Step& at, double seconds) {
    if (seconds > 0) at.rate = 1 / seconds;
    at.rate_unit = RateUnit::iterations_per_second;
  }

  bool progress(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    std::int64_t n = 0, batch = 0, batches = 0, minutes = 0, seconds = 0;
    std::optional<std::int64_t> of;
    if (!cursor.read(kBlanks, n) || n > kMaxEpochs || is_of_evaluation(line)) return false;
    if (cursor.literal("/")) of = cursor.integer();
    if (!cursor.read("]", kBlanks) || !read_batches(cursor, batch, batches)) return false;
    double last_s = 0, mean = kUnknown;
    const bool elapsed = find_word("Elapsed", cursor);
    if (elapsed) {
      if (!cursor.read(minutes, "m ", seconds, "s") || minutes > kMaxBatches || seconds > 60) {
        return false;
      }
    } else {
      if (!find_word("Time", cursor) && !find_word("time", cursor)) {
        return false;
      }
      if (!cursor.read(last_s) || !(last_s >= 0)) return false;
      cursor.literal("s");
      cursor.blanks();
      if (cursor.literal("(")) {
        if (!cursor.read(kBlanks, mean) || !(mean >= 0)) return false;
      } else if (!has(line, "eta: ")) {
        return false;
      }
    }
    auto at = place(n, batch, batches, of, line, emit);
    if (!at) return true;
    if (elapsed) {
      elapsed_s = static_cast<double>(minutes * 60 + seconds);
      at->time_s = base_s + elapsed_s;
      at->clock = Clock{1};
    } else if (std::isnan(mean)) {  // of the last 20 iterations
      window = true;
      take_rate(*at, last_s);
    } else {
      take_mean(*at, last_s, mean);
      check_by_stamps(at->time_s, line);
    }
    emit(*at);
    return true;
  }

  bool timm(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    std::int64_t n = 0, batch = 0, batches = 0;
    double last_s = 0, rate = 0, mean = 0;
    if (!cursor.read(n, " ") || n > kMaxEpochs || !read_batches(cursor, batch, batches) ||
        !find_word("Time", cursor) ||
        !cursor.read(last_s, "s,", kBlanks, rate, "/s", kBlanks, "(", mean)) {
      return false;
    }
    auto at = place(n, batch, batches, std::nullopt, line, emit);
    if (!at) return true;
    at->rate = rate;
    at->rate_unit = RateUnit::sequences_per_second;
    at->unit = IterationUnit::optimizer_step;
    // The last batch of an epoch may be a smaller one. A launch that resumes may have another.
    const std::int64_t own = batch + 1 < batches ? images_of(last_s, rate) : 0;
    if (own > 0) images = own;
    at->global_batch = images;
    take_mean(*at, last_s, mean);
    emit(*at);
    return true;
  }

  /// The time of a batch times its images/s; 0 where the rounding of the two leaves more than one
  /// number open.
  static std::int64_t images_of(double seconds, double rate) {
    constexpr double kRoundingOfRate = 0.005;  // images/s, of two decimals
    constexpr double kMostOpen = 0.25;         // images, to either side
    const double images = seconds * rate;
    const double open = kRounding_s * rate + kRoundingOfRate * seconds;
    return open < kMostOpen ? std::llround(images) : 0;
  }

  // "========== fold: 0 result ==========": a training of several is over. Its last lines may come
  // after it, from another stream.
  bool fold(const Line& line, Emit emit) {
    std::int64_t n = 0;
    if (!started || !Cursor::after(line).read(n, " result ==")) return false;
    fold_ended = true;
    emit(End{});
    return true;
  }

  // "Epoch: [0] Total time: 0:13:06 (0.6291 s / it)"
  bool end_of_epoch(const Line& line, Emit emit) {
    Cursor cursor(line);
    std::int64_t n = 0;
    double each = 0;
    const bool named =
        std::ranges::any_of(kHeads, [&](std::string_view head) { return cursor.skip_past(head); });
    if (!started || !named || !cursor.read(n) || n != epoch ||
        !cursor.read(Past{"] Total time: "}, Past{"("}, each, " s / it)") || !(each > 0)) {
      return false;
    }
    whole_s += each * static_cast<double>(total);
    whole += total;
    emit(Statement{
        .summary = Stated{static_cast<double>(whole) / whole_s, RateUnit::iterations_per_second},
        .totals = {.training_s = whole_s, .iterations = whole}});
    return true;
  }

  // " * Acc@1 71.3 Acc@5 90.1": an epoch was evaluated. Where the log does not state how many
  // epochs there are, it may end here, as after "Epoch 3 - avg_train_loss: 0.0842" of a Kaggle
  // notebook. timm's last line is "*** Best metric: 79.1 (epoch 299)".
  bool validation(const Line&, Emit emit) {
    emit(End{.well = !epochs});
    return started;
  }

  // "Namespace(..., batch_size=64, ..., world_size=8)": torchvision's references, DETR, DeiT, MAE
  // and their like give each process so many; DINO names it so.
  void batch_size(const Line& line) {
    const char before = line.at > 0 ? line.text[line.at - 1] : ' ';
    if (!micro_batch && (before == ' ' || before == '(')) micro_batch = size_here(line);
  }

  void facts(Facts& facts) const {
    if (window) facts.micro_batch_size.set(micro_batch, FactSource::log);
  }

  void finish(Emit emit) {
    // The lines have a clock that is right; or a first batch alone shows nothing of an epoch.
    if (outlasts_stamps || (most_done == 1 && total > 1 && epoch > first_epoch)) {
      return emit(Withdraw{});
    }
    if (window) {
      emit.note(NoticeCode::rate_is_mean_of_window, "the time of a line",
                "the last 20 iterations, the summary over whole epochs");
    }
    if (rounding > 0.01 && cumulative) {
      emit.note(NoticeCode::rounded_times, "the mean of a line, which the clock is made of,",
                100 * std::min(rounding, 1.0));
    }
    if (speed) emit.note(NoticeCode::rate_scope_unknown, "Speed", "the script");
    if (!cumulative) emit.note(NoticeCode::no_clock_of_means);
  }

  /// The last is LAVIS'.
  static constexpr std::string_view kHeads[] = {"Epoch: [", "Train: [", "TRAIN: [",
                                                "Train: data epoch: ["};
  static constexpr Begin kRun{.unit = IterationUnit::micro_step,
                              .restart = Restart::never,
                              .after_end = AfterEnd::reopens,
                              .from_zero = true};

  bool started = false;
  bool fold_ended = false;                       ///< as a Kaggle script printed of the run
  std::int64_t epoch = 0, total = 0, index = 0;  ///< of the newest line; batches of its epoch
  std::int64_t offset = 0;                       ///< 1 where the first batch of an epoch is batch 0
  std::int64_t done = 0, most_done = 0;          ///< batches of the epoch, and of any
  std::int64_t first_epoch = 0, last_step = 0;
  std::optional<std::int64_t> epochs;              ///< as the newest line prints them: "[0/300]"
  double base_s = 0;                               ///< epochs that ended
  double mean_s = kUnknown;                        ///< newest mean of the epoch
  std::int64_t mean_of = 0;                        ///< batches
  double elapsed_s = 0;                            ///< newest clock of the epoch
  bool cumulative = true;                          ///< the means are of the epoch
  double rounding = 0;                             ///< of the newest mean, relative
  double whole_s = 0;                              ///< of the epochs that MetricLogger summed up
  std::int64_t whole = 0;                          ///< their iterations
  std::int64_t images = 0;                         ///< of a batch of the job, timm's newest one
  double stamp_s = kUnknown, time_at_stamp_s = 0;  ///< of the run's first line with a stamp
  std::optional<std::int64_t> micro_batch;         ///< as the arguments state it
  bool speed = false, window = false, outlasts_stamps = false;
};

constexpr Row kRows[] = {
    on<&Pytorch::validation>("* Acc@1 "),
    on<&Pytorch::validation>("* Prec@1 "),
    on<&Pytorch::validation>(" - avg_train_loss: "),
    on<&Pytorch::validation>("*** Best metric: "),
    on<&Pytorch::fold>("== fold: "),
    on<&Pytorch::end_of_epoch>(" s / it)"),
    on<&Pytorch::progress>(Pytorch::kHeads[0]),
    on<&Pytorch::progress>(Pytorch::kHeads[1]),
    on<&Pytorch::progress>(Pytorch::kHeads[2]),
    on<&Pytorch::progress>(Pytorch::kHeads[3]),
    on<&Pytorch::timm>("Train: "),
    on<&Pytorch::batch_size>("batch_size="),
    on<&Pytorch::batch_size>("batch_size_per_gpu: "),
};

constexpr Begin kRuns[] = {Pytorch::kRun};

}  // namespace

extern const Format entry{
    .name = "pytorch",
    .title =
        "PyTorch example style: examples/imagenet, Swin, torchvision MetricLogger, timm, Kaggle",
    .reference =
        "https://github.com/pytorch/examples imagenet/main.py (ProgressMeter); "
        "https://github.com/pytorch/vision references/classification/utils.py (MetricLogger)",
    .framework = "pytorch",
    .table = table_of<Pytorch>(kRows, kRuns)};

}  // namespace bertbench::format_pytorch
