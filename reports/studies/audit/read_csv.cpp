#include <algorithm>

#include "parsers/core/text.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {
namespace {

struct Record {
  std::int64_t line = 1;
  std::vector<std::string> cells;
  std::string raw;  // for comment lines
  [[nodiscard]] bool blank() const {
    return std::all_of(cells.begin(), cells.end(), [](const auto& c) { return trim(c).empty(); });
  }
};

// One pass over the bytes; a quote that is never closed ends with the file.
class Reader {
 public:
  Reader(std::string_view text, char separator) : text_(text), separator_(separator) {}

  bool next(Record& record) {
    if (at_ >= text_.size()) return false;
    record = Record{};
    record.line = line_;
    const std::size_t start = at_;
    std::string cell;
    bool quoted = false, was_quoted = false;
    const auto push = [&] {
      if (record.cells.size() < kMaxColumns) {
        record.cells.emplace_back(was_quoted ? std::string_view(cell) : trim(cell));
      }
      cell.clear();
      was_quoted = false;
    };
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (quoted) {
        if (c != '"') {
          cell += c;
        } else if (text_.substr(at_ + 1).starts_with('"')) {
          cell += '"';
          ++at_;
        } else {
          quoted = false;
        }
      } else if (c == '"' && trim(cell).empty()) {
        cell.clear();
        quoted = was_quoted = true;
      } else if (c == separator_) {
        push();
      } else if (c == '\n') {
        ++at_;
        break;
      } else if (c != '\r') {
        cell += c;
      }
    }
    push();
    record.raw = std::string(trim(text_.substr(start, at_ - start)));
    return true;
  }

 private:
  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

// The separator that gives the most lines the same number (> 1) of cells as their neighbour.
char find_separator(std::string_view text) {
  char best = ',';
  std::size_t best_score = 0;
  for (const char candidate : {',', '\t', ';'}) {
    Reader reader(text.substr(0, 65536), candidate);
    Record record;
    std::size_t score = 0, last = 0;
    for (int n = 0; n < 200 && reader.next(record); ++n) {
      if (record.raw.starts_with('#')) continue;
      const std::size_t cells = record.cells.size();
      if (cells > 1) score += 1 + (cells == last ? cells : 0);
      last = cells;
    }
    if (score > best_score) {
      best = candidate;
      best_score = score;
    }
  }
  return best;
}

}  // namespace

std::vector<SourceTable> read_csv_tables(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<SourceTable> tables;
  Reader reader(text, find_separator(text));
  SourceTable table;
  std::vector<std::string> context;
  std::size_t cells = 0;
  bool comments_open = false;
  const auto close = [&] {
    if (table.rows.size() >= 2 && table.rows.front().cells.size() >= 2) {
      table.context = context;
      table.line = table.rows.front().line;
      tables.push_back(std::move(table));
    }
    table = {};
  };
  Record record;
  Record ahead;
  bool more = reader.next(record);
  while (more && tables.size() < kMaxTables && cells < kMaxCells) {
    const bool has_ahead = reader.next(ahead);
    // "# nodes,# GPUs" heads a table, "# batch 64, FP32" does not: a heading has as many cells as
    // the line below it.
    const bool hash = record.raw.starts_with('#');
    const bool heads = hash && record.cells.size() > 1 && has_ahead &&
                       !ahead.raw.starts_with('#') && ahead.cells.size() == record.cells.size();
    if (hash && !heads) {
      close();
      if (!comments_open) context.clear();
      comments_open = true;
      const auto first = record.raw.find_first_not_of("# \t");
      if (first != std::string::npos) context.push_back(record.raw.substr(first, 400));
    } else if (record.blank()) {
      close();
    } else {
      comments_open = false;
      cells += record.cells.size();
      table.rows.push_back({record.line, std::move(record.cells), {}});
    }
    more = has_ahead;
    record = std::move(ahead);
  }
  close();
  return tables;
}

}  // namespace bertbench::audit
