// RunParser: a format whose lines come in runs that differ in their numbers only.
#pragma once

#include "parsers/formats/format.h"
#include "parsers/scan/line_feed.h"

namespace bertbench {

class RunParser : public LineParser {
 public:
  /// What follows the line that was parsed last. Parses lines at its front for as long as each is
  /// that line over again but for its numbers ([0-9.-]): the caller knows then that no other format
  /// has anything to do with them. What they give is what parse() would make of each.
  virtual LinesTaken take_run(const RunOffer& offer, RunBuilder& out) = 0;
  /// Reads lines like those of the last run; null if there was none.
  [[nodiscard]] virtual std::shared_ptr<const RunReader> run_reader() const = 0;
};

}  // namespace bertbench
