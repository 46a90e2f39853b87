// --iterations: every record of every log as CSV, for plots and for other statistics.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "parsers/core/run_log.h"
#include "reports/cells/spool.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// Columns log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread; a value that the
/// log does not give is empty. The number of a trial is known only when all logs are grouped, so
/// rows wait in a temporary file until then; memory does not grow with the logs.
class IterationsCsv {
 public:
  /// `given`: facts of the command line, which may turn iterations into sequences.
  explicit IterationsCsv(Facts given);

  [[nodiscard]] Result<void> add(const RunLog& log);
  /// The runs, by the order in which they were added, became one trial of the first one's path.
  void join(const std::vector<std::size_t>& runs);
  /// All rows with the trial numbers of `set`, to a stream.
  [[nodiscard]] Result<void> write(const ResultSet& set, std::ostream& out);

 private:
  struct Run {
    std::string path;
    WorkKind kind;
    std::size_t bytes;
    std::optional<std::size_t> part_of;  ///< the run whose trial it is, if not its own
  };
  Facts given_;
  FileHandle rows_;
  std::vector<Run> runs_;
};

}  // namespace bertbench
