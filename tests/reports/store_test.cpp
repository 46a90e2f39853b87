#include "reports/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "reports/gate/verdicts.h"
#include "reports/model/result_io.h"
#include "reports/output/value_text.h"
#include "reports/stats/power.h"
#include "tests/reports/samples.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ResultSet results(double rate, const std::string& cpu = "EPYC 7763") {
  ResultSet set = samples::result_set({samples::cell(
      samples::identity(1, 8), {rate, rate * 1.001, rate * 0.999, rate * 1.002, rate * 0.998})});
  *set.environment = {{"cpu", cpu}, {"cores_usable", 64}};
  return set;
}

class StoreTest : public testing::Test {
 protected:
  Store store(Store::Mode mode = Store::Mode::create) const {
    auto opened = Store::open(path, mode);
    if (!opened) throw std::runtime_error(opened.error().message());
    return std::move(*opened);
  }
  const test::ScratchFolder folder;
  const std::string path = folder.path("results.db");
};

TEST_F(StoreTest, GivesBackWhatWasStoredAndKnowsItAgain) {
  const ResultSet set = results(100);
  const auto added = store().add(set, {.commit = "abc", .label = "nightly"});
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->is_new);
  const Store again = store(Store::Mode::existing);
  EXPECT_EQ(to_text(*again.load(added->id)), to_text(set));
  const auto list = again.list().value();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].commit, "abc");
  EXPECT_EQ(list[0].label, "nightly");
  EXPECT_EQ(list[0].machine, "EPYC 7763, 64 cores");
  EXPECT_EQ(list[0].cells, 1);
  const auto twice = store().add(set);
  ASSERT_TRUE(twice);
  EXPECT_FALSE(twice->is_new);
  EXPECT_EQ(twice->id, added->id);
  EXPECT_THAT(again.load(99).error().message(), HasSubstr("holds no run 99"));
}

TEST(MachineText, NamesProcessorCoresAndGpusAsFarAsTheyAreKnown) {
  using Json = nlohmann::ordered_json;
  const auto text = [](const char* json) { return machine_text(Json::parse(json)); };
  EXPECT_EQ(text(R"({"cpu": "EPYC", "cores_usable": 8, "gpus": [{"name": "H200"}, {}]})"),
            "EPYC, 8 cores, 2 x H200");
  EXPECT_EQ(text(R"({"gpus": [{"name": "H200"}]})"), "1 x H200");
  EXPECT_EQ(text(R"({"gpus": [{}]})"), "1 x ");
  for (const char* unknown :
       {"{}", "null", "[1]", R"({"gpus": 7})", R"({"gpus": []})", R"({"gpus": ["H200"]})"}) {
    EXPECT_EQ(text(unknown), "unknown") << unknown;
  }
}

TEST_F(StoreTest, TextOfAResultIsNeverSql) {
  ResultSet set = results(100);
  set.cells[0].key = "'); DROP TABLE run; --";
  ASSERT_TRUE(store().add(set, {.commit = "'; DELETE FROM run; --", .label = "\"x\0y"}));
  EXPECT_EQ(store().list().value()[0].commit, "'; DELETE FROM run; --");
  EXPECT_THAT(store().baseline(set, {}).value(), SizeIs(1));
}

