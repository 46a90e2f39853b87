// What the tests of a sweep share: a folder of their own, small configs, a recording observer.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/sweep/config/config.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/plan/plan.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace bertbench::test {

inline std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t n = 0;
  for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

/// One cell of 1n1g, 20 steps of the fake trainer, two trials, no retry; limits of a few seconds.
inline std::string small_config(const std::string& more = "") {
  return R"({"name": "test",
 "grid": {"topology": ["1n1g"], "model": ["bert-tiny"], "micro_batch_size": [4],
          "sequence_length": [64]},
 "trials": 2, "steps": 20, "window": "steps:10:20", "timeout_s": 60, "stall_timeout_s": 30,
 "retries": 0)" +
         more + "}";
}

/// An error ends the test with its message.
template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

inline Plan plan_of(const std::string& config, const std::vector<std::string>& sets = {},
                    PlanOptions options = {}) {
  if (options.trainer.empty()) options.trainer = BB_FAKE_TRAINER;
  if (options.cores == 0) options.cores = 8;
  return value_of(make_plan(value_of(parse_config(config, "test.json", sets)), options));
}

struct Recorder : SweepObserver {
  void plan_ready(const Plan&, const SweepCounts& c) override { counts = c; }
  void trial_started(const TrialProgress& p) override {
    started.push_back(p.cell->key + "#" + std::to_string(p.trial));
    if (on_record) on_record();
  }
  void trial_progress(const TrialProgress& p) override {
    progress.push_back(p);
    if (on_step) on_step(p.step);
  }
  void trial_finished(const TrialProgress&, const Trial& t) override {
    finished.push_back(t);
    if (on_record) on_record();
  }
  void notice(const std::string& text) override {
    notices.push_back(text);
    if (on_record) on_record();
  }
  // What a test does in the middle of a sweep.
  std::function<void(std::int64_t)> on_step;  ///< at each progress of a trial
  std::function<void()> on_record;            ///< after each begin, each end and each notice
  SweepCounts counts;
  std::vector<std::string> started, notices;
  std::vector<TrialProgress> progress;
  std::vector<Trial> finished;
};

inline SweepOptions quick(const std::string& out) {
  SweepOptions options;
  options.out = out;
  options.grace_s = 0.3;
  options.progress_s = 0.02;
  options.handle_signals = false;
  return options;
}

class SweepTest : public ::testing::Test {
 protected:
  ScratchFolder temp_;
  Recorder seen_;
};

/// Runs the sweep into `run` of the folder, to this exit status; an error ends the test.
inline SweepOutcome swept(const Plan& plan, const ScratchFolder& folder, SweepObserver& seen,
                          int exit_status = 0) {
  SweepOutcome done = value_of(run_sweep(plan, quick(folder.path("run")), seen));
  std::string ends;
  for (const Cell& cell : done.result.cells) {
    for (const Trial& trial : cell.trials) {
      ends += trial.log + ": " + std::string(name(trial.outcome.status)) + " " +
              detail_text(trial.outcome) + "\n";
    }
  }
  EXPECT_EQ(done.exit_status, exit_status) << ends;
  return done;
}

/// Runs the sweep in a process of its own, which must end by a signal while `seen` is called.
inline void run_until_killed(const Plan& plan, const std::string& out, SweepObserver& seen) {
  const pid_t harness = fork();
  if (harness == 0) {
    (void)run_sweep(plan, quick(out), seen);
    _exit(0);
  }
  int status = 0;
  waitpid(harness, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

}  // namespace bertbench::test

// What nearly every test of sweeps names.
namespace bertbench {
using test::plan_of;
using test::quick;
using test::Recorder;
using test::ScratchFolder;
using test::small_config;
using test::swept;
using test::value_of;
}  // namespace bertbench
