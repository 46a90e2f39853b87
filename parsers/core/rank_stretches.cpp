#include "parsers/core/rank_stretches.h"

namespace bertbench {

void add_stretches(RankTimes& to, const RankTimes& from, std::size_t begin, std::size_t end) {
  for (std::size_t c = begin; c < end; ++c) {
    for (const auto& [rank, row] : from.rows()) {
      if (c >= row.columns.size() || !(row.columns[c].steps > 0)) continue;
      const auto known = to.rows().find(rank);
      if (known != to.rows().end() && from.first_step(c) <= known->second.last_step) continue;
      to.add(rank, row.node, from.first_step(c), from.last_step(c), row.columns[c].value());
    }
  }
}

}  // namespace bertbench
