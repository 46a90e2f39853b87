// Logs of other people's runs against the answers that their publishers gave, to their printed
// digits. All that these logs give is in tests/golden/runs/corpus. They are not part of this
// repository: BB_CORPUS names their folder (default ../shared/corpus next to the checkout); where
// it is missing the tests are skipped.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/parsers/corpus/answers.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench::corpus {
namespace {

std::string corpus() {
  const char* given = std::getenv("BB_CORPUS");
  return given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
}

class Corpus : public testing::TestWithParam<Expected> {};

TEST_P(Corpus, GivesTheKnownAnswers) {
  const Expected& want = GetParam();
  const std::string path = corpus() + "/" + want.file;
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: BB_CORPUS names the folder of collected logs";
  }
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  for (const Answer& answer : want.answers) {
    const double ours = answer.ours(runs->front());
    const double gap = ours / answer.answer - 1;
    fmt::print("{:<62} {:<34} {:>12.6g} {:>12.6g} {:>+9.3f} %\n", want.file, answer.what,
               answer.answer, ours, 100 * gap);
    EXPECT_LE(std::abs(gap), answer.tolerance) << answer.what << ": " << ours;
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, Corpus, testing::ValuesIn(all_answers()),
                         [](const auto& of) { return case_name(of.param.file); });

// INDEX.tsv gives the median over all four.
TEST(Corpus, HasTheKnownMedianOverFourRunsOfOneLog) {
  const std::string path = corpus() + "/megatron/lockclock_4runs_concatenated.log";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: BB_CORPUS names the folder of collected logs";
  }
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 4u);
  std::vector<double> seconds;
  for (const RunLog& run : *runs) {
    EXPECT_EQ(run.records.size(), 50u);
    EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 16);
    for (const Record& record : run.records) seconds.push_back(record.seconds);
  }
  std::ranges::sort(seconds);
  // INDEX.tsv takes the lower one of the two in the middle.
  EXPECT_NEAR(seconds[99], 18.0555, 1e-9);
  EXPECT_NEAR(seconds[100], 18.0559, 1e-9);
}

}  // namespace
}  // namespace bertbench::corpus
