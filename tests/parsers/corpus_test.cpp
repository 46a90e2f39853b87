// Logs of other people's runs against the answers that their publishers gave. The logs are not part
// of this repository: BB_CORPUS names their folder (default ../shared/corpus beside the checkout);
// where it is missing the tests are skipped.
//
// An answer is compared to its printed digits. Where the log's own number is not the rate of the
// run, the test wants our number as well, and the notice that says so.
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
  const RunLog& run = runs->front();
  EXPECT_EQ(run.kind, WorkKind::training);
  EXPECT_EQ(run.format, want.format);
  EXPECT_EQ(static_cast<std::int64_t>(run.records.size()), want.records);
  EXPECT_EQ(name(run.outcome.status), name(want.outcome)) << detail_text(run.outcome);
  for (const Answer& answer : want.answers) {
    const double ours = answer.ours(run);
    const double gap = ours / answer.answer - 1;
    fmt::print("{:<62} {:<5} {:<10} {:<34} {:>12.6g} {:>12.6g} {:>+9.3f} %\n", want.file,
               run.format, name(run.outcome.status), answer.what, answer.answer, ours, 100 * gap);
    EXPECT_LE(std::abs(gap), answer.tolerance) << answer.what << ": " << ours;
  }
  std::string notices;
  for (const Notice& notice : run.notices) notices += text_of(notice) + "\n";
  if (*want.notice != '\0') {
    EXPECT_THAT(notices, testing::HasSubstr(want.notice));
  } else {
    EXPECT_EQ(notices.find("closing statement"), std::string::npos) << notices;
  }
  if (want.evaluation > 0) {
    ASSERT_EQ(runs->size(), 2u);
    EXPECT_NE(runs->back().kind, WorkKind::training);
    EXPECT_EQ(log_summary(runs->back()), want.evaluation);
  } else {
    ASSERT_EQ(runs->size(), 1 + want.further.size());
  }
  for (std::size_t i = 0; i < want.further.size(); ++i) {
    const double summary = log_summary((*runs)[1 + i]);
    if (std::isnan(want.further[i])) {
      EXPECT_TRUE(std::isnan(summary));
    } else {
      EXPECT_NEAR(summary / want.further[i], 1, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, Corpus, testing::ValuesIn(all_answers()), [](const auto& of) {
  std::string out;
  for (const char c : std::string(of.param.file)) {
    out.push_back((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c
                                                                                             : '_');
  }
  return out;
});

// Logs of formats that are not read yet must not be taken for something else: no record, or none
// read.
TEST(Corpus, GivesNoTrainingRecordFromLogsOfOtherFormats) {
  if (!std::filesystem::exists(corpus())) {
    GTEST_SKIP() << corpus() << " is not here: BB_CORPUS names the folder of collected logs";
  }
  int others = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus())) {
    // The corpus describes itself in .md and .tsv files, with sample lines.
    const auto ending = entry.path().extension();
    if (!entry.is_regular_file() || ending == ".md" || ending == ".tsv") continue;
    const std::string path = entry.path().string();
    const bool listed = std::ranges::any_of(
        all_answers(), [&](const Expected& want) { return path.ends_with(want.file); });
    // Known answers of these are held by tests of their own, against independent clocks.
    if (listed || path.find("/seed-systems/") != std::string::npos) continue;
    ++others;
    const auto runs = read_log(path, {});
    if (!runs) continue;
    for (const RunLog& run : *runs) {
      if (run.kind != WorkKind::training) continue;
      EXPECT_TRUE(run.records.empty()) << path << ": " << run.records.size() << " records of "
                                       << run.format << " from line " << run.first_line;
    }
  }
  EXPECT_GT(others, 2);
}

// Two models, each evaluated before and after its fine-tuning, in one file that was appended to for
// days.
TEST(Corpus, TellsTheRatesOfALogThatEvaluatesOnly) {
  const std::string path = corpus() + "/pytorch-plain/bert_sarcasm_python_logging.log";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: BB_CORPUS names the folder of collected logs";
  }
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_GE(runs->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const RunLog& run = (*runs)[i];
    EXPECT_EQ(run.kind, WorkKind::evaluation);
    EXPECT_EQ(run.rate_unit, RateUnit::sequences_per_second);
    ASSERT_EQ(run.records.size(), 1U);
    EXPECT_EQ(run.records[0].printed_rate, i == 0 ? 2298.333 : 2072.26);
  }
}

// Damage never crashes, and what stands in front of a cut stays as it was.
TEST(Corpus, SurvivesCutsAndGarbage) {
  if (!std::filesystem::exists(corpus())) {
    GTEST_SKIP() << corpus() << " is not here: BB_CORPUS names the folder of collected logs";
  }
  for (const Expected& want : all_answers()) {
    const std::string text = slurp(corpus() + "/" + want.file);
    for (int part = 1; part < 8; ++part) {
      std::string damaged = text.substr(0, text.size() * static_cast<std::size_t>(part) / 8);
      for (std::size_t at = static_cast<std::size_t>(part); at < damaged.size(); at += 997) {
        damaged[at] = static_cast<char>(at * 31);
      }
      for (const RunLog& run : read_text(damaged))
        EXPECT_LE(run.records.size(), std::size_t{1} << 20);
    }
  }
}

}  // namespace
}  // namespace bertbench::corpus
