// mlperf: the log of NVIDIA's BERT of MLPerf training v0.7: mlperf_logging's ":::MLLOG" lines, and
// the dict that the script prints every --log-every optimizer steps. Its training_steps counts
// micro-steps, its seq/s is that of the steps since the dict before.
//
// It is no submission and does not say that it is one: the benchmark is called "bert" for
// BERT-large only, else by the model's name, and there is no evaluation. The run is a success when
// it did its steps and its loss was a number.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

class MlperfStyle : public LogStyle {
 public:
  explicit MlperfStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    last_ = now;
    out_ << command_trace(f);
    event(now, "cache_clear", "true", 60);
    say(now, "INTERVAL_START", "init_start", "null", 996);
    event(now, "submission_benchmark", quoted(f.model == "bert-large" ? "bert" : f.model), 70);
    event(now, "submission_org", "\"bertbench\"", 71);
    event(now, "submission_division", "\"open\"", 72);
    event(now, "submission_status", "\"research\"", 73);
    event(now, "submission_platform", quoted(f.host), 74);
    event(now, "seed", std::to_string(f.seed), 1010);
    event(now, "global_batch_size", std::to_string(f.global_batch_size()), 1011);
    event(now, "gradient_accumulation_steps", std::to_string(f.gradient_accumulation_steps), 1012);
    event(now, "max_sequence_length", std::to_string(f.sequence_length), 1013);
    event(now, "max_predictions_per_seq", std::to_string(f.masked_per_sequence), 1014);
    event(now, "opt_base_learning_rate", python_json_float(f.learning_rate), 680);
    event(now, "opt_learning_rate_training_steps", std::to_string(f.last_step), 681);
    event(now, "num_warmup_steps", std::to_string(f.warmup_steps), 682);
    say(now, "INTERVAL_END", "init_stop", "null", 1101);
    say(now, "INTERVAL_START", "run_start", "null", 1102);
    out_ << std::flush;
  }

  void step(const StepFacts& f, Stamp now) override {
    interval_.add(f);
    if (f.step % facts_.log_every != 0) return;
    const auto steps = static_cast<double>(interval_.steps());
    const double rate =
        steps * static_cast<double>(facts_.global_batch_size()) / (now.seconds - last_.seconds);
    out_ << fmt::format(
                "{{'training_steps': {}, 'average_loss': {}, 'step_loss': {}, 'learning_rate': {}, "
                "'seq/s': {}, 'global_steps': {}, 'samples_trained': {}, 'skipped_steps': 0, "
                "'timestamp': {}}}\n",
                f.step * facts_.gradient_accumulation_steps, python_float(interval_.mean_loss()),
                python_float(f.last_micro_loss), python_float(f.learning_rate), python_float(rate),
                f.step, f.step * facts_.global_batch_size(), python_float(now.unix_seconds))
         << std::flush;
    interval_ = {};
    last_ = now;
  }

  void end(const RunEnd& e, Stamp now) override {
    if (e.signal != 0) {
      // As of a job that was killed, there is no run_stop.
      out_ << fmt::format("Training interrupted by signal {} after step {}\n", e.signal, e.step)
           << std::flush;
      return;
    }
    event(now, "train_samples", std::to_string(e.steps_done * facts_.global_batch_size()), 1574);
    say(now, "INTERVAL_END", "run_stop", "null", 1580,
        fmt::format(", \"status\": \"{}\"", e.first_nan_step == 0 ? "success" : "aborted"));
    out_ << std::flush;
  }

 private:
  static std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
  void event(Stamp now, std::string_view key, const std::string& value, int line) {
    say(now, "POINT_IN_TIME", key, value, line);
  }
  void say(Stamp now, std::string_view type, std::string_view key, const std::string& value,
           int line, const std::string& more = "") {
    out_ << fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", "
        "\"value\": {}, \"metadata\": {{\"file\": \"/workspace/bert/run_pretraining.py\", "
        "\"lineno\": {}{}}}}}\n",
        static_cast<std::int64_t>(std::floor(now.unix_seconds * 1000)), type, key, value, line,
        more);
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp last_;
  IntervalLosses interval_;
};

}  // namespace

std::unique_ptr<LogStyle> make_mlperf_style(std::ostream& out) {
  return std::make_unique<MlperfStyle>(out);
}

}  // namespace bert
