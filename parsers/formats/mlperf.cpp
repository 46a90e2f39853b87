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

#include "parsers/core/text.h"
#include "parsers/format.h"
#include "parsers/runs/run_builder.h"
#include "parsers/scan/byte_search.h"
#include "parsers/text/cursor.h"
#include "parsers/text/mllog.h"

namespace bertbench {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kAnchors[] = {":::MLLOG {", "'seq/s': ", ":::MLL ", ":::MLPv0.",
                                         "'training_sequences_per_second': "};

using mllog::key_at_sight, mllog::number, mllog::object_of, mllog::old_statement, mllog::text;

class MlperfParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  struct Setting {
    std::string benchmark;
    std::optional<double> global_batch, accumulation, sequence_length, data_set;
    bool loosely = false;  ///< the batch is stated under round 0.5's key
    [[nodiscard]] bool in_tokens() const { return benchmark == "transformer"; }
  };
  void see(const std::string& key, const Json& json, const Line& line, RunBuilder& out);
  /// Whether a statement of this key would be left out at this place, whatever it says.
  [[nodiscard]] bool passes_over(std::string_view key) const;
  bool see_step(const Line& line);
  void stop(const Json& metadata, double time_ms, const Line& line, RunBuilder& out);
  void conclude();
  void begin_headless(const Line& line, RunBuilder& out);
  bool see_script_rate(const Line& line);
  void tell_samples(RunDraft& draft, double seconds) const;
  void tell_facts(RunDraft& draft) const;

