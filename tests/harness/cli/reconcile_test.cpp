// `reconcile` on the published log's own text, read by the real parser.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// The tail of a phase-1 log of 16 GPUs (BERT-large), as a notebook published it.
const char* const kPublishedLog = BB_SOURCE_DIR
    "/tests/golden/quoted/"
    "tqdm.keeps_first_and_last_redraw_of_each_optimizer_step_of_the_notebook.log";

class ReconcileTest : public CliTest {
 protected:
  Ran reconcile(const std::vector<std::string>& more) const {
    std::vector<std::string> args{
        "reconcile", kPublishedLog,        "--nodes", "1", "--gpus-per-node",
        "16",        "--micro-batch-size", "64"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
};

TEST_F(ReconcileTest, ShowsEveryPublishedGapAndWhatTheScriptTook) {
  const Ran ran = reconcile({"--optimizer-steps", "7038"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* row :
       {"total work / total time            3077.85\n", "3145.73   +2.2 %", "3164.16   +2.8 %",
        "2723.84  -11.5 %", "work  461242368 sequences: 7038 optimizer steps",
        "time  149858.594 s (41.63 h): process",
        "the log's own 2723.84 sequences/s (line 17) is the first redraw of the last step: 2.66 "
        "iterations/s "
        "x 1024 sequences"}) {
    EXPECT_THAT(ran.out, HasSubstr(row));
  }
}

TEST_F(ReconcileTest, SaysTheSameInJson) {
  const Ran ran = reconcile({"--optimizer-steps", "7038", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json out = json::parse(ran.out);
  EXPECT_EQ(out["schema"], "bertbench.reconcile/1");
  EXPECT_EQ(out["total"]["work"], 461242368);
  EXPECT_NEAR(out["total"]["rate"].get<double>(), 3077.85, 0.005);
  EXPECT_NEAR(out["scripts"][0]["gap"].get<double>(), -0.115, 0.0005);
  EXPECT_THAT(out["scripts"][0]["taken"].get<std::string>(), HasSubstr("first redraw"));
  EXPECT_EQ(out["logs"][0]["outcome"], "completed");
}

TEST_F(ReconcileTest, ATailAloneHasNoTotalAndSaysWhatToGive) {
  const Ran ran = reconcile({});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("total work / total time")));
  EXPECT_THAT(ran.err, HasSubstr("--optimizer-steps"));
}

// The training is stated to have taken longer than its lines show.
TEST_F(ReconcileTest, NamesTimeThatNoLineShows) {
  const std::string format = put("mine.json", R"json({"schema": "bertbench.format/1",
    "name": "mine", "iteration": "optimizer_step", "lines": [
    {"literal": "mine step ", "pattern": "^(?P<clock>[0-9:]{8}) mine step (?P<step>\\d+)",
     "example": "10:00:01 mine step 1"},
    {"literal": "mine ended: ",
     "pattern": "ended: (?P<total_iterations>\\d+) steps in (?P<total_seconds>[0-9.]+) s",
     "outcome": "completed", "example": "mine ended: 40 steps in 400 s"}]})json");
  std::string log;
  for (int step = 1; step <= 40; ++step) {
    log += fmt::format("10:{:02}:{:02} mine step {}\n", step * 9 / 60, step * 9 % 60, step);
  }
  const Ran ran = run_to(0, {"reconcile", put("mine.log", log + "mine ended: 40 steps in 400 s\n"),
                             "--format-file", format});
  EXPECT_THAT(ran.out, HasSubstr("time  400.000 s"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("not on any line +40.0 +10.0 %"));
  EXPECT_THAT(ran.out, HasSubstr("the log's own 0.1 iterations/s (line 41)"));
}

TEST_F(ReconcileTest, ReckonsTheShippedPlan) {
  const std::string plan = BB_SOURCE_DIR "/configs/plans/dgx2-two-phase.json";
  const Ran ran = run_to(0, {"reconcile", "--plan", plan});
  for (const char* text : {"83308.47", "86132.97 *", "41.2", "23.9", "65.1", "461242368",
                           "50331648", "90.16 %", "3.39 %"}) {
    EXPECT_THAT(ran.out, HasSubstr(text));
  }
  const json out = json::parse(run({"reconcile", "--plan", plan, "--json"}).out);
  EXPECT_NEAR(out["phases"][0]["calculated_s"].get<double>(), 143449.7, 0.05);
}

TEST_F(ReconcileTest, RefusesWhatMakesNoSense) {
  expect_one_error_line(run({"reconcile"}));
  EXPECT_EQ(run({"reconcile"}).status, 2);
  EXPECT_EQ(run({"reconcile", "a.log", "--plan", "b.json"}).status, 2);
  EXPECT_EQ(reconcile({"--total-seconds", "-3"}).status, 2);
  EXPECT_EQ(reconcile({"--total-seconds", "nan"}).status, 2);
  EXPECT_EQ(run({"reconcile", path("absent.log")}).status, 5);
  // One log of several that cannot be read would make the total wrong.
  EXPECT_EQ(reconcile({path("absent.log")}).status, 5);
}

}  // namespace
}  // namespace bertbench::test
