// BatchRun: the trials of a sweep as jobs of a queue. The jobs run by themselves; this hands them
// in, watches the marks that they leave, and asks the queue only about what leaves none.
#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/execute/log_watch.h"
#include "harness/sweep/execute/sweep_run.h"
#include "harness/sweep/plan/batch_system.h"

namespace bertbench {

class BatchRun {
 public:
  BatchRun(SweepRun& run, const BatchSystem& batch) : run_(run), batch_(batch) {}

  /// Until every pending trial has ended or the sweep is stopped. Jobs of an earlier start that
  /// still count are taken over; those of trials that this start leaves out go on by themselves;
  /// the others are cancelled.
  Result<void> run();

  /// Name of the job that runs an attempt whose end is not in the journal, if it still counts.
  static std::optional<std::string> job_of(const Folder& root, const Folder& attempt);
  /// Makes void and cancels the jobs of earlier starts that are not in `keep`, and cancels what the
  /// queue still holds of those that have ended.
  static Result<void> end_jobs(const Folder& root, const BatchSystem& batch,
                               const std::set<std::string>& keep);

 private:
  using Clock = std::chrono::steady_clock;

  /// An attempt that a job runs.
  struct Member {
    OpenAttempt open;
    TrialLogs log;
    std::vector<Notice> earlier;
    int last_attempt = 1;     // the number up to which it is tried again
    bool taken_over = false;  // handed in by an earlier start of the harness
    bool told = false;        // trial_started has been called
    std::string started{};    // text of the mark, "" before
    Clock::time_point begin{}, last_output{}, reported{};
    std::optional<EndCause> cancelled{};
    Clock::time_point cancelled_at{};
    bool over = false;
    std::set<std::string> hosts{};  // that it runs on
  };
  struct Job {
    std::string name;
    Folder folder;
    std::list<Member> members;
    Clock::time_point handed_in{}, seen{}, running{};
    std::optional<Clock::time_point> missing, ended;
    QueueEntry entry;
    bool known = false;  // the queue has named it at least once
    bool closed = false;
    bool spared = false;  // runs trials as well that this start leaves out (--only): goes on
  };
  struct Wanted {
    PlannedTrial trial;
    int attempt = 1, last_attempt = 1;
    std::vector<Notice> earlier;
    std::string group;
  };

  Result<void> take_over();
  Result<void> hand_in();
  Result<void> submit(std::vector<Wanted> trials);
  Result<void> write_launch(const Member& member, const std::string& job) const;
  Result<void> watch(Job& job);
  Result<void> watch_member(Job& job, Member& member);
  Result<void> ask_queue();
  Result<void> judge_queue(Job& job);
  /// A job that the queue could not start: its trials wait for another one.
  Result<void> hand_in_anew(Job& job);
  /// Ends a member without a mark of its own.
  Result<void> give_up(Job& job, Member& member, Status status, const std::string& why);
  Result<void> conclude(Job& job, Member& member, AttemptEnd end);
  /// `cancel`: the job is not about to end by itself.
  Result<void> close(Job& job, bool cancel);
  Result<void> stop();
  void label(const Job& job, Member& member);
  /// Cancels what the queue still holds of jobs that have ended: a controller that was started anew
  /// may believe in them again.
  void cancel_revived();
  [[nodiscard]] std::vector<std::string> open_names() const;
  /// Text of a mark, "" when it is not there.
  static std::string read_mark(const Folder& folder, const char* name);
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  [[nodiscard]] static bool running(const Member& member) {
    return !member.over && !member.started.empty();
  }

  SweepRun& run_;
  const BatchSystem& batch_;
  std::deque<Wanted> wanted_;
  std::list<Job> jobs_;
  int handed_in_ = 0;
  int launch_failures_ = 0;  // jobs handed in anew as the queue could not start them
  Clock::time_point next_query_{};
  double query_every_s_ = 0.5;
  std::optional<Clock::time_point> silent_since_;
};

}  // namespace bertbench
