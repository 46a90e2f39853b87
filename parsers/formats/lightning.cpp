// lightning: PyTorch Lightning's metrics.csv, its Rich progress bar, and the steps of NeMo 1 and 2.
// Its plain bars are tqdm's.
//
//   epoch,step,train/batches,train/device/samples_per_sec,train/samples,train/time,train_loss,val_loss
//   0,9,10,520.4061524990559,320,0.6468990550001763,,
//   Epoch 2/2  ━━━━━━━━━━━━━━━━━━━━━━ 40/40 0:00:02 • 0:00:00 16.82it/s v_num: 0.000
//   Training epoch 0, iteration 45/99 | lr: 6.9e-06 | global_batch_size: 128 | global_step: 45 |
//   reduced_train_loss: 11.96 | train_step_timing in s: 6.08 | consumed_samples: 5888 | ...
//   Epoch 0: :   0%|    | 20/300000 [00:34<143:15:22, v_num=, reduced_train_loss=11.00,
//   global_step=18.00, consumed_samples=2432.0, train_step_timing in s=1.660]
//
// The table is sparse: each metric has rows of its own, and step counts optimizer steps from 0. It
// has a clock only with the ThroughputMonitor (train/time, train/batches), whose device/ columns
// are of one process: without the job's columns next to them there is one process. A column
// epoch_time (people's own) has the time of whole epochs.
// NeMo's steps count from 0, the last one's number follows the slash; the time is of one step. The
// bar of NeMo 1 has that time in place of a rate; one with a rate is tqdm's.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

namespace bertbench::format_lightning {
namespace {

/// Where the columns are; npos = not there.
struct Columns {
  static constexpr std::size_t kNone = std::string_view::npos;
  std::size_t step = kNone, epoch = kNone, loss = kNone, epoch_time = kNone;
  std::size_t time = kNone, batches = kNone, samples = kNone;
  std::size_t job_rate = kNone, device_rate = kNone;
  std::size_t count = 0;
};
constexpr std::pair<std::string_view, std::size_t Columns::*> kColumns[] = {
    {"step", &Columns::step},
    {"epoch", &Columns::epoch},
    {"epoch_time", &Columns::epoch_time},
    {"train/time", &Columns::time},
    {"train/batches", &Columns::batches},
    {"train/samples", &Columns::samples},
    {"train/samples_per_sec", &Columns::job_rate},
    {"train/device/samples_per_sec", &Columns::device_rate},
};

bool is_train_loss(std::string_view name) {
  const auto has = [&](std::string_view what) { return name.find(what) != std::string_view::npos; };
  if (!has("loss") || has("val") || has("test") || has("epoch")) return false;
  return has("train") || name == "loss" || name == "loss_step";
}

std::optional<Columns> read_header(std::string_view text) {
  Columns out;
  std::size_t mean_loss = Columns::kNone;  // of an epoch, where no step's is logged
  for (const std::string_view cell : split(trim(text), ',')) {
    if (cell.empty() || cell.find(' ') != std::string_view::npos) return std::nullopt;
    std::string name(cell);
    std::ranges::replace(name, '|', '/');  // loggers that take no slash
    for (const auto& [known, column] : kColumns) {
      if (name == known) out.*column = out.count;
    }
    if (out.loss == Columns::kNone && is_train_loss(cell)) out.loss = out.count;
    if (cell == "train_loss_epoch" || cell == "train/loss_epoch") mean_loss = out.count;
    ++out.count;
  }
  if (out.loss == Columns::kNone) out.loss = mean_loss;
  const bool ours = out.step != Columns::kNone && out.epoch != Columns::kNone &&
                    (out.loss != Columns::kNone || out.time != Columns::kNone);
  return ours ? std::optional(out) : std::nullopt;
}

/// Of the number that ends before the sign at `end`.
std::size_t begin_of_number(std::string_view text, std::size_t end) {
  return text.find_last_not_of("0123456789.", end - 1) + 1;
}

enum Track { kTable, kRich, kNemo, kNemoBar };

struct Lightning {
  // A table begins with its header; another one may follow (cat of several files).
  bool header(const Line& line, Emit emit) {
    if (!columns && line.number != 1) return false;
    const auto header = read_header(line.text);
    if (!header) return false;
    if (columns) emit(Begin{kTableRun});
    columns = header;
    epochs = {};
    emit.note(NoticeCode::outcome_not_in_table);
    return true;
  }

