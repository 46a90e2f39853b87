// Text of the numbers and facts of a result set, the same in every report that people read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench {

/// A log's path as people read it: "<stdin>" of "-".
[[nodiscard]] inline std::string_view place_name(std::string_view path) {
  return path == "-" ? "<stdin>" : path;
}

/// About four significant digits, at most 3 decimals, no exponent below 1e15: "3671.5", "150.1",
/// "27.23", "0.417". Infinite and NaN: "-".
[[nodiscard]] std::string number_text(double value);
/// "98.4 %" of a fraction.
[[nodiscard]] std::string percent_text(double fraction, int decimals = 1);
/// "+5.3 %" of a fraction.
[[nodiscard]] std::string change_text(double fraction);

/// "12.30x"
[[nodiscard]] std::string ratio_text(double ratio);
/// "17.2 ms", "4.1 s", "3 min 20 s", "2 h 05 min"
[[nodiscard]] std::string duration_text(double seconds);
/// "412.3 W", "17.20 kW"
[[nodiscard]] std::string power_text(double watts);
/// "0.250 J", "1.25 mJ", "3.10 kJ"
[[nodiscard]] std::string energy_text(double joules);
/// "10.1 GiB"
[[nodiscard]] std::string bytes_text(double bytes);

/// A cell's key, with the kind of work where it is no training: "base.fp32.s128 (evaluation)".
[[nodiscard]] std::string key_with_kind(const std::string& key, WorkKind kind);

/// The key of a cell of which nothing is known: question marks, and perhaps the number of its log.
[[nodiscard]] bool is_nameless(std::string_view key);
/// True where the log shows what kind of work it is of. It does not where it has no step and either
/// no format reads it or only bars are known of it.
[[nodiscard]] bool shows_kind(const Trial& trial);
/// The details of an outcome as one line; empty where they repeat its name, as "Killed" does.
[[nodiscard]] std::string more_than_name(const Outcome& outcome);

/// "2n8g"; unknown parts as '?'; empty when both are unknown.
[[nodiscard]] std::string topology_text(const Identity& identity);

/// How the trials of a cell failed, gathered one by one.
class FailureWords {
 public:
  void add(const Trial& trial);
  /// No trial gave a number, as the batch does not fit: its rate is shown as "OOM".
  [[nodiscard]] bool ran_out_of_memory() const { return trials_ > 0 && out_of_memory_ == trials_; }
  /// Used against capacity where a cell ran out of it: "15.10 of 15.78 GiB"; empty when unknown.
  [[nodiscard]] std::string out_of_memory_text() const;
  /// What stands in place of a rate that a cell does not have: "OOM" or "-".
  [[nodiscard]] std::string_view no_rate_text() const { return ran_out_of_memory() ? "OOM" : "-"; }
  /// "2 out_of_memory, 1 nan at step 120, 1 window not covered"; empty when every trial completed
  /// and counts.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t trials_ = 0, out_of_memory_ = 0;
  std::map<std::string, int> count_;
  std::string memory_;  ///< of the first trial that has it
};

/// Of a cell that holds its trials.
[[nodiscard]] FailureWords failures_of(const Cell& cell);

/// Trials whose last attempt ended in a failure.
[[nodiscard]] int failed_trials(const Cell& cell);

/// The interval that is shown for a cell: of the median, else of the mean.
struct ShownInterval {
  Interval interval;
  bool of_mean = false;
};
[[nodiscard]] std::optional<ShownInterval> shown_interval(const Cell& cell);

/// What an estimator's name stands for, in one line; empty if it is not known.
[[nodiscard]] std::string_view estimator_meaning(std::string_view estimator);

/// How the numbers of a result set were made, for legends: distinct values with how many trials.
struct Provenance {
  std::map<std::string, int> windows;     ///< "100:200 (chosen by user)"
  std::map<std::string, int> estimators;  ///< "step_time"
  std::map<std::string, int> formats;
  int trials = 0, counted = 0, failed = 0, retried = 0;
  bool emulated = false, simulated = false;  ///< any cell
};
[[nodiscard]] Provenance provenance(const ResultSet& set);

/// "masked_head, peak H200 bf16 dense 989.5 TFLOPS" with how many cells.
[[nodiscard]] std::map<std::string, int> flops_formulas(const ResultSet& set);

/// "10.1 GiB", if asked for with the capacity where it is known: "10.1 GiB of 15.8 GiB"; empty for
/// none.
[[nodiscard]] std::string memory_text(const std::optional<MemoryRecord>& memory,
                                      bool with_capacity = false);
/// Where the peak memory comes from ("log", "nvml") with how many cells.
[[nodiscard]] std::map<std::string, int> memory_sources(const ResultSet& set);
/// Whose memory that is: one GPU's; where the processes were looked at (source `proc`), that of all
/// ranks of a machine together.
[[nodiscard]] std::string_view whose_memory(const std::map<std::string, int>& sources);

/// The environment as path -> text ("cpu.model" -> "..."), scalars only, in order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_lines(
    const ResultSet& set);

/// The sentence every report carries when ranks are stand-ins.
inline constexpr std::string_view kEmulatedNote =
    "CPU ranks stand in for GPUs (or emulated nodes for nodes): these figures show how the trainer "
    "scales over ranks on this machine, not how fast GPUs are.";
/// The sentence every report carries when a cluster was simulated.
inline constexpr std::string_view kSimulatedNote =
    "SIMULATED: the ranks that ran stand for all GPUs of the cluster, and communication lasts as a "
    "model of the cluster computes. No such cluster was measured.";

/// What one of the job's GPUs is: "GPU", "rank" where a CPU rank stands in for it, "simulated GPU".
[[nodiscard]] std::string_view gpu_word(const Cell& cell);

}  // namespace bertbench
