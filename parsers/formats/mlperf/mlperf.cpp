// mlperf: the ":::MLLOG" lines of MLPerf training.
//
//   :::MLLOG {"namespace": "", "time_ms": 1696542606723, "event_type": "POINT_IN_TIME",
//             "key": "tracked_stats", "value": {"throughput": 437291.2}, "metadata": {...}}
//
// The official time is run_stop minus run_start. The samples trained are those at the last
// evaluation: many submitters give them as its epoch_num, some as train_samples at the end; others
// count epochs or batches there, and then no throughput can be had. Tracked throughput is
// cumulative and starts with a ramp: its last value is the log's closing statement. Most logs have
// no step lines; NVIDIA's BERT of v0.7 prints a Python dict a step:
//
//   {'training_steps': 605, 'average_loss': 1.41, 'step_loss': 1.41, ..., 'seq/s': 25278.78,
//    'global_steps': 596, 'samples_trained': 5492736, 'skipped_steps': 9, 'timestamp':
//    1593109119.4}
//
// training_steps counts micro-steps there; applied and skipped updates together are the steps.
// NVIDIA's SSD of rounds 0.5 to 1.1 prints samples/s of all GPUs since the line before:
//
//   Iteration:   4500, Loss function: 2.893, Average Loss: 3.757, avg. samples / sec: 4056.38
//
// Rounds 0.5 and 0.6 write the same statements in lines of their own; their evaluations count
// epochs, so that the official time is all that such a log tells:
//
//   :::MLL 1558641496.914 run_start: {"value": null, "metadata": {"lineno": 477, "file": "x.py"}}
//   :::MLPv0.5.0 resnet 1541660914.084755421 (resnet/resnet_main.py:523) run_start
//   :::MLPv0.5.0 resnet 1541679005.124143600 (in_memory_eval.py:270) run_stop: {"success": "true"}
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/mlperf/mllog.h"
#include "parsers/formats/mlperf/mllog_samples.h"
#include "parsers/formats/mlperf/ncf_epochs.h"
#include "parsers/lines/cursor.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kAnchors[] = {":::MLLOG {",
                                         "'seq/s': ",
                                         ":::MLL ",
                                         ":::MLPv0.",
                                         "'training_sequences_per_second': ",
                                         ", avg. samples / sec: "};

bool begins_a_part(std::string_view key) { return key == "epoch_start" || key == "block_start"; }

using mllog::key_at_sight, mllog::number, mllog::object_of, mllog::old_statement, mllog::text;

class MlperfParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void see(const std::string& key, const Json& json, const Line& line, RunBuilder& out);
  void see_setting(const std::string& key, const Json& value, const Line& line);
  void see_ncf(const std::string& key, const Json& value, double time_ms, const Line& line);
  void start(double time_ms, const Line& line, RunBuilder& out);
  /// Whether a statement of this key would be left out at this place, whatever it says.
  [[nodiscard]] bool passes_over(std::string_view key) const;
  bool see_step(const Line& line);
  bool see_speed(const Line& line);
  void stop(const Json& metadata, double time_ms, const Line& line, RunBuilder& out);
  void conclude();
  void begin_headless(const Line& line, RunBuilder& out);
  bool see_script_rate(const Line& line);

  MllogSetting setting_;
  MllogSamples samples_;  ///< of the newest run
  NcfEpochs ncf_;
  RunDraft* draft_ = nullptr;    ///< between run_start and run_stop
  RunDraft* stopped_ = nullptr;  ///< a last statement may follow run_stop
  double start_ms_ = kUnknown;
  std::optional<double>
      behind_;  ///< train_samples behind the run_stop; of the last run or the next
  std::int64_t stop_line_ = 0, behind_line_ = 0;
  std::int64_t step_ = 0;  ///< optimizer steps of the step lines, skipped ones included
  std::int64_t skipped_ = 0;
  bool success_ = false;
  bool goes_on_ = false;  ///< the job trains beyond its run_stop: what it tracks is not the run's
};