  [[nodiscard]] bool wants_every_line() const { return columns.has_value(); }

  bool row(const Line& line, Emit emit) {
    constexpr int kStrangers = 16;  // lines in a row that are no rows end the table
    if (table_row(line, emit)) {
      strangers = 0;
      return true;
    }
    if (++strangers == kStrangers) columns.reset();
    return false;
  }

  bool table_row(const Line& line, Emit emit) {
    constexpr double kMaxStep = 1e15;
    auto cells = split(line.text, ',');
    if (cells.size() != columns->count) return false;
    if (line.terminator == 0) cells.back() = {};  // it may be cut
    const auto cell = [&](std::size_t column) -> std::optional<double> {
      if (column >= cells.size() || cells[column].empty()) return std::nullopt;
      return to_double(cells[column]);
    };
    const auto step = cell(columns->step);
    if (!step || !(*step >= 0 && *step < kMaxStep)) return false;
    Step at{.track = kTable, .step = static_cast<std::int64_t>(*step) + 1};
    if (at.step < std::exchange(table_step, at.step)) epochs = {};
    if (const auto seconds = cell(columns->epoch_time); seconds && *seconds > 0) {
      epoch(at.step, *seconds, cell(columns->epoch) == 0, emit);
    }
    at.loss = cell(columns->loss);
    const auto time = cell(columns->time), batches = cell(columns->batches);
    if (!time || !batches) {  // train/time alone is the validation's share of the clock
      if (at.loss) emit(at);
      return true;
    }
    clocked = true;
    at.time_s = *time;
    at.clock = Clock{1e-6};
    const bool of_job = columns->job_rate != Columns::kNone;
    at.rate = cell(of_job ? columns->job_rate : columns->device_rate).value_or(kUnknown);
    if (!std::isnan(at.rate)) at.rate_unit = RateUnit::sequences_per_second;
    emit(at);
    if (const auto samples = cell(columns->samples)) {
      batch(*samples, *batches, *step + 1, of_job, emit);
    }
    return true;
  }

  // Only a batch that comes out whole counts, and so do the batches of an optimizer step.
  static void batch(double samples, double batches, double steps, bool of_job, Emit emit) {
    const auto each = whole_near(samples / batches);
    if (!(batches >= 1) || !each) return;
    emit.fact(&Facts::micro_batch_size, each, kTable);
    if (!of_job) emit.fact(&Facts::world_size, 1, kTable);
    emit.fact(&Facts::gradient_accumulation_steps, whole_near(batches / steps), kTable);
  }

  // How many steps the first epoch of a table had is known only of epoch 0.
  void epoch(std::int64_t step, double seconds, bool from_start, Emit emit) {
    Statement event{.track = kTable, .of = Of::begun};
    if (epochs.first_step < 0) {
      epochs = {step, from_start, 0, from_start ? seconds : 0};
      if (!from_start) return emit(event);
      event.totals.training_s = seconds;
      event.totals.iterations = step;
      return emit(event);
    }
    epochs.later_s += seconds;
    epochs.all_s += seconds;
    const std::int64_t steps = step - epochs.first_step;
    event.totals.training_s = epochs.all_s;
    event.totals.iterations = epochs.from_start ? step : steps;
    if (steps > 0) {
      event.summary =
          Stated{static_cast<double>(steps) / epochs.later_s, RateUnit::iterations_per_second};
    }
    emit(event);
  }

