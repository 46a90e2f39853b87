#include "harness/cli/output_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "reports/output/render.h"
#include "reports/output/report.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

/// What resume and report read of a run folder; people put reports next to them.
constexpr std::string_view kFilesOfASweep[] = {"journal.jsonl", "sweep.json", "environment.json",
                                               "results.json"};

/// The run folder that keeps `file`: in its first level by name, below that whatever is there.
fs::path run_folder_keeping(const fs::path& file) {
  std::error_code ignored;
  const fs::path parent = fs::weakly_canonical(file, ignored).parent_path();
  for (fs::path folder = parent; folder.has_relative_path(); folder = folder.parent_path()) {
    if (!fs::exists(folder / "journal.jsonl", ignored)) continue;
    const bool kept =
        folder != parent || std::ranges::count(kFilesOfASweep, file.filename().string()) > 0;
    return kept ? folder : fs::path();
  }
  return {};
}

/// Whether a file begins as one of this program's: JSON with its schema, iterations, JUnit.
bool begins_as_ours(const std::string& path) {
  std::string head(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head.find("\"bertbench.") != std::string::npos || head.starts_with("log,trial,") ||
         head.starts_with("<?xml");
}

bool has_a_reports_ending(const std::string& path) {
  const Report* report = report_for_path(path);
  return report != nullptr && report->extension != ".json";  // trainers write .json logs, too
}

}  // namespace

Result<void> guard_output(const std::string& option, const std::string& path,
                          const std::vector<std::string>& arguments) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) == 0) return {};
  for (const std::string& argument : arguments) {
    std::error_code other;  // most arguments are no files
    if (fs::equivalent(path, argument, other)) {
      return fail(option, fmt::format("{} is a file that this command reads", path),
                  "name another file");
    }
  }
  if (const fs::path folder = run_folder_keeping(path); !folder.empty()) {
    return fail(option, fmt::format("{} belongs to the sweep in {}", path, folder.string()),
                "name another file");
  }
  if (has_a_reports_ending(path) || begins_as_ours(path)) return {};
  return fail(option,
              fmt::format("{} exists and does not look like a file that bertbench wrote", path),
              "name another file, or remove this one first");
}

}  // namespace bertbench
