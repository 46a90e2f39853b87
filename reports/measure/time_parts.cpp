#include "reports/measure/time_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "reports/stats/steady_state.h"
#include "reports/stats/summary.h"
#include "reports/stats/window.h"

namespace bertbench {
namespace {

constexpr std::array<std::string_view, kTimePartCount> kNames{
    "start_up", "warm_up", "steady", "evaluation", "checkpoint", "stall", "tail"};
// What an interval takes beyond its work is other work where it is more than this share of the work
// and than so many standard deviations of all intervals.
constexpr double kLeastExcess = 0.1;
constexpr double kExcessInSigmas = 5;
constexpr std::size_t kRecordsForATimeline = 20;  // fewer do not show what is usual

class Timeline {
 public:
  void add(TimePart part, double seconds) {
    if (!(seconds > 0)) return;
    parts_.seconds[static_cast<std::size_t>(part)] += seconds;
    auto& spans = parts_.spans;
    if (spans.empty() || spans.back().part != part) {
      spans.push_back({part, parts_.total_s, parts_.total_s});
    }
    parts_.total_s += seconds;
    spans.back().end_s = parts_.total_s;
  }

  TimeParts take() {
    shorten();
    return std::move(parts_);
  }

 private:
  // The shortest stretches go into their neighbours of the timeline; the sums keep them.
  void shorten() {
    auto& spans = parts_.spans;
    if (spans.size() <= kMostSpans) return;
    std::vector<double> lengths;
    for (const TimeSpan& span : spans) {
      if (span.part != TimePart::steady) lengths.push_back(span.end_s - span.begin_s);
    }
    const std::size_t keep = std::min(kMostSpans / 2 - 1, lengths.size());
    std::ranges::nth_element(lengths, lengths.begin() + std::ptrdiff_t(keep), std::greater<>());
    const double least = keep < lengths.size() ? lengths[keep] : 0;
    std::vector<TimeSpan> kept;
    for (TimeSpan span : spans) {
      if (span.part != TimePart::steady && !(span.end_s - span.begin_s > least)) {
        span.part = TimePart::steady;
      }
      if (!kept.empty() && kept.back().part == span.part) {
        kept.back().end_s = span.end_s;
      } else {
        kept.push_back(span);
      }
    }
    spans = std::move(kept);
  }

  TimeParts parts_;
};

bool has_clock(std::span<const Record> records) {
  return std::ranges::all_of(records, [](const Record& r) { return std::isfinite(r.time_s); }) &&
         std::ranges::is_sorted(records, {}, &Record::time_s);
}

}  // namespace

std::string_view name(TimePart part) { return kNames[static_cast<std::size_t>(part)]; }

std::optional<MarkKind> mark_between(std::span<const Mark> marks, std::int64_t after,
                                     std::int64_t upto) {
  std::optional<MarkKind> out;
  for (auto mark = std::ranges::upper_bound(marks, after, {}, &Mark::line);
       mark != marks.end() && mark->line <= upto; ++mark) {
    out = std::max(out, std::optional(mark->kind));
  }
  return out;
}

std::optional<TimeParts> time_parts(const RunLog& log) {
  return time_parts(log, iteration_times(log));
}

std::optional<TimeParts> time_parts(const RunLog& log, std::span<const double> iteration_times) {
  const auto& records = log.records;
  if (!log.clock_is_wall || records.size() < kRecordsForATimeline || !has_clock(records))
    return std::nullopt;
  std::vector<double> per_iteration;  // by the clock: what stands between two records is in it
  per_iteration.reserve(records.size());
  for (std::size_t i = 1; i < records.size(); ++i) {
    per_iteration.push_back((records[i].time_s - records[i - 1].time_s) /
                            double(std::max<std::int64_t>(1, records[i].iterations)));
  }
  // A clock of whole seconds shows the same second on many records: it cannot distinguish them.
  const double typical = median(per_iteration);
  if (!(typical > 0)) return std::nullopt;
  const auto steady = steady_state(iteration_times);
  const bool settles = steady && (steady->steadiness == Steadiness::warm_up ||
                                  steady->steadiness == Steadiness::flat);
  const std::size_t settled = settles ? steady->first : 0;
  const double level =
      settled > 1 ? median(std::span(per_iteration).subspan(settled - 1)) : typical;
  const double sigma = kMadToSigma * median_absolute_deviation(per_iteration, typical);
  const double clock_step = std::isfinite(log.clock_resolution_s) ? log.clock_resolution_s : 0;

  const auto iterations = [&](std::size_t i) {
    return double(std::max<std::int64_t>(1, records[i].iterations));
  };
  Timeline line;
  const double own = records[0].seconds > 0 ? records[0].seconds : level * iterations(0);
  const bool starts_on_clock = records[0].time_s > own;
  const double wall = log.totals.wall_s.value_or(0) - log.off_clock_s();
  const double on_clock = records.back().time_s - records[0].time_s;
  if (starts_on_clock) {
    line.add(TimePart::start_up, records[0].time_s - own);
  } else {
    line.add(TimePart::start_up, wall - on_clock - own);
  }
  auto off = log.off_clock.begin();
  const auto off_clock_up_to = [&](std::int64_t upto) {
    for (; off != log.off_clock.end() && off->line <= upto; ++off) {
      line.add(TimePart::evaluation, off->seconds);
    }
  };
  off_clock_up_to(records[0].line);
  line.add(settled > 0 ? TimePart::warm_up : TimePart::steady, own);
  for (std::size_t i = 1; i < records.size(); ++i) {
    off_clock_up_to(records[i].line);
    const double took = records[i].time_s - records[i - 1].time_s;
    const double work = std::min(
        took, (records[i].seconds > 0 && i < settled ? records[i].seconds : level * iterations(i)));
    const double excess = took - work;
    const double noise =
        std::max({kLeastExcess * work, kExcessInSigmas * sigma * iterations(i), 2 * clock_step});
    const auto mark = mark_between(log.marks, records[i - 1].line, records[i].line);
    const TimePart kind = !mark                           ? TimePart::stall
                          : *mark == MarkKind::evaluation ? TimePart::evaluation
                                                          : TimePart::checkpoint;
    const TimePart usual = i < settled ? TimePart::warm_up : TimePart::steady;
    if (!(excess > noise) || (usual == TimePart::warm_up && kind == TimePart::stall)) {
      line.add(usual, took);
      continue;
    }
    // The work between two lines comes before the iterations that the second line covers.
    line.add(kind, excess);
    line.add(usual, work);
  }
  off_clock_up_to(std::numeric_limits<std::int64_t>::max());
  if (starts_on_clock) line.add(TimePart::tail, wall - records.back().time_s);
  return line.take();
}

TimeRecord time_record(const TimeParts& parts) {
  TimeRecord out;
  out.total_s = parts.total_s;
  for (std::size_t i = 0; i < kTimePartCount; ++i) {
    if (parts.seconds[i] > 0) out.parts_s[std::string(kNames[i])] = parts.seconds[i];
  }
  for (const TimeSpan& span : parts.spans) {
    out.timeline.push_back({std::string(name(span.part)), span.begin_s, span.end_s});
  }
  return out;
}

}  // namespace bertbench
