// Logs of our own runs against the clock that ran next to them: bert_train's --timings, or a
// callback in the loop of another library (parsers/samples/README.md, tests/data/samples). What a
// log prints of an interval, its seconds, its clock and its rate, is what that clock gives for the
// same steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = BB_SOURCE_DIR;

struct Clock {
  std::vector<double> end = {0};  ///< seconds, of each step; step 0 is the beginning
  double sequences = 0;           ///< of a step
};

Clock clock_of(const fs::path& timings) {
  Clock out;
  std::istringstream in(test::read_file(timings));
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    out.end.push_back(json["end"].get<double>());
    out.sequences = json["sequences"].get<double>();
  }
  return out;
}

RunLog training(const fs::path& log) {
  const auto runs = read_log(log.string(), {});
  if (!runs) {
    ADD_FAILURE() << runs.error().message();
    return {};
  }
  for (const RunLog& run : *runs) {
    if (run.kind == WorkKind::training) return run;
  }
  ADD_FAILURE() << log << " has no training";
  return {};
}

struct Clocked {
  std::string log;
  double each = 0.02;      ///< relative tolerance of an interval
  double all = 0.01;       ///< and of all together, where they are one stretch
  std::int64_t epoch = 0;  ///< steps after which the log's clock leaves something out that no
                           ///< line of it shows; 0: never
  std::int64_t ahead = 0;  ///< from the log's counter to the number of the step that ended
};

std::ostream& operator<<(std::ostream& out, const Clocked& of) { return out << of.log; }

class SampleClock : public testing::TestWithParam<Clocked> {};

TEST_P(SampleClock, IsThatOfTheLog) {
  const Clocked& want = GetParam();
  const fs::path log = kSource / want.log;
  fs::path timings = log;
  timings.replace_extension(".timings.jsonl");
  if (!fs::exists(timings)) timings.replace_filename("timings.jsonl");
  const Clock clock = clock_of(timings);
  const RunLog run = training(log);
  int compared = 0;
  double steps_s = 0, clock_s = 0, truth_s = 0;
  for (std::size_t i = 1; i < run.records.size(); ++i) {
    const Record& record = run.records[i];
    const std::int64_t from = run.records[i - 1].step + want.ahead, to = record.step + want.ahead;
    if (want.epoch > 0 && (from - 1) / want.epoch != (to - 1) / want.epoch) continue;
    const auto is_between = [&](const OffClock& off) {
      return off.line > run.records[i - 1].line && off.line <= record.line;
    };
    if (std::ranges::any_of(run.off_clock, is_between)) continue;
    const double truth =
        clock.end.at(static_cast<std::size_t>(to)) - clock.end.at(static_cast<std::size_t>(from));
    truth_s += truth;
    if (!std::isnan(record.seconds)) {
      EXPECT_NEAR(record.seconds / truth, 1, want.each) << to;
      steps_s += record.seconds;
      ++compared;
    }
    const double seconds = record.time_s - run.records[i - 1].time_s;
    if (!std::isnan(seconds)) {
      EXPECT_NEAR(seconds, truth, want.each * truth + run.clock_resolution_s) << to;
      clock_s += seconds;
      ++compared;
    }
    if (!std::isnan(record.printed_rate)) {
      const double each = run.rate_unit == RateUnit::sequences_per_second ? clock.sequences : 1;
      const double work = each * static_cast<double>(to - from);
      EXPECT_NEAR(record.printed_rate * truth / work, 1, want.each) << to;
      ++compared;
    }
  }
  EXPECT_GE(compared, 3);
  if (steps_s > 0) {
    EXPECT_NEAR(steps_s / truth_s, 1, want.all);
  }
  if (clock_s > 0) {
    EXPECT_NEAR(clock_s, truth_s, want.all * truth_s + run.clock_resolution_s);
  }
}

