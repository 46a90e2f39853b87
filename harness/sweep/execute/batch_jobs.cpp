#include "harness/sweep/execute/batch_jobs.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/execute/attempt_end.h"
#include "harness/sweep/execute/job_folder.h"
#include "harness/sweep/launch/slurm_jobs.h"
#include "harness/sweep/plan/batch_system.h"
#include "harness/sweep/plan/placement.h"
#include "harness/sweep/plan/template_call.h"
#include "parsers/core/text.h"
#include "parsers/input/arrivals_file.h"

namespace bertbench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kMostLaunchFailures = 3;
constexpr double kMissing_s = 5;  // marks may become visible late on a shared file system
// A job has 1 s to notice a cancel mark and its ranks 5 s to end; it kills them after 20.
constexpr double kCancelled_s = 45;
// The least and the most between two questions to the queue: its marks are looked at far more
// often.
constexpr double kAskSoon_s = 0.5, kAskLate_s = 15;
constexpr std::int64_t kReadAtOnce = std::int64_t{8} << 20;

std::string nul_ended(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word + '\0';
  return text;
}

/// The mark "ended": "status begin end cause". `cancelled`: why this start asked for it.
AttemptEnd end_of_mark(const std::string& mark, std::optional<EndCause> cancelled) {
  AttemptEnd end;
  const auto fields = split(mark, ' ');
  // As a shell gives it: 128 + number for a signal.
  end.exit.emplace().code = static_cast<int>(to_int(fields[0]).value_or(1));
  if (fields.size() < 4) return end;
  end.seconds = to_double(fields[2]).value_or(0) - to_double(fields[1]).value_or(0);
  if (fields[3] == "timeout") end.cause = EndCause::timeout;
  if (fields[3] == "cancelled") end.cause = cancelled.value_or(EndCause::stopped);
  return end;
}

/// Attempts as jobs of a queue. The jobs run by themselves; this hands them in, watches the marks
/// that they leave, and asks the queue only about what leaves none.
class BatchJobs final : public AttemptRunner {
 public:
  BatchJobs(OpenSweep& sweep, AttemptQueue& queue, PlacementLabels& placement,
            const BatchSystem& batch);

  /// Takes over the jobs of earlier starts that still count, before the first start(). Spared ones
  /// go on by themselves; all others are cancelled.
  Result<void> adopt(EarlierJobs earlier);

  [[nodiscard]] bool idle() const override;
  Result<void> start() override;
  Result<std::vector<EndedAttempt>> poll() override;
  Result<std::vector<EndedAttempt>> stop() override;
  Result<void> drop(std::size_t cell) override;
  void close() override;

 private:
  /// An attempt that a job runs. Without `open` it has ended, or waits for another job.
  struct Member {
    std::unique_ptr<OpenAttempt> open;
    bool taken_over = false;  // handed in by an earlier start of the harness
    bool announced = false;   // the observer knows that it has started
    std::string started{};    // text of the mark, "" before
    Clock::time_point begin{}, last_output{}, reported{};
    std::optional<EndCause> cancelled{};
    Clock::time_point cancelled_at{};
    std::set<std::string> hosts{};  // that it runs on

    [[nodiscard]] bool running() const { return open && !started.empty(); }
  };
  struct Job {
    std::string name;
    Folder folder;
    std::list<Member> members{};
    Clock::time_point handed_in = Clock::now(), running = handed_in;
    std::optional<Clock::time_point> missing{}, ended{};
    QueueEntry entry{};
    bool known = false;        // the queue has named it at least once
    std::string noted_reason;  // why it waits, where a notice names that
    bool cancel = false;       // it is not about to end by itself
    bool closed = false;
    bool spared = false;

    Job(std::string n, Folder f) : name(std::move(n)), folder(std::move(f)) {}
    [[nodiscard]] bool any_running() const;
  };

