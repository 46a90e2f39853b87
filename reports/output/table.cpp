#include "reports/output/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "parsers/core/text.h"
#include "reports/output/markup.h"

namespace bertbench {
namespace {

struct Range {
  char32_t first, last;
};
// East Asian wide and fullwidth, and emoji: Unicode 15 EastAsianWidth.txt, neighbours joined.
constexpr std::array<Range, 17> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x2329, 0x232A},
                                          {0x23E9, 0x23EC},
                                          {0x25FD, 0x25FE},
                                          {0x2614, 0x2615},
                                          {0x2648, 0x2653},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0x4DBF},
                                          {0x4E00, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
// Combining marks, joiners and variation selectors that take no room.
constexpr std::array<Range, 10> kZero = {{{0x0300, 0x036F},
                                          {0x0483, 0x0489},
                                          {0x0591, 0x05BD},
                                          {0x064B, 0x065F},
                                          {0x1AB0, 0x1AFF},
                                          {0x1DC0, 0x1DFF},
                                          {0x200B, 0x200F},
                                          {0x20D0, 0x20FF},
                                          {0xFE00, 0xFE0F},
                                          {0xFE20, 0xFE2F}}};

template <std::size_t N>
bool in(const std::array<Range, N>& table, char32_t c) {
  return std::any_of(table.begin(), table.end(),
                     [c](Range r) { return c >= r.first && c <= r.last; });
}

/// Next code point; a byte that begins no UTF-8 sequence stands for itself.
char32_t next(std::string_view text, std::size_t& at) {
  char32_t code = static_cast<unsigned char>(text[at]);
  at += std::max<std::size_t>(1, decode_utf8(text.substr(at), code));
  return code;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return right ? blanks + text : text + blanks;
}

constexpr std::string_view kGap = "  ";
constexpr std::string_view kBelow = "    ";  // before what stands below its own line

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

const std::string& cell(const Table& table, std::size_t row, std::size_t column) {
  static const std::string empty;
  return column < table.rows[row].size() ? table.rows[row][column] : empty;
}

bool is_empty(const Table& table, std::size_t column) {
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    if (!cell(table, r, column).empty()) return false;
  return true;
}

void copy_column(const Table& from, std::size_t column, Table& to) {
  to.columns.push_back(from.columns[column]);
  for (std::size_t r = 0; r < from.rows.size(); ++r) to.rows[r].push_back(cell(from, r, column));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return text.size();
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next(text, at);
    width += in(kZero, c) ? 0 : in(kWide, c) ? 2 : 1;
  }
  return width;
}

namespace {

/// Sets columns of known widths.
class TableWriter {
 public:
  TableWriter(const std::vector<TableColumn>& columns, std::vector<std::size_t> width,
              const TextTableOptions& options)
      : columns_(columns), width_(std::move(width)), options_(options) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      // Headings may be names of axes, which come from a result file.
      headings_.push_back(escape_for_terminal(columns[c].heading));
      if (options.headings) width_[c] = std::max(width_[c], display_width(headings_[c]));
    }
    std::size_t total = options.indent.size();
    for (std::size_t c = 0; c < columns.size(); ++c) total += width_[c] + (c > 0 ? kGap.size() : 0);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool own = options.most_columns > 0 && total > options.most_columns && !above_ &&
                       columns[c].heading == "cell";
      if (own) {
        above_ = c;
      } else {
        beside_.push_back(c);
      }
    }
  }

  [[nodiscard]] std::string head() const {
    if (!options_.headings) return {};
    std::string out = row([&](std::size_t c, bool pad) { return fitted(headings_[c], c, pad); });
    std::string rule(above_ ? kBelow : "");
    for (const std::size_t c : beside_) {
      rule += std::string(c == beside_.front() ? "" : kGap) + std::string(width_[c], '-');
    }
    return out + line(std::move(rule));
  }

  /// `text_of(column, pad)`: the text of a field, padded or as it is.
  [[nodiscard]] std::string row(const auto& text_of) const {
    std::string out;
    if (above_) out = line(text_of(*above_, false));
    std::string fields(above_ ? kBelow : "");
    for (const std::size_t c : beside_) {
      if (c != beside_.front()) fields += kGap;
      // The last column is not padded to the right, so that a painted line has no blank tail.
      fields += text_of(c, c != beside_.back() || columns_[c].right);
    }
    return out + line(std::move(fields));
  }

  [[nodiscard]] std::string fitted(const std::string& text, std::size_t c, bool pad) const {
    return pad ? padded(text, width_[c], columns_[c].right) : text;
  }

 private:
  [[nodiscard]] std::string line(std::string text) const {
    trim_end(text);
    return std::string(options_.indent) + text + "\n";
  }

  const std::vector<TableColumn>& columns_;
  std::vector<std::size_t> width_;
  const TextTableOptions& options_;
  std::vector<std::string> headings_;
  std::vector<std::size_t> beside_;  // columns side by side
  std::optional<std::size_t> above_;
};

}  // namespace

std::vector<TableColumn> columns_of(std::initializer_list<std::string> headings) {
  std::vector<TableColumn> out;
  for (const std::string& heading : headings) {
    const bool numbers = heading.starts_with('>');
    out.push_back({heading.substr(numbers ? 1 : 0), numbers});
  }
  return out;
}

