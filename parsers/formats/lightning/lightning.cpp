// lightning: PyTorch Lightning's metrics.csv, its Rich progress bar and NeMo 2's lines of its
// steps. Its plain bars are tqdm's.
//
//   epoch,step,train/batches,train/device/samples_per_sec,train/samples,train/time,train_loss,val_loss
//   0,9,10,520.4061524990559,320,0.6468990550001763,,
//   Epoch 2/2  ━━━━━━━━━━━━━━━━━━━━━━ 40/40 0:00:02 • 0:00:00 16.82it/s v_num: 0.000
//   Training epoch 0, iteration 45/99 | lr: 6.9e-06 | global_batch_size: 128 | global_step: 45 |
//   reduced_train_loss: 11.96 | train_step_timing in s: 6.08 | consumed_samples: 5888 | ...
//
// The table is sparse: each metric has rows of its own, and step counts optimizer steps from 0. It
// has a clock only with the ThroughputMonitor (train/time, train/batches), whose device/ columns
// are of one process: without the job's columns beside them there is one process. A column
// epoch_time (people's own) gives the time of whole epochs.
// NeMo's steps count from 0, the last one's number is behind the slash; the time is of one step.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/lightning/nemo_bar.h"
#include "parsers/formats/table_parser.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"epoch,", ",epoch", " • ",
                                         "train_step_timing in s: ", NemoBar::kAnchor};

constexpr double kMost = 1e15;
constexpr int kStrangers = 16;  ///< lines in a row that are no rows end the table

/// Where the columns are; npos = not there.
struct Columns {
  static constexpr std::size_t kNone = std::string_view::npos;
  std::size_t step = kNone, epoch = kNone, loss = kNone, epoch_time = kNone;
  std::size_t time = kNone, batches = kNone, samples = kNone;
  std::size_t job_rate = kNone, device_rate = kNone;
  std::size_t count = 0;
};

bool is_train_loss(std::string_view name) {
  const auto has = [&](std::string_view what) { return name.find(what) != std::string_view::npos; };
  if (!has("loss") || has("val") || has("test") || has("epoch")) return false;
  return has("train") || name == "loss" || name == "loss_step";
}

std::optional<Columns> read_header(std::string_view text) {
  Columns out;
  const auto cells = split(trim(text), ',');
  out.count = cells.size();
  const auto is = [](std::string_view cell, std::string_view name) {
    return cell == "train/" + std::string(name) || cell == "train|" + std::string(name);
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = cells[i];
    if (cell.empty() || cell.find(' ') != std::string_view::npos) return std::nullopt;
    if (cell == "step") out.step = i;
    if (cell == "epoch") out.epoch = i;
    if (cell == "epoch_time") out.epoch_time = i;
    if (is(cell, "time")) out.time = i;
    if (is(cell, "batches")) out.batches = i;
    if (is(cell, "samples")) out.samples = i;
    if (is(cell, "samples_per_sec")) out.job_rate = i;
    if (is(cell, "device/samples_per_sec")) out.device_rate = i;
    if (out.loss == Columns::kNone && is_train_loss(cell)) out.loss = i;
  }
  // An epoch's mean stands in where no step is logged.
  for (std::size_t i = 0; i < cells.size() && out.loss == Columns::kNone; ++i) {
    if (cells[i] == "train_loss_epoch" || cells[i] == "train/loss_epoch") out.loss = i;
  }
  const bool ours = out.step != Columns::kNone && out.epoch != Columns::kNone &&
                    (out.loss != Columns::kNone || out.time != Columns::kNone);
  return ours ? std::optional(out) : std::nullopt;
}

/// "Epoch 2/2  ━━━━━ 40/40 0:00:02 • 0:00:00 16.82it/s v_num: 0.000 train_loss: 1.1"
struct RichBar {
  std::int64_t epoch = 0, last_epoch = 0;  ///< the latter -2 where no end is set
  std::int64_t done = 0, total = 0;
  double elapsed_s = 0, rate = kUnknown;
};

std::optional<RichBar> read_rich_bar(const Line& line) {
  const auto bullet = line.text.find(" • ");
  const auto epoch_at = line.text.find("Epoch ");
  if (epoch_at == std::string_view::npos || epoch_at > bullet) return std::nullopt;
  Cursor cursor(line);
  cursor.move_to(epoch_at + 6);
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > 100'000'000 || !cursor.literal("/")) return std::nullopt;
  const auto last = cursor.integer();
  const auto slash = line.text.rfind('/', bullet);
  if (!last || slash == std::string_view::npos || slash < cursor.at()) return std::nullopt;
  std::size_t begin = slash;
  while (begin > 0 && is_digit(line.text[begin - 1])) --begin;
  cursor.move_to(begin);
  const auto done = cursor.integer();
  if (!done || !cursor.literal("/")) return std::nullopt;
  const auto total = cursor.integer();
  cursor.blanks();
  const auto elapsed = cursor.duration();
  if (!total || *done < 0 || *total < *done || *total > 1'000'000'000 || !elapsed) {
    return std::nullopt;
  }
  const auto unit = line.text.find("it/s", bullet);
  if (unit == std::string_view::npos) return std::nullopt;
  std::size_t digits = unit;
  while (digits > 0 && (is_digit(line.text[digits - 1]) || line.text[digits - 1] == '.')) --digits;
  RichBar out{*epoch, *last, *done, *total, *elapsed, kUnknown};
  const auto rate = to_double(line.text.substr(digits, unit - digits));
  if (rate && *rate > 0) out.rate = *rate;
  return out;
}

