#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "parsers/core/text.h"
#include "reports/studies/audit/grid.h"
#include "reports/studies/audit/source_table.h"
#include "reports/studies/convergence/study.h"

namespace bertbench {
namespace {

constexpr std::size_t kBytesRead = std::size_t{256} << 20U;   // bytes of a file: scores come last
constexpr std::size_t kLargestPage = std::size_t{64} << 20U;  // bytes; a larger text is a log

Result<std::string> read_text(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return fail(path, std::string("cannot be read: ") + std::strerror(errno));
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, in.tellg()));
  in.seekg(static_cast<std::streamoff>(size > kBytesRead ? size - kBytesRead : 0));
  std::string text(std::min(size, kBytesRead), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// The names that published tables and people use for a column.
std::string column_of(std::string_view heading) {
  std::string name(trim(heading));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == ' ' ? '_' : c;
  });
  static const std::array<std::pair<std::string_view, std::string_view>, 8> kAliases = {
      {{"stepping", "step"},
       {"last_seq_len", "sequence_length"},
       {"seq_len", "sequence_length"},
       {"total_duration_(hrs)", "hours"},
       {"hrs", "hours"},
       {"em", "exact_match"},
       {"fine-tuning_epochs", "epochs"},
       {"f1_score", "f1"}}};
  for (const auto& [alias, known] : kAliases) {
    if (name == alias) return std::string(known);
  }
  return name;
}

/// A column of numbers and where they go.
struct Column {
  std::string_view name;
  std::optional<std::int64_t> Checkpoint::*count = nullptr;
  std::optional<double> Checkpoint::*number = nullptr;
  bool score = false;
};
constexpr std::array<Column, 8> kColumns{{{"step", &Checkpoint::step},
                                          {"phase", &Checkpoint::phase},
                                          {"sequence_length", &Checkpoint::sequence_length},
                                          {"from_step", &Checkpoint::from_step},
                                          {"hours", nullptr, &Checkpoint::hours},
                                          {"epochs", nullptr, &Checkpoint::epochs},
                                          {"exact_match", nullptr, &Checkpoint::exact_match, true},
                                          {"f1", nullptr, &Checkpoint::f1, true}}};

/// What the column must hold; empty where `value` is that.
std::string_view fill(const Column& column, const std::string& value, Checkpoint& row) {
  if (column.count != nullptr) {
    const auto number = to_int(value);
    const bool first_is_1 = column.count == &Checkpoint::phase;
    if (!number || *number < (first_is_1 ? 1 : 0) || *number > 1'000'000'000'000) {
      return "whole number";
    }
    row.*column.count = number;
    return {};
  }
  const auto number = to_double(value);
  if (!number || !(*number >= 0) || *number > (column.score ? 100 : 1e9)) {
    return column.score ? "number from 0 to 100" : "number of at least 0";
  }
  row.*column.number = number;
  return {};
}

/// Fractions up to 1 are no percent.
template <class Scores>
bool make_percent(Scores& scores) {
  const auto above = [](const std::optional<double>& value, double limit) { return value > limit; };
  if (above(scores.exact_match, 1) || above(scores.f1, 1)) return false;
  const bool changes = above(scores.exact_match, 0) || above(scores.f1, 0);
  for (auto* value : {&scores.exact_match, &scores.f1}) {
    if (*value) **value *= 100;
  }
  return changes;
}

/// Step, phase, seed and epochs as file names state them.
void facts_of_path(const std::string& path, Checkpoint& row) {
  const auto number = [&](const RE2& pattern) -> std::optional<std::int64_t> {
    std::string digits;
    if (!RE2::PartialMatch(path, pattern, &digits)) return std::nullopt;
    return to_int(digits);
  };
  static const RE2 kStep("(?i)(?:ch?kpt|checkpoint|step)[-_.=]?([0-9]{1,12})");
  static const RE2 kPhase("(?i)phase[-_.=]?([0-9]{1,2})");
  static const RE2 kSeed("(?i)seed[-_.=]?([0-9]{1,12})");
  static const RE2 kEpochs("(?i)(?:epochs?|ep)[-_.=]?([0-9]{1,4})");
  static const RE2 kLength("(?i)(?:seq|s|len)[-_.=]?(128|256|384|512|1024)(?:[^0-9]|$)");
  row.step = number(kStep);
  if (const auto phase = number(kPhase); phase > 0) row.phase = phase;
  if (const auto seed = number(kSeed)) row.seed = std::to_string(*seed);
  if (const auto epochs = number(kEpochs)) row.epochs = static_cast<double>(*epochs);
  row.sequence_length = number(kLength);
}

