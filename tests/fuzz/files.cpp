// Our own files, as anybody may have altered them: result sets, sweep configs, journals, and the
// tables that `audit` reads.
#include "harness/sweep/config/config.h"
#include "harness/sweep/journal/journal.h"
#include "reports/model/result_io.h"
#include "reports/studies/audit/audit.h"
#include "reports/studies/audit/source_table.h"
#include "tests/fuzz/targets.h"

namespace bertbench::fuzz {

// What can be read can be written, and reads back as the same.
void result_set(std::string_view input) {
  const auto set = result_set_from_text(input, "fuzz.json");
  if (!set) {
    require(!set.error().message().empty(), "an error without a message");
    return;
  }
  const std::string text = to_text(*set);
  const auto again = result_set_from_text(text, "again.json");
  if (!again) broken("a written result set does not read: " + again.error().message());
  if (to_text(*again) != text) broken("a result set changes when it is read and written:\n" + text);
}

void sweep_config(std::string_view input) {
  const auto config = parse_config(std::string(input), "fuzz.json");
  if (!config) {
    require(!config.error().message().empty(), "an error without a message");
    return;
  }
  const std::string text = config_to_json(*config);
  const auto again = parse_config(text, "again.json");
  if (!again) broken("a resolved config does not read: " + again.error().message());
  if (config_to_json(*again) != text) broken("a config changes when it is read and written");
}

void tables(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  constexpr const char* kPaths[] = {"fuzz.md", "fuzz.html", "fuzz.csv", "fuzz.txt"};
  const char* path = kPaths[static_cast<unsigned char>(input.front()) % 4];
  std::size_t cells = 0;
  for (const audit::SourceTable& table : audit::read_tables(text, path)) {
    for (const audit::SourceRow& row : table.rows) {
      require(row.line >= 1, "a row without a line");
      require(row.cells.size() <= audit::kMaxColumns, "too many columns");
      require(row.cell_lines.empty() || row.cell_lines.size() == row.cells.size(),
              "a cell without a line");
      cells += row.cells.size();
    }
  }
  // Markdown, HTML, pasted rows and records each have their own bound.
  require(cells <= 4 * (audit::kMaxCells + audit::kMaxColumns), "too many cells");
  (void)audit::count(audit::audit_page(text, path, {}).tables);
}

// A line that is taken is the line that its record writes.
void journal(std::string_view input) {
  const auto record = parse_journal_line(input);
  if (!record) return;
  const auto again = parse_journal_line(journal_line(*record));
  require(again.has_value(), "a written journal line does not read");
  require(*again == *record, "a journal line changes when it is read and written");
}

}  // namespace bertbench::fuzz
