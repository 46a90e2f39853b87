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
// epochs, so that the official time is all that such a log has:
//
//   :::MLL 1558641496.914 run_start: {"value": null, "metadata": {"lineno": 477, "file": "x.py"}}
//   :::MLPv0.5.0 resnet 1541660914.084755421 (resnet/resnet_main.py:523) run_start
//   :::MLPv0.5.0 resnet 1541679005.124143600 (in_memory_eval.py:270) run_stop: {"success": "true"}
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/formats/mlperf/mllog.h"
#include "parsers/formats/mlperf/mllog_samples.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/json_line.h"

namespace bertbench {
namespace {

using mllog::key_at_sight, mllog::number, mllog::old_statement, mllog::text;
using Json = nlohmann::json;

bool begins_a_part(std::string_view key) { return key == "epoch_start" || key == "block_start"; }

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
    Statement said;
    said.totals.skipped_steps = *skips;
    emit(said);
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

  /// Whether a statement of this key would be left out at this place, whatever it states.
  [[nodiscard]] bool passes_over(std::string_view key) const {
    static constexpr std::string_view kSettings[] = {"submission_benchmark", "global_batch_size",
                                                     "input_batch_size", "train_samples",
                                                     "num_train_examples"};
    static constexpr std::string_view kOfARun[] = {"eval_accuracy", "run_stop",    "epoch_start",
                                                   "epoch_stop",    "block_start", "block_stop"};
    if (key == "run_start") return running;  // another rank's
    if (key == "tracked_stats") {
      // After run_stop SSD states an epoch that it did not finish.
      return !running && (!stopped || goes_on || setting.is_ssd());
    }
    if (begins_a_part(key) && stopped) return false;
    // Of a log without its head run_stop is the first statement on a run.
    if (key == "run_stop" && !stopped) return false;
    if (std::ranges::find(kOfARun, key) != std::end(kOfARun)) return !running;
    return MllogSetting::number_of(key) == nullptr && !MllogSetting::names_precision(key) &&
           std::ranges::find(kSettings, key) == std::end(kSettings);
  }

  bool statement(const Line& line, Emit emit) {
    const auto object = line.text.substr(line.end - 1);
    const auto key = key_at_sight(object);
    return (!key.empty() && passes_over(key)) || take(parse_json_before_text(object), line, emit);
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
    const double time_ms = mllog::time_ms(json).value_or(kUnknown);
    if (setting.old && setting.benchmark == "ncf")
      ncf(key, number(of("value")), time_ms, line, emit);
    if (passes_over(key)) return true;
    if (key == "run_start") {
      start(time_ms, line, emit);
    } else if (key == "eval_accuracy") {
      samples.see_evaluation(of("metadata"), line.number);
      stated(line, emit);
    } else if (begins_a_part(key) && !running) {
      goes_on = true;
    } else if (key.ends_with("_start") || (key.ends_with("_stop") && key != "run_stop")) {
      samples.see_epoch(key, of("metadata"), time_ms);
    } else if (key == "tracked_stats") {
      samples.see_tracked(of("value"), line.number);
      stated(line, emit);
    } else if (key == "run_stop") {
      stop(of("metadata"), time_ms, line, emit);
    } else {
      set(key, of("value"), line);
    }
    return true;
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
    auto size = number(value);
    if (size && !(*size > 0)) size.reset();  // a damaged line: no batch or data set is of none
    if (const auto member = MllogSetting::number_of(key)) {
      setting.*member = size;
    } else if (MllogSetting::names_precision(key) && value.is_string()) {
      setting.see_precision(value.get<std::string>());
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
      if (running) samples.see_end(setting.data_set, line.number);
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
    Statement said{.of = Of::begun};
    if (!success && rated) {
      // Its steps look fast and are no result: what is handed on has none.
      emit(Withdraw{.of = Of::open});
      Begin bare = kRun;
      bare.line = start_line;
      emit(bare);
      if (newest_step > 0) said.totals.skipped_steps = skipped;
      said.nan_step = nan_step;
    }
    running = false;
    stopped = true;
    stop_line = line.number;
    at_stop = setting;
    seconds = (time_ms - start_ms) / 1000;
    if (seconds > 0) said.totals.training_s = seconds;
    emit(said);
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
    samples.see_script_rate(cursor.number(), line.number);
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
        emit(End{.well = false,
                 .here = false,
                 .outcome = Outcome{Status::truncated,
                                    std::nullopt,
                                    newest_line,
                                    {make_notice(NoticeCode::cut_before_run_stop, 0)}}});
      }
    }
    if (after_stop && !goes_on) samples.see_end(after_stop, after_stop_line);
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

extern const Format format_mlperf;
const Format format_mlperf = {.name = "mlperf",
                              .title = "MLPerf training, :::MLLOG lines",
                              .reference = "https://github.com/mlcommons/logging (mllog)",
                              .rows = kRows,
                              .state = kStateOf<Mlperf>,
                              .runs = kRuns};

}  // namespace bertbench
