// Goodput of trainings whose times are known.
#include "reports/studies/goodput/goodput.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "parsers/lines/clock.h"
#include "tests/golden.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A job that begins at `wall_s`, starts up for 10 s and takes steps `first` < n <= `last` of 1 s;
/// the line of a step is its number.
JobLog job_of(double wall_s, std::int64_t first, std::int64_t last) {
  JobLog job;
  RunLog& log = job.log;
  log.path = "job" + std::to_string(first) + ".log";
  log.iteration_unit = IterationUnit::optimizer_step;
  log.clock_is_wall = true;
  for (std::int64_t step = first + 1; step <= last; ++step) {
    log.records.push_back({.step = step,
                           .seconds = 1,
                           .time_s = 10.0 + static_cast<double>(step - first),
                           .line = step});
  }
  job.wall = {wall_s, wall_s + 10 + static_cast<double>(last - first), wall_s + 11};
  return job;
}

void delay(JobLog& job, std::size_t from, double seconds) {
  for (std::size_t i = from; i < job.log.records.size(); ++i) job.log.records[i].time_s += seconds;
  *job.wall.end += seconds;
}

double of(const Goodput& goodput, GoodputPart part) {
  return goodput.seconds[static_cast<std::size_t>(part)];
}

TEST(GoodputTest, CountsEachStepOnceAndNamesWhereTheRestWent) {
  // 100 steps, killed; 60 s later on from step 80, 50 steps; 20 s later on from step 130.
  auto first = job_of(1000, 0, 100);
  auto second = job_of(1170, 80, 130);
  delay(first, 50, 20);   // before the line of step 51, an evaluation
  delay(first, 70, 8);    // step 71, a checkpoint
  delay(second, 20, 40);  // step 101: no line gives the reason
  first.log.marks = {{MarkKind::evaluation, 51}, {MarkKind::checkpoint, 71}};
  second.wall.begin = 1000 + 138 + 60, *second.wall.end += 28, *second.wall.first_step += 28;
  auto third = job_of(*second.wall.end + 20, 130, 150);
  *third.wall.end += 5;  // after its last step
  const auto goodput_of = goodput({third, first, second});
  ASSERT_TRUE(goodput_of);
  const Goodput& all = *goodput_of;
  EXPECT_NEAR(of(all, GoodputPart::counted), 150, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::lost), 20, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::start_up), 30, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::evaluation), 20, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::checkpoint), 8, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::stall), 40, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::closing), 5, 1e-9);
  EXPECT_NEAR(of(all, GoodputPart::between), 80, 1e-9);
  EXPECT_NEAR(all.total_s, *third.wall.end - 1000, 1e-9);
  test::expect_golden("tests/golden/reports/goodput.html",
                      test::page_body(goodput_html(all, "T"), "<footer>"));
  test::expect_golden("tests/golden/reports/goodput.json", goodput_json(all).dump(1));
  EXPECT_NEAR(std::accumulate(all.seconds.begin(), all.seconds.end(), 0.0), all.total_s, 1e-9);
  EXPECT_EQ(all.counted_steps, 150);
  EXPECT_EQ(all.lost_steps, 20);
  ASSERT_EQ(all.jobs.size(), 3U);
  EXPECT_EQ(all.jobs[0].lost_steps, 20);
  EXPECT_EQ(all.jobs[1].begin_s, 198);
  EXPECT_NEAR(all.share(), 150 / all.total_s, 1e-12);
}

TEST(GoodputTest, NamesStepsThatNoLogHasAndJobsThatOverlap) {
  const auto all = goodput({job_of(0, 0, 60), job_of(200, 100, 150), job_of(250, 150, 200)});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->counted_steps, 160);
  EXPECT_EQ(all->missing_steps, 40);
  EXPECT_THAT(texts_of(all->notices),
              ElementsAre("no log has the steps 61 to 100",
                          "job150.log begins 10 s before the job before it ends: that time counts "
                          "for both"));
  EXPECT_EQ(goodput_json(*all)["steps"]["missing"], 40);
  EXPECT_THAT(goodput_html(*all, "T"), HasSubstr("no log has the steps 61 to 100"));
}

