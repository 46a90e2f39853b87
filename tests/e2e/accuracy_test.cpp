// What is read from a log against the clock of the trainer that wrote it.
// scripts/extraction_accuracy does the same with more and longer runs and prints the table.
#include <algorithm>

#include "tests/e2e/programs.h"

namespace bertbench::e2e {
namespace {

class ExtractionAccuracy : public testing::TestWithParam<std::string> {};

constexpr std::int64_t kMicroBatchSize = 2;

// Bars show whole seconds: a run of fewer than four may show too few for a rate.
constexpr double kLongEnough_s = 4;

// Trains with twice the steps until the run is long enough; returns its steps.
std::int64_t train_long_enough(const Folder& folder, const std::string& style) {
  for (std::int64_t steps = 420;; steps *= 2) {
    Process trainer({kBertTrain, "--model", "bert-tiny", "--micro-batch-size",
                     std::to_string(kMicroBatchSize), "--sequence-length", "32", "--threads", "1",
                     "--steps", std::to_string(steps), "--log-style", style, "--log-every",
                     style == "tf" ? "20" : "1", "--timings", folder / "timings.jsonl"},
                    folder / "log", folder / "log.err");
    EXPECT_EQ(trainer.wait(), 0) << read_file(folder / "log.err");
    const auto sequences = static_cast<double>(steps * kMicroBatchSize);
    const double seconds = sequences / truth(folder / "timings.jsonl", 0, steps);
    if (testing::Test::HasFailure() || seconds >= kLongEnough_s) return steps;
  }
}

TEST_P(ExtractionAccuracy, IsWithinTheExpectedErrorAndHalfAPerCent) {
  const std::string& style = GetParam();
  const Folder folder;
  const std::int64_t steps = train_long_enough(folder, style);
  ASSERT_FALSE(HasFailure());
  const std::string window = "steps:60:" + std::to_string(steps - 20);
  // A bar goes to stderr in the originals; take what was written.
  const std::string log = fs::file_size(folder / "log") > 0 ? folder / "log" : folder / "log.err";
  const Ran ran =
      folder.bertbench({"extract", log, "--window", window, "--gpus-per-node", "1", "--nodes", "1",
                        "--micro-batch-size", "2", "--gradient-accumulation-steps", "1", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json trial = json::parse(ran.out)["cells"][0]["trials"][0];
  ASSERT_EQ(trial["format"], style);
  ASSERT_TRUE(trial["window"].contains("last_step") && trial.contains("estimator")) << trial;
  // TensorFlow prints the counter before it is raised: "step = 20" ends the 21st step.
  const std::int64_t ahead = style == "tf" ? 1 : 0;
  const std::int64_t first = trial["window"]["first_step"].get<std::int64_t>() + ahead;
  const std::int64_t last = trial["window"]["last_step"].get<std::int64_t>() + ahead;
  const double expected = truth(folder / "timings.jsonl", first, last);
  const std::string estimator = trial["estimator"];
  ASSERT_TRUE(trial["estimators"].contains(estimator)) << trial;
  const double ours = trial["estimators"][estimator];
  constexpr double kSure = 3;  // standard deviations
  ASSERT_TRUE(trial["expected_error"].contains(estimator)) << trial;
  const double allowed = std::max(0.005, kSure * trial["expected_error"][estimator].get<double>());
  EXPECT_NEAR(ours / expected, 1, allowed) << estimator << "\n" << trial.dump(1);
}

INSTANTIATE_TEST_SUITE_P(Styles, ExtractionAccuracy, testing::Values("native", "tf", "tqdm"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace bertbench::e2e
