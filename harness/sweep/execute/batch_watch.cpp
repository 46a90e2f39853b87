// BatchRun: what becomes of the jobs, by the marks that they leave and by what the queue says.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "harness/sweep/execute/batch_run.h"
#include "harness/sweep/plan/placement.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kMostLaunchFailures = 3;
constexpr double kMissing_s = 5;  // marks may be seen late on a shared file system

/// Status of a command as a shell gives it: 128 + number for a signal.
ExitStatus of_shell(int status) {
  ExitStatus exit;
  exit.code = status;
  return exit;
}

}  // namespace

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
  // A restarted controller may give a new job the number of one that its nodes still know.
  const bool begun = std::any_of(job.members.begin(), job.members.end(),
                                 [](const auto& m) { return !m.started.empty() || m.over; });
  if (job.known && job.entry.launch_failed && !begun && launch_failures_ < kMostLaunchFailures) {
    return hand_in_anew(job);
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

Result<void> BatchRun::hand_in_anew(Job& job) {
  ++launch_failures_;
  run_.observer_.notice(fmt::format("{} could not start job {} ({}); it is handed in anew",
                                    batch_.title, job.name, job.entry.reason));
  for (auto& member : job.members) {
    member.over = true;
    wanted_.push_back({member.open.trial, member.open.attempt, member.last_attempt, member.earlier,
                       batch_group(run_.plan_, member.open.trial)});
  }
  return close(job, true);
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
  member.log.read_last(run_.plan_.config.log_limit_bytes);
  fsync(member.open.log_fd);
  end.take(member.log);
  if (!member.started.empty()) run_.take_telemetry_of_nodes(member.open);
  const auto fields = split(member.started, ' ');
  if (const auto restarts = fields.size() > 1 ? to_int(fields[1]).value_or(0) : 0; restarts > 0) {
    member.earlier.push_back(
        make_notice(NoticeCode::queued_again, 0, batch_.title,
                    fmt::format("{} {}", restarts, restarts == 1 ? "time" : "times")));
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
      if (other.over || other.open.trial.cell != member.open.trial.cell) continue;
      // It may have begun since its mark was last looked for: then it counts.
      if (!other.started.empty() || !read_mark(other.open.folder, "started").empty()) continue;
      if (auto done = other.open.folder.write("cancel", ""); !done) return done;
      other.over = true;
    }
  }
  return run_.write_results(false);
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
        const Notice note = make_notice(NoticeCode::machine_shared, 0, host);
        member.earlier.push_back(note);
        beside.earlier.push_back(note);
        break;
      }
    }
  }
}

}  // namespace bertbench