  Setting setting_;
  RunDraft* draft_ = nullptr;    ///< between run_start and run_stop
  RunDraft* stopped_ = nullptr;  ///< a last statement may follow run_stop
  double start_ms_ = kUnknown;
  std::optional<double> eval_samples_, first_eval_samples_, end_samples_, throughput_, script_rate_;
  std::int64_t throughput_line_ = 0, eval_line_ = 0, end_line_ = 0, script_line_ = 0;
  std::int64_t stop_line_ = 0;
  std::int64_t step_ = 0;  ///< optimizer steps of the step lines, skipped ones included
  std::int64_t skipped_ = 0, evals_ = 0;
  bool counted_ = false;  ///< the evaluation says samples_count, which needs no guess
  bool success_ = false;
  bool composer_ = false;
  bool old_ = false;  ///< rounds 0.5 and 0.6
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

bool MlperfParser::passes_over(std::string_view key) const {
  static constexpr std::string_view kSettings[] = {
      "submission_benchmark", "global_batch_size",           "input_batch_size",
      "train_samples",        "gradient_accumulation_steps", "opt_gradient_accumulation_steps",
      "max_sequence_length"};
  static constexpr std::string_view kOfARun[] = {"eval_accuracy", "run_stop"};
  if (key == "run_start") return draft_ != nullptr;  // another rank's
  if (key == "tracked_stats") return draft_ == nullptr && stopped_ == nullptr;
  // Of a log without its head run_stop is the first statement on a run.
  if (key == "run_stop" && stopped_ == nullptr) return false;
  if (std::ranges::find(kOfARun, key) != std::end(kOfARun)) return draft_ == nullptr;
  return std::ranges::find(kSettings, key) == std::end(kSettings);
}

bool MlperfParser::parse(const Line& line, RunBuilder& out) {
  if (find_text(line.text, "'seq/s': ") != std::string_view::npos) return see_step(line);
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
    old_ = true;
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
  const double time_ms = number(json, "time_ms").value_or(kUnknown);
  if (passes_over(key)) return;
  if (key == "submission_benchmark" && value.is_string()) {
    setting_.benchmark = value.get<std::string>();
  } else if (key == "global_batch_size") {
    setting_.global_batch = number(value);
    setting_.loosely = false;
  } else if (key == "input_batch_size") {
    // Round 0.5. What follows a first one is the evaluation's.
    if (setting_.global_batch) return;
    setting_.global_batch = number(value);
    setting_.loosely = setting_.global_batch.has_value();
  } else if (key == "gradient_accumulation_steps" || key == "opt_gradient_accumulation_steps") {
    setting_.accumulation = number(value);
  } else if (key == "max_sequence_length") {
    setting_.sequence_length = number(value);
  } else if (key == "run_start") {
    conclude();
    draft_ = &out.extra(WorkKind::training, line.number);
    draft_->own_facts = true;
    draft_->log.iteration_unit = IterationUnit::optimizer_step;
    start_ms_ = time_ms;
    step_ = skipped_ = 0;
    eval_samples_ = first_eval_samples_ = end_samples_ = throughput_ = script_rate_ = std::nullopt;
    counted_ = false;
    evals_ = 0;
  } else if (key == "eval_accuracy") {
    const auto count = number(metadata, "samples_count");
    counted_ = count.has_value();
    if (const auto samples = count ? count : number(metadata, "epoch_num")) {
      ++evals_;
      if (!first_eval_samples_) first_eval_samples_ = samples;
      eval_samples_ = samples;
    }
    eval_line_ = line.number;
    composer_ = text(metadata, "file").find("composer") != std::string::npos;
    draft_->last_line = line.number;
  } else if (key == "train_samples") {
    setting_.data_set = number(value);
    end_samples_ = draft_ != nullptr ? setting_.data_set : std::nullopt;
    end_line_ = line.number;
  } else if (key == "tracked_stats") {
    if (const auto rate = number(value, "throughput"); rate && *rate > 0) {
      throughput_ = rate;
      throughput_line_ = line.number;
    }
    (draft_ != nullptr ? draft_ : stopped_)->last_line = line.number;
  } else if (key == "run_stop") {
    if (draft_ == nullptr) begin_headless(line, out);
    stop(metadata, time_ms, line, out);
  }
}

// The tail of a log tells how the run ended, and neither its time nor its rate.
void MlperfParser::begin_headless(const Line& line, RunBuilder& out) {
  draft_ = &out.extra(WorkKind::training, line.number);
  draft_->own_facts = true;
  draft_->log.iteration_unit = IterationUnit::optimizer_step;
  draft_->log.notices.push_back(
      {line.number,
       "run_start is not in this log: the official time is not told, and no rate is taken"});
  start_ms_ = kUnknown;
}

void MlperfParser::tell_facts(RunDraft& draft) const {
  Facts& facts = draft.log.facts;
  const auto set = [](Fact<std::int64_t>& fact, const std::optional<double>& value) {
    if (value && *value >= 1 && *value < 1e12 && !fact.known()) {
      fact.set(static_cast<std::int64_t>(*value), FactSource::log);
    }
  };
  if (!setting_.in_tokens()) set(facts.global_batch_size, setting_.global_batch);
  set(facts.gradient_accumulation_steps, setting_.accumulation);
  set(facts.sequence_length, setting_.sequence_length);
  if (setting_.benchmark == "bert") facts.model.set("bert-large", FactSource::log);
  if (!setting_.benchmark.empty()) facts.axes["benchmark"] = setting_.benchmark;
}

// The rule that tells samples from epochs, batches and plans: an evaluation's epoch_num counts
// samples when it is beyond some batches; its samples_count does so where it grows; train_samples
// counts the run's when it is stated behind the last evaluation (in front of it, it is the plan or
// the data set). A fraction counts epochs, of the data set.
void MlperfParser::tell_samples(RunDraft& draft, double seconds) const {
  const bool bert = setting_.benchmark.empty() || setting_.benchmark == "bert";
  const double untold = bert ? 1e5 : kUnknown;  // a log without its head
  const double many = setting_.global_batch ? 10 * *setting_.global_batch : untold;
  const bool by_eval =
      eval_samples_ && *eval_samples_ < 1e15 &&
      (counted_ ? *eval_samples_ >= 1 && (evals_ < 2 || *eval_samples_ > *first_eval_samples_)
                : *eval_samples_ > many && !composer_ && !old_ && bert);
  const bool by_end =
      end_samples_ && end_line_ > eval_line_ && *end_samples_ > many && *end_samples_ < 1e15;
  const double done = eval_samples_.value_or(0) * setting_.data_set.value_or(0);
  const bool by_share = !by_eval && !by_end && eval_samples_ && *eval_samples_ < 100 &&
                        *eval_samples_ != std::floor(*eval_samples_) && end_line_ < eval_line_ &&
                        done > many && done < 1e15;
  if (!by_eval && !by_end && !by_share) {
    if (throughput_) {
      draft.log.summary = Stated{*throughput_, RateUnit::sequences_per_second, throughput_line_};
      if (throughput_line_ < stop_line_) {
        draft.log.notices.push_back(
            {throughput_line_,
             "the last throughput tracked in front of run_stop is that of some interval or of the "
             "run so far, by submitter: the samples of the whole run are not told"});
      }
      return;
    }
    draft.log.notices.push_back(
        {eval_line_,
         "the samples trained are not told (the evaluation's epoch_num counts "
         "something else): no throughput can be had from this log"});
    return;
  }
  const double samples = by_share ? done : by_eval ? *eval_samples_ : *end_samples_;
  draft.log.totals.sequences = static_cast<std::int64_t>(samples);
  const double rate = samples / seconds;
  if (throughput_ && throughput_line_ > stop_line_) {
    draft.log.summary = Stated{*throughput_, RateUnit::sequences_per_second, throughput_line_};
    const double gap = *throughput_ / rate - 1;
    if (std::abs(gap) > 0.02) {
      draft.log.notices.push_back(
          {throughput_line_,
           fmt::format("the log's closing throughput, {:.6g}/s, is {:.1f} % {} "
                       "its samples over its official time ({:.6g}/s)",
                       *throughput_, 100 * std::abs(gap), gap > 0 ? "above" : "below", rate)});
    }
    return;
  }
  draft.log.summary = Stated{rate, RateUnit::sequences_per_second, stop_line_};
  draft.log.notices.push_back(
      {stop_line_, std::string("the rate is the samples ") +
                       (by_eval || by_share ? "at the last evaluation" : "stated at the end") +
                       (by_share ? " (its share of train_samples)" : "") +
                       " over run_stop minus run_start, evaluations included"});
}

void MlperfParser::stop(const Json& metadata, double time_ms, const Line& line, RunBuilder& out) {
  const std::string status = text(metadata, "status");
  success_ = status == "success" || (old_ && status.empty());  // some of round 0.5 say none
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
  tell_facts(draft);
  const double seconds = (time_ms - start_ms_) / 1000;
  if (seconds > 0) draft.log.totals.training_s = seconds;
  draft.ended_well = success_;
  if (success_) return;
  draft.stated_outcome = Outcome{Status::error, std::nullopt, line.number,
                                 "MLPerf run_stop: status " + escape_for_terminal(status)};
  draft.log.notices.push_back({line.number,
                               "the run did not reach its target: its time is no result, and no "
                               "rate is taken from it"});
}

// BERT's script ends with "{'e2e_time': 280.4, 'training_sequences_per_second': tensor([1440.5],
// device='cuda:0'), ...}": planned steps, or those without evaluations, over a time of its own.
bool MlperfParser::see_script_rate(const Line& line) {
  constexpr std::string_view kKey = "'training_sequences_per_second': ";
  Cursor cursor(line);
  if (!cursor.skip_past(kKey)) return false;
  cursor.literal("tensor([");
  script_rate_ = cursor.number();
  script_line_ = line.number;
  return true;
}

// A tracked throughput in front of run_stop is that of some interval; the one behind it is the
// run's.
void MlperfParser::conclude() {
  if (stopped_ != nullptr && success_ && stopped_->log.totals.training_s) {
    tell_samples(*stopped_, *stopped_->log.totals.training_s);
    const auto& summary = stopped_->log.summary;
    if (summary && script_rate_ && *script_rate_ > 0 &&
        std::abs(*script_rate_ / summary->value - 1) > 0.02) {
      stopped_->log.notices.push_back(
          {script_line_,
           fmt::format("the script's own closing rate, {:.6g}/s, is {:.1f} % {} the rate taken: "
                       "it counts planned steps or leaves out evaluations",
                       *script_rate_, 100 * std::abs(*script_rate_ / summary->value - 1),
                       *script_rate_ > summary->value ? "above" : "below")});
    }
  }
  script_rate_.reset();
  stopped_ = nullptr;
}

void MlperfParser::finish(RunBuilder& out) {
  if (draft_ != nullptr) {
    tell_facts(*draft_);
    const auto at = std::max(draft_->last_line, draft_->log.first_line);
    const Outcome cut{Status::truncated, std::nullopt, at, "the log ends in front of run_stop"};
    if (draft_->count() == 0) draft_->stated_outcome = cut;
  }
  conclude();
  // Some submitters name the benchmark after the run.
  for (const auto& draft : out.drafts()) {
    if (draft->log.facts.axes.contains("benchmark") || setting_.benchmark.empty()) continue;
    tell_facts(*draft);
  }
  for (const auto& draft : out.drafts()) {
    if (setting_.global_batch && setting_.in_tokens()) {
      draft->log.facts.global_batch_size = {};
      draft->log.notices.push_back(
          {0,
           fmt::format("the batch of the benchmark transformer, {:.0f}, is counted in tokens: it "
                       "is not taken for sequences",
                       *setting_.global_batch)});
    } else if (setting_.loosely) {
      draft->log.notices.push_back(
          {0,
           "input_batch_size is the whole job's with most submitters, that of one process with "
           "some"});
    }
  }
  if (!setting_.benchmark.empty() && setting_.benchmark != "bert") {
    for (const auto& draft : out.drafts()) {
      draft->log.notices.push_back(
          {0, "sequences are samples of the benchmark " + escape_for_terminal(setting_.benchmark)});
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<MlperfParser>(); }

}  // namespace

extern const Format format_mlperf;
const Format format_mlperf = {"mlperf", "MLPerf training, :::MLLOG lines",
                              "https://github.com/mlcommons/logging (mllog)", kAnchors, make};

}  // namespace bertbench