class LightningParser final : public TableParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;
  [[nodiscard]] bool wants_every_line() const override { return columns_.has_value(); }

 private:
  bool see_row(const Line& line, RunBuilder& out);
  void see_epoch(std::int64_t step, double seconds, bool from_start, RunDraft& draft,
                 const Line& line);
  void see_batch(double samples, double batches, double steps, Facts& facts) const;
  bool see_bar(const Line& line, RunBuilder& out);
  bool see_nemo(const Line& line, RunBuilder& out);

  /// Epochs whose seconds a table tells. How many steps the first one had is known only of epoch 0.
  struct Epochs {
    std::int64_t first_step = -1;  ///< at the end of the first
    bool from_start = false;
    double later_s = 0;  ///< of the others
  };

  NemoBar nemo_;
  std::optional<Columns> columns_;
  Epochs epochs_;
  std::int64_t bar_epoch_ = -1, bar_done_ = 0, base_ = 0;
  double bar_s_ = 0, base_s_ = 0;
  bool barred_ = false, clocked_ = false, tabled_ = false;
  int strangers_ = 0;
};

bool LightningParser::see_row(const Line& line, RunBuilder& out) {
  auto cells = split(line.text, ',');
  if (cells.size() != columns_->count) return false;
  if (line.terminator == 0) cells.back() = {};  // it may be cut
  const auto cell = [&](std::size_t column) -> std::optional<double> {
    if (column >= cells.size() || cells[column].empty()) return std::nullopt;
    return to_double(cells[column]);
  };
  const auto step = cell(columns_->step);
  if (!step || !(*step >= 0 && *step < kMost)) return false;
  Sample sample;
  sample.step = static_cast<std::int64_t>(*step) + 1;  // steps are counted from 0
  sample.line = line.number;
  sample.loss = cell(columns_->loss);
  const auto batches = cell(columns_->batches);
  const auto time = cell(columns_->time);
  const auto rate =
      cell(columns_->job_rate != Columns::kNone ? columns_->job_rate : columns_->device_rate);
  if (const auto seconds = cell(columns_->epoch_time); seconds && *seconds > 0) {
    const bool from_start = cell(columns_->epoch).value_or(-1) == 0;
    see_epoch(sample.step, *seconds, from_start, out.run(WorkKind::training, line.number), line);
  }
  // A row of train/time without train/batches is the validation's share of the clock.
  const bool timed = batches && time;
  if (!sample.loss && !timed) return true;
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->goes_back(sample)) {
    out.close(WorkKind::training);
    open = nullptr;
    epochs_ = {};
  }
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.own_facts = true;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  if (timed) {
    clocked_ = true;
    draft.set_origin(0);
    sample.time_s = *time;
    draft.log.clock_resolution_s = 1e-6;
    if (rate) {
      sample.rate = *rate;
      draft.log.rate_unit = RateUnit::sequences_per_second;
    }
    if (const auto samples = cell(columns_->samples)) {
      see_batch(*samples, *batches, *step + 1, draft.log.facts);
    }
  }
  draft.add(sample);
  return true;
}

// Only a batch that comes out whole counts, and so do the batches of an optimizer step.
void LightningParser::see_batch(double samples, double batches, double steps, Facts& facts) const {
  if (!(batches >= 1 && batches < kMost && samples >= batches && samples < 1e9 * batches) ||
      std::fmod(samples, batches) != 0) {
    return;
  }
  facts.micro_batch_size.set(static_cast<std::int64_t>(samples / batches), FactSource::log);
  if (columns_->job_rate == Columns::kNone) facts.world_size.set(1, FactSource::log);
  const double ratio = batches / steps;
  if (ratio >= 1 && ratio == std::floor(ratio) && ratio < 1e6) {
    facts.gradient_accumulation_steps.set(static_cast<std::int64_t>(ratio), FactSource::log);
  }
}

