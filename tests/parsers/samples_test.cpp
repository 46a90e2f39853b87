// Every format against its sample in parsers/samples/<format>/: made by our own runs of bert_train.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "parsers/formats/format.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::string folder_of(std::string_view format) {
  return std::string(BB_SOURCE_DIR) + "/parsers/samples/" + std::string(format);
}

class Sample : public testing::TestWithParam<const Format*> {
 protected:
  [[nodiscard]] std::string_view format() const { return GetParam()->name; }
  [[nodiscard]] std::string log() const { return slurp(folder_of(format()) + "/sample.log"); }
};

TEST_P(Sample, GivesTheExpectedRuns) {
  auto runs = read_log(folder_of(format()) + "/sample.log", {});
  ASSERT_TRUE(runs) << runs.error().message();
  const std::string text = to_test_text(*runs);
  const std::string path = folder_of(format()) + "/expected.json";
  if (std::getenv("BB_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    GTEST_SKIP() << "rewrote " << path;
  }
  EXPECT_EQ(text, slurp(path)) << "BB_UPDATE_GOLDEN=1 rewrites " << path;
}

TEST_P(Sample, IsClaimedByItsOwnFormatOnly) {
  for (const Format* other : all_formats()) {
    ReadOptions options;
    options.format = other->name;
    const auto runs = read_text(log(), options);
    if (other->name == format()) {
      ASSERT_FALSE(runs.empty());
      EXPECT_EQ(runs.front().format, format());
    } else {
      EXPECT_TRUE(runs.empty()) << other->name << " claims the sample of " << format();
    }
  }
}

TEST_P(Sample, GivesTheSameRunsHoweverItIsCutInTwo) {
  const std::string text = log();
  const std::string whole = to_test_text(read_text(text));
  for (std::size_t cut = 0; cut <= text.size(); cut += BB_CUT_STRIDE) {
    ASSERT_EQ(to_test_text(read_text_cut(text, cut)), whole) << "cut at " << cut;
  }
}

// CRLF instead of LF: the redraws' '\r' stay.
TEST_P(Sample, GivesTheSameRunsWithCrLf) {
  std::string crlf;
  for (const char c : log()) {
    if (c == '\n') crlf.push_back('\r');
    crlf.push_back(c);
  }
  EXPECT_EQ(to_test_text(read_text(crlf)), to_test_text(read_text(log())));
}

TEST_P(Sample, GivesTheSameRecordsBehindLauncherLabelsAndColours) {
  const auto plain = read_text(log());
  for (const char* label : {"[1,0]<stdout>:", "Sun May 29 09:24:41 2022[1,0]<stdout>:", "  0: ",
                            "[rank0]: ", "[default0]:", "node-3: ", "\x1b[32m"}) {
    std::string text;
    std::istringstream in(log());
    for (std::string line; std::getline(in, line);) text += label + line + "\n";
    const auto runs = read_text(text);
    ASSERT_EQ(runs.size(), plain.size()) << label;
    ASSERT_EQ(runs[0].records.size(), plain[0].records.size()) << label;
    for (std::size_t i = 0; i < runs[0].records.size(); ++i) {
      EXPECT_EQ(runs[0].records[i].step, plain[0].records[i].step) << label;
      EXPECT_TRUE(runs[0].records[i].time_s == plain[0].records[i].time_s ||
                  std::isnan(plain[0].records[i].time_s))
          << label << " record " << i;
    }
  }
}

// What was read before the end of a cut log is what was read from the whole one.
TEST_P(Sample, KeepsTheRecordsInFrontOfACut) {
  const std::string text = log();
  const auto whole = read_text(text);
  for (std::size_t length = 0; length < text.size(); length += 7) {
    const auto runs = read_text(std::string_view(text).substr(0, length));
    // One record may still be told by another kind of line (tf: a rate without a step).
    if (runs.empty() || runs[0].records.size() < 2) continue;
    // Records of the line that was cut may lack what follows on it.
    const auto cut_line =
        1 + std::count(text.begin(), text.begin() + static_cast<long>(length), '\n');
    for (std::size_t i = 0; i < runs[0].records.size(); ++i) {
      if (runs[0].records[i].line >= cut_line) break;
      EXPECT_EQ(runs[0].records[i].step, whole[0].records[i].step) << "cut to " << length;
      EXPECT_EQ(runs[0].records[i].line, whole[0].records[i].line) << "cut to " << length;
    }
    EXPECT_NE(runs[0].outcome.status, Status::error);
  }
}

TEST_P(Sample, DamagedAtRandomNeverCrashesAndNeverGivesARecordThatIsNotANumber) {
  const std::string text = log();
  std::mt19937 random(20);
  for (int round = 0; round < 400; ++round) {
    std::string damaged = text;
    const int edits = 1 + static_cast<int>(random() % 20);
    for (int k = 0; k < edits && !damaged.empty(); ++k) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 6) {
        case 0:
          damaged[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          damaged.erase(at, random() % 40);
          break;
        case 2:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 200));
          break;
        case 3:
          damaged.insert(at, "\x1b[A\r");
          break;
        case 4:
          damaged.insert(at, std::string(1 + random() % 30, "9.e-["[random() % 5]));
          break;
        default:
          damaged.resize(at + 1);
          break;
      }
    }
    for (const RunLog& run : read_text(damaged)) {
      for (const Record& record : run.records) {
        ASSERT_GE(record.iterations, 1);
        ASSERT_GE(record.line, 1);
      }
    }
  }
}

