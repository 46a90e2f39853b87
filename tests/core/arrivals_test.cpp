// When a log grew: kept in bounded memory, and in a file that may be torn.
#include "parsers/core/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bertbench {
namespace {

/// `looks` looks a quarter of a second apart, each of which finds 100 bytes more.
ArrivalRecorder recorder_of(int looks, std::size_t most) {
  ArrivalRecorder out(most);
  for (int i = 0; i <= looks; ++i) out.look(10 + 0.25 * i, 100 * std::int64_t{i}, 0.125);
  return out;
}

std::string text_of(const std::vector<Arrival>& arrivals) {
  std::string out(kArrivalsHeader);
  for (const Arrival& arrival : arrivals) out += arrival_line(arrival);
  return out;
}

TEST(Arrivals, ALookThatFindsMoreIsOne) {
  ArrivalRecorder recorder;
  recorder.look(10, 500);  // of unknown age
  recorder.look(11, 500);
  recorder.look(12, 520, 0.25);
  recorder.look(12.5, 520);
  recorder.look(13, 560, 0.75);  // written before the look before: a wall clock that was set
  const std::vector<Arrival> expected = {
      {.from = 500, .to = 520, .look_s = 2, .age_s = 0.25, .gap_s = 1, .quiet_s = 2},
      {.from = 520, .to = 560, .look_s = 3, .age_s = kUnknown, .gap_s = 0.5, .quiet_s = 1}};
  const auto all = recorder.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], expected[0]);
  EXPECT_EQ(all[0].time_s(), 1.75);
  EXPECT_EQ(all[0].width_s(), 0.01);
  EXPECT_TRUE(std::isnan(all[1].age_s));
  EXPECT_EQ(all[1].time_s(), 3);
  EXPECT_EQ(all[1].width_s(), 0.5);
  EXPECT_EQ(text_of(all), std::string(kArrivalsHeader) +
                              "500,520,2.000000,0.250000,1.000000,2.000000\n"
                              "520,560,3.000000,,0.500000,1.000000\n");
}

TEST(Arrivals, AreBoundedEvenlySpacedAndKeepBothEnds) {
  for (const int looks : {5, 15, 16, 17, 100, 12345}) {
    const auto recorder = recorder_of(looks, 16);
    const auto all = recorder.all();
    EXPECT_LE(all.size(), 17u) << looks;
    EXPECT_GE(all.size(), std::min<std::size_t>(7, static_cast<std::size_t>(looks))) << looks;
    EXPECT_EQ(all.front().from, 0) << looks;
    EXPECT_EQ(all.back().to, 100 * looks) << looks;
    // Each stands for what its own look found, and those between the ends are equally far apart.
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].to - all[i].from, 100);
      EXPECT_EQ(all[i].gap_s, 0.25);
      EXPECT_DOUBLE_EQ(all[i].look_s, 0.0025 * static_cast<double>(all[i].to));
      if (i > 1 && i + 1 < all.size()) {
        EXPECT_EQ(all[i].to - all[i - 1].to, all[1].to - all[0].to);
      }
    }
  }
}

TEST(Arrivals, AThinnedSeriesIsAnotherVersion) {
  ArrivalRecorder recorder(4);
  for (int i = 0; i <= 3; ++i) recorder.look(i, i);
  EXPECT_EQ(recorder.version(), 0);
  EXPECT_EQ(recorder.kept().size(), 3u);
  recorder.look(4, 4);
  EXPECT_EQ(recorder.version(), 1);
  EXPECT_EQ(recorder.kept().size(), 2u);
  recorder.restart();
  EXPECT_EQ(recorder.version(), 2);
  EXPECT_TRUE(recorder.all().empty());
  recorder.look(5, 40);
  EXPECT_TRUE(recorder.all().empty()) << "what the first look finds came at an unknown time";
}

TEST(Arrivals, AFileCutAnywhereGivesItsWholeLines) {
  const auto arrivals = recorder_of(6, 16).all();
  const auto text = text_of(arrivals);
  EXPECT_EQ(parse_arrivals(text), arrivals);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto cut = std::string_view(text).substr(0, size);
    const auto read = parse_arrivals(cut);
    const auto lines = std::count(cut.begin(), cut.end(), '\n');
    ASSERT_EQ(std::ssize(read), std::max<std::ptrdiff_t>(0, lines - 1)) << size;
    EXPECT_TRUE(std::equal(read.begin(), read.end(), arrivals.begin()));
  }
}

TEST(Arrivals, WhatIsNoSuchFileGivesNothing) {
  const std::string head(kArrivalsHeader);
  for (const char* line : {"0,100,1,0,1", "0,100,1,0,1,1,1", "100,100,1,0,1,1", "-5,100,1,0,1,1",
                           "0,100,nan,0,1,1", "0,100,1,2,1,1", "0,100,1,0,1,0.5", "0,100,1,0,1,2",
                           "a,b,c,d,e,f", "0,100,inf,0,1,1", "0,100,1,0,nan,nan", ""}) {
    EXPECT_TRUE(parse_arrivals(head + line + "\n").empty()) << line;
  }
  EXPECT_TRUE(parse_arrivals("0,100,1,0,1,1\n").empty());
  // One that goes back ends what is read.
  EXPECT_EQ(parse_arrivals(head + "0,100,1,0,1,1\n50,200,2,0,1,1\n").size(), 1u);
  EXPECT_EQ(parse_arrivals(head + "0,100,3,0,1,1\n100,200,2,0,1,1\n").size(), 1u);
}

}  // namespace
}  // namespace bertbench