/// Every sample with the times of its loop. A row states what differs from 2 % for an interval and
/// 1 % for all together; the two formats without a row have tests of their own below.
std::vector<Clocked> clocked_logs() {
  std::vector<Clocked> out{
      // The counter begins at 0, as in TensorFlow 1.14 and later: "step = 5" ends the sixth step.
      {"parsers/samples/tf/sample.log", 0.005, 0.005, 0, 1},
      {"parsers/samples/composer/sample.log", 0.03, 0.03, 40},
      {"parsers/samples/flax/sample.log", 0.05, 0.01},
      {"parsers/samples/jsonl/console.log"},
      {"parsers/samples/keras/sample.log", 0.06, 0.03},
      {"parsers/samples/lightning/sample.log", 0.035, 0.01, 40},
      {"parsers/samples/mmcv/sample.log", 0.02, 0.02},
      {"parsers/samples/pytorch/sample.log", 0.05, 0.02, 40},
      {"parsers/samples/pytorch-examples/sample.log", 0.02, 0.01, 34},
      {"parsers/samples/paddle-hapi/sample.log", 0.02, 0.01, 40},
      {"parsers/samples/tinygrad/sample.log", 0.05, 0.02},
      // Redraws of two batches, tenths of a second; an epoch's last one may repeat the time
      // before.
      {"parsers/samples/ultralytics/sample.log", 0.6, 0.03, 30},
      {"parsers/samples/maxtext/sample.log", 0.05, 0.02},
      {"tests/data/samples/native/tiny_1n1g.log", 0.005, 0.001},
      {"tests/data/samples/native/tiny_1n2g_a2_lamb.log", 0.005, 0.001},
      {"tests/data/samples/native/tiny_every10.log", 0.005, 0.001},
      // The line comes some milliseconds late now and then.
      {"tests/data/samples/tf/tiny_1n1g.log", 0.15, 0.005},
      {"tests/data/samples/tf/tiny_1n2g_every10.log", 0.005, 0.005}};
  const std::set<std::string> own_tests{"huggingface", "tqdm"};
  std::set<std::string> rows, others;
  for (const Clocked& row : out) rows.insert(row.log);
  for (const auto& folder : fs::directory_iterator(kSource / "parsers/samples")) {
    const std::string name = folder.path().filename();
    const std::string log = "parsers/samples/" + name + "/sample.log";
    if (own_tests.contains(name) || rows.contains(log)) continue;
    if (fs::exists(folder.path() / "timings.jsonl")) others.insert(log);
  }
  for (const std::string& log : others) out.push_back({log});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Logs, SampleClock, testing::ValuesIn(clocked_logs()),
                         [](const auto& of) { return case_name(of.param.log); });

TEST(SampleClocks, TqdmCountersAreWithinTheirSecond) {
  const Clock clock = clock_of(kSource / "parsers/samples/tqdm/timings.jsonl");
  const RunLog run = training(kSource / "parsers/samples/tqdm/sample.log");
  ASSERT_EQ(run.facts.gradient_accumulation_steps.value, 4);
  int whole_steps = 0;
  for (const Record& record : run.records) {
    if (record.step % 4 != 0) continue;  // the clock of a step's end is known
    ++whole_steps;
    // The bar starts a little before the first step's work, and shows whole seconds.
    const double end = clock.end[static_cast<std::size_t>(record.step / 4)];
    EXPECT_LE(record.time_s, end + 0.05) << record.step;
    EXPECT_GE(record.time_s, end - 1.3) << record.step;
  }
  EXPECT_GE(whole_steps, 5);
}

TEST(SampleClocks, LightningsBarsOfThreeEpochsAddUp) {
  const Clock clock = clock_of(kSource / "parsers/samples/lightning/tqdm_timings.jsonl");
  const RunLog run = training(kSource / "parsers/samples/lightning/tqdm.log");
  EXPECT_EQ(run.records.back().step, 120);
  EXPECT_NEAR(run.records.back().time_s, clock.end.back(), 3.0) << "whole seconds of three bars";
}

// 40 steps of 8 x 2 sequences by the Trainer of Hugging Face, whose only rate is that of the run.
TEST(SampleClocks, TheTrainersClosingRateIsThatOfTheRunInAllItsWritings) {
  const fs::path folder = kSource / "parsers/samples/huggingface";
  const double truth = clock_of(folder / "timings.jsonl").end.back();
  for (const char* name : {"sample.log", "console.log", "train_results.json"}) {
    const RunLog run = training(folder / name);
    ASSERT_TRUE(run.summary) << name;
    EXPECT_EQ(run.summary->unit, RateUnit::sequences_per_second);
    EXPECT_NEAR(run.summary->value / (640 / truth), 1, 0.002) << name;
    EXPECT_NEAR(*run.totals.training_s / truth, 1, 0.002) << name;
  }
}

// The golden logs of bert_train's styles: six steps of 0.99 s, NaN losses from the fifth on, or
// four steps and then a signal; with fp16 skipped steps as well. huggingface prints no clock, tqdm
// and megatron's stamps are rounded.
TEST(SampleClocks, EveryStyleOfBertTrainIsReadBack) {
  int styles = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/workloads/driver/golden")) {
    const std::string file = entry.path().filename();
    SCOPED_TRACE(file);
    const bool interrupted = file.ends_with("_interrupted.log");
    const bool scaled = file.ends_with("_fp16.log");
    const std::string style = file.substr(0, file.find(interrupted ? "_interrupted"
                                                       : scaled    ? "_fp16"
                                                                   : ".log"));
    const RunLog run = training(entry.path());
    EXPECT_EQ(run.format, style);
    // Under a loss scale a step may be skipped for an overflow: some formats take its loss for
    // that.
    if (!scaled) {
      EXPECT_EQ(name(run.outcome.status), name(interrupted ? Status::killed : Status::nan));
      EXPECT_TRUE(run.first_nan_step || interrupted) << "no NaN";
    }
    if (style != "huggingface" && style != "tqdm" && run.records.size() > 1) {
      const Record& last = run.records.back();
      const double seconds = std::isnan(last.seconds)
                                 ? last.time_s - run.records[run.records.size() - 2].time_s
                                 : last.seconds;
      EXPECT_NEAR(seconds / static_cast<double>(last.iterations), 0.99, 0.011);
    }
    ++styles;
  }
  EXPECT_GE(styles, 20);
}

}  // namespace
}  // namespace bertbench