  [[nodiscard]] std::string group_of(const WantedAttempt& wanted) const;
  Result<void> submit(std::vector<WantedAttempt> group);
  Result<void> write_launch(const OpenAttempt& open, const std::string& job) const;
  Result<void> watch(Job& job);
  Result<void> watch_member(Job& job, Member& member);
  Result<void> ask_queue();
  Result<void> judge_queue(Job& job);
  /// A job that the queue could not start: its trials wait for another one.
  Result<void> hand_in_anew(Job& job);
  /// Ends the members of a job that will leave no mark of it.
  void give_up(Job& job, Status status, const std::string& why);
  void conclude(Member& member, AttemptEnd end);
  Result<void> close(Job& job);
  void label(const Job& job, Member& member);
  [[nodiscard]] std::vector<std::string> open_names() const;

  const BatchSystem& batch_;
  std::list<Job> jobs_;
  std::vector<EndedAttempt> ended_;  // since the last poll()
  bool one_machine_ = false;         // nodes of the queue are stand-ins on one machine
  int launch_failures_ = 0;          // jobs handed in anew as the queue could not start them
  Clock::time_point next_query_{};
  double query_every_s_;
  std::optional<Clock::time_point> silent_since_;
};

bool BatchJobs::Job::any_running() const {
  return std::ranges::any_of(members, [](const Member& member) { return member.running(); });
}

BatchJobs::BatchJobs(OpenSweep& sweep, AttemptQueue& queue, PlacementLabels& placement,
                     const BatchSystem& batch)
    : AttemptRunner(sweep, queue, placement), batch_(batch), query_every_s_(kAskSoon_s) {}

Result<void> BatchJobs::adopt(EarlierJobs earlier) {
  std::set<std::string> keep = earlier.spared;
  for (const auto& [name, members] : earlier.wanted) keep.insert(name);
  if (auto done = end_jobs(sweep_.root, batch_, keep); !done) return done;
  for (auto& [name, members] : earlier.wanted) {
    auto folder = sweep_.root.child("jobs/" + name);
    if (!folder) return tl::unexpected(folder.error());
    auto& job = jobs_.emplace_back(name, std::move(*folder));
    job.spared = earlier.spared.contains(name);
    for (auto& wanted : members) {
      auto open = take_over(std::move(wanted));
      if (!open) return tl::unexpected(open.error());
      job.members.push_back({std::move(*open), /*taken_over=*/true});
    }
    sweep_.observer.notice(fmt::format("{} job {} of an earlier start is taken over with {}",
                                       batch_.title, name, counted(members.size(), "trial")));
  }
  one_machine_ = batch_.nodes_share_machines();
  if (one_machine_ && sweep_.plan.config.slurm.max_jobs > 1) {
    sweep_.observer.notice(
        fmt::format("nodes of {} share machines, so one job runs after the other", batch_.title));
  }
  return {};
}

std::vector<std::string> BatchJobs::open_names() const {
  std::vector<std::string> names;
  for (const auto& job : jobs_) {
    if (!job.closed) names.push_back(job.name);
  }
  return names;
}

bool BatchJobs::idle() const { return ended_.empty() && open_names().empty(); }

std::string BatchJobs::group_of(const WantedAttempt& wanted) const {
  const auto group = batch_group(sweep_.plan, wanted.trial);
  // A further attempt is a job of its own: the job of the first one is not over.
  return wanted.again ? fmt::format("{} attempt {}", group, wanted.attempt) : group;
}

Result<void> BatchJobs::start() {
  const auto most = one_machine_ ? 1 : sweep_.plan.config.slurm.max_jobs;
  while (!queue_.empty() && static_cast<std::int64_t>(open_names().size()) < most) {
    auto group = queue_.take_group([&](const WantedAttempt& one) { return group_of(one); });
    if (auto done = submit(std::move(group)); !done) return done;
  }
  return {};
}

Result<void> BatchJobs::write_launch(const OpenAttempt& open, const std::string& job) const {
  const auto& folder = open.folder;
  for (const char* old : {"started", "ended", "cancel", "nodes", "over"}) folder.remove(old);
  const auto process = sweep_.plan.config.secrets.reveal(open.processes.front());
  std::vector<std::string> variables;
  for (const auto& name : process.unset) {
    // env takes no prefixes; what ends in '*' is set by Slurm anew for its tasks.
    if (!name.ends_with('*')) variables.insert(variables.begin(), {"-u", name});
  }
  for (const auto& [name, value] : process.set) variables.push_back(name + "=" + value);
  if (auto done = folder.write_private("launch.env", nul_ended(variables)); !done) return done;
  if (auto done = folder.write_private("launch.argv", nul_ended(process.argv)); !done) return done;
  return folder.write("job", job + "\n");
}

