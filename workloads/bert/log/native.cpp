// native: one JSON object per line. First {"type": "header"} with every fact of the run, then a
// {"type": "step"} per logged step, at the end {"type": "summary"}. NaN and infinity, which JSON
// lacks, are the strings "nan", "inf" and "-inf".
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  return python_float(value);
}

class NativeStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp now) override {
    const RunFacts& f = facts_;
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
    line.update({{"world_size", f.world_size}, {"global_batch_size", f.global_batch_size()}});
    if (f.next_word) {
      line["objective"] = "next_word";
    } else {
      line["masked_per_sequence"] = f.masked_per_sequence;
    }
    line.update(
        {{"parameters", f.parameters},
         {"optimizer", f.optimizer_name()},
         {"backend", f.backend_description},
         {"communicator", f.communicator},
         {"simulated", !f.simulated_topology.empty()},
         {"threads", f.threads},
         {"data", f.data_description},
         {"seed", f.seed},
         {"first_step", f.first_step},
         {"last_step", f.steps},
         {"log_every", f.log_every},
         {"dropout", f.dropout},
         {"learning_rate", f.schedule.peak},
         {"warmup_steps", f.schedule.warmup_steps},
         {"decay_steps", f.schedule.decay_steps},
         {"weight_decay", f.optimizer.weight_decay},
         {"gradient_clipping", f.gradient_clipping},
         {"activation_checkpointing", f.activation_checkpointing},
         {"variable_lengths", f.lengths != "full"},
         {"deterministic", f.deterministic},
         {"bucket_bytes", f.bucket_bytes()},
         {"planned_bytes", f.planned_bytes},
         {"launcher", f.launcher},
         {"host", f.host},
         {"versions", {{"bert_train", f.version}, {"commit", f.commit}, {"compiler", f.compiler}}},
         {"command", f.command}});
    if (!f.gpu.empty()) line["versions"]["gpu"] = f.gpu;
    if (f.gelu == Gelu::tanh) line["gelu"] = "tanh";
    if (f.zero_stage > 0) line["zero_stage"] = f.zero_stage;
    if (f.inference) line["inference"] = true;
    if (f.lengths != "full") line["lengths"] = f.lengths;
    if (f.unpadded) line["unpadded"] = true;
    if (f.all_positions) line["all_positions"] = true;
    if (f.task != "pretraining") line["task"] = f.task;
    if (f.schedule.decay == Schedule::Decay::exponential) {
      line["schedule"] = "warmup_linear_decay_exp";
    }
    if (!f.emulated_by.empty()) line["precision_emulated_by"] = f.emulated_by;
    if (!f.settings.empty()) line["settings"] = f.settings;
    if (!f.simulated_topology.empty()) {
      line["simulated_topology"] = f.simulated_topology;
      line["ranks"] = f.ranks;
    }
    print_json(line);
  }

  [[nodiscard]] bool is_due(std::int64_t step) const override {
    return step == facts_.steps || IntervalStyle::is_due(step);
  }

  void every_step(const StepFacts& f, Stamp) override {
    skipped_ += f.skipped ? 1 : 0;
    for (std::size_t i = 0; i < parts_s_.size(); ++i) parts_s_[i] += f.parts.*kParts[i].second;
    length_ += f.mean_length;
    square_length_ += f.mean_square_length;
  }

  // The clock of the first step starts with its work, not with the header: the trainer calls
  // begin() directly before it.
  void line(const StepFacts& f, Stamp now) override {
    const double step_s = seconds(now) / static_cast<double>(interval_.steps);
    const auto batch = static_cast<double>(facts_.global_batch_size());
    Json line = {{"type", "step"},
                 {"step", f.step},
                 {"steps", interval_.steps},
                 {"seconds", number(step_s)},
                 {"sequences_per_second", number(batch / step_s)},
                 {"loss", number(f.loss)},
                 {"mean_loss", number(interval_.loss())}};
    if (!facts_.next_word) {  // with which the loss is that of the next word alone
      line["masked_lm_loss"] = number(f.masked_lm);
      line["next_sentence_loss"] = number(f.next_sentence);
    }
    line.update({{"learning_rate", number(f.learning_rate)},
                 {"gradient_norm", number(f.gradient_norm)},
                 {"communication_s", number(f.communication_s)},
                 {"exposed_communication_s", number(f.exposed_communication_s)},
                 {"elapsed", number(now.seconds)},
                 {"time", rfc3339(now.unix_seconds)}});
    // Of one step, the mean of the interval's; all steps of a run measure the same parts.
    for (std::size_t i = 0; i < parts_s_.size(); ++i) {
      const double mean_s = parts_s_[i] / static_cast<double>(interval_.steps);
      if (mean_s >= 0) line["parts"][kParts[i].first] = mean_s;
    }
    parts_s_ = {};
    // Without them there was no padding.
    const double length = length_ / static_cast<double>(interval_.steps);
    if (length > 0 && length < static_cast<double>(facts_.sequence_length)) {
      line["mean_length"] = length;
      line["mean_square_length"] = square_length_ / static_cast<double>(interval_.steps);
    }
    length_ = square_length_ = 0;
    if (f.device_s >= 0) line["device_seconds"] = f.device_s;
    if (f.loss_scale > 0) {
      line["loss_scale"] = f.loss_scale;
      line["skipped_steps"] = skipped_;
    }
    print_json(line);
    skipped_ = 0;
  }

  void checkpoint(std::int64_t step, const std::string& path, Stamp now) override {
    print_json({{"type", "checkpoint"},
                {"step", step},
                {"path", path},
                {"elapsed", number(now.seconds)},
                {"time", rfc3339(now.unix_seconds)}});
    out_.flush();
  }

  void footer(const RunEnd& e, Stamp now) override {
    Json line = {{"type", "summary"}, {"outcome", e.signal == 0 ? "completed" : "interrupted"}};
    if (e.signal != 0) line["signal"] = e.signal;
    if (e.first_nan_step > 0) line["first_nan_step"] = e.first_nan_step;
    const std::int64_t sequences = e.steps_done * facts_.global_batch_size();
    const double rate = e.training_s > 0 ? static_cast<double>(sequences) / e.training_s : 0;
    line.update({{"step", e.step},
                 {"steps", e.steps_done},
                 {"sequences", sequences},
                 {"training_s", e.training_s},
                 {"wall_s", now.seconds},
                 {"data_s", e.data_s},
                 {"data_wait_s", e.data_wait_s},
                 {"sequences_per_second", number(rate)},
                 {"peak_bytes", e.peak_bytes}});
    if (e.predicted_peak_bytes > 0) line["predicted_peak_bytes"] = e.predicted_peak_bytes;
    if (e.measured_peak_bytes > 0) line["measured_peak_bytes"] = e.measured_peak_bytes;
    if (e.loss_scaling) line["skipped_steps"] = e.skipped_steps;
    if (!e.checkpoint.empty()) line["checkpoint"] = e.checkpoint;
    if (e.scores.sequences > 0) line["evaluation"] = scores_json(e.scores);
    if (e.latency.count > 0) line["latency_ms"] = latency_json(e.latency);
    line["time"] = rfc3339(now.unix_seconds);
    print_json(line);
  }

  void scores(const Scores&) override {}  // they are in the summary

  static Json scores_json(const Scores& scores) {
    Json out = {{"sequences", scores.sequences}};
    if (scores.accuracy >= 0) {
      out["eval_accuracy"] = number(scores.accuracy);
      return out;
    }
    out["exact_match"] = number(scores.exact_match);
    out["f1"] = number(scores.f1);
    return out;
  }

  static Json latency_json(const Latency& latency) {
    Json out = {{"n", latency.count}, {"mean", number(latency.mean_s * 1e3)}};
    for (std::size_t i = 0; i < Latency::kShares.size(); ++i) {
      out[fmt::format("p{}", Latency::kShares[i])] = number(latency.percentile_s[i] * 1e3);
    }
    out["max"] = number(latency.most_s * 1e3);
    return out;
  }

  // Host names and paths may hold bytes that are not UTF-8: replaced, never an exception.
  void print_json(const Json& line) {
    out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }

  static constexpr std::pair<const char*, double StepParts::*> kParts[] = {
      {"forward", &StepParts::forward},
      {"backward", &StepParts::backward},
      {"reduce", &StepParts::reduce},
      {"optimizer", &StepParts::optimizer},
      {"data", &StepParts::data}};
  std::array<double, std::size(kParts)> parts_s_{};  ///< sums over the interval, as kParts
  double length_ = 0, square_length_ = 0;            ///< sums of the steps' means
  std::int64_t skipped_ = 0;                         ///< of the interval
};

}  // namespace

extern const LogStyleEntry native_style{"native", make_style<NativeStyle>};

}  // namespace bert
