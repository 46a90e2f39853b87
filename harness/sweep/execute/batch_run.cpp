// BatchRun: from the trials that are wanted to jobs that are handed in.
#include "harness/sweep/execute/batch_run.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "harness/sweep/launch/slurm_jobs.h"
#include "harness/sweep/plan/template_call.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string nul_ended(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word + '\0';
  return text;
}

}  // namespace

std::string batch_group(const Plan& plan, const PlannedTrial& trial) {
  const auto& kind = plan.config.slurm.job;
  const auto nodes = plan.cells[trial.cell].topology.nodes;
  if (kind == "nodes") return fmt::format("n{}", nodes);
  if (kind == "cell") return fmt::format("c{}", trial.cell);
  return fmt::format("c{}t{}", trial.cell, trial.trial);
}

Result<void> BatchRun::run() {
  if (auto done = take_over(); !done) return done;
  run_.one_machine_ = batch_.nodes_share_machines();
  if (run_.one_machine_ && run_.plan_.config.slurm.max_jobs > 1) {
    run_.observer_.notice(
        fmt::format("nodes of {} share machines, so one job runs after the other", batch_.title));
  }
  for (;;) {
    if (run_.stopping()) return stop();
    if (auto done = hand_in(); !done) return done;
    bool open = !wanted_.empty();
    for (auto& job : jobs_) {
      if (job.closed) continue;
      if (auto done = watch(job); !done) return done;
      open = open || !job.closed;
    }
    if (!open && wanted_.empty()) {
      cancel_revived();
      return {};
    }
    if (auto done = ask_queue(); !done) return done;
    pollfd wake{run_.signals_.wake_fd(), POLLIN, 0};
    poll(&wake, 1, static_cast<int>(std::clamp(run_.options_.progress_s, 0.02, 0.25) * 1000));
    run_.signals_.drain();
  }
}

Result<void> BatchRun::take_over() {
  std::map<std::string, std::vector<SweepRun::Pending>> earlier;
  std::set<std::string> keep;
  for (const auto& pending : run_.pending_) {
    Wanted one{pending.trial,
               pending.attempt,
               pending.attempt + run_.plan_.config.retries,
               {},
               batch_group(run_.plan_, pending.trial)};
    if (pending.job.empty()) {
      wanted_.push_back(std::move(one));
    } else {
      earlier[pending.job].push_back(pending);
      keep.insert(pending.job);
    }
  }
  keep.insert(run_.spared_jobs_.begin(), run_.spared_jobs_.end());
  if (auto done = end_jobs(*run_.root_, batch_, keep); !done) return done;
  for (const auto& [name, members] : earlier) {
    auto folder = run_.root_->child("jobs");
    if (folder) folder = folder->child(name);
    if (!folder) return tl::unexpected(folder.error());
    auto& job = jobs_.emplace_back(Job{name, std::move(*folder), {}, {}, {}, {}, {}, {}, {}});
    job.handed_in = job.seen = job.running = Clock::now();
    job.spared = run_.spared_jobs_.contains(name);
    for (const auto& pending : members) {
      auto open = run_.take_over_attempt(pending.trial, pending.attempt);
      if (!open) return tl::unexpected(open.error());
      const int fd = open->log_fd;
      TrialLogs log(fd, open->own_logs, run_.readers_of(*open));
      job.members.push_back(Member{std::move(*open), std::move(log), {}});
      job.members.back().last_attempt = pending.attempt + run_.plan_.config.retries;
      job.members.back().taken_over = true;
    }
    run_.observer_.notice(fmt::format("{} job {} of an earlier start is taken over with {} {}",
                                      batch_.title, name, members.size(),
                                      members.size() == 1 ? "trial" : "trials"));
  }
  return {};
}

Result<void> BatchRun::hand_in() {
  const auto most = run_.one_machine_ ? 1 : run_.plan_.config.slurm.max_jobs;
  while (!wanted_.empty() && static_cast<std::int64_t>(open_names().size()) < most) {
    const auto group = wanted_.front().group;
    std::vector<Wanted> together;
    for (auto it = wanted_.begin(); it != wanted_.end();) {
      if (run_.settled(it->trial.cell)) {
        it = wanted_.erase(it);
      } else if (it->group == group) {
        together.push_back(std::move(*it));
        it = wanted_.erase(it);
      } else {
        ++it;
      }
    }
    if (together.empty()) continue;
    if (auto done = submit(std::move(together)); !done) return done;
  }
  return {};
}

