#include "harness/cli/exit_status.h"

namespace bertbench {

std::span<const ExitCodeRow> exit_codes() {
  static constexpr ExitCodeRow kRows[] = {
      {ExitCode::good, "good"},
      {ExitCode::regression, "a regression or a failed cell"},
      {ExitCode::usage, "wrong usage or configuration, or an output that cannot be written"},
      {ExitCode::inconclusive, "inconclusive: too few trials to decide, or too noisy a baseline"},
      {ExitCode::not_comparable, "not comparable, or nothing was compared"},
      {ExitCode::nothing_read, "no file could be read or recognised"},
      {ExitCode::interrupted, "interrupted"},
  };
  return kRows;
}

}  // namespace bertbench