bool MlperfParser::see_step(const Line& line) {
  const auto applied = number_after(line, "'global_steps':");
  const auto skipped = number_after(line, "'skipped_steps':");
  const auto rate = number_after(line, "'seq/s':");
  const auto time = number_after(line, "'timestamp':");
  if (draft_ == nullptr || !applied || !skipped || !rate || !time || !(*applied >= 0) ||
      !(*skipped >= 0) || !(*applied + *skipped < 1e12)) {
    return false;
  }
  Sample sample;
  sample.step = static_cast<std::int64_t>(*applied + *skipped);
  sample.iterations = std::max<std::int64_t>(1, sample.step - step_);
  sample.rate = *rate;
  sample.time_s = *time;
  sample.line = line.number;
  // A skipped update comes from an overflow: its loss may be anything.
  const auto loss = number_after(line, "'step_loss':");
  const bool overflow = *skipped > static_cast<double>(skipped_);
  if (loss && (!overflow || std::isfinite(*loss))) sample.loss = loss;
  step_ = std::max(step_, sample.step);
  skipped_ = std::max(skipped_, static_cast<std::int64_t>(*skipped));
  draft_->log.rate_unit = RateUnit::sequences_per_second;
  draft_->log.clock_is_wall = true;
  draft_->log.clock_resolution_s = 1e-6;
  draft_->log.totals.skipped_steps = static_cast<std::int64_t>(*skipped);
  draft_->add(sample);
  return true;
}

bool MlperfParser::see_speed(const Line& line) {
  const auto step = number_after(line, "Iteration:");
  const auto rate = number_after(line, ", avg. samples / sec:");
  if (draft_ == nullptr || !step || !rate || !(*step >= 0 && *step < 1e12) || !(*rate > 0)) {
    return false;
  }
  if (*step == 0) return true;  // of no iteration
  Sample sample;
  sample.step = static_cast<std::int64_t>(*step);
  sample.rate = *rate;
  sample.loss = number_after(line, "Loss function:");
  sample.line = line.number;
  draft_->log.rate_unit = RateUnit::sequences_per_second;
  draft_->add(sample);
  return true;
}

bool MlperfParser::passes_over(std::string_view key) const {
  static constexpr std::string_view kSettings[] = {"submission_benchmark", "global_batch_size",
                                                   "input_batch_size", "train_samples",
                                                   "num_train_examples"};
  static constexpr std::string_view kOfARun[] = {"eval_accuracy", "run_stop",    "epoch_start",
                                                 "epoch_stop",    "block_start", "block_stop"};
  if (key == "run_start") return draft_ != nullptr;  // another rank's
  if (key == "tracked_stats") {
    // Behind run_stop SSD tells of an epoch that it did not finish.
    return draft_ == nullptr && (stopped_ == nullptr || goes_on_ || setting_.is_ssd());
  }
  if (begins_a_part(key) && stopped_ != nullptr) return false;
  // Of a log without its head run_stop is the first statement on a run.
  if (key == "run_stop" && stopped_ == nullptr) return false;
  if (std::ranges::find(kOfARun, key) != std::end(kOfARun)) return draft_ == nullptr;
  return MllogSetting::number_of(key) == nullptr && !MllogSetting::names_precision(key) &&
         std::ranges::find(kSettings, key) == std::end(kSettings);
}

bool MlperfParser::parse(const Line& line, RunBuilder& out) {
  if (find_text(line.text, "'seq/s': ") != std::string_view::npos) return see_step(line);
  if (find_text(line.text, ", avg. samples / sec: ") != std::string_view::npos) {
    return see_speed(line);
  }
  const auto at = find_text(line.text, ":::MLLOG {");
  if (at == std::string_view::npos && see_script_rate(line)) return false;
  const bool old = at == std::string_view::npos;
  if (!old) {
    const auto seen = key_at_sight(line.text.substr(at + 9));
    if (!seen.empty() && passes_over(seen)) return true;
  }
  const Json json = old ? old_statement(line) : object_of(line.text.substr(at + 9));
  const std::string key = text(json, "key");
  if (key.empty()) return false;
  if (old) {
    setting_.old = true;
    if (setting_.benchmark.empty()) setting_.benchmark = text(json, "benchmark");
  }
  see(key, json, line, out);
  return true;
}

