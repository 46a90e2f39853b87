// pytorch: progress lines after the manner of PyTorch's example trainers.
//
//   Epoch: [0][  10/5005]\tTime  0.435 ( 1.263)\tData  0.000 ( 0.831)\tLoss 6.98 (7.02) (examples)
//   Train: [0/300][10/1251]\teta 0:12:34 lr 0.000001\ttime 0.4021 (0.5012)\tloss 6.9 (6.9)   (Swin)
//   Epoch: [0]  [  10/1251]  eta: 0:12:34  loss: 6.9 (6.9)  time: 0.6102  data: 0.0003
//   (MetricLogger) Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.96)  Time: 0.403s,  635.2/s  (0.512s,
//   500.0/s)  (timm) Epoch: [1][20/782] Elapsed 0m 26s (remain 16m 37s) Loss: 1.77(1.80) Grad: 4.2
//   (Kaggle)
//
// "0.435 ( 1.263)" is the last iteration and the mean of the epoch so far: mean times iterations is
// the time since the epoch began, which is the clock here (evaluations between epochs are not in
// it). MetricLogger's time is the mean of the last 20 iterations; its clock is the line that ends
// an epoch. timm's images/s are of the whole job; a Speed elsewhere may be of one process and is
// not taken. What is counted are batches.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kFold = "== fold: ";
constexpr std::string_view kAnchors[] = {"Epoch: [", "Train: ",   "TRAIN: [",          " s / it)",
                                         "* Acc@1 ", "* Prec@1 ", "*** Best metric: ", kFold};

constexpr std::int64_t kMostEpochs = 1'000'000, kMostBatches = 1'000'000'000;
constexpr double kRounding_s = 0.0005;  ///< of a printed mean

enum class Style { mean_of_epoch, window, timm, elapsed };

struct Progress {
  Style style = Style::mean_of_epoch;
  std::int64_t epoch = 0, index = 0, total = 0;
  std::optional<std::int64_t> epochs;  ///< "[0/300]"
  double last_s = kUnknown, mean_s = kUnknown, elapsed_s = kUnknown;
  double rate = kUnknown;
  std::optional<double> loss;
};

// " time: 0.6102", "\tTime  0.435": a word of its own. Moves the cursor behind it.
bool find_word(std::string_view text, std::string_view word, Cursor& cursor) {
  for (auto at = text.find(word, cursor.at()); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const char before = at > 0 ? text[at - 1] : ' ';
    const std::size_t end = at + word.size();
    const char behind = end < text.size() ? text[end] : 0;
    if ((before != ' ' && before != '\t') || (behind != ' ' && behind != ':' && behind != '\t')) {
      continue;
    }
    cursor.move_to(end);
    cursor.literal(":");
    cursor.blanks();
    return true;
  }
  return false;
}

std::optional<double> loss_of(const Line& line) {
  for (const std::string_view word : {"Loss", "loss", "train_loss"}) {
    Cursor cursor(line);
    if (find_word(line.text, word, cursor)) return cursor.number();
  }
  return std::nullopt;
}

// "[10/5005]", "[  50/1251 (  4%)]"
bool read_batches(Cursor& cursor, Progress& out) {
  if (!cursor.literal("[")) return false;
  cursor.blanks();
  const auto index = cursor.integer();
  cursor.blanks();
  if (!index || !cursor.literal("/")) return false;
  cursor.blanks();
  const auto total = cursor.integer();
  if (!total) return false;
  if (cursor.literal(" (") && !cursor.skip_past("%)")) return false;
  if (!cursor.literal("]")) return false;
  out.index = *index;
  out.total = *total;
  return *index >= 0 && *total >= 1 && *index <= *total && *total <= kMostBatches;
}

// "1m 26s"
std::optional<double> minutes(Cursor& cursor) {
  const auto m = cursor.integer();
  if (!m || *m < 0 || *m > kMostBatches || !cursor.literal("m ")) return std::nullopt;
  const auto s = cursor.integer();
  if (!s || *s < 0 || *s > 60 || !cursor.literal("s")) return std::nullopt;
  return static_cast<double>(*m * 60 + *s);
}

