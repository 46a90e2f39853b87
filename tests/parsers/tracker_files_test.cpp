// Files of trackers: those that the real packages wrote in one run (parsers/samples/jsonl), which
// must give the rate of its console, and such as are made here, damaged in every byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <sstream>

#include "tests/parsers/run_log_text.h"
#include "tests/scratch_folder.h"
#include "tests/tracker_bytes.h"

namespace bertbench {
namespace {

using namespace std::string_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kFolder = std::string(BB_SOURCE_DIR) + "/parsers/samples/jsonl/";
constexpr const char* kEvents = "events.out.tfevents.1795550012.host";

RunLog training(const std::string& name) {
  const auto runs = read_log(kFolder + name, {});
  if (!runs || runs->size() != 1) {
    ADD_FAILURE() << name << ": " << (runs ? "not one run" : runs.error().message());
    return {};
  }
  return runs->front();
}

/// Between the first and the last record with a time.
double seconds_per_step(const RunLog& run) {
  const auto has_time = [](const Record& record) { return !std::isnan(record.time_s); };
  const auto first = std::ranges::find_if(run.records, has_time);
  const auto last = std::ranges::find_if(run.records.rbegin(), run.records.rend(), has_time);
  if (first == run.records.end()) return kUnknown;
  return (last->time_s - first->time_s) / static_cast<double>(last->step - first->step);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

struct Written {
  const char* file;
  double tolerance;  ///< of the seconds per step
  std::size_t stamped;
};

class TrackerFile : public testing::TestWithParam<Written> {};

TEST_P(TrackerFile, GivesTheRateOfTheConsoleOfTheSameRun) {
  const RunLog console = training("console.log"), run = training(GetParam().file);
  EXPECT_EQ(run.format, "jsonl");
  ASSERT_EQ(run.records.size(), GetParam().stamped);
  EXPECT_EQ(run.records.back().step, 60);
  EXPECT_NEAR(seconds_per_step(run) / seconds_per_step(console), 1, GetParam().tolerance);
  EXPECT_NEAR(run.records.back().loss, console.records.back().loss, 0.001);
}

INSTANTIATE_TEST_SUITE_P(
    Packages, TrackerFile,
    testing::Values(Written{kEvents, 0.005, 12}, Written{"run.wandb", 0.005, 12},
                    Written{"mlflow.db.gz", 0.005, 12},
                    // It sends every half second, and what it sends has one stamp.
                    Written{"trackio.db.gz", 0.2, 12}),
    [](const auto& of) { return "n" + std::to_string(of.index); });

TEST(TrackerFiles, StateFactsAndOutcomes) {
  for (const char* name : {"run.wandb", "mlflow.db.gz", "trackio.db.gz"}) {
    const RunLog run = training(name);
    EXPECT_EQ(run.facts.micro_batch_size.value, 32) << name;
    EXPECT_EQ(run.facts.world_size.value, 1) << name;
    EXPECT_EQ(run.facts.sequence_length.value, 64) << name;
    EXPECT_EQ(run.outcome.status, Status::completed) << name;
  }
}

/// What was logged, or else the console, which comes after it.
std::vector<std::string> part_of(const std::string& text, bool logged) {
  auto out = lines_of(text);
  std::erase_if(out, [&](const std::string& line) { return line.starts_with("{") != logged; });
  return out;
}

// Twice: each byte changed, and the file cut there.
TEST(TrackerFiles, DamageChangesNothingBeforeIt) {
  for (const std::string name : {kEvents, "run.wandb"}) {
    const std::string whole = test::read_file(kFolder + name);
    const std::string all = tracker_text(whole).lines;
    for (std::size_t at = kTrackerHead; at < whole.size(); ++at) {
      const TrackerText cut = tracker_text(std::string_view(whole).substr(0, at));
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
      const TrackerText damaged = tracker_text(bytes);
      EXPECT_NE(damaged.problem, "") << name << " at " << at;
      for (const bool logged : {true, false}) {
        // The newest line waits for what follows it.
        auto before = part_of(cut.lines, logged);
        before.resize(before.size() - std::min<std::size_t>(1, before.size()));
        for (const std::string& text : {all, damaged.lines}) {
          const auto after = part_of(text, logged);
          ASSERT_LE(before.size(), after.size()) << name << " at " << at;
          ASSERT_TRUE(std::ranges::equal(before, std::span(after).first(before.size())))
              << name << " at " << at;
        }
      }
    }
  }
}

TEST(TrackerFiles, ADamagedDatabaseIsReadAsFarAsItGoes) {
  // The bytes themselves, not what they hold.
  gzFile packed = gzopen((kFolder + "trackio.db.gz").c_str(), "rb");
  ASSERT_NE(packed, nullptr);
  std::string whole(std::size_t{1} << 20, '\0');
  const int read = gzread(packed, whole.data(), static_cast<unsigned>(whole.size()));
  gzclose(packed);
  ASSERT_GT(read, 0);
  const auto size = static_cast<std::size_t>(read);
  whole.resize(size);
  ASSERT_THAT(tracker_text(whole).lines, HasSubstr("\"_step\": 60"));
  for (std::size_t at = kTrackerHead; at < size; at += 211) {
    std::string bytes = whole;
    for (std::size_t i = at; i < std::min(size, at + 16); ++i)
      bytes[i] = static_cast<char>(~bytes[i]);
    tracker_text(bytes);
    tracker_text(std::string_view(whole).substr(0, at));
  }
  const std::string other = tracker_text("SQLite format 3\0"s + std::string(4096, '\1')).problem;
  EXPECT_THAT(other, HasSubstr("none of MLflow or Trackio"));
}

std::string scalar(double wall_time, std::uint64_t step, const std::string& tag,
                   const std::string& value) {
  return event_record(proto(1, wall_time) + proto(2, step) +
                      proto(5, proto(1, proto(1, tag) + value)));
}

TEST(Tensorboard, ReadsTensorsAndLeavesOtherCountersOut) {
  const std::string of_tf2 = proto(8, proto(1, std::uint64_t{1}) + proto(4, little_endian(2.5F)));
  const std::string matrix = proto(8, proto(1, std::uint64_t{1}) + proto(4, "12345678"s));
  const TrackerText text = tracker_text(
      event_record(proto(1, 99.0) + proto(3, "brain.Event:2"s)) +  //
      scalar(100, 10, "loss", of_tf2) + scalar(100.5, 10, "histogram", matrix) +
      scalar(100.5, 10, "lr", proto(2, 0.125F)) + scalar(100.6, 640, "loss vs samples", of_tf2) +
      scalar(101, 20, "loss", proto(2, std::numeric_limits<float>::quiet_NaN())) +
      scalar(102, 1, "val", of_tf2) + scalar(103, 2, "val", of_tf2) +  // counts epochs
      scalar(104, 30, "loss", of_tf2) + scalar(104, 3, "epoch_loss", of_tf2) +
      scalar(104.001, 30, "loss", of_tf2) + scalar(109, 30, "eval/loss", of_tf2) +
      scalar(110, 20, "loss", of_tf2));  // began again
  EXPECT_EQ(text.problem, "");
  EXPECT_EQ(text.lines,
            "{\"step\": 10, \"wall_time\": 100.000000, \"loss\": 2.5}\n"
            "{\"step\": 10, \"wall_time\": 100.500000, \"lr\": 0.125}\n"
            "{\"step\": 20, \"wall_time\": 101.000000, \"loss\": \"nan\"}\n"
            "{\"step\": 30, \"wall_time\": 104.000000, \"loss\": 2.5}\n"
            "{\"step\": 30, \"wall_time\": 104.001000, \"loss\": 2.5}\n"
            "{\"step\": 30, \"wall_time\": 109.000000, \"eval/loss\": 2.5}\n"
            "{\"step\": 20, \"wall_time\": 110.000000, \"loss\": 2.5}\n");
}

std::string item(const std::string& key, const std::string& json) {
  return proto(1, proto(1, key) + proto(16, json));
}
std::string console(std::uint64_t stream, const std::string& text) {
  return proto(13, proto(1, stream) + proto(3, text));
}

TEST(Wandb, GivesConsoleHistoryAndExit) {
  const std::string nested = proto(1, proto(2, "a"s) + proto(2, "b"s) + proto(16, "1"s));
  const TrackerText text = tracker_text(wandb_file(std::vector<std::string>{
      proto(17, proto(4, item("lr", "0.5") + item("list", "[1]"))), console(1, "step 1"),
      proto(2, item("loss", "NaN") + nested + proto(2, proto(1, std::uint64_t{7}))),
      console(0, "warning\n"), console(1, " done\nstep 2"), proto(18, proto(1, std::uint64_t{1})),
      console(1, std::string(40'000, 'x') + "\n")}));
  EXPECT_EQ(text.problem, "");
  EXPECT_THAT(text.lines, StartsWith("{\"run\": \"wandb\"}\n"
                                     "{\"config\": {\"lr\": 0.5}}\n"
                                     "{\"_step\": 7, \"loss\": \"NaN\", \"a.b\": 1}\n"
                                     "warning\nstep 1 done\nstep 2xxx"));
  EXPECT_THAT(text.lines, EndsWith("xxx\nwandb: Program failed with code 1.\n"))
      << "a record over two blocks";
}

RunLog run_of(const std::vector<std::string>& records) {
  const test::ScratchFolder folder;
  const auto runs = read_log(folder.put("run.wandb", wandb_file(records)), {});
  return runs && runs->size() == 1 ? runs->front() : RunLog{};
}
std::string row(std::uint64_t step, double time_s, const std::string& more = "") {
  return proto(2, item("train/loss", "2.5") + more +
                      item("_timestamp", std::to_string(1.79e9 + time_s)) +
                      proto(2, proto(1, step)));
}

TEST(Wandb, AGapInTheStepsLosesNoRowAndShowsThatTheyAreTheTrainers) {
  for (const bool gap : {false, true}) {
    std::vector<std::string> rows;
    for (std::uint64_t step = 1; step <= 12; ++step) {
      if (!gap || step != 9) rows.push_back(row(step, 0.5 * static_cast<double>(step)));
    }
    const RunLog run = run_of(rows);
    EXPECT_EQ(run.records.size(), rows.size());
    EXPECT_EQ(run.notices.size(), gap ? 0U : 1U) << "calls of the logger";
  }
}

// wandb writes the rows of the last seconds after what the program printed when it failed.
TEST(Wandb, TheHistoryLeadsHoweverManyStepsTheConsoleShowsAndComesBeforeAFailure) {
  std::vector<std::string> records;
  for (std::uint64_t step = 5; step <= 100; step += 5) {
    if (step < 95) records.push_back(row(step, 0.1 * static_cast<double>(step)));
    for (const int back : {2, 1}) {
      const std::string number = std::to_string(step - static_cast<std::uint64_t>(back) + 1);
      records.push_back(console(1, "step " + number + "/160 loss 2.5 (0.1 sec/step)\n"));
    }
  }
  records.push_back(console(0, "Traceback (most recent call last):\nRuntimeError: fault\n"));
  records.push_back(row(95, 9.5));
  records.push_back(row(100, 10));
  const RunLog run = run_of(records);
  EXPECT_EQ(run.format, "jsonl");
  EXPECT_EQ(run.records.size(), 20U);
  EXPECT_EQ(run.outcome.status, Status::error);
  EXPECT_EQ(run.outcome.step, 100);
}

// A row that has both is written after the evaluation.
TEST(Wandb, TheTimeOfAnEvaluationIsTakenOffTheClock) {
  std::vector<std::string> rows;
  double time_s = 0;
  for (std::uint64_t step = 5; step <= 100; step += 5) {
    const bool evaluates = step % 50 == 0;
    time_s += evaluates ? 2.5 : 0.5;
    rows.push_back(row(step, time_s, evaluates ? item("eval/loss", "2.5") : ""));
  }
  EXPECT_NEAR(seconds_per_step(run_of(rows)), 0.1, 1e-6);
}

TEST(Wandb, ADamagedBlockIsLeftOutAndTheNextOneRead) {
  std::vector<std::string> records;
  for (int i = 0; i < 100; ++i)
    records.push_back(console(1, std::string(999, 'a' + i % 26) + "\n"));
  std::string bytes = wandb_file(records);
  const auto whole = lines_of(tracker_text(bytes).lines);
  bytes[40'000] ^= 1;  // in the second of four blocks
  const TrackerText damaged = tracker_text(bytes);
  EXPECT_THAT(damaged.problem, HasSubstr("damaged at byte "));
  const auto lines = lines_of(damaged.lines);
  EXPECT_GT(lines.size(), 65U);
  EXPECT_EQ(lines.back(), whole.back());
}

}  // namespace
}  // namespace bertbench