Result<void> BatchJobs::submit(std::vector<WantedAttempt> group) {
  const auto& plan = sweep_.plan;
  BatchJob request;
  request.name = slurm_name(sweep_.earlier.run_id + ":", "-" + random_id().substr(0, 8));
  request.nodes = process_count(plan, plan.cells[group.front().trial.cell]).nodes;
  request.timeout_s = plan.config.timeout_s;
  auto folder = sweep_.root.child("jobs/" + request.name);
  if (!folder) return tl::unexpected(folder.error());
  request.folder = folder->path();
  auto& job = jobs_.emplace_back(request.name, std::move(*folder));
  std::vector<std::string> paths;
  for (auto& wanted : group) {
    const auto& cell = plan.cells[wanted.trial.cell];
    request.gpus_per_node = std::max(request.gpus_per_node, cell.topology.gpus_per_node);
    request.processes_per_node =
        std::max(request.processes_per_node, process_count(plan, cell).per_node);
    auto open = begin(std::move(wanted));
    if (!open) return tl::unexpected(open.error());
    paths.push_back((*open)->folder.path());
    if (auto done = write_launch(**open, job.name); !done) return done;
    job.members.push_back({std::move(*open)});
  }
  if (auto done = job.folder.write("trials", nul_ended(paths)); !done) return done;
  if (auto done = job.folder.write("script.sh", batch_.script); !done) return done;
  if (auto done = job.folder.sync(); !done) return done;
  job.handed_in = job.running = Clock::now();

  // A hand-in whose answer is lost may have been accepted all the same: the name will show it.
  std::string printed;
  const auto id =
      capture_output(batch_.submit_command(plan, request), std::chrono::seconds(30), &printed);
  next_query_ = {};
  if (!id) {
    const auto known = batch_.query({job.name});
    if (known && !known->contains(job.name)) {
      give_up(job, Status::error,
              fmt::format("{} refused the job: {}", batch_.title, trim(printed)));
      return {};
    }
  }
  sweep_.observer.notice(fmt::format("{} job {} ({}) holds {} of {}", batch_.title, job.name,
                                     id ? std::string(trim(*id)) : "no answer yet",
                                     counted(job.members.size(), "trial"),
                                     counted(request.nodes, "node")));
  return {};
}

Result<std::vector<EndedAttempt>> BatchJobs::poll() {
  if (!ended_.empty()) return std::exchange(ended_, {});
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (auto done = watch(job); !done) return tl::unexpected(done.error());
  }
  if (auto done = ask_queue(); !done) return tl::unexpected(done.error());
  if (ended_.empty() && !idle()) {
    pollfd wake{sweep_.signals.wake_fd(), POLLIN, 0};
    ::poll(&wake, 1, static_cast<int>(std::clamp(sweep_.options.progress_s, 0.02, 0.25) * 1000));
    sweep_.signals.drain();
  }
  return std::exchange(ended_, {});
}

Result<void> BatchJobs::watch(Job& job) {
  // What has ended is in the journal since the last poll(), so now its job may count as closed.
  if (std::ranges::all_of(job.members, [](const Member& member) { return !member.open; })) {
    return close(job);
  }
  for (auto& member : job.members) {
    if (!member.open) continue;
    if (auto done = watch_member(job, member); !done) return done;
  }
  return {};
}

