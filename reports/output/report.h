// Report: the interface of one output format. reports/output/formats/<name>.cpp defines
// `extern const Report entry;` in namespace report_<name>, and reports/output/output.cmake lists
// its name.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct ReportOptions {
  std::string title;       ///< heading of Markdown and HTML; default: the folder's name
  std::string run_folder;  ///< where iteration files lie, empty if there is none
  /// An earlier result that HTML and Markdown set next to this one; null: none.
  const ResultSet* baseline = nullptr;
  std::string baseline_name, result_name;  ///< what the two are called there
  double alpha = 0.05;                     ///< of that comparison
  /// Stem of the file names of companions ("report" -> "report-throughput.svg"); empty where the
  /// report has no folder to put them in, so that it must not refer to any.
  std::string companion_stem;
};

/// A file that a report refers to and that lies next to it.
struct Companion {
  std::string name, text;
};

struct Report {
  std::string_view name;
  std::string_view title;  ///< one line: what it is for
  std::string_view
      extension;  ///< ".json"; a path that ends so selects the report, of several the longest
  void (*render)(const ResultSet&, const ReportOptions&, std::ostream&);
  /// Files that the text of `render` refers to when companion_stem is set; null: never any.
  std::vector<Companion> (*companions)(const ResultSet&, const ReportOptions&) = nullptr;
  /// The text of `render` piece by piece, of cells that need not be in memory at once; null: needs
  /// them all.
  void (*write)(const CellSource&, const ReportOptions&, const TextSink&) = nullptr;
};

/// Report::render of a report that has a `write`.
template <void (*Write)(const CellSource&, const ReportOptions&, const TextSink&)>
void render_cells(const ResultSet& set, const ReportOptions& options, std::ostream& out) {
  Write(SetSource(set), options, [&](std::string_view text) { out << text; });
}

/// All reports, in list order. Generated from reports/output/output.cmake.
std::span<const Report* const> all_reports();

}  // namespace bertbench
