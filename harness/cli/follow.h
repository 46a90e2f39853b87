// follow: shows logs while they are written, until they end or the user interrupts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/console.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {

struct FollowOptions {
  ReadOptions read;
  Facts given;                ///< of the command line
  double stall_after_s = 60;  ///< quiet for so long, and longer than usual: stalled
};

struct Followed {
  std::vector<Result<std::vector<RunLog>>> logs;  ///< in the order of the paths
  bool interrupted = false;                       ///< by SIGINT, SIGTERM or SIGHUP
};

/// A log without new output.
struct Quiet {
  double seconds = 0;           ///< since its last byte
  double longest_before_s = 0;  ///< between bytes that came while it was followed
  bool deleted = false;         ///< no file is at its path
};
/// Quiet for `after_s` and for twice as long as it ever was, as checkpoints may take minutes. A log
/// that was deleted is over, not stalled.
[[nodiscard]] bool is_stalled(const Quiet& quiet, double after_s);

/// Reads what is there and what comes. On a terminal one line a log is redrawn in place; elsewhere
/// a line is written when something happens (NaN, out of memory, stalled, rotated ...) and every
/// ten seconds while records come. Ends when every log was deleted or closed, when the reader of
/// stdout is gone, or on a signal; then a log's quiet end is its outcome (`stalled` where it had
/// stalled).
[[nodiscard]] Result<Followed> follow(const std::vector<std::string>& paths,
                                      const FollowOptions& options, Console& console);

/// One line of status: "step 120/400, 31.2 sequences/s, window 20 of 100, 9 min 01 s left".
[[nodiscard]] std::string live_text(const LiveView& view, const FollowOptions& options);

}  // namespace bertbench