Result<void> BatchRun::write_launch(const Member& member, const std::string& job) const {
  const auto& folder = member.open.folder;
  for (const char* old : {"started", "ended", "cancel", "nodes", "over"}) folder.remove(old);
  const auto& process = member.open.processes.front();
  std::vector<std::string> variables;
  for (const auto& name : process.unset) {
    // env takes no prefixes; what ends in '*' is set by Slurm anew for its tasks.
    if (!name.ends_with('*')) variables.insert(variables.begin(), {"-u", name});
  }
  for (const auto& [name, value] : process.set) variables.push_back(name + "=" + value);
  if (auto done = folder.write("launch.env", nul_ended(variables)); !done) return done;
  if (auto done = folder.write("launch.argv", nul_ended(process.argv)); !done) return done;
  return folder.write("job", job + "\n");
}

Result<void> BatchRun::submit(std::vector<Wanted> trials) {
  auto jobs = run_.root_->child("jobs");
  if (!jobs) return tl::unexpected(jobs.error());
  const auto& first = run_.plan_.cells[trials.front().trial.cell];
  BatchJob request;
  request.name = slurm_name(run_.state_.run_id + ":", "-" + random_id().substr(0, 8));
  request.nodes = process_count(run_.plan_, first).nodes;
  request.timeout_s = run_.plan_.config.timeout_s;
  auto folder = jobs->child(request.name);
  if (!folder) return tl::unexpected(folder.error());
  request.folder = folder->path();
  auto& job = jobs_.emplace_back(Job{request.name, std::move(*folder), {}, {}, {}, {}, {}, {}, {}});
  std::vector<std::string> paths;
  for (auto& one : trials) {
    const auto& cell = run_.plan_.cells[one.trial.cell];
    request.gpus_per_node = std::max(request.gpus_per_node, cell.topology.gpus_per_node);
    request.processes_per_node =
        std::max(request.processes_per_node, process_count(run_.plan_, cell).per_node);
    run_.position_ = static_cast<std::size_t>(++handed_in_);
    auto open = run_.begin_attempt(one.trial, one.attempt);
    if (!open) return tl::unexpected(open.error());
    paths.push_back(open->folder.path());
    TrialLogs log(open->log_fd, open->own_logs, run_.readers_of(*open));
    job.members.push_back(Member{std::move(*open), std::move(log), std::move(one.earlier)});
    job.members.back().last_attempt = one.last_attempt;
    if (auto done = write_launch(job.members.back(), job.name); !done) return done;
  }
  if (auto done = job.folder.write("trials", nul_ended(paths)); !done) return done;
  if (auto done = job.folder.write("script.sh", batch_.script); !done) return done;
  if (auto done = job.folder.sync(); !done) return done;
  job.handed_in = job.seen = job.running = Clock::now();

  // A hand-in whose answer is lost may have been accepted all the same: the name will tell.
  std::string said;
  const auto id =
      capture_output(batch_.submit_command(run_.plan_, request), std::chrono::seconds(30), &said);
  next_query_ = {};
  if (!id) {
    const auto known = batch_.query({job.name}, milliseconds(10'000));
    if (known && !known->contains(job.name)) {
      for (auto& member : job.members) {
        if (auto done = give_up(job, member, Status::error,
                                fmt::format("{} refused the job: {}", batch_.title, trim(said)));
            !done) {
          return done;
        }
      }
      return close(job, false);
    }
  }
  run_.observer_.notice(fmt::format("{} job {} ({}) holds {} {} of {} {}", batch_.title, job.name,
                                    id ? std::string(trim(*id)) : "no answer yet",
                                    job.members.size(),
                                    job.members.size() == 1 ? "trial" : "trials", request.nodes,
                                    request.nodes == 1 ? "node" : "nodes"));
  return {};
}

}  // namespace bertbench
