// Goodput: where the wall time of one training went over all its jobs, as jobs end, lose their
// newest steps and go on from a checkpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/run_log.h"
#include "reports/measure/restarts.h"
#include "reports/output/plot/figure.h"
#include "reports/output/table.h"

namespace bertbench {

enum class GoodputPart { counted, lost, start_up, checkpoint, evaluation, stall, closing, between };
inline constexpr std::size_t kGoodputParts = 8;
[[nodiscard]] std::string_view name(GoodputPart part);     ///< of JSON: "start_up"
[[nodiscard]] std::string_view meaning(GoodputPart part);  ///< for people, a clause

using GoodputSeconds = std::array<double, kGoodputParts>;  ///< by GoodputPart

/// Wall-clock times of one run, seconds since 1970 by the calendar of the log's own stamps; absent
/// where its lines have none.
struct WallTimes {
  std::optional<double> begin, end;  ///< of its first and last line with a stamp
  std::optional<double> first_step;  ///< of the line of its first record
};

/// One run of one log.
struct JobLog {
  RunLog log;
  WallTimes wall;
  /// The stamp on the line of each record, as the lines have them, where the run's own clock leaves
  /// evaluations out (RunLog::off_clock); NaN where there is none. Empty: the clock is whole.
  std::vector<double> stamps{};
};

/// A stretch of one part, seconds since the training's beginning.
struct GoodputSpan {
  GoodputPart part = GoodputPart::counted;
  double begin_s = 0, end_s = 0;
};

struct GoodputJob {
  std::string path;
  std::int64_t line = 1;           ///< of the log, where the run begins
  std::optional<double> began;     ///< seconds since 1970
  double begin_s = 0, end_s = 0;   ///< since the training's beginning
  std::optional<StepRange> steps;  ///< optimizer steps, first < n <= last
  std::int64_t counted_steps = 0, lost_steps = 0;
  GoodputSeconds seconds{};        ///< `between` is the time before the job
  std::vector<GoodputSpan> spans;  ///< in order, at most kMostJobSpans
  Outcome outcome;
};
inline constexpr std::size_t kMostJobSpans = 256;

struct Goodput {
  std::vector<GoodputJob> jobs;  ///< in order of time
  GoodputSeconds seconds{};
  double total_s = 0;
  std::int64_t counted_steps = 0, lost_steps = 0;
  std::int64_t missing_steps = 0;  ///< between the jobs, in no log: their time counts as `between`
  /// False: a job has no stamps, so that the time before it is unknown and counts as none.
  bool between_known = true;
  std::vector<std::string> left_out;  ///< paths of logs of the same time as another's: other ranks
  std::vector<Notice> notices;

  [[nodiscard]] double share() const;  ///< of the wall time in steps that counted, 0 to 1
};

/// Runs of one training in any order; only those of training count. Errors, without a place: no log
/// has a step; no log has the time of a step.
///
/// A step is lost when a later job begins below it: it was done again. The time of a record is what
/// the log's clock shows between two lines. What it has beyond the median time of a step is a
/// checkpoint or an evaluation where a line between them is about one (RunLog::marks); else a stall
/// when it is 3 times what the steps take, and 1 s or more beyond it. Start-up is what lies before
/// the first record's own time, closing what follows the last one.
[[nodiscard]] Result<Goodput> goodput(std::vector<JobLog> jobs);

/// Reads the jobs of a training from its logs.
/// The runs of a log with the times of their lines. A stamp is a date with a time of day
/// ("2026-11-21T04:27:42.811Z") at the front of a line, after labels or in a bracket, or in the
/// member `time` of an object; time zones not looked at. Left out are stamps that go backwards and
/// those that have no neighbour within a day. Errors: as read_log; no regular file, as the path is
/// opened twice.
[[nodiscard]] Result<std::vector<JobLog>> read_jobs(const std::string& path);

// Goodput as tables, JSON and a picture.

/// A row a part that took time, with its share.
[[nodiscard]] Table goodput_table(const Goodput& goodput);
/// A row a job.
[[nodiscard]] Table goodput_jobs_table(const Goodput& goodput);
/// A row a job, at most kMostJobsShown of them, with its stretches over time.
[[nodiscard]] plot::Figure goodput_figure(const Goodput& goodput);
inline constexpr std::size_t kMostJobsShown = 60;
/// "bertbench.goodput/1".
[[nodiscard]] nlohmann::ordered_json goodput_json(const Goodput& goodput);
[[nodiscard]] std::string goodput_html(const Goodput& goodput, const std::string& title);

}  // namespace bertbench
