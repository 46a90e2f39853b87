// ResultSet: the value that reports, compare, check and store work on ("bertbench.result/1").
// Absent (nullopt, empty) means unknown and is not written. Units are in the names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/core/notice.h"
#include "parsers/core/outcome.h"
#include "parsers/core/run_log.h"
#include "reports/model/identity.h"
#include "reports/model/steadiness.h"

namespace bertbench {

/// JsonBox: a JSON value inside a struct whose header does not include nlohmann/json.hpp, which
/// costs more than a second of compile time in each file that includes it.
/// Owns one JSON value, null at first; a copy copies the value. Whoever reads or writes inside it
/// (`*box`, `box->`) includes nlohmann/json.hpp.
class JsonBox {
 public:
  using Json = nlohmann::ordered_json;

  JsonBox();
  JsonBox(const Json& value);  // NOLINT(google-explicit-constructor): a JSON value is one
  JsonBox(Json&& value);       // NOLINT(google-explicit-constructor)
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&& other) noexcept;
  JsonBox& operator=(const JsonBox& other);
  JsonBox& operator=(JsonBox&& other) noexcept;
  ~JsonBox();

  [[nodiscard]] static JsonBox object();  ///< {}
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_object() const;

  /// A box that was moved from holds null again when it is looked at.
  [[nodiscard]] const Json& operator*() const;
  [[nodiscard]] Json& operator*();
  [[nodiscard]] const Json* operator->() const { return &**this; }
  [[nodiscard]] Json* operator->() { return &**this; }

  friend bool operator==(const JsonBox& a, const JsonBox& b);

 private:
  std::unique_ptr<Json> value_;  ///< nothing: null
};

inline constexpr std::string_view kResultSchema = "bertbench.result/1";

struct Interval {
  double low = 0, high = 0, coverage = 0;
};

struct IterationCounts {
  std::int64_t seen = 0, dropped = 0, used = 0;  ///< records
};

struct WindowUsed {
  std::string rule;       ///< as WindowRule::str(), "auto" resolved: "auto (mser-5: 30:200)"
  std::string chosen_by;  ///< "user", "config" or "default"
  bool covered = false;   ///< false: no sequences_per_second, never averaged as zero
  std::optional<std::int64_t> first_step, last_step;  ///< counters actually used
};

struct Reconciliation {
  std::optional<double> sequences, training_s, wall_s;
  std::optional<double> rate;          ///< sequences / wall_s (or training_s)
  std::map<std::string, double> gaps;  ///< estimator -> value / rate - 1
};

struct StepTimes {
  double p50 = 0, p90 = 0, p99 = 0;  ///< seconds per optimizer step
};

/// A part of an optimizer step, by the trainer's own timer (parsers/core/step_parts.h).
struct PartRecord {
  double p50 = 0;  ///< seconds: median over the window
};

/// What change points show of the run's iteration times (reports/stats/steady_state.h).
struct SteadyRecord {
  Steadiness state = Steadiness::flat;
  std::optional<std::int64_t> first_step;  ///< counter before SteadyState::first; absent when flat
  std::optional<double> change;            ///< iteration time since then / before - 1
};

/// Periodic work of the window, counted by steps.
struct PeriodicRecord {
  PeriodicWork work;
  std::optional<double> sequences_per_second_without;
};

/// Where the run's time went (reports/measure/time_parts.h); seconds by the part's name.
struct TimeRecord {
  double total_s = 0;
  std::map<std::string, double> parts_s;
  struct Span {
    std::string part;
    double begin_s = 0, end_s = 0;
  };
  std::vector<Span> timeline;
};

/// What a step takes the ranks one by one, before they wait for each other. Times are medians over
/// stretches of the run, seconds of one step.
struct RankRecord {
  struct Rank {
    std::int64_t rank = 0;
    std::string node;  ///< as the rank names it
    double own_s = 0;
    double ratio = 0;          ///< its time over the median of the others'
    std::int64_t windows = 0;  ///< stretches that were judged
    std::int64_t slow = 0;     ///< of them so much slower that they count (measure/ranks.h)
    std::int64_t slowest = 0;  ///< of them in which no rank took longer
  };
  /// The least, median and largest own time of its ranks.
  struct Node {
    std::string node;
    std::int64_t ranks = 0;
    double min_s = 0, median_s = 0, max_s = 0;
  };
  /// A rank's time over the median of all ranks in each stretch; 0 = unknown.
  struct Row {
    std::int64_t rank = 0;
    std::vector<double> ratio;
  };
  static constexpr std::size_t kMostRows = 32;  ///< of each list: the slowest

  std::int64_t ranks = 0;                      ///< that state their own times
  std::int64_t first_step = 0, last_step = 0;  ///< steps that were judged
  double spread = 0;                           ///< (max - min) / median of the ranks' own times
  Rank slowest;
  std::vector<Rank> stragglers;     ///< that stay slow, the slowest first
  std::vector<Node> nodes;          ///< the slowest median first
  std::vector<std::int64_t> steps;  ///< last step of each stretch of the rows, at most 64
  std::vector<Row> rows;            ///< the slowest first
};

