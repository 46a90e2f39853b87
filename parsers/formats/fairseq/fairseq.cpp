// fairseq: its simple and JSON progress lines.
//
//   2023-06-13 17:31:08 | INFO | train_inner | epoch 143:     85 / 282 loss=3.147, wps=72384.3,
//       ups=1.21, wpb=59997.9, bsz=2186.3, num_updates=40100, train_wall=48, wall=0
//   | epoch 001:   1000 / 2184 loss=8.1, wps=176776, ups=3.1, wpb=56091, bsz=485, ...     (to 0.8)
//   | epoch 010  2000 / 8223 loss=1.27 (1.50), wps=962, wpb=908, bsz=32, lr=0.001, ...  (to 0.4)
//   epoch 001:  10%|#   | 100/1000 [00:50<07:30,  2.00it/s, loss=8.2, wps=58000, ...      (tqdm)
//   ... | INFO | train | epoch 002 | loss 4.1 | wps 72384 | ups 1.21 | wpb 59997.9 | bsz 2186.3 ...
//   [2022-04-08 18:48:05,372][train_inner][INFO] - {"epoch": 1, "update": 0.416, "wps": "58056.1"
//   ... | INFO | train | {"epoch": 2, "train_wps": "7204.7", "train_ups": "2.01", ...     (an
//   epoch)
//
// wps: tokens/s of all workers; wpb and bsz: tokens and sentences per update. ups has two digits,
// so sentences/s = bsz * wps / wpb. Since 0.9 an inner line covers the updates since the one
// before; earlier, and in the lines of an epoch, it is the mean of the epoch. An update is an
// optimizer step: --update-freq is in bsz. Lines of validation have the same keys after `valid`.
// NVIDIA's releases of 2020 (MLPerf 0.7) count bsz of one GPU, wpb of all.
// On TPUs the releases of 2020 see only the update that is logged, so that ups and wps are of one
// update over the time of all ("this causes wps to be misreported", fairseq/trainer.py).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/fairseq/fairseq_fields.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"num_updates",     "training on ",     "done training in ",
                                         "max tokens per ", "\"run_start\"",    "\"run_stop\"",
                                         ", wpb=",          "\"train_samples\""};

/// "2023-06-13 17:31:08 | INFO", "[2022-04-08 18:48:05,372][train_inner]".
std::optional<double> stamp(std::string_view text, bool& fine) {
  if (const auto after = after_host_label(text); !after.empty()) text = after;
  if (text.starts_with('[')) text.remove_prefix(1);
  fine = text.size() > 19 && text[19] == ',';
  return date_time(text);
}

constexpr double kMostUpdates = 1e15;

class FairseqParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_progress(const Line& line, FairseqFields fields, RunBuilder& out);
  void see_epoch_size(const FairseqFields& fields);
  static void add_evaluation(Sample& sample, RateUnit unit, RunBuilder& out);
  void place(const Line& line, const FairseqFields& fields, RateUnit unit, RunDraft& draft,
             Sample& sample);
  void see_batch(double bsz, Fact<std::int64_t>& batch);
  void begin_run(const Line& line, RunBuilder& out);
  void see_updates(const FairseqFields& fields, const Sample& sample);
  void end_inner();
  void see_mlperf(const Line& line);

  RunDraft* epochs_ = nullptr;  ///< means of epochs, for a run without inner lines
  RunDraft* inner_ = nullptr;   ///< of the launch that runs now
  std::optional<std::int64_t> world_;
  double low_bsz_ = kUnknown, high_bsz_ = kUnknown;
  double official_start_ms_ = kUnknown;
  double examples_ = kUnknown;  ///< of an epoch, as MLPerf's line tells it
  std::int64_t shares_ = 1;     ///< GPUs, where bsz is of one of them
  std::int64_t last_update_ = 0;
  bool old_ = false, wall_clock_ = false;
  std::int64_t intervals_ = 0;      ///< inner lines with an earlier one of their run
  std::int64_t of_one_ = 0;         ///< of these, whose ups is that of one update
  double inner_time_s_ = kUnknown;  ///< of the newest inner line
  std::int64_t inner_updates_ = 0;
};

// One update over the time of at least kUpdatesForAVerdict: no rounding and no pause makes a rate
// that low.
void FairseqParser::see_updates(const FairseqFields& fields, const Sample& sample) {
  constexpr std::int64_t kUpdatesForAVerdict = 4;
  constexpr double kOneUpdateGap = 0.25;
  const double seconds = sample.time_s - inner_time_s_;
  const std::int64_t updates = sample.step - inner_updates_;
  inner_time_s_ = sample.time_s;
  inner_updates_ = sample.step;
  const bool exact = fields.wps && fields.wpb && *fields.wpb > 0;
  const double rate = exact ? *fields.wps / *fields.wpb : fields.ups.value_or(kUnknown);
  if (!(seconds > 0) || !(rate > 0) || updates < kUpdatesForAVerdict) return;
  ++intervals_;
  if (std::abs(rate * seconds - 1) <= kOneUpdateGap) ++of_one_;
}

