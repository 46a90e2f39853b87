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
// The HPC benchmarks' DeepCAM states its steps (HelmholtzAI and Fujitsu, rounds 0.7 and 1.0):
//
//   "key": "train_loss", "value": 0.97, "metadata": {..., "epoch_num": 1, "step_num": 20}
//
// training_steps counts micro-steps there; applied and skipped updates together are the steps.
// NVIDIA's SSD of rounds 0.5 to 1.1 prints samples/s of all GPUs since the line before:
//
//   Iteration:   4500, Loss function: 2.893, Average Loss: 3.757, avg. samples / sec: 4056.38
//
// Rounds 0.5 and 0.6 write the same statements in lines of their own; their evaluations count
// epochs, so that the official time is all that such a log has:
//
//   :::MLL 1558641496.914 run_start: {"value": null, "metadata": {"lineno": 477, "file": "x.py"}}
//   :::MLPv0.5.0 resnet 1541660914.084755421 (resnet/resnet_main.py:523) run_start
//   :::MLPv0.5.0 resnet 1541679005.124143600 (in_memory_eval.py:270) run_stop: {"success": "true"}
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/assemble/assembler.h"
#include "parsers/core/facts.h"
#include "parsers/core/line.h"
#include "parsers/core/median.h"
#include "parsers/core/record.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/json_line.h"

