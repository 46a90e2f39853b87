#include "parsers/reader/live_view.h"

#include <algorithm>
#include <cmath>

#include "parsers/assemble/run_builder.h"

namespace bertbench {

LiveView view_of(const RunDraft& draft) {
  LiveView out;
  out.records = draft.count();
  out.iteration_unit = draft.log.iteration_unit;
  out.planned = draft.log.planned;
  out.ended_well = draft.ended_well;
  const auto& records = draft.records();
  if (records.empty()) return out;
  // Of a log that numbers its lines otherwise, both by the updates.
  out.last_step = records.back().step;
  const auto& done = draft.log.totals.last_optimizer_step;
  const std::int64_t ahead = done ? records.back().step - *done : 0;
  if (ahead > 0 && out.iteration_unit == IterationUnit::optimizer_step) {
    if (out.planned) *out.planned -= ahead;
    out.last_step = *done;
  }
  for (auto it = records.rbegin(); it != records.rend() && std::isnan(out.last_loss); ++it) {
    out.last_loss = it->loss;
  }
  constexpr std::size_t kRecent = 10;
  const std::size_t first = records.size() - std::min(records.size(), kRecent);
  double seconds = 0, rates = 0;
  std::int64_t iterations = 0, rated = 0;
  for (std::size_t i = first; i < records.size(); ++i) {
    seconds += records[i].seconds;
    iterations += records[i].iterations;
    if (!std::isnan(records[i].printed_rate)) {
      rates += records[i].printed_rate;
      ++rated;
    }
  }
  const double clock = records.back().time_s - records[first].time_s;
  const auto steps = static_cast<double>(records.back().step - records[first].step);
  if (seconds > 0) {
    out.iterations_per_second = static_cast<double>(iterations) / seconds;
  } else if (clock > 0) {
    out.iterations_per_second = steps / clock;
  }
  if (rated > 0 && draft.log.rate_unit != RateUnit::unknown) {
    out.recent_rate = rates / static_cast<double>(rated);
    out.unit = draft.log.rate_unit;
    if (out.unit == RateUnit::iterations_per_second && std::isnan(out.iterations_per_second)) {
      out.iterations_per_second = out.recent_rate;
    }
  } else if (!std::isnan(out.iterations_per_second)) {
    out.recent_rate = out.iterations_per_second;
    out.unit = RateUnit::iterations_per_second;
  }
  return out;
}

}  // namespace bertbench
