// mlperf: the log of NVIDIA's BERT of MLPerf training v0.7: mlperf_logging's ":::MLLOG" lines, and
// the dict that the script prints every --log-every optimizer steps. Its training_steps counts
// micro-steps, its seq/s is that of the steps since the dict before.
//
// It is no submission and does not claim to be one: the benchmark is called "bert" for BERT-large
// only, else by the model's name, and there is no evaluation. The run is a success when it did its
// steps and its loss was a number.
#include <cmath>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

class MlperfStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp now) override {
    const RunFacts& f = facts_;
    out_ << command_trace(f);
    event(now, "cache_clear", "true", 60);
    message(now, "INTERVAL_START", "init_start", "null", 996);
    event(now, "submission_benchmark", json_text(f.model == "bert-large" ? "bert" : f.model), 70);
    event(now, "submission_org", "\"bertbench\"", 71);
    event(now, "submission_division", "\"open\"", 72);
    event(now, "submission_status", "\"research\"", 73);
    event(now, "submission_platform", json_text(f.host), 74);
    event(now, "seed", f.seed, 1010);
    event(now, "global_batch_size", f.global_batch_size(), 1011);
    event(now, "gradient_accumulation_steps", f.gradient_accumulation_steps, 1012);
    event(now, "max_sequence_length", f.sequence_length, 1013);
    event(now, "max_predictions_per_seq", f.masked_per_sequence, 1014);
    event(now, "opt_base_learning_rate", python_json_float(f.schedule.peak), 680);
    event(now, "opt_learning_rate_training_steps", f.steps, 681);
    event(now, "num_warmup_steps", f.schedule.warmup_steps, 682);
    message(now, "INTERVAL_END", "init_stop", "null", 1101);
    message(now, "INTERVAL_START", "run_start", "null", 1102);
  }

  void line(const StepFacts& f, Stamp now) override {
    print(
        "{{'training_steps': {}, 'average_loss': {}, 'step_loss': {}, 'learning_rate': {}, "
        "'seq/s': {}, 'global_steps': {}, 'samples_trained': {}, 'skipped_steps': {}, "
        "'timestamp': {}}}\n",
        f.step * facts_.gradient_accumulation_steps, python_float(interval_.loss()),
        python_float(f.last_micro_loss), python_float(f.learning_rate),
        python_float(sequences() / seconds(now)), f.step, f.step * facts_.global_batch_size(),
        skipped_steps_, python_float(now.unix_seconds));
  }

  void footer(const RunEnd& e, Stamp now) override {
    if (e.signal != 0) {  // no run_stop, as of a job that was killed
      out_ << interrupted(e) << '\n';
      return;
    }
    event(now, "train_samples", e.steps_done * facts_.global_batch_size(), 1574);
    message(now, "INTERVAL_END", "run_stop", "null", 1580,
            fmt::format(", \"status\": \"{}\"", e.first_nan_step == 0 ? "success" : "aborted"));
  }

  template <typename Value>
  void event(Stamp now, std::string_view key, const Value& value, int source_line) {
    message(now, "POINT_IN_TIME", key, fmt::format("{}", value), source_line);
  }
  void message(Stamp now, std::string_view type, std::string_view key, const std::string& value,
               int source_line, const std::string& more = "") {
    print(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", "
        "\"value\": {}, \"metadata\": {{\"file\": \"/workspace/bert/run_pretraining.py\", "
        "\"lineno\": {}{}}}}}\n",
        static_cast<std::int64_t>(std::floor(now.unix_seconds * 1000)), type, key, value,
        source_line, more);
  }
};

}  // namespace

extern const LogStyleEntry mlperf_style{"mlperf", make_style<MlperfStyle>};

}  // namespace bert
