// mmcv: the loggers of OpenMMLab (mmcv to 1.x, mmengine), text and JSON.
//
//   2021-05-31 13:41:03,911 - mmseg - INFO - Iter [50/40000]\tlr: 9.9e-03, eta: 0:47:00,
//       time: 5.920, data_time: 1.256, memory: 8000, loss: 2.7530
//   2021-05-31 13:41:03,911 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.9e-03, eta: ..., time: 0.368
//   2022/08/22 18:42:22 - mmengine - INFO - Epoch(train) [1][  50/3104]  lr: ...  time: 0.1285  ...
//   06/28 03:16:23 - mmengine - INFO - Iter(train) [  50/40000]  base_lr: ...  time: 0.3210  ...
//   {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.002, "data_time": 0.05, "time": 0.368, ...}
//   {"lr": 0.02, "data_time": 0.05, "loss": 1.2, "time": 0.368, "epoch": 1, "iter": 50, "step": 50}
//
// mmcv's time is the mean of the iterations since the line before, data loading included.
// mmengine's is the mean of the last ten (window_size), so that a line tells of ten iterations
// only; its stamps have whole seconds. An iteration is one batch of every process.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/training_clock.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    " - INFO - Iter",    " - INFO - Epoch",       "Epoch(train) ",  // mmengine colours the INFO
    "Iter(train) ",      "Epoch(val) ",           "Iter(val) ",       "\"data_time\": ",
    "GPU number: ",      "gpu_ids = range(0, ",   "samples_per_gpu=", "train_dataloader = dict(",
    "batch_size=",       "max_epochs=",           "total_epochs = ",  "accumulative_counts=",
    "cumulative_iters=", "Distributed training: "};

constexpr std::int64_t kMost = 1'000'000'000'000;

struct Progress {
  std::int64_t epoch = 0;      ///< 0: the counter runs through all epochs
  std::int64_t iteration = 0;  ///< of the epoch, or of all
  std::int64_t total = 0;      ///< likewise; 0 = not said
  std::optional<double> time, loss;
  double time_s = kUnknown;
  bool smoothed = false;  ///< mmengine
  bool last = false;      ///< "eta: 0:00:00"
};

// " time: 0.3", ", loss: 2.7": a key behind a blank, not the end of "data_time" or "loss_bbox".
std::optional<double> text_field(const Line& line, std::string_view key) {
  for (auto at = line.text.find(key); at != std::string_view::npos;
       at = line.text.find(key, at + 1)) {
    if (at == 0 || (line.text[at - 1] != ' ' && line.text[at - 1] != '\t')) continue;
    Cursor cursor(line);
    cursor.move_to(at + key.size());
    cursor.blanks();
    return cursor.number();
  }
  return std::nullopt;
}

// "2022/08/22 18:42:22" and "06/28 03:16:23", which does not tell the year.
double mmengine_time(std::string_view text) {
  const auto dash = text.find(" - ");
  if (dash == std::string_view::npos) return kUnknown;
  std::string stamp(text.substr(0, dash));
  std::ranges::replace(stamp, '/', '-');
  if (stamp.size() == 14) stamp = "2000-" + stamp;
  return date_time(stamp).value_or(kUnknown);
}

std::optional<std::int64_t> bracketed(Cursor& cursor, std::optional<std::int64_t>& total) {
  if (!cursor.literal("[")) return std::nullopt;
  cursor.blanks();
  const auto value = cursor.integer();
  if (cursor.literal("/")) {
    cursor.blanks();
    total = cursor.integer();
  }
  if (!value || *value < 0 || *value > kMost || !cursor.literal("]")) return std::nullopt;
  return value;
}

