// Line: what formats and rules are given to parse.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bertbench {

/// A place where a literal stands that an owner (a format, a set of rules) has in its table.
struct LiteralAt {
  std::uint32_t owner = 0;  ///< as the reader numbers them
  std::uint32_t row = 0;    ///< of the owner's table
  const char* begin = nullptr;
  auto operator<=>(const LiteralAt&) const = default;
};

/// One candidate line: a line (ended by \n, \r, \r\n or the end of input) that holds a literal.
struct Line {
  std::string_view text;    ///< without terminator, ANSI sequences and launcher prefix
  std::int64_t number = 0;  ///< 1-based count of '\n' before it, plus one
  char terminator = '\n';   ///< '\n', '\r' (a redraw) or 0 (cut by the end of input)
  /// Offset in the log after the text, its terminator not included: with that byte the line was
  /// there. -1 = unknown.
  std::int64_t end_byte = -1;
  int rank = -1;             ///< by a launcher's label ("[rank3]:"); ranks may mix their lines
  std::string_view whole{};  ///< with what was taken off the front: Piece::whole
  /// The places of one owner's literals, in order of rows. Those before `text`, where that is the
  /// end of a longer line, do not count.
  std::span<const LiteralAt> literals{};
  std::size_t at = 0;   ///< for the handler of a row: where its literal stands
  std::size_t end = 0;  ///< and where what follows the literal begins
};

/// The literals of a table, in order of its rows.
template <class Row, std::size_t N>
constexpr auto literals_of(const Row (&rows)[N], std::string_view Row::*literal) {
  std::array<std::string_view, N> out;
  std::ranges::transform(rows, out.begin(), literal);
  return out;
}

/// Calls `visit(row, at)` for each of the owner's rows whose literal stands in the text, in order
/// of rows, with the first place, until one returns true. Returns whether one did.
template <class Visit>
bool any_row(const Line& line, Visit&& visit) {
  const char* const begin = line.text.data();
  for (std::size_t i = 0; i < line.literals.size(); ++i) {
    const LiteralAt& found = line.literals[i];
    if (found.begin < begin) continue;
    if (visit(found.row, static_cast<std::size_t>(found.begin - begin))) return true;
    while (i + 1 < line.literals.size() && line.literals[i + 1].row == found.row) ++i;
  }
  return false;
}

}  // namespace bertbench