TEST(GoodputTest, StepsOfAnUnknownUnitAreCountedByTheirLines) {
  auto first = job_of(1000, 0, 100), second = job_of(1170, 80, 130);
  for (JobLog* job : {&first, &second}) job->log.iteration_unit = IterationUnit::unknown;
  const auto all = goodput({first, second});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->counted_steps, 130);
  EXPECT_EQ(all->lost_steps, 20);
}

TEST(GoodputTest, AnOlderCheckpointTakesTheStepsOfEveryJobSince) {
  const auto all = goodput({job_of(0, 0, 100), job_of(200, 90, 150), job_of(400, 40, 160)});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->jobs[0].lost_steps, 60);
  EXPECT_EQ(all->jobs[1].lost_steps, 60) << "all that it did was done again";
  EXPECT_EQ(all->counted_steps, 160);
  EXPECT_NEAR(of(*all, GoodputPart::counted), 160, 1e-9);
  EXPECT_NEAR(of(*all, GoodputPart::lost), 120, 1e-9);
}

TEST(GoodputTest, ARecordOfSeveralStepsIsLostInPart) {
  auto first = job_of(0, 0, 0);
  for (int step = 10; step <= 50; step += 10) {
    first.log.records.push_back(
        {.step = step, .iterations = 10, .seconds = 10, .time_s = 1.0 * step, .line = step});
  }
  first.wall = {};
  auto second = job_of(0, 44, 60);
  second.wall = {};
  const auto all = goodput({second, first});
  ASSERT_TRUE(all);
  EXPECT_NEAR(of(*all, GoodputPart::lost), 6, 1e-9);
  EXPECT_FALSE(all->between_known);
  EXPECT_EQ(of(*all, GoodputPart::between), 0);
}

// transformers, Lightning: a bar of whole seconds, four steps in each.
TEST(GoodputTest, ABarsElapsedTimeIsTheTimeOfItsSteps) {
  const auto bar_of = [](double wall_s, std::int64_t first, std::int64_t last) {
    auto job = job_of(wall_s, first, last);
    job.log.clock_is_wall = false;
    job.log.clock_resolution_s = 1;
    for (Record& record : job.log.records) {
      record.seconds = kUnknown;
      record.time_s = std::floor(0.25 * static_cast<double>(record.step - first));
    }
    job.wall = {};
    return job;
  };
  const auto all = goodput({bar_of(0, 0, 200), bar_of(0, 160, 400)});
  ASSERT_TRUE(all);
  EXPECT_NEAR(of(*all, GoodputPart::counted), 100, 1);
  EXPECT_NEAR(of(*all, GoodputPart::lost), 10, 1);
  EXPECT_EQ(of(*all, GoodputPart::stall), 0);
  EXPECT_EQ(all->lost_steps, 40);
}

TEST(GoodputTest, JitterIsNoStallAndAJobWithoutAStepIsStartUp) {
  auto steady = job_of(0, 0, 100);
  delay(steady, 40, 1.5);  // 2.5 times a step
  auto died = job_of(200, 100, 100);
  died.wall = {200, 230, std::nullopt};
  const auto all = goodput({steady, died, job_of(300, 100, 110)});
  ASSERT_TRUE(all);
  EXPECT_EQ(of(*all, GoodputPart::stall), 0);
  EXPECT_NEAR(of(*all, GoodputPart::counted), 111.5, 1e-9);
  EXPECT_NEAR(of(*all, GoodputPart::start_up), 10 + 30 + 10, 1e-9);
}

