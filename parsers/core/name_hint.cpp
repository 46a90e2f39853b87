#include "parsers/core/name_hint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/core/text.h"

namespace bertbench {

std::string name_hint(std::string_view name, const std::vector<std::string>& known,
                      std::string_view lead, std::string_view tail) {
  const std::string near = nearest_name(name, known);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  return fmt::format("{}{}{}", lead, fmt::join(known, ", "), tail);
}

}  // namespace bertbench
