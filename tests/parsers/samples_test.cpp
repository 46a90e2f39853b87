// What holds for every sample in parsers/samples, which our own runs made. What a sample gives is
// in tests/golden/runs/samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
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
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(folder_of(format()) + "/sample.log"))
        << "each format has a log of a run, or of its program's own printing code: see "
           "parsers/samples/README.md";
  }
  [[nodiscard]] std::string_view format() const { return GetParam()->name; }
  [[nodiscard]] std::string log() const {
    return test::read_file(folder_of(format()) + "/sample.log");
  }
};

TEST_P(Sample, IsClaimedByItsOwnFormatOnly) {
  for (const Format* other : all_formats()) {
    ReadOptions options;
    options.format = other->name;
    const auto runs = read_text(log(), options);
    if (other->name == format()) {
      ASSERT_FALSE(runs.empty());
      EXPECT_EQ(runs.front().format, format());
    } else {
      // Lines that several trainers print may say that there is a run, not what it did.
      for (const RunLog& run : runs) {
        EXPECT_TRUE(run.records.empty() && !run.summary)
            << other->name << " claims the sample of " << format();
      }
    }
  }
}

TEST_P(Sample, GivesTheSameRunsHoweverItIsCutInTwo) {
  const std::string text = log();
  const auto runs = read_text(text);
  const std::string whole = to_test_text(runs);
  // Work grows with the square of the size. Lines that stand once are at the ends; of those that
  // repeat each other between them, every seventh byte meets each place sooner or later.
  constexpr std::size_t kEndBytes = 500;
  for (std::size_t cut = 0; cut <= text.size();) {
    const auto cut_runs = read_text_cut(text, cut);
    ASSERT_EQ(to_test_text(cut_runs), whole) << "cut at " << cut;
    ASSERT_EQ(ends_of(cut_runs), ends_of(runs)) << "cut at " << cut;
    cut += BB_CUT_STRIDE * (cut < kEndBytes || cut + kEndBytes > text.size() ? 1U : 7U);
  }
}