TEST(GoodputTest, TheLogsOfOtherRanksAreLeftOut) {
  auto other = job_of(1, 0, 100);
  other.log.path = "rank1.log";
  const auto all = goodput({job_of(0, 0, 100), other});
  ASSERT_TRUE(all);
  EXPECT_THAT(all->left_out, ElementsAre("rank1.log"));
  EXPECT_NEAR(all->total_s, 110, 1e-9);
  EXPECT_FALSE(goodput({}));
}

TEST(GoodputTest, StepsWithoutTimesGiveNoAnswer) {
  auto job = job_of(0, 0, 20);
  job.log.clock_is_wall = false;
  for (auto& record : job.log.records) record.seconds = record.time_s = kUnknown;
  const auto dated = goodput({job});
  ASSERT_FALSE(dated);
  EXPECT_THAT(dated.error().message(), HasSubstr("the logs have no times"));
  job.wall = {};
  EXPECT_FALSE(goodput({job}));
  EXPECT_THAT(goodput({}).error().message(), HasSubstr("no log of a training with steps"));
}

WallTimes times_of(const std::string& text) {
  const test::ScratchFolder folder;
  const auto jobs = read_jobs(folder.put("train.log", text));
  EXPECT_TRUE(jobs) << jobs.error().message();
  return jobs && jobs->size() == 1 ? jobs->front().wall : WallTimes{};
}

std::string steps_at(const std::string& before, const std::string& after) {
  std::string out;
  for (int i = 1; i <= 3; ++i) {
    out += before + "2026-11-21 04:00:0" + std::to_string(i) + after + "iter " +
           std::to_string(10 * i) + ": loss 8.5, time 130.20ms, mfu 30.00%\n";
  }
  return out;
}

TEST(GoodputTest, AStampStandsAtTheFrontOfALine) {
  const auto begin = date_time("2026-11-21 04:00:01"), end = date_time("2026-11-21 04:00:03");
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"", " "}, {"[", "] "}, {"INFO - ", " - "}, {"[NeMo I ", " train:88] "}}) {
    const auto times = times_of(steps_at(before, after));
    EXPECT_EQ(times.begin, begin) << before;
    EXPECT_EQ(times.end, end) << before;
  }
}

TEST(GoodputTest, ADateThatALineIsAboutIsNoStamp) {
  const auto begin = date_time("2026-11-21 04:00:01"), end = date_time("2026-11-21 04:00:03");
  const std::string steps = steps_at("", " ");
  for (const std::string quoted :
       {"loaded checkpoint of 2023-05-01 10:00:00\n", "checkpoint: 2023-05-01 10:00:00\n",
        "2023-05-01 10:00:00 is the date of the data\n",
        "2030-05-01 10:00:00 is when the machine goes\n", "{\"made\": \"2023-05-01 10:00:00\"}\n",
        "{\"time\": \"2023-05-01 10:00:00\"}\n"}) {
    for (const std::string& text : {quoted + steps, steps + quoted}) {
      const auto times = times_of(text);
      EXPECT_EQ(times.begin, begin) << text;
      EXPECT_EQ(times.end, end) << text;
    }
  }
}

TEST(GoodputTest, APipeIsRefusedAsItCannotBeReadTwice) {
  test::ScratchFolder folder;
  const auto path = folder.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto jobs = read_jobs(path);
  ASSERT_FALSE(jobs);
  EXPECT_THAT(jobs.error().message(), HasSubstr("is no regular file"));
  EXPECT_FALSE(read_jobs("-"));
}

