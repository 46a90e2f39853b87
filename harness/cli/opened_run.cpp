#include "harness/cli/opened_run.h"

#include <filesystem>
#include <string_view>

#include "harness/cli/run_archive.h"
#include "reports/cells/summarize.h"

namespace bertbench {
namespace {

constexpr std::string_view kArchiveEnding = ".tar.zst";

}  // namespace

bool is_archive(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(kArchiveEnding) && !std::filesystem::is_directory(path, ignored);
}

Result<void> refuse_archive(const std::string& path) {
  if (!is_archive(path)) return {};
  return fail(path, "is an archive: its logs are read from a folder",
              "run bertbench archive " + path +
                  " --unpack DIR, and name DIR; report, compare and check read the archive");
}

Result<OpenedRun> OpenedRun::open(const std::string& path) {
  OpenedRun out;
  out.named_ = out.path_ = path;
  if (!is_archive(path)) return out;
  out.folder_.emplace("bertbench");
  if (out.folder_->path().empty()) {
    return fail(path, "cannot be unpacked: no temporary folder can be made", "set TMPDIR");
  }
  // By the archive's name, which reports take for their title.
  std::string name = std::filesystem::path(path).filename().string();
  name.resize(name.size() - kArchiveEnding.size());
  out.path_ = out.folder_->path() + "/" + (name.empty() ? "run" : name);
  if (auto done = unpack_archive(path, out.path_); !done) return tl::unexpected(done.error());
  return out;
}

Result<ResultSet> OpenedRun::results(Parts parts) const {
  auto results = read_result_set(path_, parts);
  if (!results && path_ != named_) results.error().where = named_;
  return results;
}

Result<ResultSet> read_results(const std::string& path, Parts parts) {
  const auto run = OpenedRun::open(path);
  if (!run) return tl::unexpected(run.error());
  return run->results(parts);
}

Result<ResultSet> settled(Result<ResultSet> results, const std::string& path, Console& console) {
  if (results) {
    for (const Notice& notice : settle(*results)) console.note(path, notice);
  }
  return results;
}

Result<ResultSet> read_results(const std::string& path, Console& console) {
  return settled(read_results(path), path, console);
}

}  // namespace bertbench