void MlperfParser::see(const std::string& key, const Json& json, const Line& line,
                       RunBuilder& out) {
  const Json none;
  const auto of = [&](const char* name) -> const Json& {
    const auto at = json.find(name);
    return at != json.end() ? *at : none;
  };
  const Json& value = of("value");
  const Json& metadata = of("metadata");
  const double time_ms = mllog::time_ms(json).value_or(kUnknown);
  if (setting_.old && setting_.benchmark == "ncf") see_ncf(key, value, time_ms, line);
  if (passes_over(key)) return;
  if (key == "run_start") {
    start(time_ms, line, out);
  } else if (key == "eval_accuracy") {
    samples_.see_evaluation(metadata, line.number);
    draft_->last_line = line.number;
  } else if (begins_a_part(key) && draft_ == nullptr) {
    goes_on_ = true;
  } else if (key.ends_with("_start") || (key.ends_with("_stop") && key != "run_stop")) {
    samples_.see_epoch(key, metadata, time_ms);
  } else if (key == "tracked_stats") {
    samples_.see_tracked(value, line.number);
    (draft_ != nullptr ? draft_ : stopped_)->last_line = line.number;
  } else if (key == "run_stop") {
    if (draft_ == nullptr) begin_headless(line, out);
    stop(metadata, time_ms, line, out);
  } else {
    see_setting(key, value, line);
  }
}

void MlperfParser::see_ncf(const std::string& key, const Json& value, double time_ms,
                           const Line& line) {
  auto sample = ncf_.see(key, number(value), time_ms);
  if (!sample || draft_ == nullptr) return;
  if (draft_->count() == 0) {
    draft_->log.notices.push_back(make_notice(NoticeCode::record_is_epoch_of_ncf, line.number));
  }
  sample->line = line.number;
  draft_->log.iteration_unit = IterationUnit::unknown;
  draft_->log.rate_unit = RateUnit::sequences_per_second;
  draft_->add(*sample);
}

void MlperfParser::see_setting(const std::string& key, const Json& value, const Line& line) {
  auto size = number(value);
  if (size && !(*size > 0)) size.reset();  // a damaged line: no batch or data set is of none
  if (const auto setting = MllogSetting::number_of(key)) {
    setting_.*setting = size;
  } else if (MllogSetting::names_precision(key) && value.is_string()) {
    setting_.see_precision(value.get<std::string>());
  } else if (key == "submission_benchmark" && value.is_string()) {
    setting_.benchmark = value.get<std::string>();
  } else if (key == "global_batch_size") {
    setting_.global_batch = size;
    setting_.loosely = false;
  } else if (key == "input_batch_size") {
    // Round 0.5. What follows a first one is the evaluation's.
    if (setting_.global_batch) return;
    setting_.global_batch = size;
    setting_.loosely = setting_.global_batch.has_value();
  } else if (key == "train_samples" || key == "num_train_examples") {
    if (draft_ == nullptr && stopped_ != nullptr && !setting_.data_set) {
      behind_ = size;
      behind_line_ = line.number;
      return;
    }
    setting_.varied = setting_.varied || (setting_.data_set && setting_.data_set != size);
    setting_.data_set = size;
    if (draft_ != nullptr) samples_.see_end(setting_.data_set, line.number);
  }
}

void MlperfParser::start(double time_ms, const Line& line, RunBuilder& out) {
  conclude();
  if (behind_) setting_.data_set = behind_;  // it was of this run
  behind_.reset();
  draft_ = &out.extra(WorkKind::training, line.number);
  draft_->own_facts = true;
  draft_->log.iteration_unit = IterationUnit::optimizer_step;
  start_ms_ = time_ms;
  step_ = skipped_ = 0;
  goes_on_ = false;
}

// The tail of a log tells how the run ended, and neither its time nor its rate.
void MlperfParser::begin_headless(const Line& line, RunBuilder& out) {
  draft_ = &out.extra(WorkKind::training, line.number);
  draft_->own_facts = true;
  draft_->log.iteration_unit = IterationUnit::optimizer_step;
  draft_->log.notices.push_back(make_notice(NoticeCode::official_start_missing, line.number));
  start_ms_ = kUnknown;
}

