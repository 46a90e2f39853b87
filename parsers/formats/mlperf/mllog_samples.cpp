#include "parsers/formats/mlperf/mllog_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "parsers/formats/mlperf/mllog.h"

namespace bertbench {
namespace {

using mllog::number, mllog::text;

/// Beyond this a stated rate is said to differ from the one taken.
constexpr double kSameRate = 0.02;
/// Tracked throughputs leave out evaluations and the start, and are of intervals.
constexpr double kTrackedRate = 0.1;
/// Where they are further from the rate that epochs of train_samples give, these are no data set.
constexpr double kTrackedOrder = 0.5;
constexpr double kAbsurd = 1e15;  // samples

/// The middle one; of an even number the upper of both.
double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_whole(double number) { return number == std::floor(number); }

}  // namespace

void MllogSamples::see_evaluation(const nlohmann::json& metadata, std::int64_t line) {
  const auto count = number(metadata, "samples_count");
  counted_ = count.has_value();
  if (const auto samples = count ? count : number(metadata, "epoch_num")) {
    ++evals_;
    if (!first_eval_) first_eval_ = samples;
    if (!second_eval_ && *samples > *first_eval_) second_eval_ = samples;
    eval_ = samples;
    blocks_.evaluated(*samples);
  }
  steps_ = number(metadata, "step_num");
  eval_line_ = line;
  composer_ = text(metadata, "file").find("composer") != std::string::npos;
}

void MllogSamples::Epochs::begin(double number, double many, double time_ms) {
  if (std::isnan(first_)) {
    first_ = number;
    named_by_end_ = many > 1 && number == many;
  }
  // "1, 20, 40": only the first block is named by its first epoch, the others by those done.
  if (spent_ms_.size() == 1 && many > 1 && first_ == 1 && number == many && end_ == number + 1) {
    first_ = 0;
    end_ = number;
  }
  follows_ = follows_ || number == end_;
  begun_ = number;
  many_ = many;
  begun_ms_ = time_ms;
}

// Ranks repeat a statement; a block is named where it stops as where it began, or by its end.
void MllogSamples::Epochs::stop(double number, double many, double time_ms) {
  if (std::isnan(first_)) return;
  const bool newest = number >= begun_ && number <= begun_ + many_;
  const double end = newest ? begun_ + many_ : number + many;
  if (end <= end_) return;
  end_ = end;
  spent_ms_.push_back((time_ms - begun_ms_) / (newest ? many_ : many));
}

bool MllogSamples::Epochs::ended_early() const {
  constexpr double kWhole = 0.8;  // of the others' time
  if (many_ > 1 || spent_ms_.size() < 3) return false;
  std::vector<double> others(spent_ms_.begin(), spent_ms_.end() - 1);
  return spent_ms_.back() < kWhole * middle_of(std::move(others));
}

void MllogSamples::Epochs::evaluated(double number) {
  if (many_ > 1 && number == begun_ + many_ && number > end_) end_ = number;
}

double MllogSamples::Epochs::whole() const {
  if ((first_ > 1 && !named_by_end_) || (spent_ms_.size() > 1 && !follows_)) return kUnknown;
  return end_ - first_ - static_cast<double>(ended_early());
}

void MllogSamples::see_epoch(const std::string& key, const nlohmann::json& metadata,
                             double time_ms) {
  const bool block = key.starts_with("block");
  Epochs& epochs = block ? blocks_ : epochs_;
  const auto named = number(metadata, block ? "first_epoch_num" : "epoch_num");
  const auto many = block ? number(metadata, "epoch_count").value_or(1) : 1.0;
  constexpr double kEpochLimit = 1e5;  // what counts further are samples
  const auto fits = [](double n) { return n >= 0 && n < kEpochLimit && is_whole(n); };
  if (!named || !fits(*named) || !fits(many) || many < 1) return;
  if (!std::isfinite(time_ms)) return;  // nor could times be put in order
  if (key.ends_with("start")) {
    epochs.begin(*named, many, time_ms);
  } else {
    epochs.stop(*named, many, time_ms);
  }
}

void MllogSamples::see_end(std::optional<double> samples, std::int64_t line) {
  end_ = samples;
  end_line_ = line;
}

void MllogSamples::see_tracked(const nlohmann::json& value, std::int64_t line) {
  const auto rate = number(value, "throughput");
  if (!rate || !(*rate > 0)) return;
  constexpr std::size_t kThroughputsHeld = 100'000;
  if (throughputs_.size() >= kThroughputsHeld) throughputs_.pop_back();
  throughputs_.push_back(*rate);
  throughput_line_ = line;
}

void MllogSamples::see_script_rate(std::optional<double> rate, std::int64_t line) {
  script_rate_ = rate;
  script_line_ = line;
}

bool MllogSamples::in_tokens(const MllogSetting& setting) const {
  if (setting.benchmark.empty() || setting.benchmark == "bert" || counted_) return false;
  if (!setting.global_batch || !setting.sequence_length || !(*setting.sequence_length > 1)) {
    return false;
  }
  const double first = first_eval_ ? *first_eval_ : end_.value_or(0);
  return first >= *setting.global_batch * *setting.sequence_length &&
         is_whole(first / *setting.sequence_length);
}

// DLRM's first evaluation at 0.05 of an epoch is called 1.05 by some: an even step back from the
// first of them is where they count from.
double MllogSamples::share_origin() const {
  if (!first_eval_ || *first_eval_ < 1) return 0;
  if (!second_eval_) return kUnknown;
  const double step = *second_eval_ - *first_eval_;
  const double back = *first_eval_ - step;
  for (const double origin : {0.0, 1.0}) {
    if (std::abs(back - origin) < 0.1 * step) return origin;
  }
  return kUnknown;
}

double MllogSamples::share(const MllogSetting& setting) const {
  return (eval_.value_or(0) - share_origin()) * setting.data_set.value_or(0);
}

// UNet3D of round 4.0 says how many samples it calls an epoch, and counts them.
bool MllogSamples::named_by_samples(const MllogSetting& setting) const {
  if (!setting.global_batch || !eval_ || eval_ < epochs_.first()) return false;
  if (const double in_one = setting.epoch_samples.value_or(0); in_one > 1) {
    constexpr double kFirstEvaluationEpochs = 10;  // epochs
    const double first = first_eval_.value_or(0);
    if (first >= kFirstEvaluationEpochs * in_one && is_whole(first / in_one) &&
        is_whole(*eval_ / in_one))
      return true;
  }
  const auto batches = [&](double samples) { return samples / *setting.global_batch; };
  return batches(epochs_.first()) > 10 && is_whole(batches(epochs_.first())) &&
         is_whole(batches(*eval_));
}

// SSD's train_samples counts batches with some: those that hold the images of OpenImages' subset.
double MllogSamples::data_set(const MllogSetting& setting) {
  constexpr double kImages = 1'170'301;
  const double stated = setting.data_set.value_or(kUnknown);
  const double batch = setting.global_batch.value_or(kUnknown);
  const bool batches = setting.is_ssd() && batch > 1 && std::abs(stated * batch - kImages) <= batch;
  return batches ? kImages : stated;
}

const MllogSamples::Epochs& MllogSamples::epochs() const {
  return epochs_.any() ? epochs_ : blocks_;
}

// BERT's train_samples is a plan, its only epoch none of it.
double MllogSamples::whole_epochs(const MllogSetting& setting) const {
  const double whole = epochs().whole();
  const bool may_be_bert = setting.benchmark == "bert" || (setting.benchmark.empty() && whole < 2);
  const bool self_play = setting.benchmark == "minigo";
  if (may_be_bert || self_play || setting.varied || !(whole >= 1)) return kUnknown;
  return whole * data_set(setting);
}

// What round 0.7's BERT of Google calls an epoch is a step: what they make is near the plan.
std::optional<double> MllogSamples::steps(const MllogSetting& setting) const {
  if (setting.in_tokens()) return std::nullopt;
  if (steps_ && *steps_ >= 1) return steps_;
  const double whole = blocks_.whole();
  const double plan = setting.data_set.value_or(kUnknown);
  const double part = whole * setting.global_batch.value_or(kUnknown) / plan;
  const bool steps = setting.benchmark == "bert" && !composer_ && blocks_.in_one() > 1 &&
                     part > 0.3 && part < 1.05;
  return steps ? std::optional(whole) : std::nullopt;
}

// After whole epochs it is the data set all the same; far beyond the count of the evaluations it
// is of another unit.
bool MllogSamples::odd_end(double many, bool bert) const {
  const bool beyond = eval_ && *eval_ > many && *end_ > 10 * *eval_;
  return beyond || (!bert && epochs().any() && !(epochs().whole() < 2));
}

// The rule that distinguishes samples from epochs, tokens, batches and plans: an evaluation's
// epoch_num counts samples when it is beyond some batches, and tokens where the first is beyond as
// many batches as a sequence is long; its samples_count does so where it grows; its step_num counts
// batches; train_samples counts the run's when it is stated after the last evaluation (before
// it, it is the plan or the data set). A fraction counts epochs, of the data set; what is left are
// whole epochs.
MllogSamples::Source MllogSamples::source(const MllogSetting& setting, double seconds) const {
  const bool bert = setting.benchmark.empty() || setting.benchmark == "bert";
  const double untold = bert ? 1e5 : kUnknown;  // a log without its head
  const double many = setting.global_batch ? 10 * *setting.global_batch : untold;
  if (eval_ && *eval_ < kAbsurd) {
    const bool grows = *eval_ >= 1 && (evals_ < 2 || *eval_ > *first_eval_);
    const bool beyond = *eval_ > many && !composer_ && !setting.old &&
                        (bert || in_tokens(setting) || named_by_samples(setting));
    if (counted_ ? grows : beyond) return Source::evaluation;
  }
  if (end_ && end_line_ > eval_line_ && *end_ > many && *end_ < kAbsurd && !odd_end(many, bert)) {
    return Source::end;
  }
  const double by_steps =
      steps(setting).value_or(kUnknown) * setting.global_batch.value_or(kUnknown);
  if (by_steps > 0 && by_steps < kAbsurd) return Source::steps;
  const auto sound = [&](double samples) { return samples > many && samples < kAbsurd; };
  if (eval_ && *eval_ < 100 && !(is_whole(*eval_) && is_whole(*first_eval_))) {
    return end_line_ < eval_line_ && sound(share(setting)) ? Source::share : Source::none;
  }
  const double whole = whole_epochs(setting);
  const bool known = setting.global_batch ? sound(whole) : whole < kAbsurd;
  return known && agrees(whole / seconds) ? Source::epochs : Source::none;
}

void MllogSamples::conclude(const MllogSetting& setting, double seconds, std::int64_t stop_line,
                            bool rated, Emit emit) {
  const auto processes = static_cast<double>(setting.facts().world().value_or(1));
  const auto take = [&](double samples, double of_each, Source from) {
    conclude_samples(samples, of_each, from, seconds, stop_line, processes, emit);
  };
  const double tokens = in_tokens(setting) ? setting.sequence_length.value_or(1) : 1;
  switch (const Source from = source(setting, seconds)) {
    case Source::none:
      conclude_tracked(setting, stop_line, rated, emit);
      break;
    case Source::evaluation:
      take(*eval_ / tokens, tokens, from);
      break;
    case Source::end:
      take(*end_ / tokens, tokens, from);
      break;
    case Source::steps:
      take(*steps(setting) * *setting.global_batch, 1, from);
      break;
    case Source::share:
      take(share(setting), 1, from);
      break;
    case Source::epochs:
      take(whole_epochs(setting), 1, from);
      break;
  }
  if (tokens > 1) {
    emit(Note{make_notice(NoticeCode::counts_tokens, stop_line, "the evaluations' sample count",
                          "tokens", "they are divided by the sequence length")});
  }
  compare_with_script(emit);
}

double MllogSamples::tracked() const {
  const double middle = middle_of(throughputs_);
  const double last = throughputs_.back();
  return std::abs(last / middle - 1) > kTrackedRate ? middle : last;
}

bool MllogSamples::agrees(double rate) const {
  return throughputs_.empty() || tracked() / rate - 1 < kTrackedOrder;
}

// A tracked throughput before run_stop is that of some interval; the one after it is the
// run's.
void MllogSamples::conclude_tracked(const MllogSetting& setting, std::int64_t stop_line, bool rated,
                                    Emit emit) {
  const bool self_play = setting.benchmark == "minigo";  // it tracks generations
  if (throughputs_.empty() || self_play) {
    if (rated) return;
    emit(Note{make_notice(NoticeCode::samples_unknown, eval_line_)});
    return;
  }
  const bool closing = throughput_line_ >= stop_line;
  const double rate = closing ? throughputs_.back() : tracked();
  state(rate, throughput_line_, std::nullopt, emit);
  if (setting.is_ssd()) {
    emit(Note{make_notice(NoticeCode::rate_of_one_process, throughput_line_,
                          "the throughput that SSD's script tracks")});
  }
  if (closing) return;
  const bool last = rate == throughputs_.back();
  emit(Note{make_notice(last ? NoticeCode::tracked_rate_of_interval : NoticeCode::tracked_rate_odd,
                        throughput_line_)});
}

void MllogSamples::state(double rate, std::int64_t line, std::optional<double> samples, Emit emit) {
  Statement said{.summary = Stated{rate, RateUnit::sequences_per_second, line}};
  if (samples) said.totals.sequences = static_cast<std::int64_t>(*samples);
  emit(said);
  rate_ = rate;
}

void MllogSamples::conclude_samples(double samples, double tokens, Source from, double seconds,
                                    std::int64_t stop_line, double processes, Emit emit) {
  const double rate = samples / seconds;
  const double tracked = throughputs_.empty() ? kUnknown : throughputs_.back();
  const double closing = tracked / rate > 0.5 * tokens ? tracked / tokens : tracked;
  const double gap = closing / rate - 1;  // far below: it is one process's
  if (throughput_line_ > stop_line && gap > -kTrackedOrder) {
    state(closing, throughput_line_, samples, emit);
    if (std::abs(gap) <= kSameRate) return;
    emit(Note{make_notice(NoticeCode::closing_rate_off_official, throughput_line_,
                          "the log's closing throughput", closing, 100 * std::abs(gap),
                          gap > 0 ? "above" : "below",
                          fmt::format("its samples over its official time ({:.6g}/s)", rate))});
    return;
  }
  state(rate, stop_line, samples, emit);
  emit(Note{make_notice(NoticeCode::rate_over_official_time, stop_line, origin(from))});
  const bool closes = throughput_line_ > stop_line;
  if (closes || from == Source::epochs || from == Source::steps)
    compare_with_tracked(rate, processes, emit);
}

std::string MllogSamples::origin(Source from) const {
  switch (from) {
    case Source::end:
      return "stated at the end";
    case Source::steps:
      return "of the steps that are told, times the batch,";
    case Source::share:
      return "at the last evaluation (its share of train_samples)";
    case Source::epochs:
      return fmt::format(
          "of {:.0f} epochs of train_samples{}", epochs().whole(),
          epochs().ended_early() ? " (the last one ended early and is left out)" : "");
    case Source::none:
    case Source::evaluation:
      break;
  }
  return "at the last evaluation";
}

// The throughput of an interval, or of the run so far.
void MllogSamples::compare_with_tracked(double rate, double processes, Emit emit) const {
  if (throughputs_.empty()) return;
  const double gap = tracked() / rate - 1;
  const bool of_one = std::abs(processes * tracked() / rate - 1) <= kTrackedRate;
  if (of_one || std::abs(gap) <= kTrackedRate) return;
  emit(Note{make_notice(NoticeCode::closing_rate_off_official, throughput_line_,
                        "the throughput tracked", tracked(), 100 * std::abs(gap),
                        gap > 0 ? "above" : "below", "the rate taken")});
}

void MllogSamples::compare_with_script(Emit emit) const {
  if (!rate_ || !script_rate_ || !(*script_rate_ > 0)) return;
  const double gap = *script_rate_ / *rate_ - 1;
  if (std::abs(gap) <= kSameRate) return;
  emit(Note{make_notice(NoticeCode::closing_rate_off_official, script_line_,
                        "the script's own closing rate", *script_rate_, 100 * std::abs(gap),
                        gap > 0 ? "above" : "below",
                        "the rate taken: it counts planned steps or leaves out evaluations")});
}

}  // namespace bertbench