std::optional<Progress> read_timm(const Line& line) {
  Cursor cursor(line);
  Progress out;
  out.style = Style::timm;
  if (!cursor.skip_past("Train: ")) return std::nullopt;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > kMostEpochs || !cursor.literal(" ")) return std::nullopt;
  out.epoch = *epoch;
  if (!read_batches(cursor, out)) return std::nullopt;
  if (!find_word(line.text, "Time", cursor)) return std::nullopt;
  const auto last = cursor.number();
  if (!last || !cursor.literal("s,")) return std::nullopt;
  cursor.blanks();
  const auto rate = cursor.number();
  if (!rate || !cursor.literal("/s")) return std::nullopt;
  cursor.blanks();
  if (!cursor.literal("(")) return std::nullopt;
  const auto mean = cursor.number();
  if (!mean) return std::nullopt;
  out.last_s = *last;
  out.mean_s = *mean;
  out.rate = *rate;
  out.loss = loss_of(line);
  return out;
}

// Behind "Epoch: [", "Train: [", "Train: data epoch: [" (LAVIS).
bool skip_to_epoch(Cursor& cursor) {
  for (const std::string_view head : {"Epoch: [", "Train: [", "TRAIN: [", "Train: data epoch: ["}) {
    if (cursor.skip_past(head)) return true;
  }
  return false;
}

std::optional<Progress> read_progress(const Line& line) {
  Cursor cursor(line);
  Progress out;
  if (!skip_to_epoch(cursor)) return read_timm(line);
  cursor.blanks();
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > kMostEpochs) return std::nullopt;
  out.epoch = *epoch;
  if (cursor.literal("/")) out.epochs = cursor.integer();
  if (!cursor.literal("]")) return std::nullopt;
  cursor.blanks();
  if (!read_batches(cursor, out)) return std::nullopt;
  out.loss = loss_of(line);
  Cursor rest = cursor;
  if (find_word(line.text, "Elapsed", rest)) {
    const auto elapsed = minutes(rest);
    if (!elapsed) return std::nullopt;
    out.style = Style::elapsed;
    out.elapsed_s = *elapsed;
    return out;
  }
  rest = cursor;
  if (!find_word(line.text, "Time", rest)) {
    rest = cursor;
    if (!find_word(line.text, "time", rest)) return std::nullopt;
  }
  const auto last = rest.number();
  if (!last || !(*last >= 0)) return std::nullopt;
  out.last_s = *last;
  rest.literal("s");
  rest.blanks();
  if (rest.literal("(")) {
    rest.blanks();
    const auto mean = rest.number();
    if (!mean || !(*mean >= 0)) return std::nullopt;
    out.mean_s = *mean;
  } else if (line.text.find("eta: ") != std::string_view::npos) {
    out.style = Style::window;
  } else {
    return std::nullopt;
  }
  return out;
}

class PytorchParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void add(const Progress& progress, const Line& line, RunBuilder& out);
  void place(const Progress& progress, RunBuilder& out);
  void take_times(const Progress& progress, double done, RunLog& log, Sample& sample);
  void begin_epoch(const Progress& progress);
  bool see_end_of_epoch(const Line& line, RunBuilder& out);
  bool see_validation(const Line& line, RunBuilder& out);
  bool see_fold(const Line& line, RunBuilder& out);

  bool started_ = false;
  bool fold_ended_ = false;  ///< a Kaggle script said so of the run
  std::int64_t epoch_ = 0, total_ = 0, last_index_ = -1, last_step_ = 0;
  std::int64_t first_epoch_ = 0;
  std::int64_t offset_ = 0;             ///< 1 where the first batch of an epoch is batch 0
  double base_s_ = 0;                   ///< epochs that ended
  double mean_s_ = kUnknown;            ///< newest mean of the epoch
  double elapsed_s_ = 0;                ///< newest clock of the epoch
  bool cumulative_ = true;              ///< the means are of the epoch
  double rounding_ = 0;                 ///< of the newest mean, relative
  double whole_s_ = 0;                  ///< of the epochs that MetricLogger summed up
  std::int64_t whole_ = 0;              ///< their iterations
  std::optional<std::int64_t> epochs_;  ///< as the newest line tells
  bool speed_ = false, window_ = false;
};