  bool rich(const Line& line, Emit emit) {
    constexpr std::int64_t kMaxBatches = 1'000'000'000;  // of an epoch
    const auto slash = line.text.rfind('/', line.at), unit = line.text.find("it/s", line.at);
    Cursor cursor(line);
    std::int64_t epoch = 0, done = 0, total = 0;
    if (!cursor.read(Past{"Epoch "}, epoch, "/")) return false;
    const auto last = cursor.integer();  // -2 where no end is set
    if (!last || slash == std::string_view::npos || slash < cursor.at()) return false;
    cursor.move_to(begin_of_number(line.text, slash));
    if (!cursor.read(done, "/", total, kBlanks) || done > total || total > kMaxBatches)
      return false;
    const auto elapsed = cursor.duration();
    if (!elapsed || cursor.at() > line.at || unit == std::string_view::npos) return false;
    const auto digits = begin_of_number(line.text, unit);
    if (epoch < bar.epoch) {
      emit(Begin{kRichRun});
      bar = {};
      stopped = false;
    } else if (epoch != bar.epoch) {
      bar.before += bar.done;
      bar.before_s += bar.elapsed_s;
    }
    bar.epoch = epoch;
    bar.done = done;
    bar.elapsed_s = *elapsed;
    emit.note(NoticeCode::bar_of_whole_seconds);
    if (done == 0) return true;
    const auto rate = to_double(line.text.substr(digits, unit - digits));
    emit(Step{.track = kRich,
              .step = bar.before + done,
              .time_s = bar.before_s + *elapsed,
              .rate = rate && *rate > 0 ? *rate : kUnknown,
              .clock = Clock{1 + static_cast<double>(epoch)},
              .last = stopped || (epoch == *last && done == total)});
    return true;
  }

  // Into a pipe the bar is drawn after this line alone.
  bool stop(const Line&, Emit emit) {
    stopped = true;
    if (bar.epoch >= 0) emit(End{.track = kRich});
    return bar.epoch >= 0;
  }

  bool nemo(const Line& line, Emit emit) {
    Cursor time = Cursor::after(line), cursor(line);
    std::int64_t epoch = 0, last = -1;
    Step at{.track = kNemo, .iterations = 1};
    if (!time.read(at.seconds) || !(at.seconds > 0) ||
        !cursor.read(Past{"Training epoch "}, epoch, ", iteration ", at.step)) {
      return false;
    }
    cursor.read("/", last);
    if (last >= at.step) at.planned = last + 1;
    at.last = last == at.step++;
    at.loss = number_after(line, "reduced_train_loss: ");
    at.global_batch = size_after(line, "global_batch_size: ").value_or(0);
    emit(at);
    return true;
  }

  bool nemo_bar(const Line& line, Emit emit) {
    Step at{.track = kNemoBar, .iterations = 1};
    const auto step = number_after(line, "global_step=");
    const auto consumed = number_after(line, "consumed_samples=");
    Cursor cursor(line);
    std::int64_t done = 0, total = 0;
    if (!Cursor::after(line).read(at.seconds) || !(at.seconds > 0) || !step ||
        !(*step >= 0 && *step < static_cast<double>(Cursor::kMostCount)) ||
        !cursor.read(Past{"%|"}, Past{"| "}, done, "/", total, " [")) {
      return false;
    }
    const auto elapsed = cursor.duration();
    if (!elapsed || !cursor.literal("<") || has(line, "it/s") || has(line, "s/it")) return false;
    at.step = static_cast<std::int64_t>(*step) + 1;
    if (at.step < nemo_run.step) {
      emit(Begin{kNemoBarRun});
      nemo_run = {};
    }
    if (*elapsed < nemo_run.elapsed_s) nemo_run.before_s += nemo_run.elapsed_s;  // another epoch
    nemo_run.elapsed_s = *elapsed;
    if (total >= done && total >= at.step) {
      at.planned = total;
      at.last = done == total;
    }
    // The bar is drawn once more where it ends and around a validation.
    if (at.step == nemo_run.step) {
      emit(Statement{.track = kNemoBar, .planned = at.planned});
      if (at.last) emit(End{.track = kNemoBar});
      return true;
    }
    const double clock = nemo_run.before_s + nemo_run.elapsed_s;
    if (nemo_run.step < 0) nemo_run.start_s = clock - at.seconds;
    at.time_s = clock - nemo_run.start_s;
    at.loss = number_after(line, "reduced_train_loss=");
    std::optional<std::int64_t> batch;
    if (consumed) {
      batch = whole_near((*consumed - nemo_run.consumed.value_or(kUnknown)) /
                         static_cast<double>(at.step - nemo_run.consumed_step));
      nemo_run.consumed = consumed;
      nemo_run.consumed_step = at.step;
    }
    at.global_batch = batch.value_or(0);
    nemo_run.step = at.step;
    emit(at);
    if (batch && !std::exchange(nemo_run.batched, true)) {
      emit.fact(&Facts::global_batch_size, batch, kNemoBar);
    }
    return true;
  }

