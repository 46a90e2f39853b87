// Where an answer goes: a table for people on stdout, or its machine form by --json and -o.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/console.h"
#include "harness/cli/exit_status.h"
#include "reports/model/cell_source.h"
#include "reports/model/result_set.h"

namespace bertbench {

class CommandLine;

/// --json: the machine form on stdout instead of the table. -o FILE: the machine form into FILE,
/// the table still on stdout. -o -: the same as --json.
struct OutputOptions {
  bool json = false;
  std::string path;

  [[nodiscard]] bool machine_on_stdout() const { return json || path == "-"; }
};

void add_output(CommandLine& line, OutputOptions& output,
                const std::string& file_help = "Write the JSON form to FILE (-: stdout).");

/// The help of -o where it writes a result set.
inline constexpr const char* kWriteResult =
    "Write the result to FILE, in the format of its ending (.json .csv .md ...); - for JSON on "
    "stdout.";

/// Gives an answer in the form asked for. `machine` makes the text of the machine form for stdout
/// (path "-") or for the file named; `human` prints the table. Returns `status`, or `usage` when
/// the file cannot be written.
ExitCode answer(Console& console, const OutputOptions& output, ExitCode status,
                const std::function<Result<std::string>(const std::string& path)>& machine,
                const std::function<void()>& human);

/// The same of a machine form that is JSON wherever it goes.
ExitCode answer(Console& console, const OutputOptions& output, ExitCode status,
                const std::function<nlohmann::ordered_json()>& machine,
                const std::function<void()>& human);

/// The same of a machine form that comes piece by piece.
ExitCode answer_in_pieces(
    Console& console, const OutputOptions& output, ExitCode status,
    const std::function<Result<void>(const std::string& path, const TextSink&)>& machine,
    const std::function<void()>& human);

/// result_text of cells that need not be in memory at once.
[[nodiscard]] Result<void> write_result(const CellSource& cells, const std::string& path,
                                        const TextSink& out);

/// A result set as the report that the ending of `path` selects, JSON for any other.
[[nodiscard]] Result<std::string> result_text(const ResultSet& set, const std::string& path,
                                              const std::string& run_folder = {});

/// An error where the file named by -o has an ending, and it is that of no report; the second takes
/// the endings of an answer that has fewer forms.
[[nodiscard]] Result<void> check_ending(const std::string& path);
[[nodiscard]] Result<void> check_ending(const std::string& path,
                                        const std::vector<std::string_view>& known);

/// JSON as this program prints it: two blanks, bytes that are not UTF-8 replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

}  // namespace bertbench
