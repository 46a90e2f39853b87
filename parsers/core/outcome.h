// Outcome: how a trial ended, read from the content of its log and, in a sweep, its exit status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/notice.h"

namespace bertbench {

enum class Status {
  completed,
  nan,            ///< the loss became NaN or infinite
  out_of_memory,  ///< apart from a crash: the batch did not fit
  error,          ///< traceback, non-zero exit, NCCL error ...
  killed,         ///< a signal, scancel
  timeout,        ///< the time limit of the harness or of the scheduler
  stalled,        ///< no output for the no-output limit
  truncated,      ///< the log ends in the middle, no line gives the reason
  no_data,        ///< a recognised log without any record
};

/// Others ended it, a limit or a scheduler: by itself it would have gone on.
[[nodiscard]] constexpr bool is_cut_off(Status status) {
  return status == Status::killed || status == Status::timeout || status == Status::stalled;
}
[[nodiscard]] std::string_view name(Status status);
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);
/// true for every status but `completed`: the trial did not do what was asked.
[[nodiscard]] constexpr bool is_failure(Status status) { return status != Status::completed; }
/// Something ended the trial badly. A log that ends early (`truncated`) or holds nothing
/// (`no_data`) does not show that: it may be a copy of a part, or of a format without an end.
[[nodiscard]] constexpr bool ended_badly(Status status) {
  return is_failure(status) && status != Status::truncated && status != Status::no_data;
}

struct Outcome {
  Status status = Status::no_data;
  std::optional<std::int64_t> step;  ///< the log's step number at which it happened
  std::int64_t line = 0;             ///< 1-based line that shows it, 0 = not from a line
  std::vector<Notice> details;       ///< the message, signal or limit, then what went with it
  bool operator==(const Outcome&) const = default;
};

/// The details as one line for people. It may quote the log: escape it when printing.
[[nodiscard]] std::string detail_text(const Outcome& outcome);
/// A detail that is a line of the log, as the log prints it.
[[nodiscard]] Notice log_line(std::string text);
/// The first such line; empty if there is none.
[[nodiscard]] std::string_view quoted_line(const Outcome& outcome);

}  // namespace bertbench
