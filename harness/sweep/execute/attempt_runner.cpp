#include "harness/sweep/execute/attempt_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "harness/sweep/config/hosts.h"
#include "harness/sweep/execute/attempt_end.h"
#include "harness/sweep/execute/hooks.h"
#include "harness/sweep/execute/measure_attempt.h"
#include "harness/sweep/observe/machine.h"
#include "harness/sweep/observe/nvml.h"
#include "harness/sweep/observe/speed_probe.h"
#include "harness/sweep/observe/telemetry.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {

TrialProgress AttemptRunner::progress_of(const OpenAttempt& open) const {
  TrialProgress out;
  out.cell = &open.cell;
  out.trial = open.wanted.trial.trial;
  out.trials = sweep_.plan.config.trials;
  out.attempt = open.wanted.attempt;
  out.position = open.wanted.position;
  out.to_run = queue_.trials();
  out.steps =
      sweep_.plan.config.asks_for_steps() ? sweep_.plan.cells[open.wanted.trial.cell].steps : 0;
  return out;
}

Result<std::unique_ptr<OpenAttempt>> AttemptRunner::begin(WantedAttempt wanted) {
  auto open = OpenAttempt::begin(sweep_, std::move(wanted));
  if (!open) return open;
  (*open)->progress = progress_of(**open);
  (*open)->progress.eta_s = queue_.eta((*open)->wanted.trial.cell, kUnknown);
  return open;
}

Result<std::unique_ptr<OpenAttempt>> AttemptRunner::take_over(WantedAttempt wanted) {
  auto open = OpenAttempt::take_over(sweep_, std::move(wanted));
  if (open) (*open)->progress = progress_of(**open);
  return open;
}

void AttemptRunner::report_progress(OpenAttempt& open, double elapsed_s) {
  const auto live = open.log.live();
  auto& progress = open.progress;
  progress.step = live.last_step.value_or(0);
  if (live.last_step && sweep_.launcher.watches_nodes && !open.training_marked) {
    open.training_marked = open.folder.write_unsynced(kTrainingMark, "").has_value();
  }
  progress.sequences_per_second = live_rate(live, open.cell);
  progress.elapsed_s = elapsed_s;
  // Steps take alike, so what is left of this trial follows from its own pace, but for the first
  // one: a start and a compilation of minutes precede it.
  double remaining_s = kUnknown;
  if (progress.step > 0 && progress.steps > 0) {
    if (!open.first_step_at) open.first_step_at = {progress.step, elapsed_s};
    const auto [first, first_s] = *open.first_step_at;
    const auto left = static_cast<double>(progress.steps - progress.step);
    if (left <= 0) {
      remaining_s = 0;
    } else if (progress.step > first) {
      remaining_s = left * (elapsed_s - first_s) / static_cast<double>(progress.step - first);
    }
  }
  progress.eta_s = queue_.eta(open.wanted.trial.cell, remaining_s);
  sweep_.observer.trial_progress(progress);
}

