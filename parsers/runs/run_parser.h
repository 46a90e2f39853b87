// RunParser: a format whose lines come in runs that differ in their numbers only.
#pragma once

#include "parsers/format.h"
#include "parsers/scan/line_feed.h"

namespace bertbench {

class RunParser : public LineParser {
 public:
  /// `text` follows the line that was parsed last. Parses lines at its front, the first of them is
  /// line `number`, for as long as each is that line over again but for its numbers ([0-9.-]): the
  /// caller knows then that no other format has anything to do with them. What they give is what
  /// parse() would make of each.
  virtual LinesTaken take_run(std::string_view text, std::int64_t number, RunBuilder& out) = 0;
};

}  // namespace bertbench
