#include "harness/sweep/execute/placement_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/sweep/plan/placement.h"

namespace bertbench {

void PlacementLabels::add(std::size_t cell, const std::string& nodes) {
  const auto& planned = sweep_.plan.cells[cell];
  for (auto& warning : placement_warnings(sweep_.plan, planned, parse_nodes(nodes))) {
    auto& known = warnings_[cell];
    const auto has = [&](const std::vector<Notice>& some) {
      return std::ranges::find(some, warning) != some.end();
    };
    if (has(known) || has(planned.warnings)) continue;
    sweep_.observer.notice(fmt::format("{}: {}", planned.key, text_of(warning)));
    known.push_back(std::move(warning));
  }
}

const std::vector<Notice>& PlacementLabels::of(std::size_t cell) const {
  static const std::vector<Notice> kNone;
  const auto it = warnings_.find(cell);
  return it == warnings_.end() ? kNone : it->second;
}

bool PlacementLabels::emulated(std::size_t cell) const {
  return std::ranges::find(of(cell), NoticeCode::nodes_emulated, &Notice::code) != of(cell).end();
}

}  // namespace bertbench
