#include "parsers/rules/rank_time_rules.h"

#include <algorithm>

#include "parsers/lines/cursor.h"

namespace bertbench {

void RankTimeRules::see(const Line& line) {
  constexpr std::size_t kMostOfAName = 256;  // of a node, bytes
  constexpr double kLongest_s = 1e6;         // a step that takes longer is a damaged number
  Cursor cursor(line);
  std::int64_t rank = 0, first = 0, last = 0;
  double seconds = 0;
  std::string_view node;
  if (!cursor.skip_past(kAnchor) || !cursor.read(rank)) return;
  if (cursor.literal(" node=")) node = cursor.until(" \t").value_or("").substr(0, kMostOfAName);
  if (!cursor.read(" steps=", first, ":", last, " own_s=", seconds)) return;
  if (last < first || !(seconds >= 0) || seconds > kLongest_s) return;
  if (!runs_.empty()) {
    const auto& rows = runs_.back().times.rows();
    const auto row = rows.find(rank);
    if (row != rows.end() && row->second.last_step == last) return;  // a doubled line
    if (row != rows.end() && first <= row->second.last_step) runs_.push_back({line.number, {}});
  } else {
    runs_.push_back({line.number, {}});
  }
  if (runs_.size() > kMostRuns || rows_ > RankTimes::kMostRanks) {
    if (runs_.back().times.empty()) runs_.pop_back();
    return;
  }
  const std::size_t before = runs_.back().times.rows().size();
  runs_.back().times.add(rank, node, first, last, seconds);
  rows_ += runs_.back().times.rows().size() - before;
}

RankTimes RankTimeRules::of(std::int64_t begin_line, std::int64_t end_line) const {
  const auto end = std::ranges::lower_bound(runs_, end_line, {}, &Run::line);
  if (end == runs_.begin() || (end - 1)->line < begin_line) return {};
  return (end - 1)->times;
}

}  // namespace bertbench
