#include "workloads/bert/train/rank_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

namespace bert {

RankTimes::RankTimes(std::string who, std::int64_t first, std::int64_t last, bool redrawn,
                     std::ostream* out)
    : who_(std::move(who)),
      first_(first),
      last_(last),
      stretch_(std::max<std::int64_t>(1, (last - first + kMostLines) / kMostLines)),
      redrawn_(redrawn),
      out_(out) {}

double RankTimes::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void RankTimes::begin() {
  begin_s_ = now();
  waited_s_ = 0;
}

void RankTimes::step_done(std::int64_t step) {
  const std::int64_t steps = step - first_ + 1;
  if (out_ == nullptr || (steps < stretch_ && step != last_)) return;
  const double own_s = (now() - begin_s_ - waited_s_) / static_cast<double>(steps);
  // One write a line: the ranks share a log.
  *out_ << fmt::format("{}rank_time {} steps={}:{} own_s={:.6g}\n", redrawn_ ? "\n" : "", who_,
                       first_, step, std::max(0.0, own_s))
        << std::flush;
  first_ = step + 1;
  begin();
}

}  // namespace bert
