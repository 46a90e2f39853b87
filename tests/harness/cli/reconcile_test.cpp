// `reconcile` on the published log's own text, read by the real parser.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// First and last redraw of the last optimizer steps, 64 micro-steps each, and what was said then.
constexpr const char* kTail =
    "Iteration:   5%|▌ | 598/11337 [03:16<1:03:39,  2.81it/s]\r"
    "Iteration:   6%|▌ | 661/11337 [03:37<57:35,  3.09it/s]Step 7032 LR 0.00017518714874213283\n"
    "Step:7032 Average Loss = 1.4574737548828125 Step Loss = 1.6171875 LR 0.006\n"
    "Iteration:   6%|▌ | 662/11337 [03:37<1:05:44,  2.71it/s]\r"
    "Iteration:   6%|▋ | 725/11337 [03:57<57:13,  3.09it/s]Step 7033 LR 0.00015992325525180656\n"
    "Step:7033 Average Loss = 1.443267822265625 Step Loss = 1.4541015625 LR 0.006\n"
    "Iteration:   6%|▋ | 726/11337 [03:58<1:06:21,  2.66it/s]\r"
    "Iteration:   7%|▋ | 789/11337 [04:18<56:53,  3.09it/s]Step 7034 LR 0.0001430397079704331\n"
    "Step:7034 Average Loss = 1.4429473876953125 Step Loss = 1.462890625 LR 0.006\n"
    "Iteration:   7%|▋ | 790/11337 [04:19<1:04:03,  2.74it/s]\r"
    "Iteration:   8%|▊ | 853/11337 [04:39<56:36,  3.09it/s]Step 7035 LR 0.0001238760208522985\n"
    "Step:7035 Average Loss = 1.449462890625 Step Loss = 1.4208984375 LR 0.006\n"
    "Iteration:   8%|▊ | 854/11337 [04:40<1:01:47,  2.83it/s]\r"
    "Iteration:   8%|▊ | 917/11337 [05:00<56:11,  3.09it/s]Step 7036 LR 0.00010114434748482682\n"
    "Step:7036 Average Loss = 1.446441650390625 Step Loss = 1.435546875 LR 0.006\n"
    "Iteration:   8%|▊ | 918/11337 [05:01<1:04:16,  2.70it/s]\r"
    "Iteration:   9%|▊ | 981/11337 [05:21<55:52,  3.09it/s]Step 7037 LR 7.151985398522354e-05\n"
    "Step:7037 Average Loss = 1.46856689453125 Step Loss = 1.4853515625 LR 0.006\n"
    "Iteration:   9%|▊ | 982/11337 [05:21<1:04:48,  2.66it/s]\r"
    "Iteration:   9%|▉ | 1045/11337 [05:42<55:32,  3.09it/s]Step 7038 LR 0.0\n"
    "Total time taken 149858.59364962578\n"
    "training throughput phase1: 2723.84 sequences/second\n";

class ReconcileTest : public CliTest {
 protected:
  Ran reconcile(const std::vector<std::string>& more) const {
    std::vector<std::string> args{
        "reconcile", put("phase1.log", kTail), "--nodes", "1", "--gpus-per-node",
        "16",        "--micro-batch-size",     "64"};
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
        "the log's own 2723.84 (line 15) is the first redraw of the last step: 2.66 iterations/s "
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

TEST_F(ReconcileTest, ReckonsTheShippedPlan) {
  const std::string plan = BB_SOURCE_DIR "/configs/plans/dgx2-two-phase.json";
  const Ran ran = run({"reconcile", "--plan", plan});
  EXPECT_EQ(ran.status, 0) << ran.err;
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
