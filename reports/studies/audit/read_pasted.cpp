// Tables of pasted text: see read_pasted_tables.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "parsers/core/text.h"
#include "reports/studies/audit/columns.h"
#include "reports/studies/audit/lines.h"
#include "reports/studies/audit/source_table.h"
#include "reports/studies/audit/words.h"

namespace bertbench::audit {
namespace {

constexpr std::size_t kLongestContext = 400, kLongestTitle = 100;  // bytes
constexpr std::size_t kTitles = 3;            // lines of context above a heading
constexpr std::size_t kHeadingTrials = 2000;  // lines of a file that are parted into known names
constexpr std::size_t kHeadings = 3;          // rows of names of a table
constexpr std::size_t kNameLineTrials = 4;    // of one list of names, whose first may be a title
constexpr std::size_t kDoubtfulRows = 20;     // in a row; with more it is another table
constexpr std::size_t kNoticesOfTable = 20, kNoticesOfPage = 100;

bool blank(std::string_view line) { return trim(line).empty(); }

// "-----  ------", "+----+----+", "═══": drawn under headings and around tables.
bool is_rule(std::string_view line) {
  line = trim(line);
  if (line.size() < 3) return false;
  while (!line.empty()) {
    char32_t code = 0;
    const std::size_t size = decode_utf8(line, code);
    const bool box = code >= 0x2500 && code <= 0x257F;
    const bool drawn =
        size == 1 && std::string_view("-=+|: \t").find(line[0]) != std::string_view::npos;
    if (!box && !drawn) return false;
    line.remove_prefix(size);
  }
  return true;
}

// A cell between separators, and where it stands in its line.
struct Piece {
  std::string text;
  std::size_t begin = 0, end = 0;  // bytes of the line, blanks around it left out
};

enum class Between { tabs, bars, blanks };

constexpr std::string_view kBars[] = {"|", "\xE2\x94\x82", "\xE2\x94\x83", "\xE2\x95\x91"};

// Length of the separator that `rest` begins with, 0 if it does not.
std::size_t separator(std::string_view rest, Between between) {
  switch (between) {
    case Between::tabs:
      return rest.front() == '\t' ? 1 : 0;
    case Between::bars:
      for (const std::string_view bar : kBars) {
        if (rest.starts_with(bar)) return bar.size();
      }
      return 0;
    case Between::blanks: {
      const std::size_t end = std::min(rest.find_first_not_of(" \t"), rest.size());
      return end >= 2 ? end : 0;
    }
  }
  return 0;
}

std::vector<Piece> pieces_of(std::string_view line, Between between) {
  std::vector<Piece> out;
  std::size_t from = 0;
  const auto push = [&](std::size_t end) {
    std::string_view cell = line.substr(from, end - from);
    const std::size_t front = std::min(cell.find_first_not_of(" \t"), cell.size());
    cell = trim(cell);
    out.push_back({std::string(cell), from + front, from + front + cell.size()});
  };
  for (std::size_t at = 0; at < line.size() && out.size() < kMaxColumns;) {
    const std::size_t size = separator(line.substr(at), between);
    if (size > 0) push(at);
    at += std::max<std::size_t>(size, 1);
    if (size > 0) from = at;
  }
  push(line.size());
  if (between == Between::tabs) return out;  // an empty cell is one
  // Blanks and bars around a line are its borders.
  if (out.back().text.empty()) out.pop_back();
  if (!out.empty() && out.front().text.empty()) out.erase(out.begin());
  return out;
}

std::optional<Between> separator_of(std::string_view line) {
  const std::string_view inner = trim(line);
  if (inner.find('\t') != std::string_view::npos) return Between::tabs;
  for (const std::string_view bar : kBars) {
    if (inner.find(bar) != std::string_view::npos) return Between::bars;
  }
  if (inner.find("  ") != std::string_view::npos) return Between::blanks;
  return std::nullopt;
}

bool is_known(std::string_view name, const std::vector<std::string>& names) {
  return is_role(name) || std::ranges::any_of(names, [&](const std::string& each) {
           return same_heading(each, name);
         });
}

// One table while its rows are read.
struct Block {
  std::vector<std::string> headings;
  std::vector<Piece> spans;  // of headings between separators
  std::optional<Between> between;
  std::vector<bool> numeric;

