// Tables of HTML: only the tags that make rows and cells are looked for, no document is made.
// Broken markup gives the cells that can be separated; a table inside another ends that one.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "parsers/core/text.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {
namespace {

constexpr std::size_t kMostSpan = 1000;                         // rows or columns of a cell
constexpr std::size_t kLongestText = 4096, kLongestSpan = 200;  // bytes of a cell, of a wide one

/// colspan="3", COLSPAN = '3'; 1 when absent or silly.
std::size_t span_of(const std::string& tag, std::string_view attribute) {
  const std::size_t at = tag.find(attribute);
  const std::size_t from = std::min(tag.find_first_of("0123456789", at), tag.size());
  const std::size_t digits = std::min(tag.find_first_not_of("0123456789", from), tag.size()) - from;
  const auto value = to_int(std::string_view(tag).substr(from, std::min<std::size_t>(digits, 9)));
  return static_cast<std::size_t>(std::clamp<std::int64_t>(value.value_or(1), 1, kMostSpan));
}

/// Where the tag ends that `text` begins with: its '>', which may also stand in a quoted value.
std::size_t end_of_tag(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return i;
    }
  }
  return std::string_view::npos;
}

/// A '<' alone is text: "< 5 ms".
bool begins_tag(std::string_view text) {
  const char c = text.size() > 1 ? text[1] : '\0';
  return c == '/' || c == '!' || is_letter(c);
}

class HtmlTables {
 public:
  std::vector<SourceTable> read(std::string_view rest) {
    std::int64_t line = 1;
    const auto skip = [&](std::size_t size) {
      line += std::count(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size), '\n');
      rest.remove_prefix(size);
    };
    while (!rest.empty() && tables_.size() < kMaxTables) {
      const std::size_t open = std::min(rest.find('<'), rest.size());
      add(rest.substr(0, open));
      skip(open);
      if (rest.empty()) break;
      if (!begins_tag(rest)) {
        add(rest.substr(0, 1));
        skip(1);
        continue;
      }
      const std::string begin = lower(rest.substr(0, 7));
      // What ends at a mark of its own, then any other tag.
      std::string_view end = ">";
      if (begin.starts_with("<!--")) end = "-->";
      if (begin.starts_with("<script")) end = "</script>";
      const std::size_t close = end == ">" ? end_of_tag(rest) : rest.find(end);
      const std::string_view tag = rest.substr(0, close);
      if (end == ">") handle(lower(tag.substr(0, kLongestText)), line);
      skip(close == std::string_view::npos ? rest.size() : close + end.size());
    }
    close_table();
    return std::move(tables_);
  }

 private:
  void add(std::string_view text) {
    if (text_ != nullptr) *text_ += text.substr(0, kLongestText - text_->size());
  }

  /// Blanks as one; entities as what they stand for.
  static std::string plain(std::string_view text) {
    std::string out = " ";
    for (const char c : decode_entities(text)) {
      const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
      if (!blank || out.back() != ' ') out += blank ? ' ' : c;
    }
    return std::string(trim(out));
  }

  void handle(const std::string& tag, std::int64_t line) {
    const bool closing = tag.starts_with("</");
    const std::string name =
        tag.substr(closing ? 2 : 1, tag.find_first_of(" \t\r\n/", 2) - (closing ? 2 : 1));
    const bool heading = name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6';
    if ((heading && text_ != &cell_) || name == "caption") {
      const auto level = headings_.begin() + (heading ? name[1] - '1' : 6);
      if (!closing) std::fill(level, headings_.end(), "");
      text_ = closing ? nullptr : &*level;
    } else if (name == "table") {
      close_table();
      if (!closing) table_.emplace().line = line;
    } else if (table_ && (name == "tr" || name == "td" || name == "th")) {
      close_cell();
      if (closing) return;
      if (name == "tr" || table_->rows.empty()) {
        fill_row();
        table_->rows.push_back({line, {}, {}});
      }
      if (name == "tr") return;
      columns_ = span_of(tag, "colspan");
      rows_ = span_of(tag, "rowspan");
      text_ = &cell_;
    } else if (heading || name == "br" || name == "p" || name == "div" || name == "li") {
      add(" ");
    }
  }

  void close_cell() {
    if (text_ != &cell_) return;
    text_ = nullptr;
    const std::string text = plain(cell_);
    cell_.clear();
    fill_row();
    auto& cells = table_->rows.back().cells;
    for (std::size_t n = 0; n < columns_ && cells.size() < kMaxColumns && room_ > 0; ++n, --room_) {
      if (rows_ > 1) spans_[cells.size()] = {rows_ - 1, text.substr(0, kLongestSpan)};
      cells.push_back(n == 0 ? text : text.substr(0, kLongestSpan));
    }
  }

  /// Cells that hang down from the rows above come before the next cell of this row.
  void fill_row() {
    if (table_->rows.empty()) return;
    auto& cells = table_->rows.back().cells;
    for (auto at = spans_.find(cells.size()); at != spans_.end() && room_ > 0;
         at = spans_.find(cells.size()), --room_) {
      cells.push_back(at->second.second);
      if (--at->second.first == 0) spans_.erase(at);
    }
  }

  void close_table() {
    if (!table_) return;
    close_cell();
    fill_row();
    std::erase_if(table_->rows, [](const SourceRow& row) { return row.cells.empty(); });
    for (const std::string& text : headings_) {
      if (!text.empty()) table_->context.push_back(plain(text).substr(0, 400));
    }
    if (table_->rows.size() >= 2) tables_.push_back(std::move(*table_));
    table_.reset();
    spans_.clear();
    headings_.back().clear();
    text_ = nullptr;
  }

  std::array<std::string, 7> headings_;  // the last is the caption
  std::optional<SourceTable> table_;
  std::map<std::size_t, std::pair<std::size_t, std::string>> spans_;  // by column: rows, text
  std::string cell_;
  std::string* text_ = nullptr;  // what text goes to
  std::size_t columns_ = 1, rows_ = 1;
  std::size_t room_ = kMaxCells;  // spans make many cells out of few bytes
  std::vector<SourceTable> tables_;
};

}  // namespace

std::vector<SourceTable> read_html_tables(std::string_view text) { return HtmlTables().read(text); }

}  // namespace bertbench::audit
