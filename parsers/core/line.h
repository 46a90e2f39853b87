// Line: what formats and rules are given to parse.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bertbench {

/// One candidate line: a line (ended by \n, \r, \r\n or the end of input) that holds an anchor.
struct Line {
  std::string_view text;    ///< without terminator, ANSI sequences and launcher prefix
  std::int64_t number = 0;  ///< 1-based count of '\n' before it, plus one
  char terminator = '\n';   ///< '\n', '\r' (a redraw) or 0 (cut by the end of input)
  int rank = -1;            ///< from a launcher prefix ("[1,3]<stdout>:", "3: ", "[rank3]:")
  /// Bit i: the owner's i-th anchor (Format::anchors) stands on the line, other pieces of it
  /// included (bit 63: any from the 64th on). A bit that is not set spares a search; all are set
  /// where nobody looked.
  std::uint64_t anchors = ~std::uint64_t{0};
};

/// Whether the owner's `i`-th anchor may stand on the line: false spares the search for it.
[[nodiscard]] inline bool may_hold(const Line& line, std::size_t i) {
  return (line.anchors >> std::min<std::size_t>(i, 63) & 1u) != 0;
}

}  // namespace bertbench
