// Cells of a result set by what they have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench::plot {

struct CellGroup {
  std::string
      name;  ///< what distinguishes it from the other groups; the model where it is the only one
  std::vector<const Cell*> cells;  ///< in the order of the set
};

/// Groups of the cells that `wanted` takes, in order of appearance: equal framework, kind, result,
/// text of `wanted` and identity once `strip` has taken away the facts that differ within a group.
/// `keep` decides which groups stay; names are made of those.
using WantedCell = std::function<std::optional<std::string>(const Cell&)>;
[[nodiscard]] std::vector<CellGroup> groups_of(const ResultSet& set, const WantedCell& wanted,
                                               const std::function<void(Identity&)>& strip,
                                               const std::function<bool(CellGroup&)>& keep);

}  // namespace bertbench::plot