void MlperfParser::stop(const Json& metadata, double time_ms, const Line& line, RunBuilder& out) {
  const std::string status = text(metadata, "status");
  success_ = status == "success" || (setting_.old && status.empty());  // some of round 0.5 say none
  if (!success_ && draft_->count() > 0) {
    // Its steps look fast and are no result: what is handed on has none.
    RunDraft& bare = out.extra(WorkKind::training, draft_->log.first_line);
    bare.own_facts = true;
    bare.log.iteration_unit = draft_->log.iteration_unit;
    bare.log.totals = draft_->log.totals;
    bare.log.first_nan_step = draft_->log.first_nan_step;
    draft_->discard = true;
    draft_ = &bare;
  }
  RunDraft& draft = *draft_;
  stopped_ = draft_;
  draft_ = nullptr;
  draft.last_line = stop_line_ = line.number;
  setting_.tell(draft.log.facts);
  const double seconds = (time_ms - start_ms_) / 1000;
  if (seconds > 0) draft.log.totals.training_s = seconds;
  draft.ended_well = success_;
  draft.official_end = true;
  if (success_) return;
  draft.stated_outcome = Outcome{Status::error,
                                 std::nullopt,
                                 line.number,
                                 {make_notice(NoticeCode::mlperf_status, 0, std::string(status))}};
  draft.log.notices.push_back(make_notice(NoticeCode::target_not_reached, line.number));
}

// BERT's script ends with "{'e2e_time': 280.4, 'training_sequences_per_second': tensor([1440.5],
// device='cuda:0'), ...}": planned steps, or those without evaluations, over a time of its own.
bool MlperfParser::see_script_rate(const Line& line) {
  constexpr std::string_view kKey = "'training_sequences_per_second': ";
  Cursor cursor(line);
  if (!cursor.skip_past(kKey)) return false;
  cursor.literal("tensor([");
  samples_.see_script_rate(cursor.number(), line.number);
  return true;
}

// Statements on a run may follow its run_stop: it is concluded when the next one starts.
void MlperfParser::conclude() {
  if (stopped_ != nullptr && success_ && stopped_->log.totals.training_s) {
    samples_.tell(setting_, *stopped_->log.totals.training_s, stop_line_, stopped_->log);
  }
  samples_ = {};
  stopped_ = nullptr;
}

void MlperfParser::finish(RunBuilder& out) {
  if (draft_ != nullptr) {
    setting_.tell(draft_->log.facts);
    const auto at = std::max(draft_->last_line, draft_->log.first_line);
    const Outcome cut{
        Status::truncated, std::nullopt, at, {make_notice(NoticeCode::cut_before_run_stop, 0)}};
    if (draft_->count() == 0) draft_->stated_outcome = cut;
  }
  if (behind_ && !goes_on_) samples_.see_end(behind_, behind_line_);
  conclude();
  // Some submitters name the benchmark after the run.
  for (const auto& draft : out.drafts()) {
    if (draft->log.facts.axes.contains("benchmark") || setting_.benchmark.empty()) continue;
    setting_.tell(draft->log.facts);
  }
  for (const auto& draft : out.drafts()) {
    if (setting_.global_batch && setting_.in_tokens()) {
      draft->log.facts.global_batch_size = {};
      draft->log.notices.push_back(
          make_notice(NoticeCode::batch_in_tokens, 0, "transformer", *setting_.global_batch));
    } else if (setting_.loosely) {
      draft->log.notices.push_back(make_notice(NoticeCode::input_batch_scope, 0));
    }
  }
  if (!setting_.benchmark.empty() && setting_.benchmark != "bert") {
    for (const auto& draft : out.drafts()) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::unit_of_sequences, 0,
                      "samples of the benchmark " + escape_for_terminal(setting_.benchmark)));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MlperfParser>(); }

}  // namespace

extern const Format format_mlperf;
const Format format_mlperf = {"mlperf", "MLPerf training, :::MLLOG lines",
                              "https://github.com/mlcommons/logging (mllog)", kAnchors, make};

}  // namespace bertbench
