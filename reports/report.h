// Report: the interface of one output format. reports/formats/<name>.cpp defines one
// `extern const Report report_<name>;` and reports/CMakeLists.txt lists its name.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "parsers/core/error.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct ReportOptions {
  std::string title;       ///< heading of Markdown and HTML; default: the folder's name
  std::string run_folder;  ///< where iteration files lie, empty if there is none
};

struct Report {
  std::string_view name;
  std::string_view title;      ///< one line: what it is for
  std::string_view extension;  ///< ".json"; a path that ends so selects the report
  Result<void> (*render)(const ResultSet&, const ReportOptions&, std::ostream&);
};

/// All reports, in list order. Generated from reports/CMakeLists.txt.
std::span<const Report* const> all_reports();

}  // namespace bertbench