std::string text_table(const Table& table, const TextTableOptions& options) {
  const std::size_t count = table.columns.size();
  std::vector<std::size_t> width(count, 0);
  std::vector<std::vector<std::string>> safe(table.rows.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t c = 0; c < count; ++c) {
      safe[r].push_back(escape_for_terminal(cell(table, r, c)));
      width[c] = std::max(width[c], display_width(safe[r][c]));
    }
  }
  const TableWriter writer(table.columns, std::move(width), options);
  std::string out = writer.head();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out += writer.row([&](std::size_t c, bool pad) {
      const std::string text = writer.fitted(safe[r][c], c, pad);
      return options.paint ? options.paint(r, c, text) : text;
    });
  }
  return out;
}

LongTable::LongTable(std::vector<TableColumn> columns)
    : columns_(std::move(columns)), found_(columns_.size()) {}

void LongTable::add(const std::vector<std::string>& row) {
  if (rows_++ == 0) first_ = row;
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = found_[c];
    column.same = column.same && row[c] == first_[c];
    column.empty = column.empty && row[c].empty();
    const std::string safe = escape_for_terminal(row[c]);
    column.width = std::max(column.width, display_width(safe));
    text += safe;
    text += '\0';
  }
  text_.add(text);
  bytes_ += text.size();
}

void LongTable::print(const std::vector<std::string>& keep, const TextTableOptions& options,
                      const std::function<void(std::string_view)>& out) const {
  std::vector<TableColumn> shown;
  std::vector<std::size_t> width, source;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool kept = std::ranges::find(keep, columns_[c].heading) != keep.end();
    if (!kept && (found_[c].empty || (found_[c].same && rows_ > 1))) continue;
    shown.push_back(columns_[c]);
    width.push_back(found_[c].width);
    source.push_back(c);
  }
  const TableWriter writer(shown, std::move(width), options);
  out(writer.head());
  constexpr std::size_t kAtOnce = 1 << 16;
  std::string waiting, block;
  std::uint64_t at = 0;
  std::vector<std::string> fields;
  while (at < bytes_ && text_.read(at, std::min<std::uint64_t>(kAtOnce, bytes_ - at), block)) {
    at += block.size();
    waiting += block;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = waiting.find('\0', begin)) != std::string::npos;) {
      fields.push_back(waiting.substr(begin, end - begin));
      begin = end + 1;
      if (fields.size() < columns_.size()) continue;
      out(writer.row(
          [&](std::size_t c, bool pad) { return writer.fitted(fields[source[c]], c, pad); }));
      fields.clear();
    }
    waiting.erase(0, begin);
  }
}

std::string markdown_text(std::string_view text) {
  // Backslash escapes do not work for '|' inside code spans and differ between renderers: character
  // references are the same everywhere.
  constexpr std::string_view kReferenced = "|`\\*[]!~#@";
  std::string out;
  for (const char c : escape_for_terminal(text)) {
    if (const std::string_view reference = markup_reference(c); !reference.empty()) {
      out += reference;
    } else if (kReferenced.find(c) != kReferenced.npos) {
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      out += c;
    }
  }
  // "_" and ":" matter only at word edges and in links: names such as bert_b32 stay readable.
  for (std::size_t at = 0; (at = out.find("://", at)) != std::string::npos;)
    out.replace(at, 1, "&#58;");
  return out;
}

std::string markdown_picture(std::string_view title, std::string_view file) {
  // Blanks and brackets of a file name would end the reference early.
  std::string target;
  for (const char c : file) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    target += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return "\n![" + markdown_text(title) + "](" + target + ")\n";
}

std::string markdown_table(const Table& table) {
  const std::size_t count = table.columns.size();
  std::vector<std::size_t> width(count, 3);
  std::vector<std::vector<std::string>> lines(table.rows.size() + 1);
  for (std::size_t c = 0; c < count; ++c) {
    lines[0].push_back(markdown_text(table.columns[c].heading));
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      lines[r + 1].push_back(markdown_text(cell(table, r, c)));
    for (const auto& line : lines) width[c] = std::max(width[c], display_width(line[c]));
  }
  std::string out;
  for (std::size_t r = 0; r < lines.size(); ++r) {
    for (std::size_t c = 0; c < count; ++c)
      out += "| " + padded(lines[r][c], width[c], table.columns[c].right) + " ";
    out += "|\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < count; ++c) {
      const bool right = table.columns[c].right;
      out += "| " + std::string(width[c] - (right ? 1 : 0), '-') + (right ? ": " : " ");
    }
    out += "|\n";
  }
  return out;
}

Table varying_columns(const Table& table, const std::vector<std::string>& keep,
                      std::vector<Constant>& constants, bool single_row) {
  Table out;
  out.rows.resize(table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& heading = table.columns[c].heading;
    const bool kept = std::find(keep.begin(), keep.end(), heading) != keep.end();
    if (is_empty(table, c) && !kept) continue;
    bool same = true;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      same = same && cell(table, r, c) == cell(table, 0, c);
    }
    const bool enough_rows = table.rows.size() > 1 || single_row;
    if (same && !kept && enough_rows) {
      constants.push_back({heading, cell(table, 0, c)});
      continue;
    }
    copy_column(table, c, out);
  }
  return out;
}

Table filled_columns(const Table& table) {
  Table out;
  out.rows.resize(table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!is_empty(table, c)) copy_column(table, c, out);
  }
  return out;
}

}  // namespace bertbench
