#include "parsers/dll/dll_ahead.h"

#include <algorithm>
#include <utility>

namespace bertbench {

DllAhead::DllAhead(std::string_view text, DllReader reader)
    : text_(text.data()), kind_(reader.kind()) {
  constexpr std::size_t kAtOnce = 256;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (lines_.size() < count + kAtOnce) lines_.resize(count + 4 * kAtOnce);
    const auto read = std::span(lines_).subspan(count);
    const std::size_t more = reader.read_lines(rest, read);
    for (DllLine& line : read.first(more)) line.begin += static_cast<std::uint32_t>(at);
    count += more;
    at = more > 0 ? lines_[count - 1].begin + lines_[count - 1].size + 1
                  : at + std::min(rest.find('\n'), rest.size() - 1) + 1;
  }
  lines_.resize(count);
}

std::span<const DllLine> DllAhead::from(const char* line) const {
  const auto begin = static_cast<std::size_t>(line - text_);
  const auto found = std::ranges::lower_bound(lines_, begin, {}, &DllLine::begin);
  return {found, lines_.end()};
}

}  // namespace bertbench
