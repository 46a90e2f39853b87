#include "harness/sweep/execute/attempt_queue.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "parsers/core/record.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

// The estimate is asked for at every redraw and at every start of thousands of trials.
constexpr std::chrono::milliseconds kSumIsFresh{500};

}  // namespace

void AttemptQueue::add(WantedAttempt wanted) {
  waiting_.push_back(std::move(wanted));
  ++trials_;
}

void AttemptQueue::add_running(WantedAttempt& wanted) {
  ++trials_;
  number(wanted);
}

void AttemptQueue::drop(std::size_t cell, std::optional<int> trial) {
  std::erase_if(waiting_, [&](const WantedAttempt& one) {
    if (one.trial.cell != cell || (trial && one.trial.trial != *trial)) return false;
    if (one.position == 0) ++taken_;  // an attempt made again was counted at the first
    return true;
  });
}

void AttemptQueue::number(WantedAttempt& wanted) {
  if (wanted.position == 0) wanted.position = ++taken_;
}

WantedAttempt AttemptQueue::take() {
  auto wanted = std::move(waiting_.front());
  waiting_.pop_front();
  number(wanted);
  return wanted;
}

std::vector<WantedAttempt> AttemptQueue::take_group(
    const std::function<std::string(const WantedAttempt&)>& group_of) {
  const auto first = group_of(waiting_.front());
  const auto rest =
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [&](const WantedAttempt& one) { return group_of(one) == first; });
  std::vector<WantedAttempt> group(std::make_move_iterator(waiting_.begin()),
                                   std::make_move_iterator(rest));
  waiting_.erase(waiting_.begin(), rest);
  for (auto& one : group) number(one);
  return group;
}

double AttemptQueue::seconds_of_waiting() {
  if (durations_.empty() && !waiting_.empty()) return kUnknown;
  const auto now = std::chrono::steady_clock::now();
  if (now - summed_at_ < kSumIsFresh) return sum_s_;
  std::map<std::size_t, double> means;
  double sum = 0, count = 0;
  for (const auto& [cell, seconds] : durations_) {
    means[cell] = mean(seconds);
    sum += means[cell] * static_cast<double>(seconds.size());
    count += static_cast<double>(seconds.size());
  }
  const double typical = sum / count;
  double total = 0;
  for (const auto& one : waiting_) {
    const auto it = means.find(one.trial.cell);
    total += it != means.end() ? it->second : typical;
  }
  summed_at_ = now;
  return sum_s_ = total;
}

double AttemptQueue::eta(std::size_t cell, double remaining_s) {
  const auto own = durations_.find(cell);
  if (std::isnan(remaining_s) && own != durations_.end()) remaining_s = mean(own->second);
  return seconds_of_waiting() + remaining_s;
}

}  // namespace bertbench
