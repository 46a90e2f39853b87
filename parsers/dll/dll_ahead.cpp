#include "parsers/dll/dll_ahead.h"

#include <algorithm>
#include <utility>

namespace bertbench {

DllAhead::DllAhead(std::string_view text, DllReader reader)
    : text_(text.data()), kind_(reader.kind()) {
  constexpr std::size_t kShortestLine = 64;
  lines_.reserve(text.size() / kShortestLine / 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    Read line;
    const std::size_t size = rest.starts_with(kDllFront)
                                 ? reader.read_alike(rest.substr(kDllFront.size()), line.values)
                                 : 0;
    if (size == 0) {
      at = std::min(rest.find('\n'), rest.size() - 1) + at + 1;
      continue;
    }
    line.begin = static_cast<std::uint32_t>(at);
    line.size = static_cast<std::uint32_t>(kDllFront.size() + size);
    lines_.push_back(line);
    at += line.size + 1;
  }
}

std::span<const DllAhead::Read> DllAhead::from(const char* line) const {
  const auto begin = static_cast<std::size_t>(line - text_);
  const auto found = std::ranges::lower_bound(lines_, begin, {}, &Read::begin);
  return {found, lines_.end()};
}

}  // namespace bertbench