  void learn() {
    for (const std::string& heading : headings) {
      numeric.push_back(holds_numbers(read_heading(heading).role));
    }
  }
  [[nodiscard]] std::size_t number_columns() const {
    return static_cast<std::size_t>(std::count(numeric.begin(), numeric.end(), true));
  }
};

enum class Fit {
  row,
  other,     // not a row of the table
  doubtful,  // a row that no column or more than one can be found for
};

// Cells of the same number between the same separators; of columns of numbers, one at least is one.
bool fits_pieces(const Block& block, std::string_view line, std::vector<std::string>& cells) {
  if (!block.between) return false;
  std::vector<Piece> pieces = pieces_of(line, *block.between);
  const std::size_t columns = block.headings.size();
  // Empty cells at the end may be gone.
  while (pieces.size() > columns && pieces.back().text.empty()) pieces.pop_back();
  if (block.between == Between::tabs) pieces.resize(std::max(pieces.size(), columns));
  if (pieces.size() != columns) return false;
  cells.clear();
  for (Piece& piece : pieces) cells.push_back(std::move(piece.text));
  return true;
}

// Aligned columns with empty cells: each cell stands below or above exactly one heading.
bool fits_places(const Block& block, std::string_view line, std::vector<std::string>& cells) {
  if (block.between != Between::blanks) return false;
  cells.assign(block.headings.size(), {});
  std::size_t next = 0;
  const std::vector<Piece> pieces = pieces_of(line, Between::blanks);
  for (const Piece& piece : pieces) {
    // Left of all headings: the number of the row, as data frames print it.
    if (&piece == &pieces.front() && piece.end <= block.spans.front().begin) continue;
    std::optional<std::size_t> place;
    for (std::size_t n = next; n < block.spans.size(); ++n) {
      if (piece.begin < block.spans[n].end && block.spans[n].begin < piece.end) {
        if (place) return false;
        place = n;
      }
    }
    if (!place) return false;
    if (block.numeric[*place] && !fits_number_column(piece.text)) return false;
    cells[*place] = piece.text;
    next = *place + 1;
  }
  return true;
}

bool holds_number(const Block& block, const std::vector<std::string>& cells) {
  for (std::size_t n = 0; n < cells.size(); ++n) {
    if (block.numeric[n] && is_number_cell(cells[n])) return true;
  }
  return false;
}

Fit fit_row(const Block& block, std::string_view line, std::vector<std::string>& cells) {
  if (fits_pieces(block, line, cells) && holds_number(block, cells)) return Fit::row;
  if (!block.between || *block.between == Between::blanks) {
    auto split = split_row(line, block.numeric);
    if (split && split->ambiguous) return Fit::doubtful;
    if (split) {
      cells = std::move(split->cells);
      if (holds_number(block, cells)) return Fit::row;
    }
    if (fits_places(block, line, cells) && holds_number(block, cells)) return Fit::row;
  }
  // A line that begins with the name of a column may be the next heading.
  const std::string_view plain = trim(line);
  const bool heading = begins_heading(plain.substr(0, plain.find_first_of(" \t")));
  return !heading && looks_like_row(line) ? Fit::doubtful : Fit::other;
}

class PastedReader {
 public:
  PastedReader(std::string_view text, const std::vector<std::string>& names,
               const std::vector<LineSpan>& taken)
      : at_(text), names_(names), taken_(taken) {}

  Page read() {
    std::size_t span = 0;
    while (page_.tables.size() < kMaxTables && cells_ < kMaxCells && at_.next()) {
      while (span < taken_.size() && taken_[span].last < at_.number) ++span;
      if (span < taken_.size() && taken_[span].first <= at_.number) {
        titles_.clear();
        continue;
      }
      if (blank(at_.text) || is_rule(at_.text)) continue;
      if (read_table()) {
        titles_.clear();
      } else {
        add_title();
      }
    }
    return std::move(page_);
  }