// The clock of the next epoch starts where this one ends: its batches behind the last line are
// taken at the epoch's mean.
void PytorchParser::begin_epoch(const Progress& progress) {
  const auto done = static_cast<double>(last_index_ + offset_);
  if (progress.style == Style::elapsed) {
    if (done > 0) base_s_ += elapsed_s_ / done * static_cast<double>(total_);
  } else if (!std::isnan(mean_s_)) {
    base_s_ += mean_s_ * static_cast<double>(total_);
  }
  offset_ = progress.index == 0 ? 1 : 0;
  mean_s_ = kUnknown;
  elapsed_s_ = 0;
  // A mean that begins with the epoch is that of its first batch.
  const bool fresh =
      std::abs(progress.mean_s - progress.last_s) <= 0.002 * progress.last_s + 0.0011;
  if (progress.index + offset_ == 1 && !std::isnan(progress.mean_s)) cumulative_ = fresh;
}

// Where the line stands among those in front of it: a run of its own, an epoch of its own.
void PytorchParser::place(const Progress& progress, RunBuilder& out) {
  const bool back = started_ && (progress.epoch < epoch_ ||
                                 (progress.epoch == epoch_ && progress.index < last_index_) ||
                                 (progress.total != total_ && progress.epoch == epoch_));
  if (back || !started_) {
    if (back) out.close(WorkKind::training);
    base_s_ = 0;
    mean_s_ = kUnknown;
    last_index_ = 0;
    offset_ = 0;
    last_step_ = -1;
    whole_s_ = 0;
    whole_ = 0;
    first_epoch_ = progress.epoch;
    fold_ended_ = false;
    begin_epoch(progress);
  } else if (progress.epoch != epoch_) {
    begin_epoch(progress);
  }
  started_ = true;
  epoch_ = progress.epoch;
  total_ = progress.total;
  epochs_ = progress.epochs;
  last_index_ = progress.index;
}

// What the line's style tells of time and rate. `done`: batches of its epoch.
void PytorchParser::take_times(const Progress& progress, double done, RunLog& log, Sample& sample) {
  switch (progress.style) {
    case Style::elapsed:
      elapsed_s_ = progress.elapsed_s;
      sample.time_s = base_s_ + elapsed_s_;
      log.clock_resolution_s = 1;
      break;
    case Style::window:
      window_ = true;
      if (progress.last_s > 0) sample.rate = 1 / progress.last_s;
      log.rate_unit = RateUnit::iterations_per_second;
      break;
    case Style::timm:
      sample.rate = progress.rate;
      log.rate_unit = RateUnit::sequences_per_second;
      [[fallthrough]];
    case Style::mean_of_epoch:
      mean_s_ = progress.mean_s;
      if (cumulative_) {
        sample.time_s = base_s_ + mean_s_ * done;
        // The mean has three digits behind the dot; each epoch's share of the clock is rounded so.
        log.clock_resolution_s = std::max(kRounding_s * done, 1e-3);
        if (mean_s_ > 0) rounding_ = kRounding_s / mean_s_;
      } else if (progress.style != Style::timm) {
        if (progress.last_s > 0) sample.rate = 1 / progress.last_s;
        log.rate_unit = RateUnit::iterations_per_second;
      }
      break;
  }
}