Result<void> BatchJobs::watch_member(Job& job, Member& member) {
  auto& open = *member.open;
  const auto& config = sweep_.plan.config;
  const auto mark = read_mark(open.folder, "started");
  if (mark.empty()) return {};
  if (mark != member.started) {
    member.begin = member.last_output = Clock::now();
    if (!member.started.empty()) {
      sweep_.observer.notice(
          fmt::format("{} started job {} again; its log goes on", batch_.title, job.name));
    }
    member.started = mark;
    label(job, member);
    if (!member.announced) sweep_.observer.trial_started(open.progress);
    member.announced = true;
  }
  const auto ended = read_mark(open.folder, "ended");
  if (open.log.read(kReadAtOnce)) member.last_output = Clock::now();
  if (!ended.empty()) {
    conclude(member, end_of_mark(ended, member.cancelled));
    return {};
  }
  if (seconds_since(member.reported) >= sweep_.options.progress_s) {
    member.reported = Clock::now();
    report_progress(open, seconds_since(member.begin));
  }
  if (member.cancelled) {
    if (seconds_since(member.cancelled_at) < kCancelled_s) return {};
    batch_.cancel({job.name});
    AttemptEnd end;
    end.cause = *member.cancelled;
    conclude(member, std::move(end));
    return {};
  }
  const auto cancel = [&](EndCause cause) {
    member.cancelled = cause;
    member.cancelled_at = Clock::now();
    return open.folder.write("cancel", "");
  };
  // A job that was queued again waits without output, and rightly so.
  if (job.entry.state == QueueState::waiting && job.known) {
    member.last_output = Clock::now();
  } else if (seconds_since(member.last_output) > config.stall_timeout_s) {
    return cancel(EndCause::stalled);
  }
  if (open.log.size() > config.log_limit_bytes) return cancel(EndCause::log_limit);
  return {};
}

Result<void> BatchJobs::ask_queue() {
  if (Clock::now() < next_query_) return {};
  const auto names = open_names();
  if (names.empty()) return {};
  const auto answer = batch_.query(names);
  // The queue is asked less and less while it has nothing new.
  query_every_s_ = std::min(query_every_s_ * 1.5, kAskLate_s);
  if (!answer && !silent_since_) {
    silent_since_ = Clock::now();
    sweep_.observer.notice(fmt::format("{} does not answer; running trials go on", batch_.title));
  } else if (answer && silent_since_) {
    sweep_.observer.notice(fmt::format("{} answers again", batch_.title));
    silent_since_.reset();
  }
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (answer) {
      const auto it = answer->find(job.name);
      if (it == answer->end()) {
        if (!job.missing) job.missing = Clock::now();
        query_every_s_ = kAskSoon_s;
      } else {
        job.missing.reset();
        if (!job.known || it->second.word != job.entry.word) {
          query_every_s_ = kAskSoon_s;
          if (it->second.state == QueueState::running) job.running = Clock::now();
        }
        job.known = true;
        job.entry = it->second;
        if (job.entry.state != QueueState::ended) job.ended.reset();
        if (job.entry.state == QueueState::ended && !job.ended) job.ended = Clock::now();
      }
    }
    if (auto done = judge_queue(job); !done) return done;
  }
  next_query_ = Clock::now() + milliseconds(static_cast<int>(query_every_s_ * 1000));
  return {};
}

Result<void> BatchJobs::judge_queue(Job& job) {
  const auto& config = sweep_.plan.config;
  const auto& entry = job.entry;
  const auto end_all = [&](Status status, const std::string& why) -> Result<void> {
    job.cancel = true;
    give_up(job, status, why);
    return {};
  };
  if (silent_since_) {
    // Nobody who could start what waits; what runs is watched by its own log.
    if (job.any_running() || seconds_since(*silent_since_) < config.slurm.controller_timeout_s)
      return {};
    return end_all(Status::error, fmt::format("{} has not answered for {:.0f} s", batch_.title,
                                              seconds_since(*silent_since_)));
  }
  // A last look for marks comes before each verdict: watch() runs before ask_queue().
  if (job.missing && seconds_since(*job.missing) > kMissing_s) {
    return end_all(Status::error,
                   fmt::format("{} job {} vanished: the controller does not know it and it left no "
                               "mark of its end",
                               batch_.title, job.name));
  }
  if (job.ended && seconds_since(*job.ended) > kMissing_s) {
    const bool node = entry.word == "NODE_FAIL";
    return end_all(entry.outcome, fmt::format("{} ended job {}: {}{}{}", batch_.title, job.name,
                                              entry.word, node ? ", a node was lost" : "",
                                              entry.reason.empty() || entry.reason == "None"
                                                  ? ""
                                                  : " (" + entry.reason + ")"));
  }
  // A restarted controller may give a new job the number of one that its nodes still know.
  const bool begun = std::ranges::any_of(
      job.members, [](const Member& member) { return !member.open || member.running(); });
  if (!job.known) return {};
  if (entry.launch_failed && !begun && launch_failures_ < kMostLaunchFailures) {
    return hand_in_anew(job);
  }
  if (entry.state == QueueState::held) {
    return end_all(Status::error,
                   fmt::format("{} holds job {}: {}", batch_.title, job.name, entry.reason));
  }
  if (entry.state == QueueState::waiting && !entry.reason_is_usual &&
      entry.reason != job.noted_reason) {
    job.noted_reason = entry.reason;
    sweep_.observer.notice(
        fmt::format("{} job {} waits for another reason than its turn: {}. It may never start; "
                    "slurm.queue_timeout_s bounds the wait, scancel --name={} ends it",
                    batch_.title, job.name, entry.reason, job.name));
  }
  if (entry.state == QueueState::waiting && config.slurm.queue_timeout_s > 0 &&
      seconds_since(job.handed_in) > config.slurm.queue_timeout_s) {
    return end_all(Status::timeout,
                   fmt::format("{} did not start job {} within {} s: {}", batch_.title, job.name,
                               config.slurm.queue_timeout_s, entry.reason));
  }
  // "RUNNING" is no sign of life: a controller may believe it of a job that is long gone.
  if (entry.state == QueueState::running && !job.any_running() &&
      seconds_since(job.running) > config.stall_timeout_s) {
    return end_all(Status::stalled,
                   fmt::format("{} reports {} for job {}, which has left no mark for {} s",
                               batch_.title, entry.word, job.name, config.stall_timeout_s));
  }
  return {};
}