  void finish(Emit emit) {
    if (!table_step || clocked) return;
    if (epochs.first_step >= 0) {
      emit.note(NoticeCode::rate_of_epochs);
    } else {
      emit.note(NoticeCode::no_rate_in_log, "a table without a clock");
    }
  }

  static constexpr Begin kTableRun{.track = kTable,
                                   .unit = IterationUnit::optimizer_step,
                                   .restart = Restart::back,
                                   .from_zero = true,
                                   .own_facts = true};
  static constexpr Begin kRichRun{.track = kRich,
                                  .unit = IterationUnit::micro_step,
                                  .rate = RateUnit::iterations_per_second,
                                  .restart = Restart::never,
                                  .after_end = AfterEnd::reopens,
                                  .from_zero = true};
  // Tensor and pipeline parallelism split a replica: ranks do not give the batch.
  static constexpr Begin kNemoRun{.track = kNemo,
                                  .unit = IterationUnit::optimizer_step,
                                  .after_end = AfterEnd::reopens,
                                  .own_facts = true};
  static constexpr Begin kNemoBarRun{.track = kNemoBar,
                                     .unit = IterationUnit::optimizer_step,
                                     .clock = {.resolution_s = 1},
                                     .restart = Restart::never,
                                     .after_end = AfterEnd::reopens,
                                     .from_zero = true,
                                     .own_facts = true};

  std::optional<Columns> columns;
  int strangers = 0;
  std::int64_t table_step = 0;
  bool clocked = false;  ///< a row of the ThroughputMonitor was read
  struct {
    std::int64_t first_step = -1;  ///< at the end of the first
    bool from_start = false;
    double later_s = 0, all_s = 0;
  } epochs;  ///< whose seconds the table has
  struct {
    std::int64_t epoch = -1, done = 0, before = 0;
    double elapsed_s = 0, before_s = 0;  ///< in the epochs before
  } bar;
  bool stopped = false;  ///< the Trainer stated that it has reached its end
  struct {
    std::int64_t step = -1;
    double elapsed_s = 0, before_s = 0, start_s = 0;
    std::optional<double> consumed;
    std::int64_t consumed_step = 0;
    bool batched = false;
  } nemo_run;
};

constexpr Row kRows[] = {
    on<&Lightning::nemo>("train_step_timing in s: "),
    on<&Lightning::nemo_bar>("train_step_timing in s="),
    on<&Lightning::rich>(" • "),
    on<&Lightning::stop>("`Trainer.fit` stopped: `max_"),
    on<&Lightning::header>("epoch,"),
    on<&Lightning::header>(",epoch"),
};

constexpr Begin kRuns[] = {Lightning::kTableRun, Lightning::kRichRun, Lightning::kNemoRun,
                           Lightning::kNemoBarRun};

}  // namespace

extern const Format entry{.name = "lightning",
                          .title = "PyTorch Lightning: metrics.csv and the Rich progress bar",
                          .reference =
                              "https://github.com/Lightning-AI/pytorch-lightning "
                              "src/lightning/fabric/loggers/csv_logs.py, "
                              "src/lightning/pytorch/callbacks/progress/rich_progress.py",
                          .framework = "pytorch",
                          .table = table_of<Lightning>(kRows, kRuns)};

}  // namespace bertbench::format_lightning
