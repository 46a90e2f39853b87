// audit: recomputes what published tables derive from their own numbers.
//
// A printed 1.92 stands for every value that rounds to it, so each derived cell is recomputed as
// an interval. Where no values fit, the cell that must be wrong is looked for (find_culprits),
// which may be one of the inputs: a batch size of 3 where three other cells ask for 8.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reports/studies/audit/relation.h"

namespace bertbench::audit {

struct Operand {
  std::string heading, text;
  std::int64_t line = 0;
};

/// One cell that was checked, or that was found wrong while others were.
struct CheckedCell {
  std::int64_t line = 0;  ///< of the file
  std::size_t row = 0, column = 0, part = 0;
  std::string heading, text;  ///< the printed cell, whole
  std::string number;         ///< the number meant, of an "a and b" cell
  Role role = Role::none;
  Verdict verdict = Verdict::exact;
  double computed = 0;
  Interval interval;
  std::string should_be;  ///< the recomputed value with the digits of its column
  std::string rule;
  std::vector<Operand> from;
  bool base = false;  ///< the base row of a ratio: 1 by definition
  std::string note;   ///< what else a reader should know
};

struct TableAudit {
  std::string file;
  std::int64_t line = 0;
  std::string title;
  std::vector<Column> columns;
  std::vector<CheckedCell> cells;     ///< in the order of rows, then columns
  std::vector<std::string> readings;  ///< how columns were understood, where not the usual way
  std::vector<Notice> notices;
};

struct AuditOptions {
  TableFormat format = TableFormat::automatic;
  GridOptions grid;
  FlopsLookup flops = nullptr;
};

struct Counts {
  std::size_t exact = 0, possible = 0, truncated = 0, impossible = 0;
  [[nodiscard]] std::size_t all() const { return exact + possible + truncated + impossible; }
};

[[nodiscard]] TableAudit audit_table(const SourceTable& table, const AuditOptions& options);

struct PageAudit {
  std::vector<TableAudit> tables;
  std::vector<Notice> notices;  ///< lines that look like a table and could not be read
};

/// Every table of a file; none when it has none. `path` is for messages and the format.
[[nodiscard]] PageAudit audit_page(std::string_view text, std::string_view path,
                                   const AuditOptions& options);

[[nodiscard]] Counts count(const std::vector<TableAudit>& tables);

/// Worth reporting: impossible, truncated, or with a note.
[[nodiscard]] bool is_finding(const CheckedCell& cell);

/// "24.46 in [24.4574, 24.4593]" style text of an interval, with digits that distinguish its ends.
[[nodiscard]] std::string interval_text(const Interval& interval);

/// What was noticed in a file outside of its tables.
struct FileNotices {
  std::string file;
  std::vector<Notice> notices;
};

/// {"schema": "bertbench.audit/1", "counts": {}, "tables": [{"file", "line", "title", "columns",
/// "cells": [], "readings": [], "notices": []}], "notices": [{"file", "line", "text"}]}.
/// `all_cells`: not only findings.
[[nodiscard]] nlohmann::ordered_json audit_to_json(const std::vector<TableAudit>& tables,
                                                   const std::vector<FileNotices>& notices,
                                                   bool all_cells);

// Which cells are wrong where cells contradict each other: the fewest changes that make all rules
// hold.

struct Culprit {
  CellId cell;
  Quantity should_be;                  ///< its nominal is a whole number for counts
  std::vector<std::size_t> relations;  ///< the violated ones that it settles
};

struct Culprits {
  std::vector<Culprit> culprits;
  Overrides corrected;  ///< the culprits' values, for judging the other cells
};

/// A cell is accused when changing it alone settles more violated relations than any other cell
/// would, minus those that hold now and would break. On a tie: the one whose correction is a power
/// of two while its print is not (batch sizes, GPUs), then the derived cell of the relation.
[[nodiscard]] Culprits find_culprits(const Grid& grid, const std::vector<Relation>& relations);

}  // namespace bertbench::audit
