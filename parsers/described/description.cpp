#include "parsers/described/description.h"

#include <algorithm>

namespace bertbench {

bool DescribedRule::gives(Field field) const {
  const auto named = [&](const std::vector<Key>& keys) {
    return std::ranges::find(keys, field, &Key::field) != keys.end();
  };
  return named(json) || named(after) || (pattern && pattern->has_group(info(field).name));
}

}  // namespace bertbench
