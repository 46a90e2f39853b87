// Groups cells, so that what holds for many of them is printed once.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

/// `all` in groups of equal `key_of(item)`, in the order in which each key comes first. The items
/// must outlive the groups.
template <class Item, class KeyOf>
[[nodiscard]] std::vector<std::vector<const Item*>> in_groups(const std::vector<Item>& all,
                                                              KeyOf key_of) {
  std::vector<std::vector<const Item*>> groups;
  std::map<decltype(key_of(all.front())), std::size_t> place;
  for (const Item& item : all) {
    const auto [at, added] = place.emplace(key_of(item), groups.size());
    if (added) groups.emplace_back();
    groups[at->second].push_back(&item);
  }
  return groups;
}

/// "bert-base/1n1g/32", or "18 cells (a, b, c ...)".
[[nodiscard]] inline std::string named_cells(const std::vector<std::string_view>& keys) {
  constexpr std::size_t kMostNamed = 3;
  if (keys.size() == 1) return std::string(keys.front());
  const std::size_t named = std::min(keys.size(), kMostNamed);
  return fmt::format(
      "{} cells ({}{})", keys.size(),
      fmt::join(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      keys.size() > named ? " ..." : "");
}

}  // namespace bertbench
