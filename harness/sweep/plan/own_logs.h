// OwnLogs: logs that a trainer writes into files itself, in addition to what it prints. The first
// of them (rank 0's) is read as it grows, and kept as trainer.log next to log.txt. Where it holds a
// training it is the log of the trial; log.txt still shows why a trainer failed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/outcome.h"
#include "parsers/core/run_log.h"

namespace bertbench {

/// Name of what a trainer printed, in the folder of its attempt.
inline constexpr const char* kPrintedLog = "log.txt";
/// Name of the copy of a trainer's own log in the folder of its attempt.
inline constexpr const char* kTrainerLog = "trainer.log";

struct OwnLogs {
  std::string folder;  ///< of the attempt, absolute; nothing outside of it is looked at
  /// Below the folder; '*' stands for any characters but '/'. The first that exists counts.
  std::vector<std::string> patterns;

  [[nodiscard]] bool empty() const { return patterns.empty(); }
  /// Files that are there, in the order of the patterns, then of their names. No link is followed.
  [[nodiscard]] std::vector<std::string> find() const;
  /// The first of find(), or "".
  [[nodiscard]] std::string first() const;

 private:
  /// Stops at the first where `all` is false.
  [[nodiscard]] std::vector<std::string> look(bool all) const;
};

/// The runs of an attempt, from its two logs.
struct TrialRuns {
  std::vector<RunLog> runs;
  bool own = false;                        ///< they are of the trainer's own log
  std::optional<Outcome> printed_failure;  ///< that log.txt names, where `own`
};
TrialRuns choose_runs(std::vector<RunLog> own, std::vector<RunLog> printed);

/// Where `patterns` name a log and none was `found`: a notice, as of a path with a typing error.
void add_missing_log(const std::vector<std::string>& patterns, bool found,
                     std::vector<Notice>& notices);

}  // namespace bertbench