// Each anchor must be needed for a line of some test or sample: here, that a format without it has
// lines to lose is shown for those that its own sample holds.
TEST_P(Sample, HoldsARecordLineForSomeAnchorOfItsFormat) {
  const std::string text = log();
  const bool any = std::ranges::any_of(GetParam()->anchors, [&](std::string_view anchor) {
    return text.find(anchor) != std::string::npos;
  });
  EXPECT_TRUE(any);
  for (const std::string_view anchor : GetParam()->anchors) {
    EXPECT_GE(anchor.size(), 4u) << "the scanner needs four bytes: '" << anchor << "'";
    EXPECT_EQ(anchor.find_first_of("\r\n"), std::string_view::npos);
  }
}

// Formats of trainers that do not run here have no sample: corpus_test.cpp and their own tests
// carry them. Their parsers see the other formats' samples all the same.
std::vector<const Format*> with_sample() {
  std::vector<const Format*> out;
  for (const Format* format : all_formats()) {
    if (std::filesystem::exists(folder_of(format->name) + "/sample.log")) out.push_back(format);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Formats, Sample, testing::ValuesIn(with_sample()), [](const auto& of) {
  std::string out(of.param->name);
  std::ranges::replace(out, '-', '_');
  return out;
});

// The trainer's own clock, beside each log: {"step", "seconds", "sequences", "end"}.
struct Truth {
  std::vector<double> end;
  double sequences = 0;
};
Truth truth_of(std::string_view format) {
  Truth out;
  std::istringstream in(slurp(folder_of(format) + "/timings.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    out.end.push_back(json["end"].get<double>());
    out.sequences = json["sequences"].get<double>();
  }
  return out;
}

TEST(SampleTruth, TfStepTimesAreThoseOfTheTrainersClock) {
  const auto runs = read_text(slurp(folder_of("tf") + "/sample.log"));
  const Truth truth = truth_of("tf");
  ASSERT_EQ(runs.size(), 1u);
  const auto& records = runs[0].records;
  ASSERT_EQ(records.size(), 8u);
  for (std::size_t i = 1; i < records.size(); ++i) {
    // The sample counts from 0, as TensorFlow 1.14 and later do: "step = 5" ends the sixth step.
    const auto last = static_cast<std::size_t>(records[i].step);
    const auto before = static_cast<std::size_t>(records[i - 1].step);
    const double seconds = truth.end[last] - truth.end[before];
    EXPECT_NEAR(records[i].seconds / seconds, 1, 0.005) << "step " << last;
    EXPECT_NEAR((records[i].time_s - records[i - 1].time_s) / seconds, 1, 0.005);
    EXPECT_NEAR(records[i].printed_rate / (5 * truth.sequences / seconds), 1, 0.005);
  }
}

TEST(SampleTruth, TqdmCountersAreWithinTheirSecondOfTheTrainersClock) {
  const auto runs = read_text(slurp(folder_of("tqdm") + "/sample.log"));
  const Truth truth = truth_of("tqdm");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].facts.gradient_accumulation_steps.value, 4);
  ASSERT_EQ(runs[0].records.back().step, 120);
  int whole_steps = 0;
  for (const Record& record : runs[0].records) {
    if (record.step % 4 != 0) continue;  // the clock of a step's end is known
    ++whole_steps;
    // The bar starts a little before the first step's work, and shows whole seconds.
    const double end = truth.end[static_cast<std::size_t>(record.step / 4 - 1)];
    EXPECT_LE(record.time_s, end + 0.05) << record.step;
    EXPECT_GE(record.time_s, end - 1.3) << record.step;
  }
  EXPECT_GE(whole_steps, 5);
}

}  // namespace
}  // namespace bertbench