TEST_F(StoreTest, WritersAtTheSameTimeLoseNothing) {
  constexpr int kWriters = 4;
  constexpr int kEach = 15;
  std::atomic<int> failures = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {  // opening too: all of them begin the same new file
      auto mine = Store::open(path, Store::Mode::create);
      for (int i = 0; i < kEach; ++i) {
        if (!mine || !mine->add(results(100 + w * kEach + i))) ++failures;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(store().list().value(), SizeIs(kWriters * kEach));
}

TEST_F(StoreTest, TheBaselineIsTheNewestRunsOfTheMachineOldestFirst) {
  Store db = store();
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(db.add(results(100 + i)));
    ASSERT_TRUE(db.add(results(900 + i, "another")));
  }
  ResultSet other_cell = results(1);
  other_cell.cells[0] = samples::cell(samples::identity(4, 8), {5, 5, 5});
  summarize(other_cell);
  ASSERT_TRUE(db.add(other_cell));
  const auto runs = db.baseline(results(100), {}).value();
  ASSERT_THAT(runs, SizeIs(7));
  EXPECT_EQ(runs.front().cells[0].trials[0].sequences_per_second, 100);
  EXPECT_EQ(runs.back().cells[0].trials[0].sequences_per_second, 106);
  EXPECT_EQ(check(results(104), runs).exit_status, 0);
  EXPECT_EQ(check(results(90), runs).exit_status, 1);
  // A machine that the store does not know: the gate is to say so.
  const auto foreign = db.baseline(results(100, "third"), {}).value();
  ASSERT_THAT(foreign, SizeIs(1));
  EXPECT_EQ(check(results(100, "third"), foreign).exit_status, 4);
  EXPECT_THAT(db.baseline(results(100, "third"), {"cpu"}).value(), SizeIs(14));
  EXPECT_THAT(db.baseline(results(100, "third"), {"all"}).value(), SizeIs(14));
  EXPECT_THAT(db.baseline(results(100, "third"), {"gpu"}).value(), SizeIs(1));
  EXPECT_FALSE(runs.front().cells[0].trials[0].outcome.status == Status::completed)
      << "of a run before the last five nothing but its noise is kept";
  EXPECT_EQ(runs.back().cells[0].trials[0].outcome.status, Status::completed);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(db.add(results(200 + i)));
  EXPECT_THAT(db.baseline(results(100), {}).value(), SizeIs(kRunsOfHistory));
}

TEST_F(StoreTest, RunsAreInTheOrderInWhichTheyWereMeasured) {
  Store db = store();
  for (const char* created :
       {"2001-02-03T00:00:00Z", "yesterday", "2001-01-02T23:30:00-01:00", "2001-01-03T00:00:00Z"}) {
    ResultSet set = results(100);
    set.created = created;
    ASSERT_TRUE(db.add(set));
  }
  std::vector<std::int64_t> ids;
  const auto list = db.list().value();
  for (const StoredRun& run : list) ids.push_back(run.id);
  EXPECT_THAT(ids, testing::ElementsAre(4, 3, 1, 2));
  const auto runs = db.baseline(results(100), {}).value();
  ASSERT_THAT(runs, SizeIs(4));
  EXPECT_EQ(runs[0].created, "2001-01-03T00:00:00Z");
  EXPECT_EQ(runs[3].created, "yesterday") << "by the time at which it was added";
}

TEST_F(StoreTest, EveryNameIsThatOfAFile) {
  EXPECT_THAT(Store::open("", Store::Mode::create).error().message(), HasSubstr("an empty name"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(path).parent_path());
  EXPECT_TRUE(Store::open(":memory:", Store::Mode::create));
  EXPECT_TRUE(is_database(":memory:"));
  std::filesystem::current_path(before);
}

TEST_F(StoreTest, RefusesFilesOfOthers) {
  EXPECT_FALSE(Store::open(path, Store::Mode::existing));
  std::ofstream(path) << "this is no database, whatever its name says about it ................";
  EXPECT_FALSE(is_database(path));
  EXPECT_FALSE(Store::open(path, Store::Mode::create));
  std::filesystem::remove(path);
  std::ofstream(path).close();  // empty, as mktemp leaves it: fine to begin a store in
  EXPECT_THAT(Store::open(path, Store::Mode::existing).error().message(), HasSubstr("is empty"));
  EXPECT_TRUE(Store::open(path, Store::Mode::create));
  EXPECT_TRUE(is_database(path));
}

TEST(TrendTest, TellsTheRunAtWhichACellsLevelShifted) {
  std::vector<std::pair<StoredRun, ResultSet>> runs;
  for (int i = 0; i < 24; ++i) {
    StoredRun run;
    run.id = i + 1;
    run.machine = i == 5 ? "other" : "one";
    runs.emplace_back(run, results((i < 15 ? 1000 : 940) + (i * 7 % 5)));
  }
  const auto all = trends(runs);
  ASSERT_THAT(all, SizeIs(2));
  ASSERT_THAT(all[0].points, SizeIs(23));
  ASSERT_THAT(all[0].shifts, SizeIs(1));
  EXPECT_EQ(all[0].points[all[0].shifts[0].at].run.id, 16);
  EXPECT_NEAR(all[0].shifts[0].change, -0.06, 0.003);
  EXPECT_THAT(all[1].shifts, SizeIs(0));
  const Table table = trend_table(all, [](double) { return "1"; });
  EXPECT_THAT(table.rows.at(0), testing::Contains(HasSubstr("at run 16")));
  EXPECT_THAT(table.rows.at(1), testing::Contains("too few runs"));
  runs.resize(13);
  for (Trial& trial : runs[0].second.cells[0].trials) trial.window.covered = false;
  const auto level = trends(runs);
  EXPECT_THAT(level[0].points, SizeIs(11)) << "one has no number, one is of another machine";
  EXPECT_EQ(trend_html(level, "trend").find("the machine changed"), std::string::npos);
}

TEST(TrendTest, NamesTheRunWithWhichTheMachineChanged) {
  std::vector<std::pair<StoredRun, ResultSet>> runs;
  for (int i = 0; i < 4; ++i) {
    StoredRun run;
    run.id = i + 1;
    ResultSet set = results(1000);
    if (i > 0) (*set.environment)["kernel"] = i < 3 ? "6.1" : "6.<2>";
    (*set.environment)["bertbench"] = {{"compiler", std::to_string(i)}};
    runs.emplace_back(run, std::move(set));
  }
  const auto all = trends(runs);
  ASSERT_THAT(all, SizeIs(1));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(all[0].points[i].machine_changes, SizeIs(0)) << "not known before, or equal: " << i;
  }
  EXPECT_EQ(machine_changes_text(all[0].points[3]), "kernel 6.1 -> 6.<2>");
  const auto headings = [](const std::vector<Trend>& of) {
    std::vector<std::string> out;
    for (const TableColumn& column : trend_table(of, [](double) { return "1"; }).columns) {
      out.push_back(column.heading);
    }
    return out;
  };
  EXPECT_THAT(headings(all), testing::Contains("machine changes"));
  runs.pop_back();
  EXPECT_THAT(headings(trends(runs)), testing::Not(testing::Contains("machine changes")));
  const std::string page = trend_html(all, "trend");
  EXPECT_NE(page.find("run 4: kernel 6.1 -&gt; 6.&lt;2&gt;"), std::string::npos);
  EXPECT_EQ(page.find("6.<2>"), std::string::npos);
}

TEST(TrendTest, KeepsTrainingAndEvaluationOfOneCellApart) {
  ResultSet both = results(1000);
  Cell evaluation = both.cells.front();
  evaluation.kind = WorkKind::evaluation;
  both.cells.push_back(evaluation);
  const auto all = trends(std::vector<std::pair<StoredRun, ResultSet>>{{StoredRun{}, both}});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].kind, WorkKind::training);
  EXPECT_EQ(all[1].kind, WorkKind::evaluation);
  EXPECT_EQ(key_with_kind("base", all[0].kind), "base");
  EXPECT_EQ(key_with_kind("base", all[1].kind), "base (evaluation)");
}

}  // namespace
}  // namespace bertbench