void LightningParser::see_epoch(std::int64_t step, double seconds, bool from_start, RunDraft& draft,
                                const Line& line) {
  draft.last_line = line.number;
  Totals& totals = draft.log.totals;
  if (epochs_.first_step < 0) {
    epochs_.first_step = step;
    epochs_.from_start = from_start;
    if (!from_start) return;
    totals.training_s = seconds;
    totals.iterations = step;
    return;
  }
  epochs_.later_s += seconds;
  const std::int64_t steps = step - epochs_.first_step;
  totals.training_s = totals.training_s.value_or(0) + seconds;
  totals.iterations = epochs_.from_start ? step : steps;
  if (steps <= 0) return;
  draft.log.summary = Stated{static_cast<double>(steps) / epochs_.later_s,
                             RateUnit::iterations_per_second, line.number};
}

bool LightningParser::see_bar(const Line& line, RunBuilder& out) {
  const auto bar = read_rich_bar(line);
  if (!bar) return false;
  if (bar->epoch < bar_epoch_) {
    out.close(WorkKind::training);
    base_ = 0;
    base_s_ = 0;
    bar_epoch_ = -1;
  }
  if (bar->epoch != bar_epoch_ && bar_epoch_ >= 0) {
    base_ += bar_done_;
    base_s_ += bar_s_;
  }
  bar_epoch_ = bar->epoch;
  bar_done_ = bar->done;
  bar_s_ = bar->elapsed_s;
  barred_ = true;
  if (bar->done == 0) return true;
  Sample sample;
  sample.step = base_ + bar->done;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.time_s = base_s_ + bar->elapsed_s;
  sample.rate = bar->rate;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.set_origin(0);
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.log.rate_unit = RateUnit::iterations_per_second;
  draft.log.clock_resolution_s = 1 + static_cast<double>(bar->epoch);
  draft.add(sample);
  draft.ended_well =
      bar->last_epoch >= 0 && bar->epoch == bar->last_epoch && bar->done == bar->total;
  return true;
}

bool LightningParser::see_nemo(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Training epoch ") || !cursor.integer()) return false;
  if (!cursor.literal(", iteration ")) return false;
  const auto step = cursor.integer();
  const std::int64_t last = cursor.literal("/") ? cursor.integer().value_or(-1) : -1;
  const auto seconds = number_after(line, "train_step_timing in s: ");
  if (!step || *step < 0 || *step >= 1'000'000'000'000 || !seconds || !(*seconds > 0)) return false;
  Sample sample;
  sample.step = *step + 1;
  sample.iterations = 1;
  sample.seconds = *seconds;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = number_after(line, "reduced_train_loss: ");
  const RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->goes_back(sample)) out.close(WorkKind::training);
  const bool first = out.open(WorkKind::training) == nullptr;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.own_facts = true;  // tensor and pipeline parallelism split a replica
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  const auto batch = number_after(line, "global_batch_size: ");
  auto& fact = draft.log.facts.global_batch_size;
  if (batch && *batch >= 1 && *batch < 1e9 && first) {
    fact.set(static_cast<std::int64_t>(*batch), FactSource::log);
  } else if (batch && fact.known() && static_cast<double>(*fact.value) != *batch) {
    draft.log.notices.push_back(
        make_notice(NoticeCode::global_batch_changes, line.number, *fact.value, *batch));
    fact = {};
  }
  draft.add(sample);
  if (last >= *step && last < 1'000'000'000'000) {
    draft.planned = last + 1;
    draft.ended_well = *step == last;
  }
  return true;
}

bool LightningParser::parse(const Line& line, RunBuilder& out) {
  if (see_nemo(line, out) || nemo_.see(line, out)) return true;
  if (columns_ && see_row(line, out)) {
    strangers_ = 0;
    return true;
  }
  if (line.text.find(" • ") != std::string_view::npos) return see_bar(line, out);
  // A table begins with its header; another one may follow (cat of several files).
  if (columns_ || line.number == 1) {
    if (auto header = read_header(line.text)) {
      if (columns_) out.close(WorkKind::training);
      columns_ = header;
      epochs_ = {};
      tabled_ = true;
      return true;
    }
  }
  if (columns_ && ++strangers_ == kStrangers) columns_.reset();
  return false;
}

void LightningParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (tabled_) {
      draft->log.notices.push_back(make_notice(NoticeCode::outcome_not_in_table, 0));
      if (!clocked_ && !draft->log.totals.training_s) {
        draft->log.notices.push_back(
            make_notice(NoticeCode::no_rate_in_log, 0, "a table without a clock"));
      } else if (!clocked_) {
        draft->log.notices.push_back(make_notice(NoticeCode::rate_of_epochs, 0));
      }
    }
    if (barred_) {
      draft->log.notices.push_back(make_notice(NoticeCode::bar_of_whole_seconds, 0));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<LightningParser>(); }

}  // namespace

extern const Format format_lightning;
const Format format_lightning = {
    "lightning", "PyTorch Lightning: metrics.csv and the Rich progress bar",
    "https://github.com/Lightning-AI/pytorch-lightning src/lightning/fabric/loggers/csv_logs.py, "
    "src/lightning/pytorch/callbacks/progress/rich_progress.py",
    kAnchors, make};

}  // namespace bertbench
