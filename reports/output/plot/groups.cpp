#include "reports/output/plot/groups.h"

#include <map>
#include <utility>

#include "reports/output/cell_table.h"

namespace bertbench::plot {

std::vector<CellGroup> groups_of(const ResultSet& set, const WantedCell& wanted,
                                 const std::function<void(Identity&)>& strip,
                                 const std::function<bool(CellGroup&)>& keep) {
  std::map<std::string, std::size_t> index;
  std::vector<CellGroup> all;
  for (const Cell& cell : set.cells) {
    const auto shared = wanted(cell);
    if (!shared) continue;
    Identity rest = cell.identity;
    strip(rest);
    std::string key = cell.result + "|" + *shared + "|" + rest.framework.value_or("") + "|" +
                      rest.key() + "|" + std::string(name(cell.kind));
    const auto [found, added] = index.emplace(std::move(key), all.size());
    if (added) all.emplace_back();
    all[found->second].cells.push_back(&cell);
  }
  std::erase_if(all, [&](CellGroup& group) { return !keep(group); });
  // Named as cells are, by what varies among them: the short names of the groups' first cells.
  ResultSet first;
  for (const CellGroup& group : all) {
    Cell& cell = first.cells.emplace_back();
    cell.key = group.cells.front()->key;
    cell.result = group.cells.front()->result;
    cell.kind = group.cells.front()->kind;
    cell.identity = group.cells.front()->identity;
    strip(cell.identity);
  }
  const std::vector<std::string> names = short_names(first);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = all.size() == 1 ? first.cells[i].identity.model.value_or(names[i]) : names[i];
  }
  return all;
}

}  // namespace bertbench::plot
