// Result sets as JSON, "bertbench.result/1" (configs/schema/result.schema.json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "parsers/core/error.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"

namespace bertbench {

inline constexpr std::string_view kResultsFile = "results.json";  ///< of a run folder

/// Where a run's time went, as `time_parts` of a trial and of `reconcile --json`.
[[nodiscard]] nlohmann::ordered_json to_json(const TimeRecord& time);

/// Keys in the order of the schema; what is unknown or not finite is not written.
[[nodiscard]] nlohmann::ordered_json to_json(const ResultSet& results);
[[nodiscard]] nlohmann::ordered_json to_json(const Cell& cell);
[[nodiscard]] nlohmann::ordered_json to_json(const Trial& trial);

/// The text of a result file: a line a trial, one newline at the end. Bytes that are not UTF-8
/// (log lines may hold anything) become U+FFFD.
[[nodiscard]] std::string to_text(const ResultSet& results);
/// The same text piece by piece.
void write_text(const CellSource& cells, const TextSink& out);

/// Keys that version 1 does not know are ignored. A wrong type or a missing required key is an
/// Error that names `where` (the file) and the JSON path.
[[nodiscard]] Result<ResultSet> result_set_from_text(std::string_view text,
                                                     const std::string& where = "result set");

/// One shard's part of a result is no result: only `merge` takes it.
enum class Parts { refused, taken };

/// A result file, a run folder (its results.json) or "-" for stdin.
[[nodiscard]] Result<ResultSet> read_result_set(const std::string& path_or_run_folder,
                                                Parts parts = Parts::refused);

}  // namespace bertbench