 private:
  // The lines right above a table: the last of any kind, titles before it.
  void add_title() {
    std::string_view line = trim(at_.text);
    while (!line.empty() && (line.front() == '#' || line.front() == '*' || line.front() == '-' ||
                             line.starts_with("\xE2\x80\xA2"))) {
      line = trim(line.substr(line.starts_with("\xE2\x80\xA2") ? 3 : 1));
    }
    if (!titles_.empty() && titles_.back().size() > kLongestTitle) titles_.clear();
    if (titles_.size() == kTitles) titles_.erase(titles_.begin());
    titles_.emplace_back(line.substr(0, kLongestContext));
  }

  // Where `at_` is a heading: reads its rows, `at_` is then their last line.
  bool read_table() {
    return read_between(at_.text) || read_words(at_.text) || read_lines(at_.text);
  }

  // Cells between separators; two of the names are known, and none is a number.
  bool read_between(std::string_view line) {
    const auto between = separator_of(line);
    if (!between) return false;
    Block block;
    block.between = between;
    block.spans = pieces_of(line, *between);
    std::size_t known = 0;
    for (const Piece& piece : block.spans) {
      if (is_number_cell(piece.text)) return false;
      known += is_known(piece.text, names_) ? 1 : 0;
      block.headings.push_back(piece.text);
    }
    if (known < 2) return false;
    block.learn();
    return read_rows(block);
  }

  // Words between blanks, all of them known names.
  bool read_words(std::string_view line) {
    const std::string_view plain = trim(line);
    const bool may = begins_heading(plain.substr(0, plain.find_first_of(" \t"))) ||
                     std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
                       return lower(plain).starts_with(lower(name));
                     });
    if (!may || trials_ >= kHeadingTrials) return false;
    Lines ahead = at_;
    if (!next_filled(ahead) || std::ranges::none_of(ahead.text, is_digit)) return false;
    const std::string_view row = ahead.text;
    ++trials_;
    const HeadingWords heading(plain, names_);
    std::optional<Block> best;
    std::size_t least = 0;
    bool ambiguous = false;
    for (std::size_t columns = 2; columns <= kMostColumns; ++columns) {
      auto split = heading.split(columns);
      if (!split) continue;
      Block block;
      block.headings = std::move(split->names);
      block.learn();
      const auto cells = split_row(row, block.numeric);
      if (!cells || block.number_columns() < 2) continue;
      if (best && cells->numbers_in_text >= least) continue;
      least = cells->numbers_in_text;
      best = std::move(block);
      ambiguous = split->ambiguous;
    }
    if (best && ambiguous) {
      note_page(
          "the names of this heading can be parted in more than one way, so the rows below it "
          "are not read; part them by tabs");
      return false;
    }
    if (best) return read_rows(*best);
    note_unknown_name(heading, row);
    return false;
  }

  // Three known names and more of which a row fits the number: a table all the same, most likely.
  void note_unknown_name(const HeadingWords& heading, std::string_view row) {
    constexpr std::size_t kNames = 3;
    if (heading.known_before() < kNames || !looks_like_row(row)) return;
    if (heading.unknown_word().empty()) {
      note_page(
          "looks like the heading of a table, but the row below it has another number of cells");
    } else {
      note_page(
          fmt::format("looks like the heading of a table, but '{}' begins no known name, so the "
                      "rows below it are not read; name that column by --column ignore=NAME or "
                      "another role",
                      heading.unknown_word()));
    }
  }