void FairseqParser::end_inner() {
  if (inner_ != nullptr && !old_ && of_one_ > 0 && 2 * of_one_ > intervals_) {
    inner_->log.rate_unit = RateUnit::unknown;
    inner_->log.notices.push_back(make_notice(NoticeCode::ups_of_one_update, 0));
  }
  intervals_ = of_one_ = 0;
  inner_time_s_ = kUnknown;
}

void FairseqParser::begin_run(const Line& line, RunBuilder& out) {
  end_inner();
  out.close(WorkKind::training);
  out.close(WorkKind::evaluation);
  inner_ = &out.run(WorkKind::training, line.number);
  epochs_ = &out.extra(WorkKind::training, line.number);
  for (RunDraft* draft : {inner_, epochs_}) {
    draft->log.iteration_unit = IterationUnit::optimizer_step;
    draft->log.facts.framework.set("pytorch", FactSource::log);
    if (world_) draft->log.facts.world_size.set(*world_, FactSource::log);
    draft->own_facts = true;  // batches of fairseq are sentences or tokens, by option
  }
  low_bsz_ = high_bsz_ = kUnknown;
}

/// Sequences/s where the line tells both, else updates/s.
RateUnit take_rate(const FairseqFields& fields, Sample& sample) {
  const bool words = fields.wps && fields.wpb && *fields.wpb > 0;
  if (words && fields.bsz) {
    sample.rate = *fields.bsz * *fields.wps / *fields.wpb;
  } else if (words) {
    sample.rate = *fields.wps / *fields.wpb;
  } else if (fields.ups) {
    sample.rate = *fields.ups;
  }
  if (!(sample.rate > 0)) sample.rate = kUnknown;  // 0 on a run's first line: no time has passed
  return words && fields.bsz ? RateUnit::sequences_per_second : RateUnit::iterations_per_second;
}

// bsz times the batches of an epoch are its examples; those that are too long are left out, up to
// 8 % in MLPerf's logs.
void FairseqParser::see_epoch_size(const FairseqFields& fields) {
  constexpr double kShareGap = 0.2;
  if (fields.evaluation || shares_ > 1 || !world_ || *world_ < 2) return;
  if (!fields.batches || !fields.bsz) return;
  const double counted = *fields.batches * *fields.bsz;
  const auto all = static_cast<double>(*world_);
  if (counted > 0 && std::abs(examples_ / counted / all - 1) <= kShareGap) shares_ = *world_;
}

// Old releases mean the epoch so far, so that a line's rate is not that of its own updates.
bool FairseqParser::see_progress(const Line& line, FairseqFields fields, RunBuilder& out) {
  if (!fields.updates || !(*fields.updates >= 0 && *fields.updates < kMostUpdates)) return false;
  if (!fields.wps && !fields.ups) return false;
  Sample sample;
  sample.step = static_cast<std::int64_t>(*fields.updates);
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = fields.loss;
  see_epoch_size(fields);
  if (fields.bsz) *fields.bsz *= static_cast<double>(shares_);
  const RateUnit unit = take_rate(fields, sample);
  if (fields.evaluation) {
    add_evaluation(sample, unit, out);
    return true;
  }
  if (inner_ == nullptr || sample.step < last_update_) begin_run(line, out);
  RunDraft& draft = fields.epoch ? *epochs_ : *inner_;
  place(line, fields, unit, draft, sample);
  last_update_ = sample.step;
  draft.add(sample);
  if (!fields.epoch) see_updates(fields, sample);
  inner_->last_line = std::max(inner_->last_line, line.number);
  if (fields.bsz && !fields.epoch) see_batch(*fields.bsz, draft.log.facts.global_batch_size);
  return true;
}

void FairseqParser::add_evaluation(Sample& sample, RateUnit unit, RunBuilder& out) {
  RunDraft& draft = out.run(WorkKind::evaluation, sample.line);
  draft.log.rate_unit = unit;
  draft.log.facts.framework.set("pytorch", FactSource::log);
  draft.own_facts = true;
  sample.distinct = true;
  sample.iterations = 1;
  draft.add(sample);
  draft.ended_well = true;
}

// The clock of a record, and of a run's first one the updates that it covers.
void FairseqParser::place(const Line& line, const FairseqFields& fields, RateUnit unit,
                          RunDraft& draft, Sample& sample) {
  bool fine = false;
  const auto time = stamp(line.text, fine);
  if (draft.count() == 0) {
    draft.log.rate_unit = unit;
    wall_clock_ = time.has_value();
    draft.log.clock_is_wall = wall_clock_;
    draft.log.clock_resolution_s = wall_clock_ && fine ? 1e-3 : 1;
    // `wall` counts from the start of the run, so it is no origin of its own.
    if (!wall_clock_) draft.set_origin(0);
  } else if (draft.log.rate_unit != unit) {
    sample.rate = kUnknown;
  }
  if (wall_clock_) {
    sample.time_s = time.value_or(kUnknown);
  } else if (fields.wall && *fields.wall > 0) {
    sample.time_s = *fields.wall;
  }
  if (draft.count() == 0 && (sample.step > 1000000 || fields.within)) {
    // A resumed run's first line covers what was done since, not all updates.
    const double since = std::min(fields.within.value_or(1), kMostUpdates);
    sample.iterations =
        std::max<std::int64_t>(1, std::min(sample.step, static_cast<std::int64_t>(since)));
  }
}