struct LossPoint {
  std::int64_t step = 0;  ///< the log's own counter
  double loss = kUnknown;
};

struct LossRecord {
  std::optional<double> first, last;  ///< of the records that print one
  std::optional<std::int64_t> not_finite_from;
  /// Of every 2^k-th record that prints one, from the first, at most kLossPoints: runs of different
  /// lengths have steps in common.
  std::vector<LossPoint> at;
  /// What a loss depends on in addition to the work itself: a default decay of the learning rate
  /// ends with the last step, and a loss printed each ten steps may be the mean of ten.
  std::optional<std::int64_t> planned_step = {};  ///< last counter value that the run aims at
  std::optional<std::int64_t> every = {};  ///< iterations between losses, where always as many
};
inline constexpr std::size_t kLossPoints = 64;

/// Of a sweep with variants: where the trial stands among those that were measured in turn.
struct BlockPlace {
  /// Start of the sweep in which it was launched, from 1. Trials of one number make a pair only
  /// when they ran in one session: what a machine does meanwhile is no part of their ratio.
  int session = 1;
  int position = 1;  ///< in its block, from 1; the block is the number of the trial
  bool operator==(const BlockPlace&) const = default;
};

struct MemoryRecord {
  std::int64_t peak_bytes = 0, capacity_bytes = 0;
  std::string source;  ///< "log", "nvml", "proc" (host memory of the processes)
};

/// Keeps the larger peak. A trial that ran out of memory is left out: what it asked for is reported
/// with its failure.
inline void take_more(std::optional<MemoryRecord>& most, const MemoryRecord& one, Status status) {
  if (one.peak_bytes <= 0 || status == Status::out_of_memory) return;
  if (!most || one.peak_bytes > most->peak_bytes) most = one;
}

/// Units of a rate, the most specific first: a cell takes the first that one of its trials has.
inline constexpr RateUnit kRateUnits[] = {
    RateUnit::sequences_per_second, RateUnit::tokens_per_second, RateUnit::iterations_per_second,
    RateUnit::epochs_per_second};

struct Trial {
  int trial = 1;
  int attempt = 1;
  std::optional<BlockPlace> block;
  std::string log, format;
  Outcome outcome;
  IterationCounts iterations;
  std::optional<std::int64_t> skipped_steps;  ///< updates of the run left out for fp16 overflows
  WindowUsed window;
  std::optional<double> sequences_per_second;   ///< of the whole job
  std::optional<double> tokens_per_second;      ///< when a sequence's length is unknown
  std::optional<double> iterations_per_second;  ///< when batch or world size is unknown
  std::optional<double> epochs_per_second;      ///< when the log counts nothing finer
  std::string estimator;                        ///< which estimator gave the number
  std::map<std::string, double> estimators;     ///< name -> rate, in unit()
  std::map<std::string, double> resolution;     ///< estimator -> relative resolution of its clock
  /// estimator -> expected relative error as the rate of the window
  /// (reports/measure/estimators.h)
  std::map<std::string, double> expected_error;
  std::optional<Reconciliation> reconciliation;
  std::optional<StepTimes> step_time;
  /// Of sequences_per_second, from the scatter of this run's own iterations (moving-block
  /// bootstrap); it holds nothing of the scatter between runs.
  std::optional<Interval> rate_interval;
  std::optional<SteadyRecord> steady_state;
  std::optional<PeriodicRecord> periodic;
  std::optional<TimeRecord> time_parts;
  std::optional<RankRecord> ranks;
  std::optional<MemoryRecord> memory;
  JsonBox telemetry;  ///< what the harness recorded meanwhile (docs/telemetry.md); or null
  std::optional<double> energy_j;  ///< of the GPUs, else of the CPUs; start-up included
  std::optional<double> energy_per_sequence_j;  ///< mean power while training over the rate
  std::optional<LossRecord> loss;
  std::map<std::string, PartRecord> parts;  ///< by kStepPartNames, where the log has them
  std::map<std::string, double>
      stated;              ///< by the keys of kStatedNames, what the log prints of one GPU
  bool simulated = false;  ///< see Identity::simulated()
  std::optional<std::int64_t> seed;  ///< of weights, data and dropout, where each trial has its own
  std::map<std::string, double> scores;  ///< RunLog::scores
  std::string iterations_file;
  std::vector<Notice> notices;

  /// The rate of the whole job in one of kRateUnits.
  [[nodiscard]] const std::optional<double>& rate_in(RateUnit unit) const {
    if (unit == RateUnit::sequences_per_second) return sequences_per_second;
    if (unit == RateUnit::tokens_per_second) return tokens_per_second;
    return unit == RateUnit::epochs_per_second ? epochs_per_second : iterations_per_second;
  }
  [[nodiscard]] std::optional<double>& rate_in(RateUnit unit) {
    return const_cast<std::optional<double>&>(std::as_const(*this).rate_in(unit));
  }
  /// The first of kRateUnits in which a rate is known; sequences/s where none is.
  [[nodiscard]] RateUnit unit() const {
    for (const RateUnit unit : kRateUnits) {
      if (rate_in(unit)) return unit;
    }
    return kRateUnits[0];
  }
  [[nodiscard]] std::optional<double> rate() const { return rate_in(unit()); }
  /// Counts in n: window covered before any failure, and a rate is known.
  [[nodiscard]] bool counts() const { return window.covered && sequences_per_second.has_value(); }
};