Result<void> add_row(const std::vector<std::string>& columns, const audit::SourceRow& source,
                     const std::string& path, Study& study) {
  const std::string where = path + ":" + std::to_string(source.line);
  Checkpoint row;
  row.source = where;
  bool any = false;
  for (std::size_t i = 0; i < source.cells.size() && i < columns.size(); ++i) {
    const std::string& value = source.cells[i];
    if (value.empty()) continue;
    const auto* const column = std::ranges::find(kColumns, columns[i], &Column::name);
    if (columns[i] == "log") {
      const auto sibling = (std::filesystem::path(path).parent_path() / value).string();
      const auto log = read_text(sibling);
      if (!log) return tl::unexpected(log.error());
      const SquadScore score = squad_score(*log);
      if (!row.exact_match) row.exact_match = score.exact_match;
      if (!row.f1) row.f1 = score.f1;
      row.source = sibling;
    } else if (columns[i] == "seed") {
      row.seed = value;
    } else if (column == kColumns.end()) {
      continue;
    } else if (const auto expected = fill(*column, value, row); !expected.empty()) {
      return fail(where,
                  "'" + value + "' in column " + columns[i] + " is no " + std::string(expected),
                  "leave it empty where it is unknown");
    }
    any = true;
  }
  if (!any) return {};
  if (make_percent(row)) {
    study.notices.push_back(make_notice(NoticeCode::scores_are_fractions, 0, where));
  }
  study.checkpoints.push_back(std::move(row));
  return {};
}

bool is_table(std::string_view path) {
  for (const std::string_view ending : {".csv", ".tsv", ".md", ".markdown", ".html", ".htm"}) {
    if (path.ends_with(ending)) return true;
  }
  return false;
}

}  // namespace

SquadScore squad_score(std::string_view text) {
  // A closing quote, then ':' or '=': never a word of prose that happens to hold f1.
  static const RE2 kExact(
      R"re((?i)(?:^|[^a-z0-9])(?:eval_|test_)?exact(?:_match)?["']?\s*[:=]\s*([0-9]+(?:\.[0-9]+)?))re");
  static const RE2 kF1(
      R"re((?i)(?:^|[^a-z0-9])(?:eval_|test_)?f1["']?\s*[:=]\s*([0-9]+(?:\.[0-9]+)?))re");
  const auto last = [text](const RE2& pattern) {
    re2::StringPiece rest(text.data(), text.size());
    std::string digits;
    std::optional<double> value;
    while (RE2::FindAndConsume(&rest, pattern, &digits)) {
      const auto number = to_double(digits);
      if (number && *number <= 100) value = number;
    }
    return value;
  };
  SquadScore score{last(kExact), last(kF1)};
  make_percent(score);
  return score;
}

Result<bool> read_study_tables(std::string_view text, const std::string& path, Study& study) {
  bool found = false;
  for (const audit::SourceTable& table : audit::read_tables(text, path)) {
    if (table.rows.size() < 2) continue;
    // Published tables spread a heading over two rows.
    const std::size_t head = audit::count_heading_rows(table);
    std::vector<std::string> columns;
    for (std::size_t r = 0; r < head; ++r) {
      const auto& cells = table.rows[r].cells;
      columns.resize(std::max(columns.size(), cells.size()));
      for (std::size_t c = 0; c < cells.size(); ++c) {
        columns[c] += (columns[c].empty() || cells[c].empty() ? "" : " ") + cells[c];
      }
    }
    for (std::string& column : columns) column = column_of(column);
    const auto has = [&](std::string_view name) {
      return std::ranges::find(columns, name) != columns.end();
    };
    if (!has("step") || (!has("exact_match") && !has("f1") && !has("log"))) continue;
    found = true;
    for (const Notice& notice : table.notices) {
      study.notices.push_back(of_log(path, notice));
    }
    for (std::size_t r = head; r < table.rows.size(); ++r) {
      const auto added = add_row(columns, table.rows[r], path, study);
      if (!added) return tl::unexpected(added.error());
    }
  }
  return found;
}

Result<void> read_study(const std::string& path, Study& study) {
  const auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  const bool table = is_table(path);
  if (table || text->size() <= kLargestPage) {
    const auto found = read_study_tables(*text, path, study);
    if (!found) return tl::unexpected(found.error());
    if (*found) return {};
  }
  if (table) {
    return fail(path, "holds no table with a column step and one of exact match, F1 and log",
                "columns: step, phase, sequence_length, from_step, hours, epochs, seed, "
                "exact_match, f1, log");
  }
  Checkpoint row;
  row.source = path;
  facts_of_path(path, row);
  const SquadScore score = squad_score(*text);
  if (!score.exact_match && !score.f1) {
    return fail(
        path, "holds no exact match and no F1",
        "give SQuAD logs, their JSON, or a table with a column step and one of exact match, "
        "F1 and log");
  }
  row.exact_match = score.exact_match;
  row.f1 = score.f1;
  study.checkpoints.push_back(std::move(row));
  return {};
}

}  // namespace bertbench
