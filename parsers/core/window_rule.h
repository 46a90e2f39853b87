// WindowRule: which part of a run is measured (--window).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/core/error.h"

namespace bertbench {

/// `A:B`        drop the first A records, use those up to the B-th
/// `steps:A:B`  records with A < step <= B by the log's own step number, using the nearest printed
///              counters inside
/// `last:N`     the last N records
/// `auto`       MSER-5; under 20 records `all`, with a notice
/// `all`        every record
struct WindowRule {
  enum class Kind { automatic, all, records, steps, last };
  Kind kind = Kind::automatic;
  std::int64_t begin = 0;  ///< A, or N for last
  std::int64_t end = 0;    ///< B
  bool chosen_by_user = false;

  [[nodiscard]] std::string str() const;
};

/// A >= 0, B > A, N >= 1; anything else is an Error that lists the forms.
[[nodiscard]] Result<WindowRule> parse_window(std::string_view text);

}  // namespace bertbench
