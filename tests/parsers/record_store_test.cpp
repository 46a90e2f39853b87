#include "parsers/assemble/record_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "parsers/reader/log_reader.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

Record at(std::int64_t step) {
  Record record;
  record.step = step;
  record.seconds = 0.5;
  record.time_s = static_cast<double>(step) / 2;
  record.first_time_s = record.time_s;
  record.printed_rate = record.printed_first = static_cast<double>(step);
  record.loss = 1;
  record.line = step;
  return record;
}

void fill(RecordStore& store, std::int64_t n) {
  for (std::int64_t step = 1; step <= n; ++step) store.push(at(step));
}

std::int64_t sum(const RecordStore& store, std::int64_t Record::*member) {
  return std::accumulate(store.records().begin(), store.records().end(), std::int64_t{0},
                         [&](std::int64_t total, const Record& r) { return total + r.*member; });
}

TEST(RecordStore, StaysBoundedAndLosesNoIterationOrSecond) {
  for (const std::int64_t n : {5, 64, 65, 100, 1'000, 100'000}) {
    RecordStore store(WindowRule{}, 64);
    fill(store, n);
    EXPECT_LE(store.records().size(), 64u);
    EXPECT_EQ(store.seen(), n);
    EXPECT_EQ(sum(store, &Record::iterations), n);
    EXPECT_EQ(sum(store, &Record::merged), n);
    double seconds = 0, implied_s = 0, first = 0, single_s = 0;
    for (std::int64_t step = 1; step <= n; ++step) single_s += 1 / static_cast<double>(step);
    for (const Record& record : store.records()) {
      seconds += record.seconds;
      implied_s += static_cast<double>(record.iterations) / record.printed_rate;
      first += record.printed_first * static_cast<double>(record.merged);
    }
    EXPECT_DOUBLE_EQ(seconds, 0.5 * static_cast<double>(n));
    EXPECT_NEAR(implied_s, single_s, 1e-9 * single_s) << "the time that rates imply is kept";
    EXPECT_NEAR(first / static_cast<double>(n), static_cast<double>(n + 1) / 2,
                1e-6 * static_cast<double>(n))
        << "the mean of first redraws is kept";
    EXPECT_EQ(store.records().back().step, n);
    for (std::size_t i = 1; i < store.records().size(); ++i) {
      EXPECT_LT(store.records()[i - 1].step, store.records()[i].step);
    }
  }
}

