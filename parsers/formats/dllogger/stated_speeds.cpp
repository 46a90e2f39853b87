#include "parsers/formats/dllogger/stated_speeds.h"

#include <fmt/format.h>

#include <cmath>

#include "parsers/core/notice.h"

namespace bertbench {

Notice stated_items(double per_second, std::int64_t line) {
  return make_notice(NoticeCode::items_per_second, line, per_second);
}

void state_best_epoch(double rate, std::int64_t line, RunLog& log) {
  if (!(rate > 0) || !std::isfinite(rate)) return;
  log.summary = Stated{rate, RateUnit::sequences_per_second, line};
  log.notices.push_back(make_notice(NoticeCode::closing_rate_of_best_epoch, line, rate));
}

}  // namespace bertbench