// A batch that is not the same on all lines is a number of tokens.
void FairseqParser::see_batch(double bsz, Fact<std::int64_t>& batch) {
  low_bsz_ = std::fmin(low_bsz_, bsz);
  high_bsz_ = std::fmax(high_bsz_, bsz);
  const bool constant =
      low_bsz_ == high_bsz_ && low_bsz_ >= 1 && low_bsz_ < 1e9 && low_bsz_ == std::floor(low_bsz_);
  if (constant) {
    batch.set(static_cast<std::int64_t>(low_bsz_), FactSource::log);
  } else {
    batch = {};
  }
}

// MLPerf's translation benchmark runs fairseq: its official time is that between two of its lines.
void FairseqParser::see_mlperf(const Line& line) {
  if (line.text.find(":::MLL") == std::string_view::npos) return;
  if (line.text.find("\"train_samples\"") != std::string_view::npos) {
    examples_ = number_after(line, "\"value\":").value_or(kUnknown);
    return;
  }
  const auto time_ms = number_after(line, "\"time_ms\":");
  if (!time_ms) return;
  if (line.text.find("\"run_start\"") != std::string_view::npos) {
    official_start_ms_ = *time_ms;
  } else if (inner_ != nullptr && !std::isnan(official_start_ms_)) {
    const bool success = line.text.find("\"success\"") != std::string_view::npos;
    for (RunDraft* draft : {inner_, epochs_}) {
      draft->log.totals.training_s = (*time_ms - official_start_ms_) / 1000;
      draft->ended_well = success;
      draft->last_line = line.number;
    }
  }
}

bool FairseqParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("num_updates") != std::string_view::npos ||
      line.text.find(", wpb=") != std::string_view::npos) {
    if (const auto fields = read_fairseq_json(line)) return see_progress(line, *fields, out);
    if (const auto fields = read_fairseq_line(line)) {
      old_ |= line.text.starts_with("| epoch ");
      return see_progress(line, *fields, out);
    }
    return false;
  }
  see_mlperf(line);
  Cursor cursor(line);
  if (cursor.skip_past("training on ")) {  // "training on 8 devices (GPUs/TPUs)", "on 8 GPUs"
    const auto count = cursor.integer();
    if (count && *count >= 1 && *count < 1'000'000 &&
        (cursor.literal(" devices (GPUs/TPUs)") || cursor.literal(" GPUs"))) {
      world_ = *count;
    }
    return false;
  }
  if (cursor.skip_past("done training in ")) {
    const auto seconds = cursor.number();
    if (!seconds || inner_ == nullptr) return false;
    if (inner_->ended_well) return true;  // MLPerf's official time was printed
    inner_->log.totals.training_s = *seconds;
    inner_->ended_well = true;
    inner_->last_line = line.number;
    epochs_->log.totals.training_s = *seconds;
    epochs_->ended_well = true;
    epochs_->last_line = std::max(epochs_->last_line, line.number);
    return true;
  }
  return false;
}

void FairseqParser::finish(RunBuilder& out) {
  end_inner();
  // An epoch's mean stands next to the inner lines of the same updates.
  auto& drafts = out.drafts();
  for (std::size_t i = 0; i + 1 < drafts.size(); ++i) {
    RunDraft& inner = *drafts[i];
    RunDraft& epochs = *drafts[i + 1];
    if (inner.log.kind != WorkKind::training || epochs.log.kind != WorkKind::training) continue;
    RunDraft& unused = inner.count() > 0 ? epochs : inner;
    unused.discard = true;
    RunDraft& used = inner.count() > 0 ? inner : epochs;
    if (old_) {
      used.log.notices.push_back(make_notice(NoticeCode::rate_is_mean_of_window, 0,
                                             "the rate of a line of fairseq before 0.9",
                                             "its epoch so far"));
    }
    if (shares_ > 1) {
      used.log.notices.push_back(make_notice(NoticeCode::same_batch_size_assumed, 0, shares_));
    }
    if (inner.count() == 0) {
      used.log.notices.push_back(make_notice(NoticeCode::times_of_epochs, 0, "means"));
    }
    ++i;
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<FairseqParser>(); }

}  // namespace

extern const Format format_fairseq;
const Format format_fairseq = {
    "fairseq", "fairseq: simple and JSON progress lines",
    "https://github.com/facebookresearch/fairseq fairseq/logging/progress_bar.py, "
    "fairseq/trainer.py",
    kAnchors, make};

}  // namespace bertbench
