// Exit statuses of bertbench: a contract with scripts, in one place.
#pragma once

#include <span>
#include <string_view>

namespace bertbench {

enum class ExitCode : int {
  good = 0,
  regression = 1,  ///< a regression, a failed cell, an impossible table cell
  usage = 2,       ///< wrong usage or configuration, or an output that cannot be written
  inconclusive = 3,
  not_comparable = 4,  ///< not comparable, or nothing compared
  nothing_read = 5,    ///< no file could be read or recognised
  interrupted = 130,
};

struct ExitCodeRow {
  ExitCode status;
  std::string_view meaning = {};  ///< for --help and the docs
};

/// All statuses in ascending order; help texts are derived from this list.
[[nodiscard]] std::span<const ExitCodeRow> exit_codes();

[[nodiscard]] constexpr int to_int(ExitCode status) { return static_cast<int>(status); }

}  // namespace bertbench
