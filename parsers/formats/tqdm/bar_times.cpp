#include "parsers/formats/tqdm/bar_times.h"

#include <cmath>

namespace bertbench {
namespace {

constexpr double kNew = 0.3;  ///< tqdm's default `smoothing`: the weight of the newest value
constexpr double kOld = 1 - kNew;
/// Less than tqdm's default `mininterval` of 0.1 s by what steps differ: no update draws so soon.
constexpr double kShortest_s = 0.09;

}  // namespace

BarSeconds BarTimes::at(std::int64_t done, double ahead_s) const {
  BarSeconds out;
  out[two_means] = static_cast<float>(two_means_s_ + ahead_s);
  out[mean_of_times] = static_cast<float>(mean_of_times_s_ + ahead_s);
  out[newest_interval] = static_cast<float>(newest_interval_s_ + ahead_s);
  out[overall_mean] = static_cast<float>(static_cast<double>(done) / rate_);
  return out;
}

void BarTimes::begin(std::int64_t done) {
  *this = BarTimes{};
  begun_ = true;
  done_ = done;
}

BarSeconds BarTimes::see(std::int64_t done, double rate, double elapsed_s) {
  const bool known = rate > 0 && std::isfinite(rate);
  if (!begun_) {
    if (!known) {
      if (elapsed_s == 0) begin(done);  // tqdm(initial=500)
      return kNoBarSeconds;
    }
    begin(done);
    headless_ = true;
    rate_ = rate;
    two_means_s_ = mean_of_times_s_ = newest_interval_s_ = elapsed_s;
    interval_ = 1 / rate;
    return at(done, 0);
  }
  if (!known || done < done_) return kNoBarSeconds;
  const auto more = static_cast<double>(done - done_);
  const bool too_soon = more / rate < kShortest_s;
  if (done == done_ || (rate == rate_ && too_soon)) {
    return std::isnan(rate_) ? kNoBarSeconds : at(done, more / rate_);
  }
  if (headless_) {  // a log without its head: all updates until then as the next
    iterations_ = more;
    seconds_ = more / rate_;
    headless_ = false;
  }
  iterations_ = kNew * more + kOld * iterations_;
  const double seconds = iterations_ / rate;
  two_means_s_ += (seconds - kOld * seconds_) / kNew;
  seconds_ = seconds;
  const double interval = 1 / rate;
  mean_of_times_s_ +=
      more * (std::isnan(interval_) ? interval : (interval - kOld * interval_) / kNew);
  interval_ = interval;
  newest_interval_s_ += more * interval;
  done_ = done;
  rate_ = rate;
  return at(done, 0);
}

}  // namespace bertbench
