// RunLog: what one run in one log gave. The value that parsers hand to reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/arrivals.h"
#include "parsers/core/facts.h"
#include "parsers/core/notice.h"
#include "parsers/core/outcome.h"
#include "parsers/core/rank_times.h"
#include "parsers/core/record.h"
#include "parsers/core/stated_values.h"
#include "parsers/core/step_parts.h"
#include "parsers/core/thinned_series.h"

namespace bertbench {

enum class WorkKind { training, evaluation, inference };
[[nodiscard]] std::string_view name(WorkKind kind);

/// What the log's counter counts: `sequence` those of the job, `process_sequence` those of the
/// process that prints the line, `token` those of the job.
enum class IterationUnit {
  unknown,
  micro_step,
  optimizer_step,
  epoch,
  sequence,
  process_sequence,
  token
};

/// Unit of printed rates and of the log's own closing statement; always of the whole job.
enum class RateUnit : std::uint8_t {
  unknown,
  iterations_per_second,
  sequences_per_second,
  tokens_per_second,
  epochs_per_second  ///< of a trial whose log counts nothing finer; no log prints it
};
[[nodiscard]] std::string_view name(RateUnit unit);  ///< "sequences/s"

/// A value the log states itself, with the line that states it.
struct Stated {
  double value = kUnknown;
  RateUnit unit = RateUnit::unknown;
  std::int64_t line = 0;
};

/// Work and time over the whole run as stated or counted, for `total_time` and `reconcile`.
struct Totals {
  std::optional<double> training_s{};             ///< first to last training step, if stated
  std::optional<double> wall_s{};                 ///< whole process, start-up included
  std::optional<std::int64_t> iterations{};       ///< in RunLog::iteration_unit
  std::optional<std::int64_t> optimizer_steps{};  ///< applied updates of this run, not before it
  std::optional<std::int64_t> skipped_steps{};    ///< fp16 overflow skips
  /// Optimizer steps that the log states, by its own numbers, where they are not the records'
  /// counter: first_optimizer_step is the one before the first. A resumed run begins above 0.
  std::optional<std::int64_t> first_optimizer_step{}, last_optimizer_step{};
  std::optional<std::int64_t> sequences{};
};

/// A line about work other than training steps.
enum class MarkKind { checkpoint, evaluation };
struct Mark {
  MarkKind kind = MarkKind::checkpoint;
  std::int64_t line = 0;
};

/// An evaluation or a checkpoint that the clock of the records leaves out: before the line that
/// shows it.
struct OffClock {
  std::int64_t line = 0;
  double seconds = 0;
};

struct MemoryUse {
  std::int64_t peak_bytes = 0;      ///< a printed MB is 2^20 where the program does not state it
  std::int64_t capacity_bytes = 0;  ///< 0 = unknown
};

struct RunLog {
  std::string path;    ///< as the user named it; "-" for stdin
  std::string format;  ///< name of the format that gave the records
  WorkKind kind = WorkKind::training;
  IterationUnit iteration_unit = IterationUnit::unknown;
  RateUnit rate_unit = RateUnit::unknown;  ///< of Record::printed_rate and printed_first
  Facts facts;                             ///< from the log alone
  std::vector<Record> records;             ///< in order of steps of this run
  std::int64_t records_seen = 0;           ///< before neighbours were merged to stay in bounds
  double clock_resolution_s = kUnknown;    ///< of time_s: 1 for a bar's elapsed, 1e-6 for stamps
  std::vector<OffClock> off_clock;         ///< what time_s leaves out, in order; see leave_out()
  bool clock_is_wall = false;     ///< time_s is from time stamps: differences hold across gaps
  std::optional<Stated> summary;  ///< the log's own closing throughput
  Totals totals;
  std::optional<MemoryUse> memory;
  /// Quality of the model as the log states it last, in percent: "exact_match", "f1", "accuracy".
  std::map<std::string, double> scores;
  std::optional<std::int64_t> planned;  ///< last counter value that the run aims at
  /// First record with a NaN or infinite loss; of those before the first finite loss where none
  /// was.
  std::optional<std::int64_t> first_nan_step;
  Outcome outcome;
  /// A failure that a line names and after which others of the run went on. It is what ended the
  /// run where the exit status, which the log does not have, is that of a failure.
  std::optional<Outcome> survived;
  std::vector<Mark> marks;  ///< in order, at most 4096
  RankTimes rank_times;     ///< empty where the ranks do not print them
  PartSeries parts;         ///< of optimizer steps, where the trainer times their parts
  /// Counters within records, where a record is an epoch and its bar is redrawn meanwhile.
  ThinnedSeries<CounterMark> counters;
  StatedSeries stated;  ///< what the lines state of one GPU next to the steps
  std::vector<Notice> notices;
  std::int64_t first_line = 1;  ///< several runs in one file: where this one begins
  /// When the bytes of the log came; null where nobody watched. Shared by the runs of the log.
  std::shared_ptr<const std::vector<Arrival>> arrivals;

  [[nodiscard]] double off_clock_s() const {
    double sum = 0;
    for (const OffClock& off : off_clock) sum += off.seconds;
    return sum;
  }
  /// Of very many the last places are one: a log may hold nothing else.
  void leave_out(std::int64_t line, double seconds) {
    constexpr std::size_t kMostPlaces = 4096;
    if (!(seconds > 0)) return;
    if (off_clock.size() < kMostPlaces) return off_clock.push_back({line, seconds});
    off_clock.back().seconds += seconds;
  }
  [[nodiscard]] bool noted(NoticeCode code) const {
    return std::ranges::find(notices, code, &Notice::code) != notices.end();
  }
  /// Adds a notice, see make_notice().
  template <class... Values>
  void note(NoticeCode code, std::int64_t line, Values&&... values) {
    notices.push_back(make_notice(code, line, std::forward<Values>(values)...));
  }
};

}  // namespace bertbench