// A record ends where the text of its line does: its arrival is that of this byte.
TEST_P(Sample, KnowsWhereItsRecordsEnd) {
  // A bar's last redraw, tables of a program.
  constexpr std::string_view kWithout[] = {"keras", "google-benchmark", "nccl-tests"};
  const std::string text = log();
  bool any = false, all_unknown = true;
  for (const RunLog& run : read_text(text)) {
    for (const Record& record : run.records) {
      any = true;
      if (record.end_byte < 0) continue;
      all_unknown = false;
      ASSERT_LE(record.end_byte, std::ssize(text));
      const auto end = static_cast<std::size_t>(record.end_byte);
      EXPECT_EQ(1 + std::count(text.begin(), text.begin() + record.end_byte, '\n'), record.line);
      EXPECT_TRUE(end == text.size() || text[end] == '\n' || text[end] == '\r') << record.step;
    }
  }
  const bool may_lack = std::ranges::find(kWithout, format()) != std::end(kWithout);
  EXPECT_TRUE(!any || !all_unknown || may_lack) << "no record has its place in the log";
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
    // One record may still be read from another kind of line (tf: a rate without a step).
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

// Each anchor must be needed for a line of some test or sample: here, that a format without it has
// lines to lose is shown for those that its own sample holds.
TEST_P(Sample, HoldsARecordLineForSomeAnchorOfItsFormat) {
  const std::string text = log();
  const bool any = std::ranges::any_of(GetParam()->literals(), [&](std::string_view anchor) {
    return text.find(anchor) != std::string::npos;
  });
  EXPECT_TRUE(any);
  for (const std::string_view anchor : GetParam()->literals()) {
    EXPECT_GE(anchor.size(), 4u) << "the scanner needs four bytes: '" << anchor << "'";
    EXPECT_EQ(anchor.find_first_of("\r\n"), std::string_view::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Sample,
                         testing::ValuesIn(all_formats().begin(), all_formats().end()),
                         [](const auto& of) {
                           std::string out(of.param->name);
                           std::ranges::replace(out, '-', '_');
                           return out;
                         });

// DeepLearningExamples' scripts for TensorFlow print DLLogger's lines with words of their own.
TEST(Dllogger, LeavesTensorFlowsLinesToTheFormatTf) {
  ReadOptions options;
  options.format = "dllogger";
  const std::string stamp = "DLL 2023-07-28 15:18:01.250000 - ";
  for (const char* line : {"Iteration: 1  throughput_train : 278.6 sequences/s mlm_loss : 10\n",
                           "() train_throughput : 9421.3 images/s\n"}) {
    EXPECT_TRUE(read_text(stamp + line, options).empty()) << line;
  }
}

// All formats and rules have lines there: what they give is in tests/golden/runs/quoted.
const std::map<std::string, std::string>& quoted_logs() {
  static const auto logs = [] {
    std::map<std::string, std::string> out;
    for (const auto& entry :
         std::filesystem::directory_iterator(BB_SOURCE_DIR "/tests/golden/quoted")) {
      out[entry.path().filename()] = test::read_file(entry.path());
    }
    return out;
  }();
  return logs;
}

/// A log's own, so that another log changes nothing of what is done to it.
std::mt19937 random_of(const std::string& name) {
  std::seed_seq seed(name.begin(), name.end());
  return std::mt19937(seed);
}

TEST(QuotedLogs, GiveTheSameRunsWhereverTheyAreCutInTwo) {
  constexpr int kCuts = BB_CUT_STRIDE == 1 ? 3 : 1;
  for (const auto& [name, text] : quoted_logs()) {
    std::mt19937 random = random_of(name);
    const std::string whole = to_test_text(read_text(text));
    for (int round = 0; round < kCuts; ++round) {
      const std::size_t cut = random() % (text.size() + 1);
      EXPECT_EQ(to_test_text(read_text_cut(text, cut)), whole) << name << " cut at " << cut;
    }
  }
}

TEST(QuotedLogs, DamagedAtRandomNeverCrashAndNeverGiveARecordThatIsNone) {
  for (const auto& [name, text] : quoted_logs()) {
    std::mt19937 random = random_of(name);
    for (int round = 0; round < 6; ++round) {
      std::string damaged = text;
      for (std::size_t edits = 1 + random() % 6; edits > 0 && !damaged.empty(); --edits) {
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
          ASSERT_GE(record.iterations, 1) << name;
          ASSERT_GE(record.line, 1) << name;
        }
      }
    }
  }
}

// Redraws of a bar, carriage returns and closing lines: the log of the published note.
TEST(QuotedLogs, TheNotebooksGivesTheSameRunsCutAtEachByte) {
  const std::string text = test::read_file(
      BB_SOURCE_DIR
      "/tests/golden/quoted/"
      "tqdm.keeps_first_and_last_redraw_of_each_optimizer_step_of_the_notebook.log");
  const std::string whole = to_test_text(read_text(text));
  for (std::size_t cut = 0; cut <= text.size(); cut += BB_CUT_STRIDE) {
    ASSERT_EQ(to_test_text(read_text_cut(text, cut)), whole) << "cut at " << cut;
  }
}

// Its rates had stood among those of real fp16.
TEST(Native, APrecisionThatTheHeaderCallsEmulatedIsANotice) {
  const auto codes = [](const std::string& key) {
    const auto runs = read_text(
        R"({"type":"header","format":"bert_train/1","precision":"fp16","global_batch_size":8,)" +
        key + "\"seed\":1}\n" +
        R"({"type":"step","step":1,"steps":1,"seconds":1,"loss":9,"elapsed":1})" + "\n");
    std::vector<NoticeCode> out;
    for (const Notice& notice : runs.at(0).notices) out.push_back(notice.code);
    return out;
  };
  EXPECT_THAT(codes(R"("precision_emulated_by":"fp32",)"),
              testing::Contains(NoticeCode::precision_emulated));
  EXPECT_THAT(codes(""), testing::Not(testing::Contains(NoticeCode::precision_emulated)));
}

// The option had another name, which the trainer no longer has: full and shorter sequences would
// have been one cell.
TEST(Native, SequencesOfAnOlderLogThatAreNotAllFullAreAnotherCell) {
  const auto lengths = [](const std::string& more) {
    const auto runs = read_text(
        R"({"type":"header","format":"bert_train/1","global_batch_size":8,"command":["bert_train")" +
        more + "}\n" + R"({"type":"step","step":1,"steps":1,"seconds":1,"loss":9,"elapsed":1})" +
        "\n");
    const auto axes = runs.at(0).facts.axes;
    const auto found = axes.find("lengths");
    return found == axes.end() ? "" : found->second;
  };
  EXPECT_EQ(lengths(R"(],"variable_lengths":false)"), "");
  EXPECT_EQ(lengths(R"(,"--variable-lengths"],"variable_lengths":true)"), "uniform");
  EXPECT_EQ(lengths(R"(,"--lengths","wikipedia"],"variable_lengths":true)"), "wikipedia");
}

}  // namespace
}  // namespace bertbench
