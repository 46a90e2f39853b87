// A RunLog as JSON, for golden files and for comparing whole runs in tests.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/reader/log_reader.h"
#include "tests/read_file.h"

namespace bertbench {

/// Equal, or both unknown.
[[nodiscard]] bool same(double a, double b);
[[nodiscard]] nlohmann::ordered_json to_test_json(const RunLog& run);
/// All runs, one JSON object a line.
[[nodiscard]] std::string to_test_text(const std::vector<RunLog>& runs);
/// Record::end_byte of each record of all runs.
[[nodiscard]] std::vector<std::int64_t> ends_of(const std::vector<RunLog>& runs);
/// The runs of a text, fed in one piece, or cut at `cut`.
[[nodiscard]] std::vector<RunLog> read_text(std::string_view text, const ReadOptions& options = {});
[[nodiscard]] std::vector<RunLog> read_text_cut(std::string_view text, std::size_t cut);
/// A log's name as that of a case: --gtest_filter='*mmcv*'.
[[nodiscard]] std::string case_name(std::string_view log);

}  // namespace bertbench