struct ThroughputSummary {
  std::string unit = "sequences/s";
  int n = 0;  ///< trials that count
  std::optional<double> mean, median, stddev, cv;
  std::optional<Interval> median_interval;  ///< exact order statistics, n >= 6
  std::optional<Interval> mean_interval;    ///< Student t, n >= 2
};

/// What Cell::stability is of: the last loss, and scores in percent.
inline constexpr const char* kQualities[] = {"loss", "exact_match", "f1", "accuracy"};

/// One quality over the trials of a cell.
struct Spread {
  int n = 0;  ///< trials that state it
  double mean = 0;
  std::optional<double> stddev;  ///< of a sample (n - 1), n >= 2
  double min = 0, max = 0;
};

/// What one FLOP formula makes of a cell's rate (reports/stats/flops.h).
struct FlopsUse {
  double tflops_per_gpu = 0;
  std::optional<double> mfu, hfu;  ///< absent without a peak
};

struct Ratio {
  double value = 0;
  std::string base;  ///< key of the base cell
};

/// A cell but for its trials, of which there may be very many.
struct CellSummary {
  std::string key;
  std::string result;  ///< of a report of several results that have cells in common: which one
  Identity identity;
  WorkKind kind = WorkKind::training;
  ThroughputSummary throughput;
  /// By kQualities, over the trials that completed and state it, where these are two or more.
  std::map<std::string, Spread> stability;
  std::optional<double> sequences_per_second_per_gpu;
  std::optional<Ratio> speedup;
  std::optional<double> scaling_efficiency;
  std::string scaling;  ///< "weak", "strong" or empty
  std::optional<Ratio> precision_speedup;
  std::optional<double> time_to_train_s;
  std::optional<Ratio> time_to_train_speedup;  ///< the base's time over this cell's
  /// Medians over the trials that count and were watched: all GPUs of the job while it trains.
  std::optional<double> power_w, energy_per_sequence_j;
  std::map<std::string, FlopsUse> flops;           ///< by every formula
  std::optional<double> tflops_per_gpu, mfu, hfu;  ///< by the formula below
  std::string flops_formula, peak;  ///< "masked_head"; "H200 bf16 dense 989.5 TFLOPS"
  /// Of the trial that used most, on one GPU; trials that ran out of memory are left out.
  std::optional<MemoryRecord> memory;
  std::optional<std::int64_t> stated_world_size;  ///< the log states only the product
  std::optional<std::int64_t> stated_global_batch_size;
  std::string gpu;        ///< its name in the log or the environment ("Tesla V100-SXM2-16GB")
  bool emulated = false;  ///< nodes or GPUs are stand-ins: emulated nodes, one CPU rank a "GPU"
  std::vector<Notice> warnings;
  /// What the numbers rest on in addition to the identity, an object of scalars and lists, or null:
  /// "command" (the words of a foreign trainer that no placeholder made), "threads", "variant"
  /// (what the variant adds, variables and arguments). Cells that differ in a key that both have
  /// are not comparable.
  JsonBox context;

  /// From the identity, else as stated by the log.
  [[nodiscard]] std::optional<std::int64_t> world_size() const {
    const auto world = identity.world_size();
    return world ? world : stated_world_size;
  }
  [[nodiscard]] std::optional<std::int64_t> global_batch_size() const {
    const auto batch = identity.global_batch_size();
    return batch ? batch : stated_global_batch_size;
  }
  /// The median of its trials where it is in that unit.
  [[nodiscard]] std::optional<double> median_in(RateUnit unit) const {
    return throughput.unit == name(unit) ? throughput.median : std::nullopt;
  }
  /// Median tokens/s of the whole job: printed by the logs, else sequences/s x sequence length
  /// (padding included). Absent where neither is known.
  [[nodiscard]] std::optional<double> tokens_per_second() const {
    if (const auto tokens = median_in(RateUnit::tokens_per_second)) return tokens;
    const auto rate = median_in(RateUnit::sequences_per_second);
    if (!rate || !identity.sequence_length) return std::nullopt;
    return *rate * static_cast<double>(*identity.sequence_length);
  }
};

struct Cell : CellSummary {
  std::vector<Trial> trials;
};

/// The bertbench that made a result.
struct ToolStamp {
  std::string version, commit;
};

struct ResultSet {
  ToolStamp tool;
  std::string created;  ///< RFC 3339, UTC
  JsonBox environment = JsonBox::object();
  std::vector<Cell> cells;
  JsonBox partial;  ///< of one shard (reports/cells/partial.h); null for a whole result
};

}  // namespace bertbench