Result<void> BatchJobs::hand_in_anew(Job& job) {
  ++launch_failures_;
  sweep_.observer.notice(fmt::format("{} could not start job {} ({}); it is handed in anew",
                                     batch_.title, job.name, job.entry.reason));
  for (auto member = job.members.rbegin(); member != job.members.rend(); ++member) {
    queue_.put_first(std::exchange(member->open, nullptr)->wanted);
  }
  job.cancel = true;
  return close(job);
}

void BatchJobs::give_up(Job& job, Status status, const std::string& why) {
  std::vector<WantedAttempt> unbegun;
  for (auto& member : job.members) {
    if (!member.open) continue;
    if (member.started.empty() && member.taken_over) {
      // It never began: nothing to measure and nothing that counts as a try.
      unbegun.push_back(std::exchange(member.open, nullptr)->wanted);
      continue;
    }
    AttemptEnd end;
    end.cause = EndCause::lost;
    end.lost_as = status;
    end.detail = why;
    if (!member.started.empty()) end.seconds = seconds_since(member.begin);
    conclude(member, std::move(end));
  }
  for (auto& wanted : unbegun | std::views::reverse) queue_.put_first(std::move(wanted));
}

void BatchJobs::conclude(Member& member, AttemptEnd end) {
  auto& open = *member.open;
  open.log.read_last(sweep_.plan.config.log_limit_bytes);
  fsync(open.log_fd);
  end.take(open.log);
  // The job's first node has stamped it, the harness has not.
  if (!end.own_log) give_arrivals(end.runs, read_arrivals(open.folder.path_of("log.txt")));
  if (!member.started.empty()) take_node_telemetry(open);
  const auto fields = split(member.started, ' ');
  if (const auto restarts = fields.size() > 1 ? to_int(fields[1]).value_or(0) : 0; restarts > 0) {
    open.wanted.earlier.push_back(
        make_notice(NoticeCode::queued_again, 0, batch_.title, counted(restarts, "time")));
  }
  ended_.push_back({std::move(member.open), std::move(end)});
}

Result<void> BatchJobs::drop(std::size_t cell) {
  for (auto& job : jobs_) {
    for (auto& member : job.members) {
      if (!member.open || member.open->wanted.trial.cell != cell || member.running()) continue;
      // It may have begun since its mark was last looked for: then it counts.
      if (!read_mark(member.open->folder, "started").empty()) continue;
      if (auto done = member.open->folder.write("cancel", ""); !done) return done;
      member.open.reset();
    }
  }
  return {};
}

