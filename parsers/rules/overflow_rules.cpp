#include "parsers/rules/overflow_rules.h"

#include <algorithm>
#include <map>

#include "parsers/lines/cursor.h"

namespace bertbench {

void OverflowRules::see(const Line& line) {
  if (said_.size() > kOverflowsHeld) return;
  Cursor cursor(line);
  if (!cursor.skip_past(kAnchor) || !cursor.skip_past(" reducing loss scale to ")) return;
  const auto scale = cursor.number();
  if (scale) said_.push_back({line.number, *scale, line.rank});
}

std::optional<std::int64_t> OverflowRules::steps(std::int64_t begin_line, std::int64_t end_line,
                                                 std::optional<std::int64_t> world) const {
  if (said_.size() > kOverflowsHeld) return std::nullopt;
  const auto begin = std::ranges::lower_bound(said_, begin_line, {}, &Said::line);
  const auto end = std::ranges::lower_bound(said_, end_line, {}, &Said::line);
  if (begin >= end) return std::nullopt;
  const auto all = static_cast<std::int64_t>(end - begin);
  if (begin->rank >= 0)
    return std::count_if(begin, end, [&](const Said& said) { return said.rank == begin->rank; });
  // The scale falls with each step: lines of one scale are of different ranks, or of one that has
  // let it rise in between.
  std::map<double, std::int64_t> lines;
  for (auto said = begin; said != end; ++said) ++lines[said->scale];
  const auto each_by = [&](std::int64_t ranks) {
    return std::ranges::all_of(lines, [&](const auto& of) { return of.second % ranks == 0; });
  };
  if (std::ranges::all_of(lines, [](const auto& of) { return of.second == 1; })) return all;
  if (world && *world >= 1 && each_by(*world)) return all / *world;
  return std::nullopt;
}

}  // namespace bertbench
