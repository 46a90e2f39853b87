// BatchJobs: attempts as jobs of a queue. The jobs run by themselves; this hands them in, watches
// the marks that they leave, and asks the queue only about what leaves none.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/sweep/execute/attempt_end.h"
#include "harness/sweep/execute/attempt_runner.h"
#include "harness/sweep/plan/batch_system.h"

namespace bertbench {

/// What jobs of earlier starts still run.
struct EarlierJobs {
  std::map<std::string, std::vector<WantedAttempt>> wanted;  ///< job -> attempts to take over
  std::set<std::string> spared;  ///< run trials as well that this start leaves out (--only)
};

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
  using Clock = std::chrono::steady_clock;

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
    bool known = false;   // the queue has named it at least once
    bool cancel = false;  // it is not about to end by itself
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

}  // namespace bertbench