void BatchJobs::label(const Job& job, Member& member) {
  const auto text = read_mark(member.open->folder, "nodes");
  placement_.add(member.open->wanted.trial.cell, text);
  member.hosts.clear();
  for (const auto& place : parse_nodes(text)) member.hosts.insert(place.host);
  for (auto& other : jobs_) {
    for (auto& other_member : other.members) {
      if (&other == &job || !other_member.running()) continue;
      const auto shared = std::ranges::find_if(
          member.hosts, [&](const auto& host) { return other_member.hosts.contains(host); });
      if (shared == member.hosts.end()) continue;
      const Notice note = make_notice(NoticeCode::machine_shared, 0, *shared);
      member.open->wanted.earlier.push_back(note);
      other_member.open->wanted.earlier.push_back(note);
    }
  }
}

Result<void> BatchJobs::close(Job& job) {
  job.closed = true;
  if (job.spared && !job.cancel) return {};
  // Whatever the queue still makes of it, a script that starts now must find nothing to do.
  if (auto done = job.folder.write("void", ""); !done) return done;
  if (job.cancel && !job.ended && !job.missing) batch_.cancel({job.name});
  return job.folder.write("closed", "");
}

void BatchJobs::close() {
  std::vector<std::string> names;
  for (const auto& job : jobs_) {
    if (!job.spared) names.push_back(job.name);
  }
  if (names.empty() || silent_since_) return;
  // A script that has left its last mark takes a moment to end: it is not cancelled for that.
  const auto begin = Clock::now();
  for (;;) {
    const auto known = batch_.query(names);
    const bool running = known && std::ranges::any_of(*known, [](const auto& one) {
                           return one.second.state == QueueState::running;
                         });
    if (!running || seconds_since(begin) > 5) break;
    ::poll(nullptr, 0, 100);
  }
  cancel_revived(batch_, names);
}

Result<std::vector<EndedAttempt>> BatchJobs::stop() {
  // What ended since the last look ended by itself, and counts.
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (auto done = watch(job); !done) return tl::unexpected(done.error());
  }
  std::vector<std::string> names;
  for (auto& job : jobs_) {
    if (job.closed) continue;
    if (!job.spared) {
      names.push_back(job.name);
      if (auto done = job.folder.write("void", ""); !done) return tl::unexpected(done.error());
      continue;
    }
    for (auto& member : job.members) {
      if (!member.open) continue;
      member.open->folder.remove("job");  // it is no longer this job's
      if (auto done = member.open->folder.write("cancel", ""); !done) {
        return tl::unexpected(done.error());
      }
    }
  }
  const auto spared_running = [this] {
    return std::ranges::any_of(jobs_, [](const Job& job) {
      return job.spared && !job.closed && std::ranges::any_of(job.members, [](const Member& one) {
               return one.running() && read_mark(one.open->folder, "ended").empty();
             });
    });
  };
  if (!names.empty()) batch_.cancel(names);
  const auto begin = Clock::now();
  // Ranks get their time to end; a second request does not wait for them.
  while ((!names.empty() || spared_running()) &&
         seconds_since(begin) < sweep_.options.grace_s + 40 && sweep_.signals.count() <= 1) {
    const auto known = names.empty() ? std::map<std::string, QueueEntry>{} : batch_.query(names);
    const bool live =
        spared_running() || !known || std::ranges::any_of(*known, [](const auto& one) {
          return one.second.state != QueueState::ended;
        });
    if (!live) break;
    ::poll(nullptr, 0, 200);
    sweep_.signals.drain();
  }
  for (auto& job : jobs_) {
    for (auto& member : job.members) {
      if (!member.running()) continue;
      AttemptEnd end;
      end.cause = EndCause::stopped;
      end.seconds = seconds_since(member.begin);
      conclude(member, std::move(end));
    }
  }
  return std::exchange(ended_, {});
}

}  // namespace

Result<std::unique_ptr<AttemptRunner>> make_batch_jobs(OpenSweep& sweep, AttemptQueue& queue,
                                                       PlacementLabels& placement,
                                                       const BatchSystem& batch,
                                                       EarlierJobs earlier) {
  auto jobs = std::make_unique<BatchJobs>(sweep, queue, placement, batch);
  if (auto done = jobs->adopt(std::move(earlier)); !done) return tl::unexpected(done.error());
  return jobs;
}

}  // namespace bertbench
