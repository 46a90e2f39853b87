// CSV text, RFC 4180, safe to open in a spreadsheet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace bertbench {

/// One field. Text that a spreadsheet would run as a formula (it begins with = + - @, a tab, a
/// carriage return or a full-width form of those, blanks before it not counted) gets a leading
/// apostrophe unless all of it is a number ("-5"); control characters and bytes that are not UTF-8
/// become \xNN, so a record is one line. A field with a comma, a quote or a blank at an end is
/// quoted. Undo: drop one apostrophe.
[[nodiscard]] std::string csv_text(std::string_view text);

/// Rows of flat JSON objects as CSV: the columns `first` in that order, then every other key of
/// any row in order of appearance. Numbers are written as in JSON (shortest form that reads back
/// as the same double), true and false as words, null and missing as empty. Lines end in CRLF.
[[nodiscard]] std::string csv_document(const std::vector<std::string>& first,
                                       const std::vector<nlohmann::ordered_json>& rows);

/// csv_document of rows that come one by one: the keys of all of them are added first.
class CsvTable {
 public:
  explicit CsvTable(std::vector<std::string> first);
  void add_keys(const nlohmann::ordered_json& row);
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string line(const nlohmann::ordered_json& row) const;

 private:
  std::vector<std::string> columns_;
  std::unordered_set<std::string> known_;
};

/// Nested keys joined by '_', dots in them too: {"speedup": {"base": ..}} -> speedup_base. Lists
/// of scalars are joined by ';', lists of objects left out.
[[nodiscard]] nlohmann::ordered_json csv_flat(const nlohmann::ordered_json& object);

/// The columns that identify the cell of a row; every CSV report begins with them.
[[nodiscard]] const std::vector<std::string>& csv_cell_facts();

/// Those and `others`, which are separated by commas as in a header.
[[nodiscard]] std::vector<std::string> csv_columns(std::string_view others);

/// A cell of the JSON without its trials, and of its identity only the further axes.
[[nodiscard]] nlohmann::ordered_json csv_identity(const nlohmann::ordered_json& cell);

}  // namespace bertbench
