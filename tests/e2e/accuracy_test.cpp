// What is read from a log against the clock of the trainer that wrote it.
// scripts/extraction_accuracy does the same with more and longer runs and prints the table.
#include <tuple>
#include <utility>

#include "tests/e2e/programs.h"

namespace bertbench::e2e {
namespace {

/// A bar's clock of whole seconds is read at the redraws where the second rolls over: the first and
/// the last such step of the window.
std::pair<std::int64_t, std::int64_t> marks(const Folder& folder, const std::string& log,
                                            std::int64_t first, std::int64_t last) {
  std::istringstream rows(folder.bertbench({"extract", log, "--iterations", "-"}).out);
  std::pair<std::int64_t, std::int64_t> found{-1, -1};
  double before = 0;
  std::string line;
  std::getline(rows, line);  // headings
  while (std::getline(rows, line)) {
    std::istringstream fields(line.substr(line.find(',') + 1));
    std::string trial, step_text, time_text;
    std::getline(fields, trial, ',');
    std::getline(fields, step_text, ',');
    std::getline(fields, time_text, ',');
    const std::int64_t step = std::stoll(step_text);
    const double time = std::stod(time_text);
    if (time > before && step >= first && step <= last) {
      if (found.first < 0) found.first = step;
      found.second = step;
    }
    before = time;
  }
  return found;
}

class ExtractionAccuracy : public testing::TestWithParam<std::string> {};

TEST_P(ExtractionAccuracy, IsWithinTheStatedResolutionAndHalfAPerCent) {
  const std::string& style = GetParam();
  const Folder folder("accuracy_" + style);
  Process trainer(
      {kBertTrain, "--model", "bert-tiny", "--micro-batch-size", "2", "--sequence-length", "32",
       "--threads", "1", "--steps", "260", "--log-style", style, "--log-every",
       style == "tf" ? "20" : "1", "--timings", folder / "timings.jsonl"},
      folder / "log", folder / "log.err");
  ASSERT_EQ(trainer.wait(), 0) << read_file(folder / "log.err");
  // A bar goes to stderr in the originals; take what was written.
  const std::string log = fs::file_size(folder / "log") > 0 ? folder / "log" : folder / "log.err";
  const Ran ran = folder.bertbench({"extract", log, "--window", "steps:60:240", "--gpus-per-node",
                                    "1", "--nodes", "1", "--micro-batch-size", "2",
                                    "--gradient-accumulation-steps", "1", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json trial = json::parse(ran.out)["cells"][0]["trials"][0];
  ASSERT_EQ(trial["format"], style);
  ASSERT_TRUE(trial["window"].contains("last_step") && trial.contains("estimator")) << trial;
  // TensorFlow prints the counter before it is raised: "step = 20" ends the 21st step.
  const std::int64_t ahead = style == "tf" ? 1 : 0;
  std::int64_t first = trial["window"]["first_step"].get<std::int64_t>() + ahead;
  std::int64_t last = trial["window"]["last_step"].get<std::int64_t>() + ahead;
  if (style == "tqdm") std::tie(first, last) = marks(folder, log, first, last);
  const double expected = truth(folder / "timings.jsonl", first, last);
  const std::string estimator = style == "tqdm" ? "counter_clock" : trial["estimator"];
  ASSERT_TRUE(trial["estimators"].contains(estimator)) << trial;
  const double ours = trial["estimators"][estimator];
  double allowed = 0.005;
  if (style == "tqdm") {
    ASSERT_TRUE(trial["resolution"].contains(estimator)) << trial;
    allowed = std::max(allowed, trial["resolution"][estimator].get<double>());
  }
  EXPECT_NEAR(ours / expected, 1, allowed) << estimator << "\n" << trial.dump(1);
}

INSTANTIATE_TEST_SUITE_P(Styles, ExtractionAccuracy, testing::Values("native", "tf", "tqdm"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace bertbench::e2e
