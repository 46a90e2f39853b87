// What every launcher must do, whatever it starts ranks with: the fixture of launchers_*_test.cpp.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/harness/sweep/launchers_support.h"

namespace bertbench::test {

/// Runs `act` once, when the trial has printed a few steps.
struct Actor : Recorder {
  std::function<void()> act;
  std::int64_t at = 2;
  void trial_progress(const TrialProgress& p) override {
    Recorder::trial_progress(p);
    if (p.step <= at || !act) return;
    const auto now = std::exchange(act, nullptr);
    now();
  }
};

class LauncherTest : public ::testing::Test {
 protected:
  /// `sets`: the part of the configuration that is this launcher's own.
  void use(std::string launcher, std::vector<std::string> sets = {}) {
    use_real_sampler();
    launcher_ = std::move(launcher);
    own_ = std::move(sets);
  }
  /// One trial of one cell on a machine of two cores.
  [[nodiscard]] Plan plan(const std::vector<std::string>& sets,
                          const std::string& topology = "1n2g") const {
    PlanOptions options;
    options.launcher = launcher_;
    options.cores = 2;
    auto all = own_;
    all.insert(all.end(), {"trials=1", "grid.topology=" + topology});
    all.insert(all.end(), sets.begin(), sets.end());
    return plan_of(small_config(), all, options);
  }
  SweepOutcome sweep(const Plan& plan, int exit_status = 0) {
    return swept(plan, temp_, seen_, exit_status);
  }
  /// For plan(): marks the processes of this test, as others may run next to it.
  [[nodiscard]] std::string marked() const { return "env.FAKE_TEST=" + temp_.path(); }
  /// Processes of this machine that carry the mark.
  [[nodiscard]] int processes_left() const { return processes_with("FAKE_TEST=" + temp_.path()); }

  /// A file of the first trial's folder, as text.
  [[nodiscard]] std::string attempt(const std::string& topology, const std::string& file) const {
    const std::string cell = "bert-tiny.fp32.s64.b4.a1." + topology;
    std::error_code none;  // nothing is there yet
    for (const auto& entry : std::filesystem::directory_iterator(temp_.path("run"), none)) {
      // Variables follow in the name: "...4n2g+env.FAKE_NOTE=...".
      const std::string name = entry.path().filename();
      if (name == cell || name.starts_with(cell + "+")) return entry.path() / "trial_1" / file;
    }
    return temp_.path("run/" + cell + "/trial_1/" + file);
  }

  /// `starts` ranks of each number below `world` noted down their place.
  void expect_ranks(int world, std::size_t starts = 1) const {
    const auto note = "\n" + read_file(temp_.path("note"));
    for (int rank = 0; rank < world; ++rank) {
      EXPECT_EQ(count(note, "\n" + std::to_string(rank) + " " + std::to_string(world) + " "),
                starts)
          << rank << " of " << world;
    }
  }

  void expect_text_stays_text() {
    sweep(plan(hostile_sets(temp_)));
    expect_texts_arrived(temp_);
  }

  /// How rank 1 of 2 ended, by what it was asked to do.
  std::map<std::string, Outcome> ends_of(const std::string& modes,
                                         std::vector<std::string> sets = {}) {
    sets.insert(sets.end(),
                {marked(), "env.FAKE_AT=3", "env.FAKE_RANK=1", "grid.env.FAKE=[" + modes + "]"});
    const SweepOutcome outcome = sweep(plan(sets), 1);
    std::map<std::string, Outcome> ends;
    for (const auto& cell : outcome.result.cells) {
      ends[cell.identity.axes.at("env.FAKE")] = cell.trials.at(0).outcome;
    }
    return ends;
  }
  /// Where the launcher reports the signal as a shell does, and ends what leaves its session.
  void expect_ends_decoded(const std::vector<std::string>& sets = {}) {
    auto ends = ends_of(R"("oom_exit","exit:7","signal:11","leave_child")", sets);
    EXPECT_EQ(ends["oom_exit"].status, Status::out_of_memory);
    EXPECT_THAT(detail_text(ends["exit:7"]), ::testing::HasSubstr("exit status 7"));
    EXPECT_EQ(ends["signal:11"].status, Status::error);
    EXPECT_THAT(detail_text(ends["signal:11"]), ::testing::HasSubstr("139"));
    EXPECT_EQ(ends["leave_child"].status, Status::completed);
    // A child in a session of its own is ended with its rank.
    EXPECT_EQ(processes_left(), 0);
  }

  /// A stop while steps are logged ends every rank; the same command runs the trial anew.
  void expect_stop_and_resume(const std::string& topology, double grace_s) {
    std::atomic<bool> stop = false;
    auto options = quick(temp_.path("run"));
    options.grace_s = grace_s;
    options.stop = &stop;
    Actor stopper;
    stopper.act = [&] { stop = true; };
    const auto waits = plan({marked(), "env.FAKE_UNTIL=" + temp_.path("go")}, topology);
    const auto first = run_sweep(waits, options, stopper);
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(first->exit_status, 130);
    // Within the grace: whoever runs the ranks stayed until they had ended.
    EXPECT_EQ(processes_left(), 0);
    temp_.put("go", "");
    EXPECT_EQ(sweep(waits).result.cells.at(0).trials.size(), 1u);
  }

  ScratchFolder temp_;
  Actor seen_;

 private:
  std::string launcher_;
  std::vector<std::string> own_;
};

}  // namespace bertbench::test
