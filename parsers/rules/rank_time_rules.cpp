#include "parsers/rules/rank_time_rules.h"

#include <algorithm>

#include "parsers/core/rank_stretches.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

void RankTimeRules::see(const Line& line) {
  constexpr std::size_t kMostOfAName = 256;  // of a node, bytes
  // A step that takes longer or less is a damaged number; 0 is one that a clock could not measure.
  constexpr double kLongest_s = 1e6, kShortest_s = 1e-9;
  Cursor cursor(line);
  std::int64_t rank = 0, first = 0, last = 0;
  double seconds = 0;
  std::string_view node;
  if (!cursor.read(Past{kAnchor}, rank)) return;
  if (cursor.literal(" node=")) node = cursor.until(" \t").value_or("").substr(0, kMostOfAName);
  if (!cursor.read(" steps=", first, ":", last, " own_s=", seconds)) return;
  if (last < first || !(seconds == 0 || (seconds >= kShortest_s && seconds <= kLongest_s))) return;
  if (full_) return;
  if (runs_.empty()) runs_.emplace_back();
  const auto row = runs_.back().times.rows().find(rank);
  bool known = row != runs_.back().times.rows().end();
  if (known && row->second.last_step == last) return;  // a doubled line
  if (known && first <= row->second.last_step) {
    // What follows a run that finds no place must not be taken for the one before it.
    full_ = runs_.size() >= kMostRuns || rows_ >= RankTimes::kMostRanks;
    if (full_) return;
    runs_.emplace_back();
    known = false;
  }
  if (!known && rows_ >= RankTimes::kMostRanks) return;
  Run& run = runs_.back();
  const std::size_t before = run.times.rows().size();
  run.times.add(rank, node, first, last, seconds);
  rows_ += run.times.rows().size() - before;
  run.place(last, line.number);
}

void RankTimeRules::Run::place(std::int64_t last_step, std::int64_t line) {
  const std::int64_t now = times.last_step(0) - times.first_step(0) + 1;
  if (lines.empty()) width = now;
  for (; width < now; width *= 2) {  // neighbours were joined
    for (std::size_t i = 0; 2 * i < lines.size(); ++i) lines[i] = lines[2 * i];
    lines.resize((lines.size() + 1) / 2);
  }
  if (last_step < times.first_step(0)) return;
  const auto column = static_cast<std::size_t>((last_step - times.first_step(0)) / width);
  if (column >= lines.size()) lines.resize(column + 1, line);
}

RankTimes RankTimeRules::of(std::int64_t begin_line, std::int64_t end_line) const {
  const Run* best = nullptr;
  std::size_t first = 0, last = 0;  // columns of it
  for (const Run& run : runs_) {
    const auto at = [&](std::int64_t line) {
      return static_cast<std::size_t>(std::ranges::lower_bound(run.lines, line) -
                                      run.lines.begin());
    };
    const std::size_t begin = at(begin_line), end = at(end_line);
    if (begin == end || end - begin < last - first) continue;
    best = &run;
    first = begin;
    last = end;
  }
  if (best == nullptr) return {};
  if (last - first == best->lines.size()) return best->times;
  RankTimes out;
  add_stretches(out, best->times, first, last);
  return out;
}

}  // namespace bertbench
