// sweep_cost: what the harness costs next to what it runs, against bounds, measured in one run.
//   sweep_cost [launch|watch|journal ...] [--trials N] [--seconds S]
// Prints one line a figure; exit status 1 when a bound is missed.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "harness/sweep/execute/runner.h"
#include "harness/sweep/plan/plan.h"
#include "harness/sweep/process/folder.h"
#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"
#include "tests/scratch_folder.h"

extern char** environ;

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(q * (values.size() - 1) + 0.5)];
}

bool all_good = true;

void figure(const std::string& name, double value, double bound, const std::string& unit,
            const std::string& more) {
  const bool good = value <= bound;
  all_good = all_good && good;
  fmt::print("{:<46} {:>9.2f} {:<10} bound {:>6.2f}  {}  {}\n", name, value, unit, bound,
             good ? "ok    " : "MISSED", more);
  std::fflush(stdout);
}

std::string config(const std::string& grid, const std::string& rest) {
  return R"({"name": "cost", "workload": "bert_train", "grid": {"topology": ["1n1g"],
  "model": ["bert-tiny"], "micro_batch_size": [2], "sequence_length": [16])" +
         grid + R"(}, "window": "steps:4:12", "retries": 0, )" + rest + "}";
}

pid_t spawn(const std::vector<std::string>& argv, const std::string& out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  std::vector<char*> raw;
  for (const auto& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, raw[0], &files, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    fmt::print(stderr, "sweep_cost: {}: {}\n", argv[0], std::strerror(error));
    std::exit(2);
  }
  return pid;
}

// A trial of the harness next to fork, exec and wait of the same program ------------------------

pid_t fork_exec(const std::vector<std::string>& argv, int log) {
  std::vector<char*> raw;
  for (const auto& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(log, 1);
    dup2(log, 2);
    execv(raw[0], raw.data());
    _exit(127);
  }
  return pid;
}

