// native: one JSON object per line. First {"type": "header"} with every fact of the run, then a
// {"type": "step"} per logged step, at the end {"type": "summary"}. NaN and infinity, which JSON
// lacks, are the strings "nan", "inf" and "-inf".
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

class NativeStyle : public LogStyle {
 public:
  explicit NativeStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    global_batch_ = f.global_batch_size();
    log_every_ = f.log_every;
    last_step_ = f.last_step;
    next_word_ = f.next_word;
    Json line = {{"type", "header"},
                 {"format", "bert_train/1"},
                 {"time", rfc3339(now.unix_seconds)},
                 {"framework", "bert_train"},
                 {"model", f.model},
                 {"precision", f.precision},
                 {"micro_batch_size", f.micro_batch_size},
                 {"gradient_accumulation_steps", f.gradient_accumulation_steps},
                 {"sequence_length", f.sequence_length}};
    if (f.nodes > 0) {
      line["nodes"] = f.nodes;
      line["gpus_per_node"] = f.gpus_per_node;
    }
    line.update({{"world_size", f.world_size}, {"global_batch_size", global_batch_}});
    if (f.next_word) {
      line["objective"] = "next_word";
    } else {
      line["masked_per_sequence"] = f.masked_per_sequence;
    }
    line.update(
        {{"parameters", f.parameters},
         {"optimizer", f.optimizer},
         {"backend", f.backend},
         {"communicator", f.communicator},
         {"simulated", !f.simulated_topology.empty()},
         {"threads", f.threads},
         {"data", f.data},
         {"seed", f.seed},
         {"first_step", f.first_step},
         {"last_step", f.last_step},
         {"log_every", f.log_every},
         {"dropout", f.dropout},
         {"learning_rate", f.learning_rate},
         {"warmup_steps", f.warmup_steps},
         {"decay_steps", f.decay_steps},
         {"weight_decay", f.weight_decay},
         {"gradient_clipping", f.gradient_clipping},
         {"activation_checkpointing", f.activation_checkpointing},
         {"variable_lengths", f.variable_lengths},
         {"deterministic", f.deterministic},
         {"bucket_bytes", f.bucket_bytes},
         {"planned_bytes", f.planned_bytes},
         {"launcher", f.launcher},
         {"host", f.host},
         {"versions", {{"bert_train", f.version}, {"commit", f.commit}, {"compiler", f.compiler}}},
         {"command", f.command}});
    if (f.gelu != "erf") line["gelu"] = f.gelu;
    if (f.zero_stage > 0) line["zero_stage"] = f.zero_stage;
    if (f.inference) line["inference"] = true;
    if (f.unpadded) line["unpadded"] = true;
    if (!f.settings.empty()) line["settings"] = f.settings;
    if (!f.simulated_topology.empty()) {
      line["simulated_topology"] = f.simulated_topology;
      line["ranks"] = f.ranks;
    }
    print(line);
    last_stamp_ = now;
  }

  // The clock of the first step starts with its work, not with the header: the trainer calls
  // begin() directly before it.
  void step(const StepFacts& f, Stamp now) override {
    interval_.add(f);
    skipped_ += f.skipped ? 1 : 0;
    if (f.step % log_every_ != 0 && f.step != last_step_) {
      return;
    }
    const double seconds =
        (now.seconds - last_stamp_.seconds) / static_cast<double>(interval_.steps());
    Json line = {{"type", "step"},
                 {"step", f.step},
                 {"steps", interval_.steps()},
                 {"seconds", number(seconds)},
                 {"sequences_per_second", number(static_cast<double>(global_batch_) / seconds)},
                 {"loss", number(f.loss)},
                 {"mean_loss", number(interval_.mean_loss())}};
    if (!next_word_) {  // there the loss is all there is
      line["masked_lm_loss"] = number(f.masked_lm);
      line["next_sentence_loss"] = number(f.next_sentence);
    }
    line.update({{"learning_rate", number(f.learning_rate)},
                 {"gradient_norm", number(f.gradient_norm)},
                 {"communication_s", number(f.communication_s)},
                 {"exposed_communication_s", number(f.exposed_communication_s)},
                 {"elapsed", number(now.seconds)},
                 {"time", rfc3339(now.unix_seconds)}});
    if (f.device_s >= 0) line["device_seconds"] = f.device_s;
    if (f.loss_scale > 0) {
      line["loss_scale"] = f.loss_scale;
      line["skipped_steps"] = skipped_;
    }
    print(line);
    interval_ = {};
    skipped_ = 0;
    last_stamp_ = now;
  }

  void end(const RunEnd& e, Stamp now) override {
    Json line = {{"type", "summary"}, {"outcome", e.signal == 0 ? "completed" : "interrupted"}};
    if (e.signal != 0) {
      line["signal"] = e.signal;
    }
    if (e.first_nan_step > 0) {
      line["first_nan_step"] = e.first_nan_step;
    }
    const auto sequences = static_cast<double>(e.steps_done * global_batch_);
    line.update({{"step", e.step},
                 {"steps", e.steps_done},
                 {"sequences", e.steps_done * global_batch_},
                 {"training_s", e.training_s},
                 {"wall_s", now.seconds},
                 {"sequences_per_second", number(e.training_s > 0 ? sequences / e.training_s : 0)},
                 {"peak_bytes", e.peak_bytes}});
    if (e.predicted_peak_bytes > 0) line["predicted_peak_bytes"] = e.predicted_peak_bytes;
    if (e.measured_peak_bytes > 0) line["measured_peak_bytes"] = e.measured_peak_bytes;
    if (e.loss_scaling) line["skipped_steps"] = e.skipped_steps;
    if (!e.checkpoint.empty()) {
      line["checkpoint"] = e.checkpoint;
    }
    line["time"] = rfc3339(now.unix_seconds);
    print(line);
  }

 private:
  // Host names and paths may hold bytes that are not UTF-8: replaced, never an exception.
  void print(const Json& line) {
    out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
  }

  std::ostream& out_;
  std::int64_t global_batch_ = 0, log_every_ = 1, last_step_ = 0, skipped_ = 0;
  bool next_word_ = false;
  IntervalLosses interval_;
  Stamp last_stamp_;
};

}  // namespace

std::unique_ptr<LogStyle> make_native_style(std::ostream& out) {
  return std::make_unique<NativeStyle>(out);
}

}  // namespace bert
