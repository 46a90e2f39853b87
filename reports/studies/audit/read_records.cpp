// Blocks of "NAME: NUMBER" lines as rows: see read_record_tables.
#include <algorithm>
#include <optional>

#include "parsers/core/text.h"
#include "parsers/lines/notebook_settings.h"
#include "reports/studies/audit/columns.h"
#include "reports/studies/audit/lines.h"
#include "reports/studies/audit/printed.h"
#include "reports/studies/audit/source_table.h"

namespace bertbench::audit {
namespace {

struct Entry {
  std::string name, value;
  Role role = Role::none;
  std::int64_t line = 0;
};

// "# samples per second:\t88.9".
std::optional<Entry> entry_of(std::string_view line, std::int64_t number) {
  const auto colon = line.find_first_of(":=");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view name = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
  const Role role = read_heading(name).role;
  if (!holds_numbers(role) || parse_numbers(value, NumberStyle{}).size() != 1) return std::nullopt;
  return Entry{std::string(name), std::string(value), role, number};
}

// One block, with the settings of the run that printed it.
struct Record {
  std::vector<Entry> entries;
  std::optional<NotebookRun> run;
};

// The same names again and again.
struct Records {
  std::vector<Role> roles;
  std::vector<Record> rows;
};

// '0,1' for a setting that counts devices: a list of them, as CUDA_VISIBLE_DEVICES has it.
std::string setting_text(const std::string& name, const PythonValue& value) {
  const Role role = read_heading(name).role;
  if (!value.quoted || (role != Role::gpus && role != Role::gpus_per_node)) return value.text;
  std::size_t devices = 0;
  for (const std::string_view each : split(value.text, ',')) {
    if (!to_int(trim(each))) return value.text;
    ++devices;
  }
  return std::to_string(devices);
}

SourceTable table_of(const Records& records) {
  SourceTable table;
  std::vector<std::string> names;  // of settings, in the order in which they come
  const auto column_of = [&](const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    const auto place = static_cast<std::size_t>(at - names.begin());
    if (at == names.end() && names.size() < kMaxColumns / 2) names.push_back(name);
    return place < names.size() ? std::optional(place) : std::nullopt;
  };
  std::vector<std::vector<std::string>> settings;
  for (const Record& record : records.rows) {
    auto& cells = settings.emplace_back();
    const auto put = [&](const std::string& name, std::string text) {
      const auto place = column_of(name);
      if (!place) return;
      if (cells.size() <= *place) cells.resize(*place + 1);
      cells[*place] = std::move(text);
    };
    if (!record.run) continue;
    put("run of", record.run->name);
    for (const auto& [name, value] : record.run->settings) put(name, setting_text(name, value));
    for (const auto& [name, value] : record.run->environment) put("env." + name, value);
  }
  SourceRow heading{records.rows.front().entries.front().line, names, {}};
  for (const Entry& entry : records.rows.front().entries) heading.cells.push_back(entry.name);
  table.line = heading.line;
  table.rows.push_back(std::move(heading));
  for (std::size_t n = 0; n < records.rows.size(); ++n) {
    const auto& entries = records.rows[n].entries;
    SourceRow row{entries.front().line, std::move(settings[n]), {}};
    row.cells.resize(names.size());
    row.cell_lines.assign(names.size(), records.rows[n].run ? records.rows[n].run->line : row.line);
    for (const Entry& entry : entries) {
      row.cells.push_back(entry.value);
      row.cell_lines.push_back(entry.line);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

class RecordReader {
 public:
  std::vector<SourceTable> read(std::string_view text) {
    // Settings cost reading every line as code; most texts have none.
    const bool notebook = text.find(NotebookSettings::kMark) != std::string_view::npos;
    Lines at(text);
    while (at.next() && cells_ < kMaxCells) {
      auto entry = entry_of(at.text, at.number);
      const bool again = entry && std::any_of(open_.begin(), open_.end(), [&](const Entry& each) {
                           return each.role == entry->role;
                         });
      if (!entry || again) close();
      if (entry) {
        open_.push_back(std::move(*entry));
      } else if (notebook) {
        settings_.see(at.text, at.number);
      }
    }
    close();
    std::vector<SourceTable> tables;
    for (const Records& records : all_) {
      const bool settled = std::any_of(records.rows.begin(), records.rows.end(),
                                       [](const Record& record) { return record.run.has_value(); });
      // One block alone is a statement, not a table.
      if (records.rows.size() >= 2 || settled) tables.push_back(table_of(records));
    }
    return tables;
  }

 private:
  void close() {
    std::vector<Entry> entries = std::exchange(open_, {});
    const bool measured = std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
      return !is_count(entry.role) && entry.role != Role::train_time;
    });
    if (entries.size() < 2 || !measured) return;
    std::vector<Role> roles;
    for (const Entry& entry : entries) roles.push_back(entry.role);
    auto records = std::find_if(all_.begin(), all_.end(),
                                [&](const Records& each) { return each.roles == roles; });
    constexpr std::size_t kLayouts = 100;  // of one file; more are no table's
    if (records == all_.end()) {
      if (all_.size() == kLayouts) return;
      records = all_.insert(all_.end(), Records{std::move(roles), {}});
    }
    cells_ += entries.size();
    Record record{std::move(entries), settings_.take_run()};
    if (record.run) cells_ += record.run->settings.size() + record.run->environment.size() + 1;
    records->rows.push_back(std::move(record));
  }

  NotebookSettings settings_;
  std::vector<Entry> open_;
  std::vector<Records> all_;
  std::size_t cells_ = 0;
};

}  // namespace

std::vector<SourceTable> read_record_tables(std::string_view text) {
  return RecordReader().read(text);
}

}  // namespace bertbench::audit