void PytorchParser::add(const Progress& progress, const Line& line, RunBuilder& out) {
  place(progress, out);
  const std::int64_t in_epoch = std::min(progress.total, progress.index + offset_);
  Sample sample;
  // Epochs are counted from that of the first line: 0 or 1, or where a run was resumed.
  sample.step = (progress.epoch - first_epoch_) * progress.total + in_epoch;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = progress.loss;
  if (sample.step == 0 || sample.step == last_step_) return;  // nothing done yet, or a copy
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.log.iteration_unit = IterationUnit::micro_step;
  take_times(progress, static_cast<double>(in_epoch), draft.log, sample);
  draft.set_origin(0);
  speed_ |= line.text.find("Speed") != std::string_view::npos;
  if (last_step_ >= 0) sample.iterations = std::max<std::int64_t>(1, sample.step - last_step_);
  last_step_ = sample.step;
  draft.add(sample);
  const bool last_epoch = progress.epochs && progress.epoch + 1 >= *progress.epochs;
  draft.ended_well = fold_ended_ || (last_epoch && in_epoch == progress.total);
}

// "========== fold: 0 result ==========": a training of several is over. Its last lines may come
// behind, from another stream.
bool PytorchParser::see_fold(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  RunDraft* draft = out.open(WorkKind::training);
  if (draft == nullptr || !cursor.skip_past(kFold)) return false;
  if (!cursor.integer() || !cursor.literal(" result ==")) return false;
  fold_ended_ = draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

// "Epoch: [0] Total time: 0:13:06 (0.6291 s / it)"
bool PytorchParser::see_end_of_epoch(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  RunDraft* draft = out.open(WorkKind::training);
  if (!skip_to_epoch(cursor) || draft == nullptr) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch != epoch_ || !cursor.skip_past("] Total time: ")) return false;
  if (!cursor.skip_past("(")) return false;
  const auto seconds = cursor.number();
  if (!seconds || !(*seconds > 0) || !cursor.literal(" s / it)")) return false;
  whole_s_ += *seconds * static_cast<double>(total_);
  whole_ += total_;
  draft->log.totals.training_s = whole_s_;
  draft->log.totals.iterations = whole_;
  draft->log.summary =
      Stated{static_cast<double>(whole_) / whole_s_, RateUnit::iterations_per_second, line.number};
  draft->last_line = line.number;
  return true;
}

// " * Acc@1 71.3 Acc@5 90.1": an epoch was evaluated. Where the log does not tell how many epochs
// there are, it may end here. timm's last line is "*** Best metric: 79.1 (epoch 299)".
bool PytorchParser::see_validation(const Line& line, RunBuilder& out) {
  RunDraft* draft = out.open(WorkKind::training);
  if (draft == nullptr) return false;
  const auto holds = [&](std::string_view what) {
    return line.text.find(what) != std::string_view::npos;
  };
  if (!holds("* Acc@1 ") && !holds("* Prec@1 ") && !holds("*** Best metric: ")) return false;
  if (!epochs_) draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

bool PytorchParser::parse(const Line& line, RunBuilder& out) {
  if (see_validation(line, out) || see_fold(line, out)) return true;
  if (line.text.find(" s / it)") != std::string_view::npos) return see_end_of_epoch(line, out);
  const auto progress = read_progress(line);
  if (!progress) return false;
  add(*progress, line, out);
  return true;
}

void PytorchParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (window_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_is_mean_of_window, 0, "the time of a line",
                      "the last 20 iterations, the summary over whole epochs"));
    }
    if (rounding_ > 0.01 && cumulative_) {
      draft->log.notices.push_back(make_notice(NoticeCode::rounded_times, 0,
                                               "the mean of a line, which the clock is made of,",
                                               100 * std::min(rounding_, 1.0)));
    }
    if (speed_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_scope_unknown, 0, "Speed", "the script"));
    }
    if (!cumulative_) {
      draft->log.notices.push_back(make_notice(NoticeCode::no_clock_of_means, 0));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<PytorchParser>(); }

}  // namespace

extern const Format format_pytorch;
const Format format_pytorch = {
    "pytorch",
    "PyTorch example style: examples/imagenet, Swin, torchvision MetricLogger, timm, Kaggle",
    "https://github.com/pytorch/examples imagenet/main.py (ProgressMeter); "
    "https://github.com/pytorch/vision references/classification/utils.py (MetricLogger)",
    kAnchors, make};

}  // namespace bertbench