// The clock of such lines leaves the evaluation out; the stamps of the lines have it.
TEST(GoodputTest, AnEvaluationStaysWhereItWas) {
  const test::ScratchFolder folder;
  std::string text = "2026-11-21 04:00:00 starting\n";
  int at_s = 10;
  const auto stamp = [&] {
    return fmt::format("2026-11-21 04:{:02}:{:02} ", at_s / 60, at_s % 60);
  };
  for (int i = 1; i <= 40; ++i) {
    text += stamp() + fmt::format("step {} loss {:.3f}\n", i, 9.0 / i);
    if (i % 10 == 0 && i < 40) {
      text += stamp() + "Running evaluation\n";
      at_s += 20;
      text += stamp() + "eval loss 3.2\n";
    }
    ++at_s;
  }
  at_s += 4;
  text += stamp() + "Training finished\n";
  auto jobs = read_jobs(folder.put("train.log", text));
  ASSERT_TRUE(jobs) << jobs.error().message();
  const auto all = goodput(std::move(*jobs));
  ASSERT_TRUE(all);
  EXPECT_NEAR(of(*all, GoodputPart::evaluation), 60, 1e-6);
  EXPECT_NEAR(of(*all, GoodputPart::closing), 5, 1e-6);
  EXPECT_NEAR(of(*all, GoodputPart::counted), 40, 1e-6);
}

TEST(GoodputTest, SpansAreBoundedAndThePictureNamesEachPart) {
  auto job = job_of(0, 0, 2000);
  for (std::size_t i = 10; i < 2000; i += 10) {
    delay(job, i, 2.0 + static_cast<double>(i % 7));
    job.log.marks.push_back({MarkKind::checkpoint, static_cast<std::int64_t>(i) + 1});
  }
  const auto all = goodput({job, job_of(5000, 1990, 2010)});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->jobs[0].spans.size(), kMostJobSpans);
  const auto figure = goodput_figure(*all);
  EXPECT_EQ(figure.y.rows.size(), 2U);
  ASSERT_FALSE(figure.series.empty());
  EXPECT_EQ(figure.series[0].name, "steps that counted");
  EXPECT_THAT(goodput_html(*all, "<T>"), HasSubstr("&lt;T&gt;"));
}

TEST(GoodputTest, StampsOfLinesSayWhenRunsBegan) {
  const test::ScratchFolder folder;
  const auto head = [](const char* time, int first) {
    return std::string(R"({"type":"header","format":"bert_train/1","time":")") + time +
           R"(","framework":"bert_train","micro_batch_size":2,"gradient_accumulation_steps":1,)"
           R"("world_size":1,"first_step":)" +
           std::to_string(first) + R"(,"last_step":9})" + "\n";
  };
  const auto step = [](int n, double elapsed, const char* time) {
    return R"({"type":"step","step":)" + std::to_string(n) +
           R"(,"steps":1,"seconds":1.0,"elapsed":)" + std::to_string(elapsed) + R"(,"time":")" +
           time + "\"}\n";
  };
  auto jobs = read_jobs(folder.put(
      "train.log",
      head("2026-11-21T04:00:00.500Z", 1) + step(1, 3, "2026-11-21T04:00:03.500Z") +
          step(2, 4, "2026-11-21T04:00:04.500Z") + step(3, 5, "2026-11-21T04:00:05.500Z") +
          head("2026-11-21T04:01:00.500Z", 3) + step(3, 3, "2026-11-21T04:01:03.500Z") +
          step(4, 4, "2026-11-21T04:01:04.500Z")));
  ASSERT_TRUE(jobs) << jobs.error().message();
  ASSERT_EQ(jobs->size(), 2U);
  const auto all = goodput(std::move(*jobs));
  ASSERT_TRUE(all);
  EXPECT_NEAR(all->total_s, 64, 1e-6);
  EXPECT_NEAR(of(*all, GoodputPart::between), 55, 1e-6);
  EXPECT_NEAR(of(*all, GoodputPart::counted), 4, 1e-6);
  EXPECT_NEAR(of(*all, GoodputPart::lost), 1, 1e-6);
  EXPECT_NEAR(of(*all, GoodputPart::start_up), 4, 1e-6);
  const auto json = goodput_json(*all);
  EXPECT_EQ(json["jobs"][1]["began"], "2026-11-21T04:01:00");
  EXPECT_EQ(json["jobs"][1]["line"], 5);
  EXPECT_EQ(json["steps"]["lost"], 1);
}

}  // namespace
}  // namespace bertbench
