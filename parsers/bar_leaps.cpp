#include "parsers/bar_leaps.h"

#include <algorithm>
#include <string>

#include "parsers/run_builder.h"

namespace bertbench {

void BarLeaps::see(bool fresh, const TqdmBar& bar, RunDraft* draft, std::int64_t line,
                   First& first) {
  constexpr std::int64_t kFew = 10;
  constexpr std::size_t kMostLeaps = 64;  // hostile input
  if (fresh) {
    if (bar.done >= kFew) first = {bar.done, bar.elapsed_s};
    return;
  }
  if (first.done == 0 || bar.done <= first.done) return;
  const auto before = static_cast<double>(first.done);
  const auto steps = static_cast<double>(bar.done - first.done);
  const double seconds = bar.elapsed_s - first.elapsed_s;
  // Not a log whose lines between were left out.
  const bool wide = before >= 20 * steps && first.elapsed_s <= 5;
  const bool fast = seconds >= 1 && before / std::max(first.elapsed_s, 1.0) > 5 * steps / seconds;
  if ((wide || fast) && draft != nullptr && leaps_.size() < kMostLeaps) {
    leaps_.push_back({draft, first.done, line});
  }
  if (wide || seconds >= 1) first = {};
}

void BarLeaps::conclude() {
  for (const Leap& leap : leaps_) {
    RunLog& log = leap.draft->log;
    log.rate_unit = RateUnit::unknown;
    log.summary.reset();
    const Record* last = leap.draft->last();
    if (last != nullptr && last->step > leap.to) log.totals.iterations = last->step - leap.to;
    log.notices.push_back(
        {leap.line, "the bar leaps from 0 to " + std::to_string(leap.to) +
                        " as that of a resumed run does: rates that the bar and the trainer print "
                        "hold the leap and were not taken"});
  }
}

}  // namespace bertbench