void AttemptRunner::take_node_telemetry(OpenAttempt& open) {
  const auto& launcher = sweep_.launcher;
  if (!launcher.watches_nodes || sampler_program().empty()) return;
  std::vector<std::int64_t> nodes;
  if (launcher.samplers) {
    for (const auto& one : launcher.samplers(sweep_.plan, open.wanted.trial, open.place)) {
      nodes.push_back(one.node);
    }
  } else {
    nodes.resize(static_cast<std::size_t>(process_count(sweep_.plan, open.cell).nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  const auto all = bertbench::take_node_telemetry(open.folder, nodes);
  open.telemetry = join_nodes(all);
  if (launcher.hosts == RankHosts::configured) label_machines(open, all);
  for (const auto& node : open.telemetry.value("nodes", nlohmann::ordered_json::array())) {
    const auto why = node.value("missing", "");
    if (why.empty() || !reasons_reported_.insert(why).second) continue;
    sweep_.observer.notice(fmt::format("{} trial {}: no telemetry of node {}: {}", open.cell.key,
                                       open.wanted.trial.trial, node.value("node", 0), why));
  }
}

void AttemptRunner::label_machines(OpenAttempt& open, const std::vector<NodeTelemetry>& samplers) {
  const auto& plan = sweep_.plan;
  const auto shares = shares_of(plan.config.hosts, open.cell.topology.nodes);
  std::string text;
  for (std::size_t i = 0; i < shares.size() && i < samplers.size(); ++i) {
    auto machine = machine_of(samplers[i]);
    if (machine.empty()) return;
    if (machine == this_machine()) machine = "localhost";
    for (std::int64_t n = 0; n < shares[i].nodes; ++n) {
      text += fmt::format("{} {}\n", host_of(plan, samplers[i].node), machine);
    }
  }
  // For a resume; without it the results of one lack the label.
  (void)open.folder.write_unsynced("nodes", text);
  placement_.add(open.wanted.trial.cell, text);
}

namespace {

using Clock = std::chrono::steady_clock;

// Over a connection, from the order to the last output.
constexpr std::chrono::seconds kHelpersEnd{3};
// After the first rank has failed the others have so long to print why.
constexpr double kLastMessages_s = 2;

/// Times the kernel's out-of-memory killer struck since boot.
std::int64_t oom_kills() {
  const std::string text = proc::read_file("/proc/vmstat");
  const auto at = text.find("\noom_kill ");
  if (at == std::string::npos) return 0;
  const auto rest = std::string_view(text).substr(at + 10);
  return to_int(rest.substr(0, rest.find('\n'))).value_or(0);
}

/// CPU on which trainers of one thread that take turns run: one may be faster than another. The
/// last that this process may use, as the first often serves interrupts; below 0: unknown.
int cpu_of_turns() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
  int cpu = CPU_SETSIZE - 1;
  while (cpu >= 0 && !CPU_ISSET(static_cast<std::size_t>(cpu), &set)) --cpu;
  return cpu;
}

/// Null where the trainers do not run on this machine.
std::unique_ptr<Telemetry> telemetry_of(const OpenSweep& sweep, const PlannedCell& cell,
                                        const Nvml* nvml, std::optional<std::int64_t> memory) {
  if (!sweep.launcher.runs_here(sweep.plan.config)) return nullptr;
  // Trainers that take turns would each be somebody else's load to the others.
  if (sweep.plan.config.turn_s > 0) return nullptr;
  TelemetryOptions options;
  options.cores = sweep.plan.cores;
  options.memory_bytes = memory;
  options.on_cpu = cell.cpu_stands_in;
  if (nvml && !cell.cpu_stands_in) {
    options.nvml = nvml;
    const auto& env = cell.env;
    const auto named = env.find("CUDA_VISIBLE_DEVICES");
    const char* inherited = std::getenv("CUDA_VISIBLE_DEVICES");
    std::string visible = inherited != nullptr ? inherited : "";
    if (named != env.end()) visible = named->second;
    // Emulated nodes share this machine's GPUs.
    options.gpus = gpus_in_use(*nvml, cell.topology.gpus_per_node * cell.topology.nodes, visible);
  }
  return std::make_unique<Telemetry>(std::move(options));
}

// Turns: trainers that run at the same time compute one at a time, each for a moment
// (bert_train --turn-s, Turns in workloads/bert/train/trainer.h), so that what the machine does to
// one trial of a block it does to the others.

/// The first turn is given when every trainer has asked for one or is gone, then one at a time to
/// the others in the order in which they were added. A trainer that closes its end, or dies, is
/// passed over. A thread of its own gives them.
class TurnGiver {
 public:
  TurnGiver() = default;
  TurnGiver(const TurnGiver&) = delete;
  TurnGiver& operator=(const TurnGiver&) = delete;
  /// Trainers that still wait are let go: each runs on by itself.
  ~TurnGiver();

  /// Another trainer, before begin(). Gives the socket for its stdin, which the caller closes once
  /// it was started, or could not be.
  Result<Descriptor> add();
  /// Every trainer was started, or could not be.
  void begin();

  /// Seconds that the i-th trainer waited while another one computed, or started up.
  [[nodiscard]] double waited_s(std::size_t i) const;
  [[nodiscard]] bool waits(std::size_t i) const;

 private:
  struct Trainer {
    Descriptor fd;  ///< below 0: gone
    bool waits = false;
    Clock::time_point since{};  ///< it waits
    double waited_s = 0;
  };
  void give();
  void read_request(Trainer& trainer);
  void pass_on();

  std::deque<Trainer> trainers_;
  mutable std::mutex mutex_;  // of trainers_ while the thread runs
  std::thread thread_;
  Pipe wake_;
  std::size_t next_ = 0;  // to be given a turn, if it waits
  bool started_ = false;  // the first turn was given
  bool given_ = false;    // somebody has a turn
};

TurnGiver::~TurnGiver() {
  if (thread_.joinable()) {
    (void)!write(wake_.write, "", 1);
    thread_.join();
  }
}

Result<Descriptor> TurnGiver::add() {
  int ends[2] = {-1, -1};
  if ((wake_.read < 0 && !wake_.open()) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
    return tl::unexpected(file_error("a socket for turns", "cannot be made", errno));
  }
  trainers_.emplace_back().fd = Descriptor(ends[0]);
  return Descriptor(ends[1]);
}

void TurnGiver::begin() {
  thread_ = std::thread([this] { give(); });
}

void TurnGiver::give() {
  for (;;) {
    std::vector<pollfd> watched{{wake_.read, POLLIN, 0}};
    // One below 0 is passed over.
    for (const auto& one : trainers_) watched.push_back({one.fd, POLLIN, 0});
    if (poll(watched.data(), static_cast<nfds_t>(watched.size()), -1) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < trainers_.size(); ++i) {
      if (watched[i + 1].revents != 0) read_request(trainers_[i]);
    }
    pass_on();
    if (std::ranges::all_of(trainers_, [](const Trainer& one) { return one.fd < 0; })) return;
  }
}

/// One that asks has no turn any more, and neither has one that is gone.
void TurnGiver::read_request(Trainer& trainer) {
  char byte = 0;
  const ssize_t got = recv(trainer.fd, &byte, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (!trainer.waits) given_ = false;
  if (got == 1) {
    trainer.waits = true;
    trainer.since = Clock::now();
    return;
  }
  trainer.waits = false;
  trainer.fd = Descriptor();
}

void TurnGiver::pass_on() {
  const auto ready = [](const Trainer& one) { return one.waits || one.fd < 0; };
  started_ = started_ || std::ranges::all_of(trainers_, ready);
  for (std::size_t tried = 0; started_ && !given_ && tried < trainers_.size(); ++tried) {
    auto& one = trainers_[next_];
    next_ = (next_ + 1) % trainers_.size();
    if (!one.waits) continue;
    one.waits = false;
    one.waited_s += seconds_since(one.since);
    given_ =
        send(one.fd, "", 1, MSG_NOSIGNAL) == 1;  // one that is gone is noticed at the next look
  }
}

double TurnGiver::waited_s(std::size_t i) const {
  const std::lock_guard lock(mutex_);
  const auto& one = trainers_[i];
  return one.waited_s + (one.waits ? seconds_since(one.since) : 0);
}

bool TurnGiver::waits(std::size_t i) const {
  const std::lock_guard lock(mutex_);
  return trainers_[i].waits;
}

/// Attempts whose processes this machine starts, one after the other, or the variants of a block
/// together where they take turns.
class LocalAttempts final : public AttemptRunner {
 public:
  LocalAttempts(OpenSweep& sweep, AttemptQueue& queue, PlacementLabels& placement);
  ~LocalAttempts() override;

  [[nodiscard]] bool idle() const override { return running_.empty(); }
  Result<void> start() override;
  Result<std::vector<EndedAttempt>> poll() override;
  Result<std::vector<EndedAttempt>> stop() override;
  Result<void> drop(std::size_t) override { return {}; }
  void close() override {}

 private:
  struct Running;
  Result<void> start(WantedAttempt wanted);
  Result<void> start_samplers(Running& now);
  Result<void> start_ranks(Running& now);
  /// The machine's own speed now; null where it is not looked at.
  nlohmann::ordered_json probe();
  /// Waits for a moment, then looks at each that runs.
  void watch();
  /// Reads what the trainer printed meanwhile, and ends it when a limit is reached.
  void watch(Running& now);
  [[nodiscard]] bool any_runs() const;
  /// Every process has ended: what the logs hold now is what counts.
  Result<std::vector<EndedAttempt>> conclude();
  Result<EndedAttempt> conclude(Running& now, const nlohmann::ordered_json& probe_after);

  std::unique_ptr<Nvml> nvml_;                // null where there is no GPU
  std::optional<std::int64_t> memory_bytes_;  // of this machine or our cgroup
  std::unique_ptr<TurnGiver> turns_;          // of running_, where they take turns
  std::vector<std::unique_ptr<Running>> running_;
  SpeedProbe speed_probe_;
  nlohmann::ordered_json last_probe_;  // null: none
  std::chrono::steady_clock::time_point last_probe_at_;
};

struct LocalAttempts::Running {
  std::unique_ptr<OpenAttempt> open;
  std::unique_ptr<Telemetry> telemetry;
  nlohmann::ordered_json probe_before;  ///< null: not probed
  std::vector<Descriptor> sampler_logs;
  ProcessGroup group;
  AttemptEnd end;
  std::int64_t oom_kills_before = oom_kills();
  Clock::time_point begin = Clock::now(), last_output = begin, reported{};
  std::optional<Clock::time_point> ending, failed_at, ended;
  const OpenSweep& sweep;
  bool cleaned_up = false;
  TurnGiver* turns = nullptr;  ///< null: it takes none
  std::size_t number = 0;      ///< among those of turns
  Descriptor turn_fd;          ///< for its stdin, until it was started

  Running(const OpenSweep& s, std::unique_ptr<OpenAttempt> attempt)
      : open(std::move(attempt)), sweep(s) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  /// Whatever ended the attempt, an error of the harness included, what its setup made is removed.
  ~Running() {
    group.kill_all();
    clean_up();
  }

  /// Runs trial_cleanup, once.
  void clean_up() {
    if (std::exchange(cleaned_up, true)) return;
    if (const auto failed = run_hook(sweep, *open, Hook::cleanup); !failed.empty()) {
      sweep.observer.notice(
          fmt::format("{} trial {}: {}", open->cell.key, open->wanted.trial.trial, failed));
    }
  }

  /// Since it began, by the monotonic clock, less what it waited for its turns.
  [[nodiscard]] double seconds() const {
    const auto until = ended.value_or(Clock::now());
    const double waited_s = turns ? turns->waited_s(number) : 0;
    return std::chrono::duration<double>(until - begin).count() - waited_s;
  }

  void begin_to_end(EndCause cause) {
    end.cause = cause;
    ending = Clock::now();
    group.signal(SIGTERM);
  }
};

LocalAttempts::LocalAttempts(OpenSweep& sweep, AttemptQueue& queue, PlacementLabels& placement)
    : AttemptRunner(sweep, queue, placement),
      nvml_(Nvml::open()),
      memory_bytes_(look_at_machine("", /*with_gpus=*/false).usable_memory()) {}

LocalAttempts::~LocalAttempts() = default;

Result<void> LocalAttempts::start() {
  if (!running_.empty() || queue_.empty()) return {};
  if (!(sweep_.plan.config.turn_s > 0)) return start(queue_.take());
  turns_ = std::make_unique<TurnGiver>();
  auto first = queue_.take();
  const auto trial = first.trial;
  const bool again = first.again;
  const auto grid_point = [&](const PlannedTrial& one) {
    return sweep_.plan.cells[one.cell].grid_point;
  };
  if (auto done = start(std::move(first)); !done) return done;
  // One that is tried again has no part in a pair, and nobody to take turns with.
  while (!again && !queue_.empty()) {
    const auto& next = queue_.front();
    if (next.again || next.trial.trial != trial.trial ||
        grid_point(next.trial) != grid_point(trial)) {
      break;
    }
    if (auto done = start(queue_.take()); !done) return done;
  }
  turns_->begin();
  return {};
}

Result<void> LocalAttempts::start(WantedAttempt wanted) {
  auto begun = begin(std::move(wanted));
  if (!begun) return tl::unexpected(begun.error());
  auto& open = **begun;
  if (sweep_.launcher.nodes) {
    const auto nodes = sweep_.launcher.nodes();
    if (auto done = open.folder.write("nodes", nodes); !done) return done;
    placement_.add(open.wanted.trial.cell, nodes);
  }
  sweep_.observer.trial_started(open.progress);
  running_.push_back(std::make_unique<Running>(sweep_, std::move(*begun)));
  auto& now = *running_.back();
  if (turns_) {
    auto fd = turns_->add();
    if (!fd) return tl::unexpected(fd.error());
    now.turns = turns_.get();
    now.number = running_.size() - 1;
    now.turn_fd = std::move(*fd);
    open.log.leave_out_arrivals();  // they show when it had its turns
  }
  const auto failed = run_hook(sweep_, open, Hook::setup);
  now.probe_before = running_.size() > 1 ? running_.front()->probe_before : probe();
  now.telemetry = telemetry_of(sweep_, open.cell, nvml_.get(), memory_bytes_);
  now.begin = now.last_output = Clock::now();
  Result<void> done;
  if (!failed.empty()) {
    now.end.cause = sweep_.stopping() ? EndCause::stopped : EndCause::not_started;
    now.end.detail = failed;
  } else {
    done = start_samplers(now).and_then([&] { return start_ranks(now); });
  }
  // The other end is the trainer's alone, so that its end is noticed.
  now.turn_fd = Descriptor();
  return done;
}

nlohmann::ordered_json LocalAttempts::probe() {
  const bool here = sweep_.launcher.runs_here(sweep_.plan.config);
  if (!(sweep_.options.probe_s > 0) || !here || sweep_.stopping()) return {};
  // Between two trials that follow each other one look serves both.
  constexpr double kStillTrue_s = 0.2;
  if (last_probe_.is_null() || seconds_since(last_probe_at_) > kStillTrue_s) {
    last_probe_ = speed_probe_.read(sweep_.options.probe_s);
    last_probe_at_ = Clock::now();
  }
  return last_probe_;
}

Result<void> LocalAttempts::start_samplers(Running& now) {
  if (!sweep_.launcher.samplers || sampler_program().empty()) return {};
  for (const auto& sampler :
       sweep_.launcher.samplers(sweep_.plan, now.open->wanted.trial, now.open->place)) {
    auto fd = now.open->folder.create_log(node_file(sampler.node));
    if (!fd) return tl::unexpected(fd.error());
    // One that does not start leaves its reason in its output; the trial does not need it.
    const auto started = now.group.start_helper(sampler.process, *fd);
    if (!started) write_all(*fd, started.error().message());
    now.sampler_logs.push_back(std::move(*fd));
  }
  return {};
}

Result<void> LocalAttempts::start_ranks(Running& now) {
  auto launched = nlohmann::ordered_json{{"event", "launched"}};
  launched.update(now.open->who());
  auto& processes = launched["processes"] = nlohmann::ordered_json::array();
  std::vector<pid_t> ranks;
  for (const auto& planned : now.open->processes) {
    auto spec = sweep_.plan.config.secrets.reveal(planned);
    spec.stdin_fd = now.turn_fd;
    if (now.turns && now.open->cell.threads == "1") spec.cpu = cpu_of_turns();
    const auto id = now.group.start(spec, now.open->log_fd);
    if (!id) {
      now.end.cause = EndCause::not_started;
      now.end.detail = id.error().message();
      now.group.kill_all();
      // What a process wrote before it was ended here is no measurement: with a covered window the
      // trial would stand as failed, and the same command must launch it again.
      if (ftruncate(now.open->log_fd, 0) < 0) {
        return fail(now.open->folder.path_of("log.txt"), std::strerror(errno));
      }
      return {};
    }
    processes.push_back({{"pid", id->pid}, {"start_time", id->start_time}});
    ranks.push_back(id->pid);
  }
  if (now.telemetry) now.telemetry->watch(std::move(ranks));
  return sweep_.journal.append(launched);
}

bool LocalAttempts::any_runs() const {
  return std::ranges::any_of(running_, [](const auto& one) { return one->group.running(); });
}

void LocalAttempts::watch() {
  double tick_s = 0;  // the first that runs is waited for, the others are looked at
  for (const auto& one : running_) {
    if (!one->group.running()) continue;
    if (tick_s > 0) {
      one->group.wait(std::chrono::milliseconds(0));
    } else {
      // A trial of a fraction of a second is looked at before it ends; later looks cost less.
      const double share = seconds_since(one->begin) < 1 ? 0.25 : 1;
      tick_s = std::clamp(share * sweep_.options.progress_s, 0.01, 0.25);
      one->group.wait(std::chrono::milliseconds(static_cast<int>(tick_s * 1000)),
                      sweep_.signals.wake_fd());
      sweep_.signals.drain();
    }
    if (!one->group.running()) one->ended = Clock::now();
    watch(*one);
  }
}

void LocalAttempts::watch(Running& now) {
  const auto& config = sweep_.plan.config;
  auto& open = *now.open;
  auto& group = now.group;
  if (now.turns && now.turns->waits(now.number)) now.last_output = Clock::now();
  if (open.log.follow()) {
    now.last_output = Clock::now();
    // What is not on disk now is written with the rest at the end, where an error is one.
    (void)open.log.save_arrivals(open.folder, false);
  }

  const auto status = group.status();
  if (!group.running()) {
    // No limit holds for a trial that has ended, however late a harness that stood still finds it.
  } else if (now.ending) {
    if (seconds_since(*now.ending) > sweep_.options.grace_s || sweep_.signals.count() > 1) {
      group.signal(SIGKILL);
    }
  } else if (now.seconds() > config.timeout_s) {
    now.begin_to_end(EndCause::timeout);
  } else if (seconds_since(now.last_output) > config.stall_timeout_s) {
    now.begin_to_end(EndCause::stalled);
  } else if (open.log.size() > config.log_limit_bytes) {
    now.begin_to_end(EndCause::log_limit);
    group.signal(SIGKILL);  // a flood that gets time to end fills the disk
  } else if (status && !status->success()) {
    // One rank is gone for good. The others get a moment to print why, then they go as well.
    if (!now.failed_at) now.failed_at = Clock::now();
    if (seconds_since(*now.failed_at) > kLastMessages_s) now.begin_to_end(EndCause::exited);
  }

  if (seconds_since(now.reported) < sweep_.options.progress_s) return;
  now.reported = Clock::now();
  if (now.telemetry) now.telemetry->sample(open.log.live().last_step.has_value());
  report_progress(open, now.seconds());
}

Result<std::vector<EndedAttempt>> LocalAttempts::poll() {
  watch();
  if (any_runs()) return std::vector<EndedAttempt>{};
  return conclude();
}

Result<std::vector<EndedAttempt>> LocalAttempts::stop() {
  for (const auto& one : running_) {
    if (!one->ending && one->group.running()) one->begin_to_end(EndCause::stopped);
  }
  while (any_runs()) watch();
  return conclude();
}

Result<std::vector<EndedAttempt>> LocalAttempts::conclude() {
  std::vector<EndedAttempt> ended;
  if (running_.empty()) return ended;
  for (const auto& one : running_) {
    one->end.exit = one->group.status();
    one->group.end_helpers(kHelpersEnd);
    if (!one->ended) one->ended = Clock::now();
    one->end.seconds = one->seconds();
  }
  for (const auto& one : running_) one->end.escaped = one->group.kill_all();
  nlohmann::ordered_json probed;
  if (!running_.front()->probe_before.is_null()) {
    last_probe_ = nullptr;  // the one before is not the one after
    probed = probe();
  }
  for (const auto& one : running_) {
    auto done = conclude(*one, probed);
    if (!done) return tl::unexpected(done.error());
    ended.push_back(std::move(*done));
  }
  running_.clear();
  turns_.reset();
  return ended;
}

Result<EndedAttempt> LocalAttempts::conclude(Running& now,
                                             const nlohmann::ordered_json& probe_after) {
  auto& open = *now.open;
  auto& end = now.end;
  // What was written between the limit and the kill is given back to the disk.
  const auto limit = sweep_.plan.config.log_limit_bytes;
  const int cuts_of_others = open.log.cuts();
  if (open.log.printed_size() > limit && ftruncate(open.log_fd, limit) == 0) {
    end.cause = EndCause::log_limit;
  }
  open.log.read_last(limit);
  // The log is on disk before the journal records that it has ended.
  if (fsync(open.log_fd) < 0 && errno != EINVAL) {
    return tl::unexpected(file_error("log.txt", "cannot sync the trial's log", errno));
  }
  if (auto saved = open.log.save_arrivals(open.folder, true); !saved) {
    return tl::unexpected(saved.error());
  }
  end.take(open.log);
  if (end.cause == EndCause::log_limit) end.log_cuts = cuts_of_others;
  end.kernel_oom = oom_kills() > now.oom_kills_before;
  if (now.telemetry) open.telemetry = now.telemetry->finish();
  if (!now.probe_before.is_null()) {
    nlohmann::ordered_json& probed = open.telemetry["probe"] = {{"before", now.probe_before}};
    if (!probe_after.is_null()) probed["after"] = probe_after;
  }
  take_node_telemetry(open);
  if (sweep_.launcher.end_leftovers && end.cause != EndCause::exited) {
    sweep_.launcher.end_leftovers(sweep_.earlier.run_id);
  }
  now.clean_up();
  return EndedAttempt{std::move(now.open), std::move(end)};
}

}  // namespace

std::unique_ptr<AttemptRunner> make_local_attempts(OpenSweep& sweep, AttemptQueue& queue,
                                                   PlacementLabels& placement) {
  return std::make_unique<LocalAttempts>(sweep, queue, placement);
}

}  // namespace bertbench
