#include "parsers/formats/dllogger/stated_speeds.h"

#include <fmt/format.h>

#include <cmath>

#include "parsers/core/notice.h"

namespace bertbench {

Notice stated_items(double per_second, std::int64_t line) {
  return {line, fmt::format("as the log counts them: {:.10g} items/s in the last epoch; items are "
                            "frames (Tacotron 2) or audio samples (WaveGlow), no sequences",
                            per_second)};
}

void state_best_epoch(double rate, std::int64_t line, RunLog& log) {
  if (!(rate > 0) || !std::isfinite(rate)) return;
  log.summary = Stated{rate, RateUnit::sequences_per_second, line};
  log.notices.push_back(
      {line, fmt::format("{}, {:.10g} sequences/s, is the rate of its best epoch, not the run's",
                         kClosingStatement, rate)});
}

}  // namespace bertbench