void cost_of_launch(int trials) {
  const test::ScratchFolder place;
  const auto parsed =
      parse_config(config("", fmt::format(R"("trials": {}, "steps": 12)", trials)), "cost", {});
  PlanOptions how;
  how.trainer = BB_FAKE_TRAINER;
  const auto plan = make_plan(*parsed, how);
  if (!plan) {
    fmt::print(stderr, "sweep_cost: {}\n", plan.error().message());
    std::exit(2);
  }
  // The bare run takes its turn between the trials, so that both see the same machine.
  struct Meter : SweepObserver {
    std::vector<double> trials, bare, sync;
    Clock::time_point begin{};
    std::vector<std::string> argv;
    std::string folder;
    void plan_ready(const Plan&, const SweepCounts&) override { begin = Clock::now(); }
    void trial_finished(const TrialProgress&, const Trial& trial) override {
      trials.push_back(since(begin));
      if (!trial.sequences_per_second) std::exit(2);
      const int log = open((folder + "/bare.txt").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      auto from = Clock::now();
      const pid_t pid = fork_exec(argv, log);
      waitpid(pid, nullptr, 0);
      bare.push_back(since(from));
      from = Clock::now();
      if (write(log, "record\n", 7) == 7) fdatasync(log);
      sync.push_back(since(from));
      close(log);
      begin = Clock::now();
    }
  } meter;
  meter.folder = place.path();
  meter.argv = {BB_FAKE_TRAINER,
                "--model",
                "bert-tiny",
                "--steps",
                "12",
                "--expect-world-size",
                "1",
                "--timings",
                place.path("timings.jsonl")};
  SweepOptions options;
  options.out = place.path("run");
  options.handle_signals = false;
  const auto done = run_sweep(*plan, options, meter);
  if (!done) {
    fmt::print(stderr, "sweep_cost: {}\n", done.error().message());
    std::exit(2);
  }
  std::vector<double> added;
  for (std::size_t i = 0; i < meter.trials.size(); ++i) {
    added.push_back(1e3 * (meter.trials[i] - meter.bare[i]));
  }
  figure("a trial over a bare fork, exec and wait, median", quantile(added, 0.5), 10, "ms added",
         fmt::format("n={}, 10 % {:.2f}, 90 % {:.2f}; bare {:.2f} ms; one record and fdatasync "
                     "{:.2f} ms",
                     added.size(), quantile(added, 0.1), quantile(added, 0.9),
                     1e3 * quantile(meter.bare, 0.5), 1e3 * quantile(meter.sync, 0.5)));
}

// 32 harnesses, each with a trainer that writes 1 MB/s ------------------------------------------

/// CPU seconds of a process without its children.
double cpu_of(pid_t pid) {
  const auto text = proc::read_file(fmt::format("/proc/{}/stat", pid));
  const auto fields = split(std::string_view(text).substr(text.rfind(')') + 2), ' ');
  if (fields.size() < 13) return 0;
  const auto ticks = to_int(fields[11]).value_or(0) + to_int(fields[12]).value_or(0);
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void cost_of_watching(const std::string& what, const std::map<std::string, std::string>& variables,
                      int seconds, int logs_watched = 32, double bound = 5) {
  const test::ScratchFolder place;
  std::string env;
  std::string cell = "bert-tiny.fp32.s16.b2.a1.1n1g";  // with its variables, as its key has them
  for (const auto& [name, value] : variables) {
    env += fmt::format(R"({}"{}": "{}")", env.empty() ? "" : ", ", name, value);
    cell += fmt::format("+env.{}={}", name, value);
  }
  std::ofstream(place.path("sweep.json"))
      << config("", R"("trials": 1, "steps": 100000000, "timeout_s": 600, "env": {)" + env + "}");
  std::vector<pid_t> harnesses;
  std::vector<std::string> logs;
  for (int i = 0; i < logs_watched; ++i) {
    const auto run = fmt::format("{}/run{}", place.path(), i);
    logs.push_back(run + "/" + cell + "/trial_1/log.txt");
    harnesses.push_back(spawn({BB_BERTBENCH, "sweep", place.path("sweep.json"), "--out", run,
                               "--trainer", BB_FAKE_TRAINER},
                              "/dev/null"));
  }
  const auto bytes = [&] {
    double sum = 0;
    struct stat info {};
    for (const auto& log : logs) sum += stat(log.c_str(), &info) == 0 ? info.st_size : 0;
    return sum;
  };
  const auto cpu = [&] {
    double sum = 0;
    for (const pid_t pid : harnesses) sum += cpu_of(pid);
    return sum;
  };
  std::this_thread::sleep_for(std::chrono::seconds(4));
  const auto begin = Clock::now();
  const double cpu_before = cpu(), bytes_before = bytes();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double wall = since(begin), used = cpu() - cpu_before;
  const double rate = (bytes() - bytes_before) / wall / logs_watched / 1e6;
  for (const pid_t pid : harnesses) kill(pid, SIGKILL);
  for (const pid_t pid : harnesses) waitpid(pid, nullptr, 0);
  figure(fmt::format("watching {}, {}",
                     logs_watched == 1 ? "a log" : fmt::format("{} logs", logs_watched), what),
         100 * used / wall, bound, "% of core",
         fmt::format("{:.0f} s, each log grew by {:.2f} MB/s", wall, rate));
}

// Many trials -----------------------------------------------------------------------------------

void cost_of_journal(int trials) {
  const test::ScratchFolder place;
  constexpr int kPerCell = 5;
  std::string values;
  for (int i = 0; i < std::max(1, trials / kPerCell); ++i) {
    values += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", i);
  }
  std::ofstream(place.path("sweep.json")) << config(
      R"(, "env.CELL": [)" + values + "]", fmt::format(R"("trials": {}, "steps": 12)", kPerCell));
  const std::vector<std::string> command{
      BB_BERTBENCH,      "sweep",     place.path("sweep.json"), "--out",
      place.path("run"), "--trainer", BB_FAKE_TRAINER};
  const auto run = [&](const std::string& out) {
    const auto begin = Clock::now();
    int status = 0;
    waitpid(spawn(command, place.path(out)), &status, 0);
    if (status != 0) {
      fmt::print(stderr, "sweep_cost: the sweep failed: {}\n",
                 read_text(place.path(out)).value_or("").substr(0, 1000));
      std::exit(2);
    }
    return since(begin);
  };
  const double first = run("first.txt");
  struct stat info {};
  stat(place.path("run/journal.jsonl").c_str(), &info);
  figure(fmt::format("journal of {} trials", trials), info.st_size / 1e6, 20, "MB",
         fmt::format("{:.0f} bytes a trial; the sweep took {:.0f} s", 1.0 * info.st_size / trials,
                     first));
  std::vector<double> again;
  for (int i = 0; i < 3; ++i) again.push_back(run("again.txt"));
  struct rusage usage {};
  getrusage(RUSAGE_CHILDREN, &usage);
  figure(fmt::format("resume of {} trials, median of 3", trials), quantile(again, 0.5), 1, "s",
         fmt::format("{:.2f} to {:.2f}", quantile(again, 0), quantile(again, 1)));
}

int main_of(int argc, char** argv) {
  int trials = 10000, seconds = 10;
  std::vector<std::string> parts;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--trials" && i + 1 < argc) {
      trials = std::atoi(argv[++i]);
    } else if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atoi(argv[++i]);
    } else {
      parts.push_back(word);
    }
  }
  const auto wants = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  if (wants("launch")) cost_of_launch(std::min(trials, 300));
  if (wants("watch")) {
    cost_of_watching("a line a second", {{"FAKE_DELAY_MS", "1000"}}, seconds);
    cost_of_watching("a step in 10 kB of other lines",
                     {{"FAKE_DELAY_MS", "10"}, {"FAKE_NOISE", "9900"}}, seconds);
    cost_of_watching("every line a step", {{"FAKE_DELAY_MS", "50"}, {"FAKE_BURST", "390"}},
                     seconds);
    cost_of_watching("up to 1,000 lines a second", {{"FAKE_DELAY_MS", "1"}}, seconds, 1, 1);
  }
  if (wants("journal")) cost_of_journal(trials);
  return all_good ? 0 : 1;
}

}  // namespace
}  // namespace bertbench

int main(int argc, char** argv) { return bertbench::main_of(argc, argv); }
