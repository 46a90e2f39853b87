#include "reports/stats/arrival_clock.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

struct LookMark {
  double step = 0;
  double time_s = 0;   ///< of the look's last byte
  double width_s = 0;  ///< the record may have come so much earlier
  double gap_s = 0;
  bool last_written = false;  ///< the record's line, and nothing after it
};

bool is_burst(const Arrival& arrival, std::int64_t records) {
  constexpr std::int64_t kBlock = 4096, kRecordsOfABurst = 4;
  constexpr double kLookInVain = 1.5, kSilence_s = 0.1;  // not one right after the one before
  if (records >= 2 && (arrival.to - arrival.from) % kBlock == 0) return true;
  return records >= kRecordsOfABurst &&
         arrival.quiet_s > std::max(kSilence_s, kLookInVain * arrival.gap_s);
}

struct Found {
  std::vector<LookMark> marks;
  std::int64_t records = 0, in_bursts = 0;
};

// The records [first, last) by the looks that found them. The first one is before the window where
// `has_front`; a look that found more than the last one is no mark of the window.
Found find_marks(std::span<const Record> records, std::size_t first, std::size_t last,
                 bool has_front, std::span<const Arrival> arrivals) {
  constexpr std::int64_t kTerminator = 2;  // "\r\n"
  Found out;
  std::size_t next = first;
  for (const Arrival& arrival : arrivals) {
    while (next < records.size() && records[next].end_byte <= arrival.from) ++next;
    const std::size_t begin = next;
    while (next < records.size() && records[next].end_byte <= arrival.to) ++next;
    if (next == begin) continue;
    const auto own = static_cast<std::int64_t>(std::min(next, last)) -
                     static_cast<std::int64_t>(std::max(begin, first + (has_front ? 1 : 0)));
    if (own > 0) {
      out.records += own;
      if (is_burst(arrival, own)) out.in_bursts += own;
    }
    if (next > last) break;
    const Record& newest = records[next - 1];
    LookMark mark{.step = static_cast<double>(newest.step),
                  .time_s = arrival.time_s(),
                  .width_s = arrival.width_s(),
                  .gap_s = arrival.gap_s,
                  .last_written = arrival.to - newest.end_byte <= kTerminator};
    out.marks.push_back(mark);
  }
  return out;
}

// Relative variation of the time of an iteration from mark to mark.
double variation_of_pace(std::span<const LookMark> marks) {
  constexpr std::size_t kFewestMarks = 5;
  std::vector<double> paces;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    paces.push_back((marks[i].time_s - marks[i - 1].time_s) / (marks[i].step - marks[i - 1].step));
  }
  if (paces.size() + 1 < kFewestMarks) return 1 / std::sqrt(12.0);
  const double mean_pace = mean(paces);
  return mean_pace > 0 ? standard_deviation(paces) / mean_pace : 0;
}

/// The records of a log, or finer ones: the counters that its bar showed within them.
struct Counts {
  std::vector<Record> finer;
  std::span<const Record> all;
  std::size_t first = 0, last = 0;  ///< of the window
};

Counts counts_of(const RunLog& log, const Window& window) {
  Counts out;
  if (log.counters.items().size() <= log.records.size()) {
    return {{}, log.records, window.first, window.last};
  }
  for (const CounterMark& mark : log.counters.items()) {
    if (!out.finer.empty() && mark.step == out.finer.back().step) continue;  // drawn again
    Record& record = out.finer.emplace_back();
    record.step = mark.step;
    record.end_byte = mark.end_byte;
    if (mark.step <= window.first_step) out.first = out.finer.size();
    if (mark.step <= window.last_step) out.last = out.finer.size();
  }
  out.all = out.finer;
  return out;
}

}  // namespace

std::optional<ArrivalRate> counter_over_arrivals(const RunLog& log, const Window& window) {
  if (!log.arrivals) return std::nullopt;
  const Counts counts = counts_of(log, window);
  const std::size_t begin = counts.first - std::min<std::size_t>(1, counts.first);
  const auto records = counts.all.subspan(begin, counts.last - begin);
  auto [marks, seen, in_bursts] =
      find_marks(counts.all, begin, counts.last, begin < counts.first, *log.arrivals);
  if (seen == 0) return std::nullopt;
  ArrivalRate out;
  out.burst_share = static_cast<double>(in_bursts) / static_cast<double>(seen);
  // A counter that begins anew ends what can be measured by two marks.
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].step <= records[i - 1].step) return out;
  }
  if (marks.size() < 2) return out;
  LookMark& first = marks.front();
  LookMark& last = marks.back();
  const double iterations = last.step - first.step;
  const double pace = (last.time_s - first.time_s) / iterations;
  if (!(pace > 0)) return out;
  const double of_record = pace * static_cast<double>(records.back().step - records.front().step) /
                           static_cast<double>(records.size() - 1);
  for (LookMark* mark : {&first, &last}) {
    if (!mark->last_written) {
      mark->width_s = std::max(mark->width_s, std::min(mark->gap_s, of_record));
    }
  }
  out.iterations = iterations;
  out.seconds = (last.time_s - last.width_s / 2) - (first.time_s - first.width_s / 2);
  if (!(out.seconds > 0)) {
    out.seconds = 0;
    return out;
  }
  // Where the window begins with the run no record is before it: its first one lies beyond too.
  const bool has_front = begin < counts.first;
  const std::int64_t front =
      has_front ? records.front().step
                : std::min(records.front().step, window.first_step.value_or(records.front().step));
  const double beyond = static_cast<double>(records.back().step - front) - iterations;
  const double of_marks = std::hypot(first.width_s, last.width_s) / std::sqrt(12.0);
  out.resolution = (first.width_s + last.width_s) / out.seconds;
  out.error = std::hypot(of_marks, beyond * pace * variation_of_pace(marks)) /
              (out.seconds + beyond * pace);
  return out;
}

}  // namespace bertbench
