#include "harness/sweep/batch_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/sweep/placement.h"
#include "harness/sweep/proc_fs.h"
#include "harness/sweep/slurm_jobs.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr double kMissing_s = 5;  // marks may be seen late on a shared file system

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Text of a mark, "" when it is not there.
std::string read_mark(const Folder& folder, const char* name) {
  if (!folder.holds(name)) return {};
  return std::string(trim(proc::read_file(folder.path_of(name))));
}

std::string nul_ended(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word + '\0';
  return text;
}

/// Status of a command as a shell gives it: 128 + number for a signal.
ExitStatus of_shell(int status) {
  ExitStatus exit;
  exit.code = status;
  return exit;
}

}  // namespace

std::string batch_group(const Plan& plan, const PlannedTrial& trial) {
  const auto& kind = plan.config.slurm.job;
  const auto nodes = plan.cells[trial.cell].topology.nodes;
  if (kind == "nodes") return fmt::format("n{}", nodes);
  if (kind == "cell") return fmt::format("c{}", trial.cell);
  return fmt::format("c{}t{}", trial.cell, trial.trial);
}

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

Result<void> BatchRun::end_jobs(const Folder& root, const BatchSystem& batch,
                                const std::set<std::string>& keep) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(root.path_of("jobs"), ec)) {
    const auto name = entry.path().filename().string();
    if (!entry.is_directory() || entry.is_symlink() || keep.contains(name)) continue;
    auto jobs = root.child("jobs");
    if (!jobs) return tl::unexpected(jobs.error());
    const auto folder = jobs->child(name);
    if (!folder) return tl::unexpected(folder.error());
    if (folder->holds("void") || folder->holds("closed")) continue;
    if (auto done = folder->write("void", ""); !done) return done;
    names.push_back(name);
  }
  if (!names.empty()) batch.cancel(names);
  return {};
}