  // One name a line, then one cell a line.
  bool read_lines(std::string_view line) {
    if (!is_known(trim(line), names_)) return false;
    if (at_.number <= names_until_ && ++name_trials_ > kNameLineTrials) return false;
    Block block;
    std::vector<std::int64_t> lines;
    Lines ahead = at_;
    bool more = true;
    do {
      block.headings.emplace_back(trim(ahead.text));
      lines.push_back(ahead.number);
      more = next_filled(ahead);
    } while (more && is_known(trim(ahead.text), names_) && block.headings.size() < kMaxColumns);
    if (lines.back() > names_until_) name_trials_ = 0;
    names_until_ = lines.back();
    constexpr std::size_t kNames = 3;  // two such lines stand in any list
    if (block.headings.size() < kNames) return false;
    block.learn();
    SourceTable table = begin(block);
    table.rows.front().cell_lines = std::move(lines);
    const std::size_t columns = block.headings.size();
    Lines end = at_;
    while (more && cells_ < kMaxCells) {
      SourceRow row;
      row.line = ahead.number;
      Lines last = ahead;
      while (more && row.cells.size() < columns && ahead.text.size() <= kLongestTitle) {
        const std::string_view cell = trim(ahead.text);
        if (block.numeric[row.cells.size()] && !fits_number_column(cell)) break;
        row.cells.emplace_back(cell);
        row.cell_lines.push_back(ahead.number);
        last = ahead;
        more = next_filled(ahead);
      }
      if (row.cells.size() < columns || !holds_number(block, row.cells)) {
        if (row.cells.size() > 1) {
          note(table, row.line,
               fmt::format("a row of {} cells begins here, but only {} fit: it is not read",
                           columns, row.cells.size()));
        }
        break;
      }
      cells_ += columns;
      table.rows.push_back(std::move(row));
      end = last;
    }
    if (table.rows.size() < 2) return false;
    at_ = end;
    page_.tables.push_back(std::move(table));
    return true;
  }

  SourceTable begin(const Block& block) {
    SourceTable table;
    table.line = at_.number;
    table.context = titles_;
    table.rows.push_back({at_.number, block.headings, {}});
    cells_ += block.headings.size();
    return table;
  }

  // Rows below the heading at `at_`. A blank line ends them, unless another row follows it.
  bool read_rows(const Block& block) {
    SourceTable table = begin(block);
    Lines ahead = at_;
    Lines end = at_;
    std::vector<std::string> cells;
    std::vector<std::int64_t> doubtful;  // since the last row
    bool gap = false, filled = false;
    while (cells_ < kMaxCells && ahead.next()) {
      if (is_rule(ahead.text)) continue;
      if (blank(ahead.text)) {
        gap = true;
        continue;
      }
      const Fit fit = fit_row(block, ahead.text, cells);
      if (fit == Fit::doubtful && !gap && doubtful.size() < kDoubtfulRows) {
        doubtful.push_back(ahead.number);
        continue;
      }
      // "(hrs)" below "total duration": another row of names.
      const bool names = !filled && !gap && table.rows.size() < kHeadings &&
                         fits_pieces(block, ahead.text, cells) &&
                         std::ranges::any_of(cells, is_role);
      if (fit != Fit::row && !names) break;
      filled = filled || fit == Fit::row;
      note_doubtful(table, doubtful);
      cells_ += cells.size();
      table.rows.push_back({ahead.number, cells, {}});
      end = ahead;
      gap = false;
    }
    if (!filled) return false;  // names over names
    note_doubtful(table, doubtful);
    at_ = end;
    page_.tables.push_back(std::move(table));
    return true;
  }

  static void note_doubtful(SourceTable& table, std::vector<std::int64_t>& lines) {
    for (const std::int64_t line : lines) {
      note(table, line, "the cells of this row cannot be assigned to the headings: it is not read");
    }
    lines.clear();
  }

  // The next line that is neither blank nor a rule.
  [[nodiscard]] static bool next_filled(Lines& lines) {
    while (lines.next()) {
      if (!blank(lines.text) && !is_rule(lines.text)) return true;
    }
    return false;
  }
  static void note(SourceTable& table, std::int64_t line, std::string text) {
    if (table.notices.size() < kNoticesOfTable)
      table.notices.push_back(make_notice(NoticeCode::table_unreadable, line, std::move(text)));
  }
  void note_page(std::string text) {
    if (page_.notices.size() < kNoticesOfPage)
      page_.notices.push_back(
          make_notice(NoticeCode::table_unreadable, at_.number, std::move(text)));
  }

  Lines at_;
  const std::vector<std::string>& names_;
  const std::vector<LineSpan>& taken_;
  std::vector<std::string> titles_;
  Page page_;
  std::size_t cells_ = 0, trials_ = 0, name_trials_ = 0;
  std::int64_t names_until_ = 0;  // last line of the newest list of names
};

}  // namespace

Page read_pasted_tables(std::string_view text, const std::vector<std::string>& names,
                        const std::vector<LineSpan>& taken) {
  return PastedReader(text, names, taken).read();
}

}  // namespace bertbench::audit
