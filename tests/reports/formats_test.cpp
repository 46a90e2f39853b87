// Every report of every result set. BB_UPDATE_GOLDEN=1 rewrites tests/golden/reports: of these
// dlperf_mxnet.dlperf-text is no choice of ours (dlperf_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "parsers/core/text.h"
#include "tests/golden.h"
#include "tests/reports/result_files.h"
#include "tests/reports/samples.h"
#include "tests/reports/xml_check.h"

namespace bertbench {
namespace {

using result_files::read;
using result_files::render;
using testing::HasSubstr;
using testing::Not;

class GoldenTest : public testing::TestWithParam<const char*> {};

void expect_stored(const Report& report, const ResultSet& set, const ReportOptions& options,
                   const std::string& name) {
  std::string text = render_text(report, set, options);
  if (report.name == "html") text = test::page_body(text, "<script>");
  test::expect_golden("tests/golden/reports/" + name + "." + std::string(report.name), text);
}

TEST_P(GoldenTest, EveryReportIsAsStored) {
  ReportOptions options;
  options.run_folder = std::filesystem::path(result_files::path_of(GetParam())).parent_path();
  for (const Report* report : all_reports()) {
    // JSON is held against the result set itself below.
    if (report->name != "json") expect_stored(*report, read(GetParam()), options, GetParam());
  }
}

TEST(ComparisonGolden, BothReportsThatShowAnEarlierResultAreAsStored) {
  ResultSet before = read("everything");
  before.cells.resize(6);
  ResultSet now = before;
  now.cells.erase(now.cells.begin() + 2);  // is in the earlier one alone
  before.cells.pop_back();                 // it did not give a number
  before.cells.erase(before.cells.begin() + 3);
  for (Trial& trial : before.cells[0].trials) *trial.sequences_per_second *= 0.9;
  for (Trial& trial : before.cells[1].trials) {
    if (trial.sequences_per_second) *trial.sequences_per_second *= 1.1;
  }
  summarize(before, {});
  ReportOptions options;
  options.baseline = &before;
  for (const char* name : {"markdown", "html"}) {
    expect_stored(**find_report(name), now, options, "compared");
  }
}

TEST_P(GoldenTest, JsonHoldsAllThatWasReadAndNothingElse) {
  const auto written = nlohmann::json::parse(render("json", read(GetParam())));
  const auto stored =
      nlohmann::json::parse(result_files::read_file(result_files::path_of(GetParam())));
  EXPECT_EQ(nlohmann::json::diff(stored, written).dump(1), "[]");
}

TEST_P(GoldenTest, JunitIsWellFormedAndItsCountsAreThoseOfItsElements) {
  const xml::Document document = xml::parse(render("junit", read(GetParam())));
  ASSERT_EQ(document.error, "");
  EXPECT_EQ(xml::beyond_junit_schema(document), "");
  for (const char* name : {"testsuites", "testsuite"}) {
    const auto sums = document.named(name);
    ASSERT_EQ(sums.size(), 1U);
    const auto& attributes = sums[0].attributes;
    EXPECT_EQ(attributes.at("tests"), std::to_string(document.named("testcase").size()));
    EXPECT_EQ(attributes.at("failures"), std::to_string(document.named("failure").size()));
    EXPECT_EQ(attributes.at("errors"), "0");
  }
  EXPECT_EQ(document.named("testsuite")[0].attributes.at("skipped"),
            std::to_string(document.named("skipped").size()));
}

INSTANTIATE_TEST_SUITE_P(Sets, GoldenTest, testing::ValuesIn(result_files::kNames),
                         [](const auto& set) { return std::string(set.param); });

TEST(XmlCheckTest, RefusesWhatIsNotWellFormed) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  EXPECT_EQ(xml::parse(head + "<a><b c=\"&amp;\"/>text</a>\n").error, "");
  for (const char* bad :
       {"<a><b></a></b>", "<a>", "<a/><b/>", "<a b=\"&\"/>", "<a b=\"<\"/>", "<a>\x1b</a>",
        "<a b=\"1\" b=\"2\"/>", "<a b=1/>", "<a>]]></a>", "text<a/>", "<a>\xEF\xBF\xBF</a>", ""})
    EXPECT_NE(xml::parse(head + bad).error, "") << bad;
}

TEST(JunitTest, AWindowThatTheLogDoesNotCoverIsSkipped) {
  ResultSet set = read("quickstart");
  Trial& trial = set.cells[0].trials[0];
  trial.window.covered = false;
  trial.sequences_per_second.reset();
  const xml::Document document = xml::parse(render("junit", set));
  ASSERT_EQ(document.named("skipped").size(), 1U);
  EXPECT_EQ(document.named("skipped")[0].attributes.at("message"),
            "the log does not cover the window steps:20:60");
  EXPECT_TRUE(document.named("failure").empty());
}

TEST(JunitTest, ALogThatEndsEarlyIsNoFailure) {
  ResultSet set = read("quickstart");
  set.cells[0].trials[0].outcome.status = Status::truncated;
  EXPECT_TRUE(xml::parse(render("junit", set)).named("failure").empty());
  EXPECT_THAT(render("prometheus", set),
              testing::Not(HasSubstr("failed_trials{key=\"" + set.cells[0].key + "\"} 1")));
  set.cells[0].trials[0].outcome.status = Status::error;
  EXPECT_EQ(xml::parse(render("junit", set)).named("failure").size(), 1U);
}

TEST(MarkdownTest, EveryRowOfAMarkdownTableHasTheCellsOfItsHeading) {
  for (const char* name : result_files::kNames) {
    std::size_t expected = 0;
    const std::string text = render("markdown", read(name));
    for (const std::string_view line : split(text, '\n')) {
      const auto bars = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
      if (!line.starts_with('|')) {
        EXPECT_EQ(bars, 0U) << line;
        expected = 0;
      } else {
        if (expected == 0) expected = bars;
        EXPECT_EQ(bars, expected) << name << ": " << line;
      }
    }
  }
}

TEST(HtmlPage, OfManyCellsSaysHowMuchOfThemItShows) {
  std::vector<Cell> cells;
  for (const char* precision : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    for (const std::int64_t batch : {1, 2}) {
      for (std::int64_t gpus = 1; gpus <= 18; ++gpus) {
        const auto rate = static_cast<double>(100 * gpus);
        cells.push_back(samples::cell(samples::identity(1, gpus, batch, precision), {rate, rate}));
      }
    }
  }
  ResultSet set = samples::result_set(std::move(cells));
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    set.cells[i].warnings = {foreign_notice(0, i < 150 ? "odd" : std::string(i, 'w'))};
  }
  const std::string page = render("html", set);
  for (const char* part :
       {"</tbody><tbody hidden>", "Show all 324 cells", "(the first 40 of 324 cells)",
        "(series 1 to 8 of 18)", "4 plots with further series", "The first 8 of 9 maps;",
        "<li>and 50 more; the JSON report has all</li>", "and 75 more; the JSON report has all.",
        "and 14 more</li>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST(HtmlHeadline, AnEvaluationIsNeverTheFastestTrainingNorAreIterationsSequences) {
  using samples::cell;
  using samples::identity;
  Cell evaluation = cell(identity(1, 2), {900});
  evaluation.kind = WorkKind::evaluation;
  Cell iterations = cell(identity(1, 4), {500});
  iterations.trials[0].iterations_per_second =
      std::exchange(iterations.trials[0].sequences_per_second, std::nullopt);
  const std::string page =
      render("html", samples::result_set({evaluation, iterations, cell(identity(1, 8), {100})}));
  EXPECT_THAT(page, HasSubstr("<p class=\"big\">100"));
  // Against a base of two GPUs the largest other job is of one.
  EXPECT_THAT(
      render("html", samples::result_set({cell(identity(1, 1), {100}), cell(identity(1, 2), {150})},
                                         {.base = "1n2g"})),
      HasSubstr("<p class=\"big\">133.3\u00A0%"));
  const std::string without = render("html", samples::result_set({evaluation}));
  EXPECT_THAT(without, HasSubstr("evaluation: no training has a number"));
}

}  // namespace
}  // namespace bertbench