std::optional<Progress> read_text(const Line& line) {
  Cursor cursor(line);
  Progress out;
  bool epochs = false;
  if (cursor.skip_past(" - INFO - Epoch")) {
    epochs = true;
  } else if (!cursor.skip_past(" - INFO - Iter")) {
    return std::nullopt;
  }
  out.smoothed = cursor.literal("(train)");
  cursor.blanks();
  std::optional<std::int64_t> total;
  if (epochs) {
    const auto epoch = bracketed(cursor, total);
    if (!epoch || *epoch < 1 || total) return std::nullopt;
    out.epoch = *epoch;
  }
  const auto iteration = bracketed(cursor, total);
  if (!iteration || !total || *total < *iteration || *total > kMost) return std::nullopt;
  out.iteration = *iteration;
  out.total = *total;
  out.time = text_field(line, "time:");
  out.loss = text_field(line, "loss:");
  out.last = line.text.find("eta: 0:00:00") != std::string_view::npos;
  std::string_view text = line.text;
  if (const auto behind = behind_host_label(text); !behind.empty()) text = behind;
  out.time_s = out.smoothed ? mmengine_time(text) : date_time(text).value_or(kUnknown);
  if (!out.time) return std::nullopt;
  return out;
}

std::optional<Progress> read_json(const Line& line) {
  if (!line.text.starts_with('{')) return std::nullopt;
  const auto count = [&](std::string_view key) -> std::optional<std::int64_t> {
    const auto value = number_after(line, key);
    if (!value || !(*value >= 0 && *value <= static_cast<double>(kMost))) return std::nullopt;
    return static_cast<std::int64_t>(*value);
  };
  Progress out;
  const auto iteration = count("\"iter\":");
  const auto step = count("\"step\":");
  out.time = number_after(line, "\"time\":");
  const bool training = line.text.find("\"mode\": \"train\"") != std::string_view::npos;
  const bool engine = step && line.text.find("\"lr\":") != std::string_view::npos &&
                      line.text.find("\"mode\":") == std::string_view::npos;
  if (!out.time || !(engine || (training && iteration))) return std::nullopt;
  out.smoothed = engine;
  out.loss = number_after(line, "\"loss\":");
  if (engine) {
    out.iteration = *step;
  } else {
    out.epoch = count("\"epoch\":").value_or(0);
    out.iteration = *iteration;
  }
  return out;
}

class MmcvParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void see_setting(const Line& line);
  void add(const Progress& progress, const Line& line, RunBuilder& out);
  std::int64_t step_of(const Progress& progress);
  void give_facts(RunDraft& draft) const;

  std::optional<std::int64_t> world_, micro_batch_, epochs_, accumulation_;
  bool alone_ = false, in_training_loader_ = false, smoothed_ = false, counted_epochs_ = false;
  std::int64_t epoch_ = 0, iteration_ = 0, base_ = 0;
  std::int64_t last_step_ = 0;
  TrainingClock clock_;  ///< mmengine's clock is its stamp
};

std::int64_t MmcvParser::step_of(const Progress& progress) {
  if (progress.epoch == 0) return progress.iteration;
  if (progress.total > 0) {
    return std::min(kMost,
                    (progress.epoch - 1) * std::min(progress.total, kMost / (1 + progress.epoch))) +
           progress.iteration;
  }
  // JSON does not say how long an epoch is: the iterations behind its last line are not counted.
  if (progress.epoch > epoch_ && progress.iteration <= iteration_) {
    base_ += iteration_;
    counted_epochs_ = true;
  }
  if (progress.epoch < epoch_) base_ = 0;
  epoch_ = progress.epoch;
  iteration_ = progress.iteration;
  return base_ + progress.iteration;
}

void MmcvParser::give_facts(RunDraft& draft) const {
  draft.own_facts = true;
  draft.log.iteration_unit = IterationUnit::micro_step;
  Facts& facts = draft.log.facts;
  facts.framework.set("pytorch", FactSource::log);
  if (world_) facts.world_size.set(*world_, FactSource::log);
  if (micro_batch_) facts.micro_batch_size.set(*micro_batch_, FactSource::log);
  facts.gradient_accumulation_steps.set(accumulation_.value_or(1), FactSource::log);
}