namespace bertbench::format_mlperf {
namespace {

// Statements, taken apart.

using Json = nlohmann::json;

/// When a statement was made; some submitters write "time_s" in place of "time_ms".
std::optional<double> stamp_ms(const Json& statement) {
  if (const auto milliseconds = number_in(statement, "time_ms")) return milliseconds;
  const auto seconds = number_in(statement, "time_s");
  return seconds ? std::optional(*seconds * 1000) : std::nullopt;
}

/// Empty where there is none.
std::string text(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// A statement of rounds 0.5 and 0.6 as those from 0.7 on write it; not an object if it is none.
Json old_statement(const Line& line) {
  Cursor cursor(line);
  const bool first_round = !cursor.skip_past(":::MLL ");
  Json out;
  if (first_round) {
    if (!cursor.read(Past{":::MLPv0."}, Past{" "})) return out;
    const auto benchmark = cursor.until(" ");
    if (!benchmark || !cursor.literal(" ")) return out;
    out["benchmark"] = *benchmark;
  }
  const auto seconds = cursor.number();
  if (!seconds || (first_round && !cursor.skip_past(") ")) || !(*seconds > 0)) return Json();
  cursor.blanks();
  const auto key = cursor.until(": \t");
  if (!key) return Json();
  out["key"] = *key;
  out["time_ms"] = *seconds * 1000;
  const Json value = cursor.literal(": ") ? parse_json_before_text(cursor.rest()) : Json();
  if (!first_round) {
    if (!value.is_object()) return Json();
    out.update(value);
    return out;
  }
  if (!value.is_discarded()) out["value"] = value;
  if (value.is_object() && value.contains("success")) {
    const Json& well = value["success"];
    out["metadata"]["status"] = well == true || well == "true" ? "success" : "aborted";
  }
  return out;
}

// MllogSetting: what an MLPerf log states of its batch, its processes and its benchmark.

/// What a log states once, for all of its runs.
struct MllogSetting {
  std::string benchmark;
  std::optional<double> global_batch, accumulation, sequence_length, data_set;
  std::optional<double> epoch_samples;               ///< samples that the log calls an epoch
  std::optional<double> ranks, nodes, accelerators;  ///< of a run of the HPC benchmarks
  std::optional<double> local_batch;                 ///< of one process
  std::optional<double> micro_batch, tensor, pipeline, context;  ///< from round 5.1 on
  std::string precision;  ///< the lowest one of linear layers; empty if it has no name here
  bool loosely = false;   ///< the batch is stated under round 0.5's key
  bool old = false;       ///< the lines are of rounds 0.5 and 0.6
  bool varied = false;    ///< train_samples was stated with several values: it is no data set
  /// Of the Transformer: Google's are sentences, 2048 of up to 256 tokens. As tokens these would be
  /// a few of the longest sentences for thousands of chips.
  [[nodiscard]] bool in_tokens() const {
    constexpr double kLongest = 32;
    const bool few = global_batch && *global_batch < kLongest * sequence_length.value_or(0);
    return benchmark == "transformer" && !few;
  }

  /// Where the value of this key goes that is a number and no more; or null.
  [[nodiscard]] static std::optional<double> MllogSetting::*number_of(std::string_view key) {
    using Setting = MllogSetting;
    static constexpr std::pair<std::string_view, std::optional<double> Setting::*> kNumbers[] = {
        {"gradient_accumulation_steps", &Setting::accumulation},
        {"opt_gradient_accumulation_steps", &Setting::accumulation},
        {"gradient_accumulation_frequency", &Setting::accumulation},
        {"max_sequence_length", &Setting::sequence_length},
        {"samples_per_epoch", &Setting::epoch_samples},
        {"number_of_ranks", &Setting::ranks},
        {"number_of_nodes", &Setting::nodes},
        {"accelerators_per_node", &Setting::accelerators},
        {"local_batch_size", &Setting::local_batch},
        {"micro_batch_size", &Setting::micro_batch},
        {"tensor_parallelism", &Setting::tensor},
        {"pipeline_parallelism", &Setting::pipeline},
        {"context_parallelism", &Setting::context}};
    for (const auto& [name, setting] : kNumbers) {
      if (key == name) return setting;
    }
    return nullptr;
  }

  /// The batch of one GPU, where none shares it with others.
  /// Each process of SSD has a GPU. A micro batch is that of a replica of the model, which takes
  /// one where nothing splits it.
  [[nodiscard]] std::optional<double> batch_of_one() const {
    if (is_ssd()) return local_batch;
    const bool whole = tensor == 1 && pipeline == 1 && context == 1;
    return whole ? micro_batch : std::nullopt;
  }

  /// GPUs that share the batch evenly.
  [[nodiscard]] std::optional<double> processes() const {
    const double one = batch_of_one().value_or(kUnknown);
    const double many = global_batch.value_or(kUnknown) / (one * accumulation.value_or(1));
    return many >= 1 && many == std::floor(many) ? std::optional(many) : std::nullopt;
  }

  [[nodiscard]] static bool names_precision(std::string_view key) {
    return key == "lowest_numerical_precision_linear" ||
           key == "lowest_numerical_precision_in_linear";
  }
  void read_precision(std::string_view name) {
    static constexpr std::string_view kNames[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
    const bool known = std::ranges::find(kNames, name) != std::end(kNames);
    precision = known ? name : std::string_view();
  }

  [[nodiscard]] Facts facts() const {
    Facts facts;
    const auto set = [](Fact<std::int64_t>& fact, const std::optional<double>& value) {
      if (value && *value >= 1 && *value < 1e12) {
        fact.set(static_cast<std::int64_t>(*value), FactSource::log);
      }
    };
    if (!in_tokens()) set(facts.global_batch_size, global_batch);
    set(facts.gradient_accumulation_steps, accumulation);
    set(facts.sequence_length, sequence_length);
    if (accelerators) {  // else the ranks may be of CPUs
      const double all = nodes.value_or(kUnknown) * *accelerators;
      set(facts.world_size, ranks ? ranks : all);
      if (all == ranks.value_or(all)) {
        set(facts.nodes, nodes);
        set(facts.gpus_per_node, accelerators);
      }
    } else if (processes()) {
      set(facts.world_size, processes());
      set(facts.micro_batch_size, batch_of_one());
    }
    if (benchmark == "bert") facts.model.set("bert-large", FactSource::log);
    if (!benchmark.empty()) facts.axes["benchmark"] = benchmark;
    if (!precision.empty()) facts.precision.set(precision, FactSource::log);
    return facts;
  }

  [[nodiscard]] bool is_ssd() const { return benchmark == "ssd" || benchmark == "retinanet"; }
};

// MllogSamples: what is known from the statements of one MLPerf run about the samples that it
// trained.

/// Beyond this a notice names a stated rate next to the one taken.
constexpr double kStatedRateGap = 0.02;

/// Tracked throughputs leave out evaluations and the start, and are of intervals.
constexpr double kTrackedRateGap = 0.1;

/// Where they are further from the rate that epochs of train_samples give, these are no data set.
constexpr double kTrackedEpochGap = 0.5;

constexpr double kAbsurd = 1e15;  // samples

/// The middle one; of an even number the upper of both.
double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_whole(double number) { return number == std::floor(number); }

/// Epochs, or blocks of them, that were begun and ended.
class Epochs {
 public:
  /// `number`: as it is named, from 0 or 1; `many`: epochs that a block holds.
  void begin(double number, double many, double time_ms) {
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
    evaluating_ms_ = kUnknown;
  }

  /// Its evaluation begins.
  void evaluate(double time_ms) {
    if (std::isnan(evaluating_ms_)) evaluating_ms_ = time_ms;
  }

  // Ranks repeat a statement; a block is named where it stops as where it began, or by its end.
  void stop(double number, double many, double time_ms) {
    if (std::isnan(first_)) return;
    const bool newest = number >= begun_ && number <= begun_ + many_;
    const double end = newest ? begun_ + many_ : number + many;
    if (end <= end_) return;
    end_ = end;
    spent_ms_.push_back((time_ms - begun_ms_) / (newest ? many_ : many));
    const double trained_until = std::isnan(evaluating_ms_) ? time_ms : evaluating_ms_;
    trained_ms_.push_back((trained_until - begun_ms_) / (newest ? many_ : many));
  }

  /// After as many epochs: a block that they end with is over, though it stops after the run.
  void evaluated(double number) {
    if (many_ > 1 && number == begun_ + many_ && number > end_) end_ = number;
  }
  [[nodiscard]] bool any() const { return !spent_ms_.empty(); }
  /// Whole ones; unknown if there are none, or if they are named by what was trained.
  [[nodiscard]] double whole() const {
    if ((first_ > 1 && !named_by_end_) || (spent_ms_.size() > 1 && !follows_)) return kUnknown;
    return end_ - first_ - static_cast<double>(ended_early());
  }
  /// The last one took much less time than the others: it is not counted.
  [[nodiscard]] bool ended_early() const {
    constexpr double kWhole = 0.8;  // of the others' time
    if (many_ > 1 || spent_ms_.size() < 3) return false;
    std::vector<double> others(spent_ms_.begin(), spent_ms_.end() - 1);
    return spent_ms_.back() < kWhole * middle_of(std::move(others));
  }

  /// What the training of one took, evaluations left out: the median of those after the first,
  /// which holds the start of the run.
  [[nodiscard]] double trained_s() const {
    if (!any()) return kUnknown;
    return median(std::span(trained_ms_).subspan(trained_ms_.size() > 1 ? 1 : 0)) / 1000;
  }
  [[nodiscard]] double in_one() const { return many_; }
  [[nodiscard]] double first() const { return first_; }

 private:
  double first_ = kUnknown, end_ = kUnknown;  ///< end: one past the last
  double begun_ = kUnknown, many_ = 1, begun_ms_ = kUnknown;
  double evaluating_ms_ = kUnknown;  ///< since then, of the newest one
  bool follows_ = false;             ///< one begins where another ends
  bool named_by_end_ = false;        ///< the first block already: Google's of rounds 0.6 and 0.7
  std::vector<double> spent_ms_, trained_ms_;
};

/// Samples of a run come from its evaluations (epoch_num or samples_count; a step_num times the
/// batch), from the train_samples stated at its end, from its share of the data set or from its
/// whole epochs; its tracked throughput is what is left where none of them counts samples.
class MllogSamples {
 public:
  void read_evaluation(const nlohmann::json& metadata, std::int64_t line) {
    const auto count = number_in(metadata, "samples_count");
    counted_ = count.has_value();
    if (const auto samples = count ? count : number_in(metadata, "epoch_num")) {
      ++evals_;
      if (!first_eval_) first_eval_ = samples;
      if (!second_eval_ && *samples > *first_eval_) second_eval_ = samples;
      eval_ = samples;
      blocks_.evaluated(*samples);
    }
    steps_ = number_in(metadata, "step_num");
    eval_line_ = line;
    composer_ = text(metadata, "file").find("composer") != std::string::npos;
  }

  /// epoch_start, epoch_stop, block_start, block_stop, between run_start and run_stop.
  void read_epoch(const std::string& key, const nlohmann::json& metadata, double time_ms,
                  std::int64_t line) {
    const bool block = key.starts_with("block");
    Epochs& epochs = block ? blocks_ : epochs_;
    const auto named = number_in(metadata, block ? "first_epoch_num" : "epoch_num");
    const auto many = block ? number_in(metadata, "epoch_count").value_or(1) : 1.0;
    constexpr double kEpochLimit = 1e5;  // what counts further are samples
    const auto fits = [](double n) { return n >= 0 && n < kEpochLimit && is_whole(n); };
    if (!named || !fits(*named) || !fits(many) || many < 1) return;
    if (!std::isfinite(time_ms)) return;  // nor could times be put in order
    if (key.ends_with("start")) {
      epochs.begin(*named, many, time_ms);
    } else {
      epochs.stop(*named, many, time_ms);
      epoch_line_ = line;
    }
  }

  /// eval_start, between run_start and run_stop.
  void read_evaluation_start(double time_ms) {
    epochs_.evaluate(time_ms);
    blocks_.evaluate(time_ms);
  }

  /// train_samples, stated while the run goes on.
  void read_end(std::optional<double> samples, std::int64_t line) {
    end_ = samples;
    end_line_ = line;
  }
  /// A tracked throughput.
  void read_tracked(std::optional<double> rate, std::int64_t line) {
    if (!rate || !(*rate > 0)) return;
    constexpr std::size_t kThroughputsHeld = 100'000;
    if (throughputs_.size() >= kThroughputsHeld) throughputs_.pop_back();
    throughputs_.push_back(*rate);
    throughput_line_ = line;
  }

  /// The rate that BERT's script closes with.
  void read_script_rate(std::optional<double> rate, std::int64_t line) {
    script_rate_ = rate;
    script_line_ = line;
  }

  /// Reports the samples of the open run and its rate, with notices that state where they are from.
  /// `seconds`: its official time, run_stop minus run_start; `stop_line`: where run_stop stands;
  /// `rated`: its records have rates.
  void conclude(const MllogSetting& setting, double seconds, std::int64_t stop_line, bool rated,
                Emit emit) {
    const double tokens = in_tokens(setting) ? setting.sequence_length.value_or(1) : 1;
    if (const auto counted = samples_of(setting, seconds, tokens)) {
      const auto processes = static_cast<double>(setting.facts().world().value_or(1));
      conclude_samples(*counted, seconds, stop_line, processes, emit);
    } else {
      conclude_tracked(setting, stop_line, rated, emit);
    }
    if (tokens > 1) {
      emit(Note{make_notice(NoticeCode::counts_tokens, stop_line, "the evaluations' sample count",
                            "tokens", "they are divided by the sequence length")});
    }
    compare_with_script(emit);
  }

  /// Of a run whose run_stop is missing: the rate of its parts.
  void conclude_cut(const MllogSetting& setting, Emit emit) {
    if (!throughputs_.empty()) {
      conclude_tracked(setting, throughput_line_ + 1, true, emit);
      return;
    }
    const double rate = samples_of_epoch(setting) / epochs().trained_s();
    if (!(epochs().whole() >= 1) || !(rate > 0) || !(rate < kAbsurd)) return;
    state(rate, epoch_line_, std::nullopt, emit);
    emit(Note{make_notice(NoticeCode::rate_of_median_epoch, epoch_line_)});
  }

 private:
  struct Samples {
    double many = 0;
    std::string origin;           ///< where they are from, for a notice
    double tokens = 1;            ///< in a sequence, where the log counts those
    bool of_whole_parts = false;  ///< steps or epochs times their length
  };
  // The rule that distinguishes samples from epochs, tokens, batches and plans: an evaluation's
  // epoch_num counts samples when it is beyond some batches, and tokens where the first is beyond
  // as many batches as a sequence is long; its samples_count does so where it grows; its step_num
  // counts batches; train_samples counts the run's when it is stated after the last evaluation
  // (before it, it is the plan or the data set). A fraction counts epochs, of the data set; what is
  // left are whole epochs.
  [[nodiscard]] std::optional<Samples> samples_of(const MllogSetting& setting, double seconds,
                                                  double tokens) const {
    const bool bert = setting.benchmark.empty() || setting.benchmark == "bert";
    const double untold = bert ? 1e5 : kUnknown;  // a log without its head
    const double many = setting.global_batch ? 10 * *setting.global_batch : untold;
    if (eval_ && *eval_ < kAbsurd) {
      const bool grows = *eval_ >= 1 && (evals_ < 2 || *eval_ > *first_eval_);
      const bool beyond = *eval_ > many && !composer_ && !setting.old &&
                          (bert || in_tokens(setting) || named_by_samples(setting));
      if (counted_ ? grows : beyond) {
        return Samples{*eval_ / tokens, "at the last evaluation", tokens};
      }
    }
    if (end_ && end_line_ > eval_line_ && *end_ > many && *end_ < kAbsurd && !odd_end(many, bert)) {
      return Samples{*end_ / tokens, "stated at the end", tokens};
    }
    const double by_steps =
        steps(setting).value_or(kUnknown) * setting.global_batch.value_or(kUnknown);
    if (by_steps > 0 && by_steps < kAbsurd) {
      return Samples{by_steps, "of the steps that are printed, times the batch,", 1, true};
    }
    const auto sound = [&](double samples) { return samples > many && samples < kAbsurd; };
    if (eval_ && *eval_ < 100 && !(is_whole(*eval_) && is_whole(*first_eval_))) {
      if (end_line_ >= eval_line_ || !sound(share(setting))) return std::nullopt;
      return Samples{share(setting), "at the last evaluation (its share of train_samples)"};
    }
    const double whole = whole_epochs(setting);
    const bool known = setting.global_batch ? sound(whole) : whole < kAbsurd;
    if (!known || !agrees(whole / seconds)) return std::nullopt;
    return Samples{
        whole,
        fmt::format("of {:.0f} epochs of train_samples{}", epochs().whole(),
                    epochs().ended_early() ? " (the last one ended early and is left out)" : ""),
        1, true};
  }

  /// What a fraction of an epoch is counted from: 0 or 1, unknown if that cannot be decided.
  /// DLRM's first evaluation at 0.05 of an epoch is called 1.05 by some: an even step back from the
  /// first of them is where they count from.
  [[nodiscard]] double share_origin() const {
    if (!first_eval_ || *first_eval_ < 1) return 0;
    if (!second_eval_) return kUnknown;
    const double step = *second_eval_ - *first_eval_;
    const double back = *first_eval_ - step;
    for (const double origin : {0.0, 1.0}) {
      if (std::abs(back - origin) < 0.1 * step) return origin;
    }
    return kUnknown;
  }

  [[nodiscard]] double share(const MllogSetting& setting) const {
    return (eval_.value_or(0) - share_origin()) * setting.data_set.value_or(0);
  }
  /// The epochs are named by the samples trained, as OpenFold's are.
  /// UNet3D of round 4.0 states how many samples it calls an epoch, and counts them.
  [[nodiscard]] bool named_by_samples(const MllogSetting& setting) const {
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

  [[nodiscard]] const Epochs& epochs() const { return epochs_.any() ? epochs_ : blocks_; }
  /// Samples of an epoch; unknown if train_samples does not give them.
  /// SSD's train_samples counts batches with some: those that hold the images of OpenImages'
  /// subset.
  [[nodiscard]] static double data_set(const MllogSetting& setting) {
    constexpr double kImages = 1'170'301;
    const double stated = setting.data_set.value_or(kUnknown);
    const double batch = setting.global_batch.value_or(kUnknown);
    const bool batches =
        setting.is_ssd() && batch > 1 && std::abs(stated * batch - kImages) <= batch;
    return batches ? kImages : stated;
  }

  // BERT's train_samples is a plan, its only epoch none of it.
  [[nodiscard]] double samples_of_epoch(const MllogSetting& setting) const {
    const bool may_be_bert =
        setting.benchmark == "bert" || (setting.benchmark.empty() && epochs().whole() < 2);
    const bool self_play = setting.benchmark == "minigo";
    return may_be_bert || self_play || setting.varied ? kUnknown : data_set(setting);
  }
  [[nodiscard]] double whole_epochs(const MllogSetting& setting) const {
    const double whole = epochs().whole();
    return whole >= 1 ? whole * samples_of_epoch(setting) : kUnknown;
  }

  /// Batches, by the last evaluation's step_num or by the blocks of Google's BERT.
  /// What round 0.7's BERT of Google calls an epoch is a step: what they make is near the plan.
  [[nodiscard]] std::optional<double> steps(const MllogSetting& setting) const {
    if (setting.in_tokens()) return std::nullopt;
    if (steps_ && *steps_ >= 1) return steps_;
    const double whole = blocks_.whole();
    const double plan = setting.data_set.value_or(kUnknown);
    const double part = whole * setting.global_batch.value_or(kUnknown) / plan;
    const bool steps = setting.benchmark == "bert" && !composer_ && blocks_.in_one() > 1 &&
                       part > 0.3 && part < 1.05;
    return steps ? std::optional(whole) : std::nullopt;
  }

  /// train_samples at the end is not what the run trained on.
  /// After whole epochs it is the data set all the same; far beyond the count of the evaluations it
  /// is of another unit.
  [[nodiscard]] bool odd_end(double many, bool bert) const {
    const bool beyond = eval_ && *eval_ > many && *end_ > 10 * *eval_;
    return beyond || (!bert && epochs().any() && !(epochs().whole() < 2));
  }
  /// The counts are tokens, not sequences.
  [[nodiscard]] bool in_tokens(const MllogSetting& setting) const {
    if (setting.benchmark.empty() || setting.benchmark == "bert" || counted_) return false;
    const double length = setting.sequence_length.value_or(kUnknown);
    const double first = first_eval_ ? *first_eval_ : end_.value_or(0);
    return length > 1 && first >= setting.global_batch.value_or(kUnknown) * length &&
           is_whole(first / length);
  }

  /// Of the throughputs tracked: the last, the middle one where that is far off.
  [[nodiscard]] double tracked() const {
    const double middle = middle_of(throughputs_);
    const double last = throughputs_.back();
    return std::abs(last / middle - 1) > kTrackedRateGap ? middle : last;
  }

  /// The tracked throughputs are of the same order as this rate or of one process's share of it,
  /// or there are none.
  [[nodiscard]] bool agrees(double rate) const {
    return throughputs_.empty() || tracked() / rate - 1 < kTrackedEpochGap;
  }
  // A tracked throughput before run_stop is that of some interval; the one after it is the
  // run's.
  void conclude_tracked(const MllogSetting& setting, std::int64_t stop_line, bool rated,
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
    emit(
        Note{make_notice(last ? NoticeCode::tracked_rate_of_interval : NoticeCode::tracked_rate_odd,
                         throughput_line_)});
  }
  void conclude_samples(const Samples& samples, double seconds, std::int64_t stop_line,
                        double processes, Emit emit) {
    const double rate = samples.many / seconds;
    const double tracked = throughputs_.empty() ? kUnknown : throughputs_.back();
    const bool of_tokens = tracked / rate > 0.5 * samples.tokens;
    const double closing = of_tokens ? tracked / samples.tokens : tracked;
    const double gap = closing / rate - 1;  // far below: it is one process's
    const bool closes = throughput_line_ > stop_line;
    if (closes && gap > -kTrackedEpochGap) {
      state(closing, throughput_line_, samples.many, emit);
      compare("the log's closing throughput", closing, throughput_line_, rate, kStatedRateGap,
              fmt::format("its samples over its official time ({:.6g}/s)", rate), emit);
      return;
    }
    state(rate, stop_line, samples.many, emit);
    emit(Note{make_notice(NoticeCode::rate_over_official_time, stop_line, samples.origin)});
    if (closes || samples.of_whole_parts) compare_with_tracked(rate, processes, emit);
  }
  void state(double rate, std::int64_t line, std::optional<double> samples, Emit emit) {
    Statement event{.summary = Stated{rate, RateUnit::sequences_per_second, line}};
    if (samples) event.totals.sequences = static_cast<std::int64_t>(*samples);
    emit(event);
    rate_ = rate;
  }

  // The throughput of an interval, or of the run so far.
  void compare_with_tracked(double rate, double processes, Emit emit) const {
    if (throughputs_.empty()) return;
    if (std::abs(processes * tracked() / rate - 1) <= kTrackedRateGap) return;  // of one of them
    compare("the throughput tracked", tracked(), throughput_line_, rate, kTrackedRateGap,
            "the rate taken", emit);
  }

  void compare_with_script(Emit emit) const {
    if (!rate_ || !script_rate_ || !(*script_rate_ > 0)) return;
    compare("the script's own closing rate", *script_rate_, script_line_, *rate_, kStatedRateGap,
            "the rate taken: it counts planned steps or leaves out evaluations", emit);
  }

  /// A notice where `stated`, of this line, is further from `rate` than the gap.
  static void compare(std::string_view what, double stated, std::int64_t line, double rate,
                      double least_gap, std::string_view from, Emit emit) {
    const double gap = stated / rate - 1;
    if (std::abs(gap) <= least_gap) return;
    emit(Note{make_notice(NoticeCode::closing_rate_off_official, line, std::string(what), stated,
                          100 * std::abs(gap), gap > 0 ? "above" : "below", std::string(from))});
  }

  std::optional<double> eval_, first_eval_, second_eval_, end_, script_rate_, steps_;
  std::optional<double> rate_;  ///< that was reported
  std::vector<double> throughputs_;
  Epochs epochs_, blocks_;
  std::int64_t eval_line_ = 0, epoch_line_ = 0, end_line_ = 0, throughput_line_ = 0,
               script_line_ = 0;
  std::int64_t evals_ = 0;
  bool counted_ = false;   ///< the evaluation prints samples_count, which needs no guess
  bool composer_ = false;  ///< the evaluation is Composer's, whose epoch_num counts epochs
};

bool begins_a_part(std::string_view key) { return key == "epoch_start" || key == "block_start"; }
bool is_of_a_part(std::string_view key) {
  return begins_a_part(key) || key == "epoch_stop" || key == "block_stop";
}

struct Mlperf {
  bool step(const Line& line, Emit emit) {
    const auto applied = count_after(line, "'global_steps':");
    const auto skips = count_after(line, "'skipped_steps':");
    Step at{.rate_unit = RateUnit::sequences_per_second, .clock = Clock{1e-6, true}};
    const auto time = number_after(line, "'timestamp':");
    if (!running || !applied || !skips || !Cursor::after(line).read(kBlanks, at.rate) || !time) {
      return false;
    }
    at.step = *applied + *skips;
    at.iterations = std::max<std::int64_t>(1, at.step - newest_step);
    at.time_s = *time;
    // A skipped update comes from an overflow: its loss may be anything.
    const auto loss = number_after(line, "'step_loss':");
    if (loss && (*skips <= skipped || std::isfinite(*loss))) at.loss = loss;
    newest_step = std::max(newest_step, at.step);
    skipped = std::max(skipped, *skips);
    add(at, line, emit);
    emit(Statement{.totals = {.skipped_steps = *skips}});
    return true;
  }

  void add(Step at, const Line& line, Emit emit) {
    if (at.loss && !std::isfinite(*at.loss) && !nan_step) nan_step = at.step;
    rated = true;
    newest_line = line.number;
    at.line = line.number;  // of no rank: each prints the job's
    at.end_byte = line.end_byte;
    emit(at);
  }

  bool speed(const Line& line, Emit emit) {
    const auto count = count_after(line, "Iteration:");
    Step at{.rate_unit = RateUnit::sequences_per_second};
    if (!running || !count || !Cursor::after(line).read(kBlanks, at.rate) || !(at.rate > 0)) {
      return false;
    }
    if (*count == 0) return true;  // of no iteration
    at.step = *count;
    at.loss = number_after(line, "Loss function:");
    add(at, line, emit);
    return true;
  }

  /// Whether a statement of this key is left out at this place, whatever it states.
  [[nodiscard]] bool passes_over(std::string_view key) const {
    if (key == "run_start") return running;  // another rank's
    if (key == "tracked_stats" || key == "throughput") {
      // After run_stop SSD states an epoch that it did not finish.
      return !running && (!stopped || goes_on || setting.is_ssd());
    }
    // Of a log without its head run_stop is the first statement on a run.
    if (key == "run_stop") return !running && stopped;
    if (begins_a_part(key) && stopped) return false;
    return !running && (key == "eval_accuracy" || is_of_a_part(key));
  }

  bool statement(const Line& line, Emit emit) {
    return take(parse_json_before_text(line.text.substr(line.end - 1)), line, emit);
  }

  // Of rounds 0.5 and 0.6.
  bool old_line(const Line& line, Emit emit) {
    const Json json = old_statement(line);
    if (text(json, "key").empty()) return false;
    setting.old = true;
    if (setting.benchmark.empty()) setting.benchmark = text(json, "benchmark");
    return take(json, line, emit);
  }

  bool take(const Json& json, const Line& line, Emit emit) {
    const std::string key = text(json, "key");
    if (key.empty()) return false;
    const Json none;
    const auto of = [&](const char* name) -> const Json& {
      const auto at = json.find(name);
      return at != json.end() ? *at : none;
    };
    const double time_ms = stamp_ms(json).value_or(kUnknown);
    if (setting.old && setting.benchmark == "ncf")
      ncf(key, number_in(of("value")), time_ms, line, emit);
    if (passes_over(key)) return true;
    if (key == "run_start") {
      start(time_ms, line, emit);
    } else if (key == "eval_accuracy") {
      samples.read_evaluation(of("metadata"), line.number);
      stated(line, emit);
    } else if (begins_a_part(key) && !running) {
      goes_on = true;
    } else if (is_of_a_part(key)) {
      samples.read_epoch(key, of("metadata"), time_ms, line.number);
      newest_line = line.number;
    } else if (key == "tracked_stats" || key == "throughput") {
      const Json& value = of("value");
      samples.read_tracked(key == "throughput" ? number_in(value) : number_in(value, "throughput"),
                           line.number);
      stated(line, emit);
    } else if (running && key == "eval_start") {
      samples.read_evaluation_start(time_ms);
      evaluating_ms = time_ms;
    } else if (running && key == "eval_stop") {
      evaluated_ms += std::max(0.0, time_ms - std::exchange(evaluating_ms, kUnknown));
    } else if (running && key == "train_loss") {
      training_loss(number_in(of("value")), number_in(of("metadata"), "step_num"), time_ms, line,
                    emit);
    } else if (key == "run_stop") {
      stop(of("metadata"), time_ms, line, emit);
    } else {
      set(key, of("value"), line);
    }
    return true;
  }

  void training_loss(std::optional<double> loss, std::optional<double> step, double time_ms,
                     const Line& line, Emit emit) {
    constexpr double kStepLimit = 1e12;  // steps
    if (!step || !(*step > static_cast<double>(newest_step)) || !(*step < kStepLimit)) return;
    Step at{.step = static_cast<std::int64_t>(*step),
            .time_s = (time_ms - evaluated_ms) / 1000,
            .loss = loss,
            .clock = Clock{1e-3, true}};
    at.iterations = at.step - newest_step;
    newest_step = at.step;
    add(at, line, emit);
  }

  void stated(const Line& line, Emit emit) {
    newest_line = line.number;
    emit(Statement{});
  }

  // Round 0.5's recommendation trains an epoch on each interaction and on as many negative ones as
  // are drawn for it.
  //   :::MLPv0.5.0 ncf 1541731860.568300724 (ncf.py:257) input_size: 19861770
  //   :::MLPv0.5.0 ncf 1541731878.902678490 (ncf.py:379) train_epoch: 10
  //   :::MLPv0.5.0 ncf 1541731878.903059721 (ncf.py:380) input_hp_num_neg: 4
  //   :::MLPv0.5.0 ncf 1541731879.928722382 (ncf.py:438) eval_start
  void ncf(const std::string& key, std::optional<double> value, double time_ms, const Line& line,
           Emit emit) {
    if (key == "input_size") interactions = value;
    if (key == "input_hp_num_neg") negatives = value;
    if (key == "train_epoch") {
      epoch = value;
      epoch_ms = time_ms;
    }
    if (key != "eval_start" || !epoch || !interactions || !negatives) return;
    const double n = *std::exchange(epoch, std::nullopt);
    const double took_s = (time_ms - epoch_ms) / 1000;
    const double trained = *interactions * (1 + *negatives);
    const bool sound = n >= 0 && n < 1e9 && trained > 0 && trained < 1e15;
    if (!sound || !(took_s > 0) || !running) return;
    const bool first = !rated;
    Step at{.step = static_cast<std::int64_t>(n) + 1,
            .iterations = 1,
            .rate = trained / took_s,
            .unit = IterationUnit::unknown,
            .rate_unit = RateUnit::sequences_per_second};
    add(at, line, emit);
    if (first) emit.note_here(NoticeCode::record_is_epoch_of_ncf);
  }

  void set(const std::string& key, const Json& value, const Line& line) {
    auto size = number_in(value);
    if (size && !(*size > 0)) size.reset();  // a damaged line: no batch or data set is of none
    if (const auto member = MllogSetting::number_of(key)) {
      setting.*member = size;
    } else if (MllogSetting::names_precision(key) && value.is_string()) {
      setting.read_precision(value.get<std::string>());
    } else if (key == "submission_benchmark" && value.is_string()) {
      setting.benchmark = value.get<std::string>();
    } else if (key == "global_batch_size") {
      setting.global_batch = size;
      setting.loosely = false;
    } else if (key == "input_batch_size") {
      // Round 0.5. What follows a first one is the evaluation's.
      if (setting.global_batch) return;
      setting.global_batch = size;
      setting.loosely = size.has_value();
    } else if (key == "train_samples" || key == "num_train_examples") {
      if (!running && stopped && !setting.data_set) {
        after_stop = size;
        after_stop_line = line.number;
        return;
      }
      setting.varied = setting.varied || (setting.data_set && setting.data_set != size);
      setting.data_set = size;
      if (running) samples.read_end(setting.data_set, line.number);
    }
  }

  void start(double time_ms, const Line& line, Emit emit) {
    conclude(emit);
    if (after_stop) setting.data_set = after_stop;  // it was of this run
    after_stop.reset();
    begin(time_ms, line, emit);
    newest_step = skipped = 0;
    goes_on = false;
  }

  void begin(double time_ms, const Line& line, Emit emit) {
    emit(Begin{kRun});
    emit(Statement{.of = Of::begun});
    start_line = newest_line = line.number;
    start_ms = time_ms;
    running = true;
    rated = false;
    evaluated_ms = 0;
    evaluating_ms = kUnknown;
    nan_step.reset();
  }

  void stop(const Json& metadata, double time_ms, const Line& line, Emit emit) {
    if (!running) {  // the tail of a log has how the run ended, and neither its time nor its rate
      begin(kUnknown, line, emit);
      emit.note_here(NoticeCode::official_start_missing);
    }
    const std::string status = text(metadata, "status");
    success =
        status == "success" || (setting.old && status.empty());  // some of round 0.5 have none
    Statement event{.of = Of::begun};
    if (!success && rated) {
      // Its steps look fast and are no result: what is handed on has none.
      emit(Withdraw{.of = Of::open});
      Begin bare = kRun;
      bare.line = start_line;
      emit(bare);
      if (newest_step > 0) event.totals.skipped_steps = skipped;
      event.nan_step = nan_step;
    }
    running = false;
    stopped = true;
    stop_line = line.number;
    at_stop = setting;
    seconds = (time_ms - start_ms) / 1000;
    if (seconds > 0) event.totals.training_s = seconds;
    emit(event);
    End end{.well = success, .official = true};
    if (!success) {
      end.outcome = Outcome{Status::error,
                            std::nullopt,
                            line.number,
                            {make_notice(NoticeCode::mlperf_status, 0, std::string(status))}};
    }
    emit(end);
    if (!success) emit.note_here(NoticeCode::target_not_reached);
  }

  // BERT's script ends with "{'e2e_time': 280.4, 'training_sequences_per_second': tensor([1440.5],
  // device='cuda:0'), ...}": planned steps, or those without evaluations, over a time of its own.
  void script_rate(const Line& line) {
    Cursor cursor = Cursor::after(line);
    cursor.literal("tensor([");
    samples.read_script_rate(cursor.number(), line.number);
  }

  // Statements on a run may follow its run_stop: it is concluded when the next one starts. Some
  // submitters name the benchmark after the run.
  void conclude(Emit emit) {
    const MllogSetting& of = at_stop.benchmark.empty() ? setting : at_stop;
    if (stopped) emit(Known{.facts = of.facts()});
    if (stopped && success && seconds > 0)
      samples.conclude(setting, seconds, stop_line, rated, emit);
    samples = {};
    stopped = false;
  }

  void finish(Emit emit) {
    if (running) {
      emit(Known{.facts = setting.facts()});
      if (!rated) {
        samples.conclude_cut(setting, emit);
        emit(End{.well = false,
                 .here = false,
                 .outcome = Outcome{Status::truncated,
                                    std::nullopt,
                                    newest_line,
                                    {make_notice(NoticeCode::cut_before_run_stop, 0)}}});
      }
    }
    if (after_stop && !goes_on) samples.read_end(after_stop, after_stop_line);
    if (!running) conclude(emit);
    if (setting.global_batch && setting.in_tokens()) {
      emit.note(NoticeCode::batch_in_tokens, "transformer", *setting.global_batch);
    } else if (setting.loosely) {
      emit.note(NoticeCode::input_batch_scope);
    }
    if (!setting.benchmark.empty() && setting.benchmark != "bert") {
      emit.note(NoticeCode::unit_of_sequences,
                "samples of the benchmark " + escape_for_terminal(setting.benchmark));
    }
  }

  static constexpr Begin kRun{
      .unit = IterationUnit::optimizer_step, .restart = Restart::never, .own_facts = true};

  MllogSetting setting, at_stop;
  MllogSamples samples;  ///< of the newest run
  bool running = false;  ///< between run_start and run_stop
  bool stopped = false;  ///< a last statement may follow run_stop
  bool success = false;
  bool goes_on = false;  ///< the job trains beyond its run_stop: what it tracks is not the run's
  double start_ms = kUnknown, seconds = kUnknown;
  double evaluating_ms = kUnknown, evaluated_ms = 0;  ///< since then; of all evaluations of the run
  std::int64_t start_line = 0, stop_line = 0, newest_line = 0;
  bool rated = false;            ///< the run has records
  std::int64_t newest_step = 0;  ///< optimizer steps of the step lines, skipped ones included
  std::int64_t skipped = 0;
  std::optional<std::int64_t> nan_step;
  std::optional<double> after_stop;  ///< train_samples after the run_stop; of that run or the next
  std::int64_t after_stop_line = 0;
  std::optional<double> interactions, negatives, epoch;  ///< of NCF
  double epoch_ms = kUnknown;
};

constexpr Row kRows[] = {
    on<&Mlperf::step>("'seq/s': "),
    on<&Mlperf::speed>(", avg. samples / sec: "),
    on<&Mlperf::statement>(":::MLLOG {"),
    on<&Mlperf::script_rate>("'training_sequences_per_second': "),
    on<&Mlperf::old_line>(":::MLL "),
    on<&Mlperf::old_line>(":::MLPv0."),
};

constexpr Begin kRuns[] = {Mlperf::kRun};

}  // namespace

extern const Format entry{.name = "mlperf",
                          .title = "MLPerf training, :::MLLOG lines",
                          .reference = "https://github.com/mlcommons/logging (mllog)",
                          .table = table_of<Mlperf>(kRows, kRuns)};

}  // namespace bertbench::format_mlperf
