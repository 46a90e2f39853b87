#include "parsers/runs/mllog_samples.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "parsers/text/mllog.h"

namespace bertbench {
namespace {

using mllog::number, mllog::text;

/// Beyond this a stated rate is said to differ from the one taken.
constexpr double kSameRate = 0.02;

}  // namespace

void MllogSamples::see_evaluation(const nlohmann::json& metadata, std::int64_t line) {
  const auto count = number(metadata, "samples_count");
  counted_ = count.has_value();
  if (const auto samples = count ? count : number(metadata, "epoch_num")) {
    ++evals_;
    if (!first_eval_) first_eval_ = samples;
    eval_ = samples;
  }
  eval_line_ = line;
  composer_ = text(metadata, "file").find("composer") != std::string::npos;
}

void MllogSamples::see_end(std::optional<double> samples, std::int64_t line) {
  end_ = samples;
  end_line_ = line;
}

void MllogSamples::see_tracked(const nlohmann::json& value, std::int64_t line) {
  const auto rate = number(value, "throughput");
  if (!rate || !(*rate > 0)) return;
  throughput_ = rate;
  throughput_line_ = line;
}

void MllogSamples::see_script_rate(std::optional<double> rate, std::int64_t line) {
  script_rate_ = rate;
  script_line_ = line;
}

double MllogSamples::done(const MllogSetting& setting) const {
  return eval_.value_or(0) * setting.data_set.value_or(0);
}

// The rule that tells samples from epochs, batches and plans: an evaluation's epoch_num counts
// samples when it is beyond some batches; its samples_count does so where it grows; train_samples
// counts the run's when it is stated behind the last evaluation (in front of it, it is the plan or
// the data set). A fraction counts epochs, of the data set.
MllogSamples::Source MllogSamples::source(const MllogSetting& setting) const {
  constexpr double kAbsurd = 1e15;
  const bool bert = setting.benchmark.empty() || setting.benchmark == "bert";
  const double untold = bert ? 1e5 : kUnknown;  // a log without its head
  const double many = setting.global_batch ? 10 * *setting.global_batch : untold;
  if (eval_ && *eval_ < kAbsurd) {
    const bool grows = *eval_ >= 1 && (evals_ < 2 || *eval_ > *first_eval_);
    const bool beyond = *eval_ > many && !composer_ && !setting.old && bert;
    if (counted_ ? grows : beyond) return Source::evaluation;
  }
  if (end_ && end_line_ > eval_line_ && *end_ > many && *end_ < kAbsurd) return Source::end;
  const bool fraction = eval_ && *eval_ < 100 && *eval_ != std::floor(*eval_);
  const double share = done(setting);
  return fraction && end_line_ < eval_line_ && share > many && share < kAbsurd ? Source::share
                                                                               : Source::none;
}

void MllogSamples::tell(const MllogSetting& setting, double seconds, std::int64_t stop_line,
                        RunLog& log) const {
  switch (const Source from = source(setting)) {
    case Source::none:
      tell_tracked(stop_line, log);
      break;
    case Source::evaluation:
      tell_samples(*eval_, from, seconds, stop_line, log);
      break;
    case Source::end:
      tell_samples(*end_, from, seconds, stop_line, log);
      break;
    case Source::share:
      tell_samples(done(setting), from, seconds, stop_line, log);
      break;
  }
  compare_with_script(log);
}

// A tracked throughput in front of run_stop is that of some interval; the one behind it is the
// run's.
void MllogSamples::tell_tracked(std::int64_t stop_line, RunLog& log) const {
  if (!throughput_) {
    log.notices.push_back({eval_line_,
                           "the samples trained are not told (the evaluation's epoch_num counts "
                           "something else): no throughput can be had from this log"});
    return;
  }
  log.summary = Stated{*throughput_, RateUnit::sequences_per_second, throughput_line_};
  if (throughput_line_ >= stop_line) return;
  log.notices.push_back(
      {throughput_line_,
       "the last throughput tracked in front of run_stop is that of some interval or of the "
       "run so far, by submitter: the samples of the whole run are not told"});
}

void MllogSamples::tell_samples(double samples, Source from, double seconds, std::int64_t stop_line,
                                RunLog& log) const {
  log.totals.sequences = static_cast<std::int64_t>(samples);
  const double rate = samples / seconds;
  if (throughput_ && throughput_line_ > stop_line) {
    log.summary = Stated{*throughput_, RateUnit::sequences_per_second, throughput_line_};
    const double gap = *throughput_ / rate - 1;
    if (std::abs(gap) <= kSameRate) return;
    log.notices.push_back(
        {throughput_line_,
         fmt::format("the log's closing throughput, {:.6g}/s, is {:.1f} % {} "
                     "its samples over its official time ({:.6g}/s)",
                     *throughput_, 100 * std::abs(gap), gap > 0 ? "above" : "below", rate)});
    return;
  }
  log.summary = Stated{rate, RateUnit::sequences_per_second, stop_line};
  log.notices.push_back(
      {stop_line, std::string("the rate is the samples ") +
                      (from == Source::end ? "stated at the end" : "at the last evaluation") +
                      (from == Source::share ? " (its share of train_samples)" : "") +
                      " over run_stop minus run_start, evaluations included"});
}

void MllogSamples::compare_with_script(RunLog& log) const {
  if (!log.summary || !script_rate_ || !(*script_rate_ > 0)) return;
  const double gap = *script_rate_ / log.summary->value - 1;
  if (std::abs(gap) <= kSameRate) return;
  log.notices.push_back(
      {script_line_,
       fmt::format("the script's own closing rate, {:.6g}/s, is {:.1f} % {} the rate taken: "
                   "it counts planned steps or leaves out evaluations",
                   *script_rate_, 100 * std::abs(gap), gap > 0 ? "above" : "below")});
}

}  // namespace bertbench