TEST(RecordStore, KeepsTheRecordsOfAFixedWindow) {
  const auto window = parse_window("20:40");
  RecordStore store(*window, 64);
  fill(store, 10'000);
  std::int64_t index = 0, kept = 0;
  for (const Record& record : store.records()) {
    if (index >= 20 && index < 40) {
      EXPECT_EQ(record.merged, 1);
      EXPECT_EQ(record.step, index + 1);
      ++kept;
    }
    index += record.merged;
  }
  EXPECT_EQ(kept, 20);
  EXPECT_EQ(index, 10'000);
}

TEST(RecordStore, KeepsTheRecordsOfAWindowOfSteps) {
  RecordStore store(*parse_window("steps:9000:9030"), 64);
  fill(store, 10'000);
  std::int64_t kept = 0;
  for (const Record& record : store.records()) {
    if (record.step < 9000 || record.step > 9030) continue;
    EXPECT_EQ(record.merged, 1);
    ++kept;
  }
  EXPECT_EQ(kept, 31) << "with the record that the window's difference starts from";
}

TEST(RecordStore, KeepsTheLastRecords) {
  RecordStore store(*parse_window("last:16"), 64);
  fill(store, 10'001);
  const auto& records = store.records();
  for (std::size_t k = 1; k <= 16; ++k) EXPECT_EQ(records[records.size() - k].merged, 1);
}

TEST(RecordBudget, BoundsManyRunsTogetherAndLosesNoIteration) {
  RecordBudget budget(1000);
  std::vector<std::unique_ptr<RecordStore>> runs;
  for (int run = 0; run < 50; ++run) {
    runs.push_back(std::make_unique<RecordStore>(WindowRule{}, RecordStore::kCapacity, &budget));
    for (std::int64_t step = 1; step <= 300; ++step) runs.back()->push(at(step));
    std::size_t held = 0;
    for (const auto& each : runs) held += each->records().size();
    ASSERT_LE(held, 1000u) << "after " << run + 1 << " runs";
  }
  for (const auto& each : runs) EXPECT_EQ(sum(*each, &Record::iterations), 300);
}

TEST(RecordBudget, TakesFixedWindowsLastAndSaysSo) {
  RecordBudget budget(200);
  RecordStore store(*parse_window("0:150"), RecordStore::kCapacity, &budget);
  for (std::int64_t step = 1; step <= 150; ++step) store.push(at(step));
  EXPECT_FALSE(store.window_merged());
  RecordStore other(*parse_window("0:150"), RecordStore::kCapacity, &budget);
  for (std::int64_t step = 1; step <= 150; ++step) other.push(at(step));
  EXPECT_TRUE(store.window_merged());
  EXPECT_LE(store.records().size() + other.records().size(), 200u);
}

TEST(RecordStore, JoinsRecordsBehindAStep) {
  RecordStore store(WindowRule{}, 64);
  fill(store, 10);
  store.join_after(7);
  EXPECT_EQ(store.seen(), 8);
  EXPECT_EQ(store.back().step, 10);
  EXPECT_EQ(store.back().iterations, 3);
  EXPECT_EQ(store.back().printed_first, 8);
  EXPECT_EQ(store.back().printed_rate, 10);
  EXPECT_EQ(store.back().first_time_s, 4);
  EXPECT_EQ(store.back().seconds, 1.5);
}

// Memory is bounded, so the number of runs is; what is left out is reported where it begins.
TEST(LogReader, LeavesOutRunsBeyondTheBound) {
  constexpr int kRuns = 3'200;
  std::string text;
  for (int i = 0; i < kRuns; ++i) {
    text +=
        "{\"type\":\"header\",\"format\":\"bert_train/1\",\"micro_batch_size\":2}\n"
        "{\"type\":\"step\",\"step\":1,\"seconds\":0.5}\n";
  }
  const auto runs = read_text(text);
  EXPECT_EQ(runs.size(), 3'000u);
  ASSERT_FALSE(runs.back().notices.empty());
  EXPECT_EQ(runs.back().notices.back().line, 6'001);
  EXPECT_EQ(runs.back().notices.back().code, NoticeCode::too_many_runs);
}

// 600 runs of 500 records are more than one file's share of memory.
TEST(LogReader, NamesTheRunsWhoseRecordsWereMerged) {
  constexpr int kRuns = 600, kSteps = 500;
  std::string text;
  for (int i = 0; i < kRuns; ++i) {
    text += "{\"type\":\"header\",\"format\":\"bert_train/1\",\"micro_batch_size\":2}\n";
    for (int step = 1; step <= kSteps; ++step) {
      text +=
          "{\"type\":\"step\",\"step\":" + std::to_string(step) + ",\"steps\":1,\"seconds\":0.5}\n";
    }
  }
  LogReader reader({}, "runs.log");
  reader.feed(text);
  const auto runs = reader.finish();
  ASSERT_EQ(runs.size(), std::size_t{kRuns});
  std::size_t merged = 0;
  for (const RunLog& run : runs) {
    const bool noted = std::ranges::find(run.notices, NoticeCode::records_merged, &Notice::code) !=
                       run.notices.end();
    EXPECT_EQ(noted, run.records.size() < std::size_t{kSteps});
    merged += noted ? 1 : 0;
  }
  EXPECT_GT(merged, 0U);
  EXPECT_LT(merged, runs.size());
}

TEST(LogReader, KeepsABoundedNumberOfClosingWords) {
  std::string text;
  for (int i = 1; i <= 3000; ++i) {
    text += "iter " + std::to_string(i) + ": loss 8.5, time 130.20ms, mfu 30.00%\n";
    text += "Training finished.\n";
  }
  EXPECT_EQ(read_text(text).at(0).outcome.status, Status::truncated);
}

}  // namespace
}  // namespace bertbench
