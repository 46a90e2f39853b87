// A small tolerant tokenizer for <table>: no document tree, no recursion, bounded memory. Broken
// markup yields the cells that can be told apart and never fails.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "parsers/core/text.h"
#include "reports/studies/audit/lower_case.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {
namespace {

constexpr std::size_t kMaxDepth = 16, kMaxSpan = 1000, kMaxText = 4096, kSpanText = 200;

std::string squeeze(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  return std::string(trim(out));
}

struct Tag {
  std::string name;
  bool closing = false;
  std::string_view attributes;
};

// colspan="3", colspan=3, COLSPAN = '3'; 1 when absent or silly.
std::size_t span_of(const Tag& tag, std::string_view attribute) {
  const std::string text = lower_case(tag.attributes.substr(0, 4096));
  const auto at = text.find(attribute);
  if (at == std::string::npos) return 1;
  std::size_t p = at + attribute.size();
  while (p < text.size() &&
         (text[p] == ' ' || text[p] == '=' || text[p] == '"' || text[p] == '\'')) {
    ++p;
  }
  std::size_t value = 0;
  for (; p < text.size() && text[p] >= '0' && text[p] <= '9' && value < kMaxSpan; ++p) {
    value = value * 10 + static_cast<std::size_t>(text[p] - '0');
  }
  return std::clamp<std::size_t>(value, 1, kMaxSpan);
}

// Places cells in a grid: a span fills its columns, and rows below are filled when they come.
class TableBuilder {
 public:
  /// `budget`: cells that may still be made in this file; spans make many out of few bytes.
  TableBuilder(std::int64_t line, std::size_t& budget) : budget_(&budget) { table_.line = line; }

  void open_row(std::int64_t line) {
    close_row();
    table_.rows.push_back({line, {}, {}});
    in_row_ = true;
    row_all_th_ = true;
  }

  void open_cell(const Tag& tag, std::int64_t line) {
    if (!in_row_) open_row(line);
    close_cell();
    in_cell_ = true;
    if (tag.name == "td") row_all_th_ = false;
    columns_ = span_of(tag, "colspan");
    span_rows_ = span_of(tag, "rowspan");
  }

  void close_cell() {
    if (!in_cell_) return;
    in_cell_ = false;
    place_spans();
    const std::string text = squeeze(decode_entities(text_));
    text_.clear();
    auto& cells = table_.rows.back().cells;
    for (std::size_t n = 0; n < columns_ && cells.size() < kMaxColumns && *budget_ > 0; ++n) {
      if (span_rows_ > 1) spans_[cells.size()] = {span_rows_ - 1, text.substr(0, kSpanText)};
      cells.push_back(n == 0 ? text : text.substr(0, kSpanText));
      --*budget_;
    }
  }

  void close_row() {
    close_cell();
    if (!in_row_) return;
    place_spans();
    in_row_ = false;
    if (row_all_th_ && heading_rows_ + 1 == table_.rows.size()) ++heading_rows_;
    if (table_.rows.back().cells.empty()) table_.rows.pop_back();
  }

  void text(std::string_view text) {
    std::string& to = in_caption_ ? caption_ : text_;
    if ((in_cell_ || in_caption_) && to.size() < kMaxText) to += text.substr(0, kMaxText);
  }
  void caption(bool open) { in_caption_ = open; }

  SourceTable finish(const std::vector<std::string>& context) {
    close_row();
    table_.context = context;
    if (!caption_.empty()) table_.context.push_back(squeeze(decode_entities(caption_)));
    table_.heading_rows = std::max<std::size_t>(1, heading_rows_);
    return std::move(table_);
  }

 private:
  struct Span {
    std::size_t rows;
    std::string text;
  };

  // Cells that hang down from the rows above come before the next cell of this row.
  void place_spans() {
    auto& cells = table_.rows.back().cells;
    for (auto at = spans_.find(cells.size()); at != spans_.end() && *budget_ > 0;
         at = spans_.find(cells.size())) {
      cells.push_back(at->second.text);
      --*budget_;
      if (--at->second.rows == 0) spans_.erase(at);
    }
  }

