// BatchRun: which jobs there are, and the ends of those that no longer count.
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "harness/sweep/execute/batch_run.h"
#include "harness/sweep/plan/placement.h"
#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAnswer{10'000};

/// Cancels those of jobs that have ended which the queue holds as if they had not.
void cancel_live(const BatchSystem& batch, const std::vector<std::string>& ended) {
  if (ended.empty()) return;
  const auto known = batch.query(ended, kAnswer);
  std::vector<std::string> live;
  for (const auto& [name, entry] : known.value_or(std::map<std::string, QueueEntry>{})) {
    if (entry.state != QueueState::ended) live.push_back(name);
  }
  if (!live.empty()) batch.cancel(live);
}

}  // namespace

std::optional<std::string> BatchRun::job_of(const Folder& root, const Folder& attempt) {
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

std::string BatchRun::read_mark(const Folder& folder, const char* name) {
  if (!folder.holds(name)) return {};
  return std::string(trim(proc::read_file(folder.path_of(name))));
}

Result<void> BatchRun::end_jobs(const Folder& root, const BatchSystem& batch,
                                const std::set<std::string>& keep) {
  std::vector<std::string> names, ended;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(root.path_of("jobs"), ec)) {
    const auto name = entry.path().filename().string();
    if (!entry.is_directory() || entry.is_symlink() || keep.contains(name)) continue;
    auto jobs = root.child("jobs");
    if (!jobs) return tl::unexpected(jobs.error());
    const auto folder = jobs->child(name);
    if (!folder) return tl::unexpected(folder.error());
    if (folder->holds("void") || folder->holds("closed")) {
      ended.push_back(name);
      continue;
    }
    if (auto done = folder->write("void", ""); !done) return done;
    names.push_back(name);
  }
  if (!names.empty()) batch.cancel(names);
  cancel_live(batch, ended);
  return {};
}

void BatchRun::cancel_revived() {
  std::vector<std::string> names;
  for (const auto& job : jobs_) {
    if (job.closed && !job.spared) names.push_back(job.name);
  }
  if (names.empty() || silent_since_) return;
  // A script that has left its last mark takes a moment to end: it is not cancelled for that.
  const auto begin = Clock::now();
  for (;;) {
    const auto known = batch_.query(names, kAnswer);
    const bool running = known && std::any_of(known->begin(), known->end(), [](const auto& one) {
                           return one.second.state == QueueState::running;
                         });
    if (!running || since(begin) > 5) break;
    poll(nullptr, 0, 100);
  }
  cancel_live(batch_, names);
}

std::vector<std::string> BatchRun::open_names() const {
  std::vector<std::string> names;
  for (const auto& job : jobs_) {
    if (!job.closed) names.push_back(job.name);
  }
  return names;
}

Result<void> BatchRun::close(Job& job, bool cancel) {
  job.closed = true;
  if (job.spared && !cancel) return {};
  // Whatever the queue still makes of it, a script that starts now must find nothing to do.
  if (auto done = job.folder.write("void", ""); !done) return done;
  if (cancel && !job.ended && !job.missing) batch_.cancel({job.name});
  return job.folder.write("closed", "");
}

Result<void> BatchRun::stop() {
  std::vector<std::string> names;
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (!job.spared) {
      names.push_back(job.name);
      if (auto done = job.folder.write("void", ""); !done) return done;
      continue;
    }
    for (auto& member : job.members) {
      if (member.over) continue;
      member.open.folder.remove("job");  // it is no longer this job's
      if (auto done = member.open.folder.write("cancel", ""); !done) return done;
    }
  }
  const auto spared_running = [this] {
    return std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) {
      return job.spared && !job.closed &&
             std::any_of(job.members.begin(), job.members.end(), [](const Member& member) {
               return running(member) && read_mark(member.open.folder, "ended").empty();
             });
    });
  };
  if (!names.empty()) batch_.cancel(names);
  const auto begin = Clock::now();
  // Ranks get their time to end; a second request does not wait for them.
  while ((!names.empty() || spared_running()) && since(begin) < run_.options_.grace_s + 40 &&
         run_.signals_.count() <= 1) {
    const auto known =
        names.empty() ? std::map<std::string, QueueEntry>{} : batch_.query(names, kAnswer);
    const bool live = spared_running() || !known ||
                      std::any_of(known->begin(), known->end(), [](const auto& entry) {
                        return entry.second.state != QueueState::ended;
                      });
    if (!live) break;
    poll(nullptr, 0, 200);
    run_.signals_.drain();
  }
  for (auto& job : jobs_) {
    for (auto& member : job.members) {
      if (member.over || member.started.empty()) continue;
      AttemptEnd end;
      end.cause = EndCause::stopped;
      end.seconds = since(member.begin);
      if (auto done = conclude(job, member, std::move(end)); !done) return done;
    }
  }
  run_.interrupted_ = true;
  return {};
}

}  // namespace bertbench