void MmcvParser::add(const Progress& progress, const Line& line, RunBuilder& out) {
  Sample sample;
  sample.step = step_of(progress);
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = progress.loss;
  sample.time_s = progress.time_s;
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && sample.step < last_step_) {
    out.close(WorkKind::training);
    open = nullptr;
  }
  const bool first = open == nullptr || open->count() == 0;
  if (!first && sample.step == last_step_) return;  // another rank's, or the console's copy
  // The first line covers an interval; what a resumed run did before it is not of this log.
  sample.iterations =
      first ? std::max<std::int64_t>(1, progress.iteration) : sample.step - last_step_;
  if (progress.smoothed) {
    if (*progress.time > 0) sample.rate = 1 / *progress.time;
    sample.time_s =
        clock_.at(progress.time_s, *progress.time * static_cast<double>(sample.iterations));
  } else {
    sample.seconds = *progress.time * static_cast<double>(sample.iterations);
  }
  const std::int64_t interval = sample.iterations;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  if (first) give_facts(draft);
  draft.add(sample);
  last_step_ = sample.step;
  draft.log.clock_is_wall = !std::isnan(progress.time_s);
  draft.log.clock_resolution_s = progress.smoothed ? 1 : 1e-3;
  if (progress.smoothed) draft.log.rate_unit = RateUnit::iterations_per_second;
  smoothed_ |= progress.smoothed;
  if (progress.epoch == 0 && progress.total > 0) draft.planned = progress.total;
  // The last line of an epoch may stand up to an interval in front of its end.
  const bool over = epochs_ && progress.epoch >= *epochs_ && progress.total > 0 &&
                    progress.total - progress.iteration < interval;
  draft.ended_well = over || progress.last;
}

void MmcvParser::see_setting(const Line& line) {
  const auto count = [&](std::string_view key, std::optional<std::int64_t>& value) {
    if (const auto found = size_after(line, key)) value = found;
  };
  count("GPU number:", world_);
  // Old launchers left range(0, 1) where several processes ran.
  std::optional<std::int64_t> devices;
  count("gpu_ids = range(0,", devices);
  if (devices && (*devices > 1 || alone_)) world_ = devices;
  if (line.text.find("Distributed training: False") != std::string_view::npos) {
    alone_ = true;
    if (!world_) world_ = 1;
  }
  count("max_epochs=", epochs_);
  count("total_epochs =", epochs_);
  count("accumulative_counts=", accumulation_);
  count("cumulative_iters=", accumulation_);
  if (!micro_batch_) count("samples_per_gpu=", micro_batch_);
  if (line.text.find("train_dataloader = dict(") != std::string_view::npos) {
    in_training_loader_ = true;
  }
  const auto at = line.text.find("batch_size=");
  if (in_training_loader_ && at != std::string_view::npos &&
      (at == 0 || line.text[at - 1] == ' ' || line.text[at - 1] == '(')) {
    count("batch_size=", micro_batch_);
    in_training_loader_ = false;
  }
}

bool MmcvParser::parse(const Line& line, RunBuilder& out) {
  if (const auto progress = read_text(line)) {
    add(*progress, line, out);
    return true;
  }
  if (line.text.find("\"data_time\": ") != std::string_view::npos) {
    const auto progress = read_json(line);
    if (progress) add(*progress, line, out);
    return progress.has_value();
  }
  if (line.text.find("(val) ") != std::string_view::npos) clock_.see_evaluation();
  see_setting(line);
  return false;
}

void MmcvParser::finish(RunBuilder& out) {
  for (const auto& draft : out.drafts()) {
    if (smoothed_) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_is_mean_of_window, 0,
                                               "mmengine's time",
                                               "the last ten iterations (window_size)"));
    }
    if (clock_.off_s() > 0) {
      draft->log.notices.push_back(make_notice(NoticeCode::evaluations_off_the_clock, 0));
    }
    if (counted_epochs_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::iterations_in_no_line, 0,
                      "iterations after the last line of an epoch of unknown length"));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MmcvParser>(); }

}  // namespace

extern const Format format_mmcv;
const Format format_mmcv = {
    "mmcv", "OpenMMLab: mmcv and mmengine, text and JSON",
    "https://github.com/open-mmlab/mmcv (1.x) mmcv/runner/hooks/logger; "
    "https://github.com/open-mmlab/mmengine mmengine/runner/log_processor.py",
    kAnchors, make};

}  // namespace bertbench
