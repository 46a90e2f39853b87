#include "harness/sweep/execute/job_folder.h"

#include <sys/stat.h>

#include <filesystem>

#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {

std::string read_mark(const Folder& folder, const char* name) {
  if (!folder.holds(name)) return {};
  return proc::read_value(folder.path_of(name));
}

std::optional<std::string> job_of(const Folder& root, const Folder& attempt) {
  const auto name = read_mark(attempt, "job");
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) {
    return std::nullopt;
  }
  struct stat info {};
  const auto folder = root.path_of("jobs/" + name);
  if (lstat(folder.c_str(), &info) < 0 || !S_ISDIR(info.st_mode)) return std::nullopt;
  for (const char* over : {"/void", "/closed"}) {
    if (lstat((folder + over).c_str(), &info) == 0) return std::nullopt;
  }
  return name;
}

Result<void> end_jobs(const Folder& root, const BatchSystem& batch,
                      const std::set<std::string>& keep) {
  std::vector<std::string> names, ended;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(root.path_of("jobs"), ec)) {
    const auto name = entry.path().filename().string();
    if (!entry.is_directory() || entry.is_symlink() || keep.contains(name)) continue;
    const auto folder = root.child("jobs/" + name);
    if (!folder) return tl::unexpected(folder.error());
    if (folder->holds("void") || folder->holds("closed")) {
      ended.push_back(name);
      continue;
    }
    if (auto done = folder->write("void", ""); !done) return done;
    names.push_back(name);
  }
  if (!names.empty()) batch.cancel(names);
  cancel_revived(batch, ended);
  return {};
}

void cancel_revived(const BatchSystem& batch, const std::vector<std::string>& ended) {
  if (ended.empty()) return;
  const auto known = batch.query(ended);
  std::vector<std::string> live;
  for (const auto& [name, entry] : known.value_or(std::map<std::string, QueueEntry>{})) {
    if (entry.state != QueueState::ended) live.push_back(name);
  }
  if (!live.empty()) batch.cancel(live);
}

}  // namespace bertbench
