// Rendering result sets: which report, and where its text goes.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "reports/output/report.h"

namespace bertbench {

/// A report by name ("markdown"). Unknown: an Error with the list and the nearest name.
[[nodiscard]] Result<const Report*> find_report(std::string_view name);

/// The reports of a list such as "json,csv,html"; "all" stands for every one. Doubles are dropped.
[[nodiscard]] Result<std::vector<const Report*>> find_reports(std::string_view list);

/// The report whose extension ends `path`, the longest match first; nullptr if none does.
[[nodiscard]] const Report* report_for_path(std::string_view path);

/// The whole text of one report.
[[nodiscard]] std::string render_text(const Report& report, const ResultSet& set,
                                      const ReportOptions& options);

/// The whole text of one report piece by piece; the cells are taken into memory where the report
/// needs them all.
void write_report(const Report& report, const CellSource& cells, const ReportOptions& options,
                  const TextSink& out);

/// One report into one file, replaced at once or not at all; the files that it refers to next to
/// it.
[[nodiscard]] Result<void> render_file(const Report& report, const ResultSet& set,
                                       const ReportOptions& options, const std::string& path);

/// Several reports into `folder` (made if missing) as report<extension>; returns the paths.
[[nodiscard]] Result<std::vector<std::string>> render_folder(
    const std::vector<const Report*>& reports, const ResultSet& set, const ReportOptions& options,
    const std::string& folder);

/// The run folder that a result file belongs to, where its iteration files lie; empty for a result
/// file on its own.
[[nodiscard]] std::string run_folder_of(const std::string& result);

/// Writes a file so that a reader sees the old text or the new one, never a part: a temporary
/// file next to it, fsync, rename. A device or a pipe (/dev/stdout) is written in place. A full
/// disk or a path that cannot be written is an Error, and the old file stays.
[[nodiscard]] Result<void> write_file_atomically(const std::string& path, std::string_view text);
/// The same of text that comes piece by piece; an error of `fill` is the answer, and the old file
/// stays.
[[nodiscard]] Result<void> write_file_atomically(
    const std::string& path, const std::function<Result<void>(const TextSink&)>& fill);

}  // namespace bertbench
