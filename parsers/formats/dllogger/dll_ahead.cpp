#include "parsers/formats/dllogger/dll_ahead.h"

#include <algorithm>
#include <utility>

namespace bertbench {

void DllAhead::read(std::string_view text, DllReader reader) {
  constexpr std::size_t kAtOnce = 256;
  text_ = text.data();
  kind_ = reader.kind();
  count_ = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (lines_.size() < count_ + kAtOnce) lines_.resize(count_ + 4 * kAtOnce);
    const auto read = std::span(lines_).subspan(count_);
    const std::size_t more = reader.read_lines(rest, read);
    for (DllLine& line : read.first(more)) line.begin += static_cast<std::uint32_t>(at);
    count_ += more;
    at = more > 0 ? lines_[count_ - 1].begin + lines_[count_ - 1].size + 1
                  : at + std::min(rest.find('\n'), rest.size() - 1) + 1;
  }
}

std::unique_ptr<LinesAhead> DllRunReader::read_ahead(std::string_view text,
                                                     std::unique_ptr<LinesAhead> spent) const {
  if (dynamic_cast<DllAhead*>(spent.get()) == nullptr) spent = std::make_unique<DllAhead>();
  dynamic_cast<DllAhead&>(*spent).read(text, reader_);
  return spent;
}

std::span<const DllLine> DllAhead::from(const char* line) const {
  const auto begin = static_cast<std::size_t>(line - text_);
  const auto lines = std::span(lines_).first(count_);
  const auto found = std::ranges::lower_bound(lines, begin, {}, &DllLine::begin);
  return {found, lines.end()};
}

}  // namespace bertbench