std::vector<std::string> BatchRun::open_names() const {
  std::vector<std::string> names;
  for (const auto& job : jobs_) {
    if (!job.closed) names.push_back(job.name);
  }
  return names;
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
    if (!open && wanted_.empty()) return {};
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
  if (auto done = end_jobs(*run_.root_, batch_, keep); !done) return done;
  for (const auto& [name, members] : earlier) {
    auto folder = run_.root_->child("jobs");
    if (folder) folder = folder->child(name);
    if (!folder) return tl::unexpected(folder.error());
    auto& job = jobs_.emplace_back(Job{name, std::move(*folder), {}, {}, {}, {}, {}, {}, {}});
    job.handed_in = job.seen = job.running = Clock::now();
    for (const auto& pending : members) {
      auto open = run_.take_over_attempt(pending.trial, pending.attempt);
      if (!open) return tl::unexpected(open.error());
      const int fd = open->log_fd;
      LogWatch log(fd, run_.reader_of(*open));
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
  const auto& topology = run_.plan_.cells[trials.front().trial.cell].topology;
  BatchJob request;
  request.name = slurm_name(run_.state_.run_id + ":", "-" + random_id().substr(0, 8));
  request.nodes = run_.plan_.workload.single_process ? 1 : topology.nodes;
  request.timeout_s = run_.plan_.config.timeout_s;
  auto folder = jobs->child(request.name);
  if (!folder) return tl::unexpected(folder.error());
  request.folder = folder->path();
  auto& job = jobs_.emplace_back(Job{request.name, std::move(*folder), {}, {}, {}, {}, {}, {}, {}});
  std::vector<std::string> paths;
  for (auto& one : trials) {
    const auto& cell = run_.plan_.cells[one.trial.cell].topology;
    request.gpus_per_node = std::max(request.gpus_per_node, cell.gpus_per_node);
    run_.position_ = static_cast<std::size_t>(++handed_in_);
    auto open = run_.begin_attempt(one.trial, one.attempt);
    if (!open) return tl::unexpected(open.error());
    paths.push_back(open->folder.path());
    LogWatch log(open->log_fd, run_.reader_of(*open));
    job.members.push_back(Member{std::move(*open), std::move(log), std::move(one.earlier)});
    job.members.back().last_attempt = one.last_attempt;
    if (auto done = write_launch(job.members.back(), job.name); !done) return done;
  }
  const auto& workload = run_.plan_.workload;
  request.processes_per_node =
      workload.process_per_gpu && !workload.single_process ? request.gpus_per_node : 1;
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

Result<void> BatchRun::watch(Job& job) {
  for (auto& member : job.members) {
    if (member.over) continue;
    if (auto done = watch_member(job, member); !done) return done;
  }
  const bool all =
      std::all_of(job.members.begin(), job.members.end(), [](const auto& m) { return m.over; });
  return all ? close(job, false) : Result<void>{};
}

Result<void> BatchRun::watch_member(Job& job, Member& member) {
  const auto& config = run_.plan_.config;
  const auto mark = read_mark(member.open.folder, "started");
  if (mark.empty()) return {};
  if (mark != member.started) {
    member.begin = member.last_output = Clock::now();
    if (!member.started.empty()) {
      run_.observer_.notice(
          fmt::format("{} started job {} again; its log goes on", batch_.title, job.name));
    }
    member.started = mark;
    label(job, member);
    if (!member.told) run_.observer_.trial_started(member.open.progress);
    member.told = true;
  }
  const auto ended = read_mark(member.open.folder, "ended");
  if (member.log.read(std::int64_t{8} << 20)) member.last_output = Clock::now();
  if (!ended.empty()) {
    AttemptEnd end;
    const auto fields = split(ended, ' ');
    end.exit = of_shell(static_cast<int>(to_int(fields[0]).value_or(1)));
    if (fields.size() >= 4) {
      end.seconds = to_double(fields[2]).value_or(0) - to_double(fields[1]).value_or(0);
      if (fields[3] == "timeout") end.cause = EndCause::timeout;
      if (fields[3] == "cancelled") end.cause = member.cancelled.value_or(EndCause::stopped);
    }
    return conclude(job, member, std::move(end));
  }
  if (since(member.reported) >= run_.options_.progress_s) {
    member.reported = Clock::now();
    run_.tell_progress(member.open, member.log.live(), since(member.begin));
  }
  if (member.cancelled) {
    // The job has 1 s to see the mark and its ranks 5 s to end; it kills them after 20.
    if (since(member.cancelled_at) < 45) return {};
    batch_.cancel({job.name});
    AttemptEnd end;
    end.cause = *member.cancelled;
    return conclude(job, member, std::move(end));
  }
  const auto cancel = [&](EndCause cause) {
    member.cancelled = cause;
    member.cancelled_at = Clock::now();
    return member.open.folder.write("cancel", "");
  };
  // A job that was queued again waits without output, and rightly so.
  if (job.entry.state == QueueState::waiting && job.known) {
    member.last_output = Clock::now();
  } else if (since(member.last_output) > config.stall_timeout_s) {
    return cancel(EndCause::stalled);
  }
  if (member.log.size() > run_.plan_.config.log_limit_bytes) return cancel(EndCause::log_limit);
  return {};
}

Result<void> BatchRun::ask_queue() {
  if (Clock::now() < next_query_) return {};
  const auto names = open_names();
  if (names.empty()) return {};
  const auto answer = batch_.query(names, milliseconds(10'000));
  // Marks tell what goes on; the queue is asked less and less while it has nothing new to say.
  query_every_s_ = std::min(query_every_s_ * 1.5, 15.0);
  if (!answer) {
    if (!silent_since_) {
      silent_since_ = Clock::now();
      run_.observer_.notice(fmt::format("{} does not answer; running trials go on", batch_.title));
    }
  } else if (silent_since_) {
    run_.observer_.notice(fmt::format("{} answers again", batch_.title));
    silent_since_.reset();
  }
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (answer) {
      const auto it = answer->find(job.name);
      if (it == answer->end()) {
        if (!job.missing) job.missing = Clock::now();
        query_every_s_ = 0.5;
      } else {
        job.missing.reset();
        if (!job.known || it->second.word != job.entry.word) {
          query_every_s_ = 0.5;
          if (it->second.state == QueueState::running) job.running = Clock::now();
        }
        job.known = true;
        job.entry = it->second;
        job.seen = Clock::now();
        if (job.entry.state != QueueState::ended) job.ended.reset();
        if (job.entry.state == QueueState::ended && !job.ended) job.ended = Clock::now();
      }
    }
    if (auto done = judge_queue(job); !done) return done;
  }
  next_query_ = Clock::now() + milliseconds(static_cast<int>(query_every_s_ * 1000));
  return {};
}

Result<void> BatchRun::judge_queue(Job& job) {
  const auto& options = run_.plan_.config.slurm;
  const auto end_all = [&](Status status, const std::string& why) -> Result<void> {
    for (auto& member : job.members) {
      if (member.over) continue;
      if (auto done = give_up(job, member, status, why); !done) return done;
    }
    return close(job, true);
  };
  const bool any_running =
      std::any_of(job.members.begin(), job.members.end(), [](const auto& m) { return running(m); });
  if (silent_since_) {
    // Nobody who could start what waits; what runs is watched by its own log.
    if (any_running || since(*silent_since_) < options.controller_timeout_s) return {};
    return end_all(Status::error, fmt::format("{} has not answered for {:.0f} s", batch_.title,
                                              since(*silent_since_)));
  }
  // A last look for marks comes before each verdict: watch() runs before ask_queue().
  if (job.missing && since(*job.missing) > kMissing_s) {
    return end_all(Status::error,
                   fmt::format("{} job {} vanished: the controller does not know it and it left no "
                               "mark of its end",
                               batch_.title, job.name));
  }
  if (job.ended && since(*job.ended) > kMissing_s) {
    const auto& entry = job.entry;
    const bool node = entry.word == "NODE_FAIL";
    return end_all(entry.outcome, fmt::format("{} ended job {}: {}{}{}", batch_.title, job.name,
                                              entry.word, node ? ", a node was lost" : "",
                                              entry.reason.empty() || entry.reason == "None"
                                                  ? ""
                                                  : " (" + entry.reason + ")"));
  }
  if (job.known && job.entry.state == QueueState::held) {
    return end_all(Status::error,
                   fmt::format("{} holds job {}: {}", batch_.title, job.name, job.entry.reason));
  }
  if (job.known && job.entry.state == QueueState::waiting && options.queue_timeout_s > 0 &&
      since(job.handed_in) > options.queue_timeout_s) {
    return end_all(Status::timeout,
                   fmt::format("{} did not start job {} within {} s: {}", batch_.title, job.name,
                               options.queue_timeout_s, job.entry.reason));
  }
  // "RUNNING" is no sign of life: a controller may believe it of a job that is long gone.
  if (job.known && job.entry.state == QueueState::running && !any_running &&
      since(job.running) > run_.plan_.config.stall_timeout_s) {
    return end_all(
        Status::stalled,
        fmt::format("{} says {} of job {}, which has left no mark for {} s", batch_.title,
                    job.entry.word, job.name, run_.plan_.config.stall_timeout_s));
  }
  return {};
}

Result<void> BatchRun::give_up(Job& job, Member& member, Status status, const std::string& why) {
  // It never began: nothing to measure and nothing that counts as a try.
  const bool never = member.started.empty();
  if (never && member.taken_over) {
    member.over = true;
    wanted_.push_back({member.open.trial,
                       member.open.attempt,
                       member.last_attempt,
                       {},
                       batch_group(run_.plan_, member.open.trial)});
    return {};
  }
  AttemptEnd end;
  end.cause = EndCause::lost;
  end.lost_as = status;
  end.detail = why;
  if (!never) end.seconds = since(member.begin);
  return conclude(job, member, std::move(end));
}

Result<void> BatchRun::conclude(Job& job, Member& member, AttemptEnd end) {
  member.over = true;
  member.log.read(run_.plan_.config.log_limit_bytes);
  fsync(member.open.log_fd);
  end.log_bytes = member.log.bytes_read();
  end.log_cuts = member.log.cuts();
  end.runs = member.log.finish();
  const auto fields = split(member.started, ' ');
  if (const auto restarts = fields.size() > 1 ? to_int(fields[1]).value_or(0) : 0; restarts > 0) {
    member.earlier.push_back({0, fmt::format("{} queued the job again {} {}", batch_.title,
                                             restarts, restarts == 1 ? "time" : "times")});
  }
  const auto again = run_.end_attempt(member.open, end, member.earlier);
  if (!again) return tl::unexpected(again.error());
  if (*again && member.open.attempt < member.last_attempt && !run_.stopping()) {
    wanted_.push_back({member.open.trial, member.open.attempt + 1, member.last_attempt,
                       member.earlier,
                       fmt::format("{}again{}", batch_group(run_.plan_, member.open.trial),
                                   member.open.attempt)});
  }
  if (run_.settled(member.open.trial.cell)) {
    // Measured often enough: the job skips what it has not begun.
    for (auto& other : job.members) {
      if (other.over || !other.started.empty() || other.open.trial.cell != member.open.trial.cell) {
        continue;
      }
      if (auto done = other.open.folder.write("cancel", ""); !done) return done;
      other.over = true;
    }
  }
  return run_.write_results(false);
}

Result<void> BatchRun::close(Job& job, bool cancel) {
  job.closed = true;
  // Whatever the queue still makes of it, a script that starts now must find nothing to do.
  if (auto done = job.folder.write("void", ""); !done) return done;
  if (cancel && !job.ended && !job.missing) batch_.cancel({job.name});
  return job.folder.write("closed", "");
}

Result<void> BatchRun::stop() {
  const auto names = open_names();
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (auto done = job.folder.write("void", ""); !done) return done;
  }
  if (!names.empty()) batch_.cancel(names);
  const auto begin = Clock::now();
  // Ranks get their time to end; a second request does not wait for them.
  while (!names.empty() && since(begin) < run_.options_.grace_s + 40 &&
         run_.signals_.count() <= 1) {
    const auto known = batch_.query(names, milliseconds(10'000));
    const bool live = !known || std::any_of(known->begin(), known->end(), [](const auto& entry) {
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

void BatchRun::label(const Job& job, Member& member) {
  const auto text = read_mark(member.open.folder, "nodes");
  run_.label_placement(member.open.trial, text);
  member.hosts.clear();
  for (const auto& place : parse_nodes(text)) member.hosts.insert(place.host);
  for (auto& other : jobs_) {
    for (auto& beside : other.members) {
      if (&other == &job || !running(beside)) continue;
      for (const auto& host : member.hosts) {
        if (!beside.hosts.contains(host)) continue;
        const auto note =
            fmt::format("shared the machine {} with another trial of this sweep", host);
        member.earlier.push_back({0, note});
        beside.earlier.push_back({0, note});
        break;
      }
    }
  }
}

}  // namespace bertbench