  SourceTable table_;
  std::map<std::size_t, Span> spans_;  // by column
  std::string text_, caption_;
  std::size_t columns_ = 1, span_rows_ = 1, heading_rows_ = 0;
  std::size_t* budget_;
  bool in_row_ = false, in_cell_ = false, in_caption_ = false, row_all_th_ = true;
};

class HtmlReader {
 public:
  explicit HtmlReader(std::string_view text) : text_(text) {}

  std::vector<SourceTable> read() {
    while (at_ < text_.size() && tables_.size() < kMaxTables) {
      const auto open = text_.find('<', at_);
      add_text(text_.substr(at_, open == std::string_view::npos ? open : open - at_));
      if (open == std::string_view::npos) break;
      at_ = open;
      if (!read_tag()) {
        add_text("<");
        ++at_;
      }
    }
    while (!stack_.empty()) close_table();
    std::sort(tables_.begin(), tables_.end(),
              [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(tables_);
  }

 private:
  void add_text(std::string_view text) {
    line_ += std::count(text.begin(), text.end(), '\n');
    if (heading_level_ > 0 && headings_[heading_level_].size() < 400) {
      headings_[heading_level_] += text;
    }
    if (!stack_.empty()) stack_.back().text(text);
  }

  // At '<'. False when this is not a tag.
  bool read_tag() {
    if (text_.substr(at_, 4) == "<!--") return skip_past("-->");
    std::size_t p = at_ + 1;
    Tag tag;
    if (p < text_.size() && text_[p] == '/') {
      tag.closing = true;
      ++p;
    }
    if (p < text_.size() && (text_[p] == '!' || text_[p] == '?')) return skip_past(">");
    const std::size_t name = p;
    while (p < text_.size() && p - name < 16 &&
           std::isalnum(static_cast<unsigned char>(text_[p]))) {
      ++p;
    }
    if (p == name) return false;
    tag.name = lower_case(text_.substr(name, p - name));
    const std::size_t attributes = p;
    for (char quote = 0; p < text_.size(); ++p) {  // '>' may stand in a quoted value
      const char c = text_[p];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        break;
      }
    }
    tag.attributes = text_.substr(attributes, p - attributes);
    const std::size_t end = std::min(p + 1, text_.size());
    const std::int64_t here = line_;
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                        text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    at_ = end;
    if (!tag.closing && (tag.name == "script" || tag.name == "style")) {
      skip_past("</" + tag.name);
      return true;
    }
    handle(tag, here);
    return true;
  }

  bool skip_past(std::string_view mark) {
    const auto end = text_.find(mark, at_);
    const std::size_t to = end == std::string_view::npos ? text_.size() : end + mark.size();
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                        text_.begin() + static_cast<std::ptrdiff_t>(to), '\n');
    at_ = to;
    return true;
  }

  void handle(const Tag& tag, std::int64_t line) {
    const std::string& name = tag.name;
    if (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6') {
      heading_level_ = tag.closing ? 0 : name[1] - '0';
      if (!tag.closing) {
        std::fill(headings_.begin() + heading_level_, headings_.end(), std::string());
      }
      return;
    }
    if (name == "table") {
      if (!tag.closing) {
        if (stack_.size() < kMaxDepth) stack_.emplace_back(line, budget_);
      } else if (!stack_.empty()) {
        close_table();
      }
      return;
    }
    if (stack_.empty()) return;
    TableBuilder& table = stack_.back();
    if (name == "tr") {
      tag.closing ? table.close_row() : table.open_row(line);
    } else if (name == "td" || name == "th") {
      tag.closing ? table.close_cell() : table.open_cell(tag, line);
    } else if (name == "caption") {
      table.caption(!tag.closing);
    } else if (name == "br" || name == "p" || name == "div" || name == "li") {
      table.text(" ");
    }
  }

  void close_table() {
    std::vector<std::string> context;
    for (const std::string& heading : headings_) {
      if (!heading.empty()) context.push_back(squeeze(decode_entities(heading)).substr(0, 400));
    }
    SourceTable table = stack_.back().finish(context);
    stack_.pop_back();
    if (table.rows.size() >= 2) tables_.push_back(std::move(table));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::size_t heading_level_ = 0, budget_ = kMaxCells;
  std::array<std::string, 8> headings_;
  std::vector<TableBuilder> stack_;
  std::vector<SourceTable> tables_;
};

}  // namespace

std::vector<SourceTable> read_html_tables(std::string_view text) { return HtmlReader(text).read(); }

}  // namespace bertbench::audit
