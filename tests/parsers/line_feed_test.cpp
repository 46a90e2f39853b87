#include "parsers/scan/line_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "parsers/lines/line_cleaner.h"

namespace bertbench {
namespace {

struct Got {
  std::string text;
  std::int64_t number;
  char terminator;
  std::uint64_t literals;
  bool operator==(const Got&) const = default;
};

void PrintTo(const Got& got, std::ostream* out) {
  *out << got.number << ":'" << got.text.substr(0, 80) << "' (" << int{got.terminator} << ", "
       << got.literals << ")";
}

/// Bit i: the scanner's literal i stands on the line.
std::uint64_t literals_of(const Candidate& line) {
  std::uint64_t out = 0;
  for (const AnchorHit& hit : line.hits) out |= std::uint64_t{1} << hit.literal;
  return out;
}

class Collect final : public CandidateSink {
 public:
  void candidate(const Candidate& line) override {
    lines.push_back({std::string(line.text), line.number, line.terminator, literals_of(line)});
  }
  std::vector<Got> lines;
};

const AnchorScanner& scanner() {
  static const AnchorScanner value({"it/s", "step", "loss"});
  return value;
}

std::vector<Got> feed(std::vector<std::string_view> blocks) {
  LineFeed lines(scanner());
  Collect out;
  for (std::string_view block : blocks) {
    while (!block.empty()) {
      const auto room = lines.room();
      const std::size_t n = std::min(room.size(), block.size());
      std::memcpy(room.data(), block.data(), n);
      lines.commit(n, out);
      block.remove_prefix(n);
    }
  }
  lines.finish(out);
  return out.lines;
}

/// Wants the lines after one that holds "step", up to one that holds "enough".
class Table final : public CandidateSink {
 public:
  void candidate(const Candidate& line) override {
    lines.push_back({std::string(line.text), line.number, line.terminator, literals_of(line)});
    if (line.text.find("step") != std::string_view::npos) in_table_ = true;
    if (line.text.size() > 1000 || line.text == "enough") in_table_ = false;
  }
  [[nodiscard]] bool wants_every_line() const override { return in_table_; }
  std::vector<Got> lines;

 private:
  bool in_table_ = false;
};

TEST(LineFeed, HandsOnEveryLineWhileTheSinkWantsThemHoweverTheInputIsCut) {
  const std::string text = "noise\nstep\r\n1,2\n\n3,4 loss\r5\nenough\nnoise\nloss\nstep\nlast";
  const std::vector<Got> want = {
      {"step", 2, '\n', 2},     {"1,2", 3, '\n', 0},  {"", 4, '\n', 0},
      {"3,4 loss", 5, '\r', 4}, {"5", 5, '\n', 0},    {"enough", 6, '\n', 0},
      {"loss", 8, '\n', 4},     {"step", 9, '\n', 2}, {"last", 10, 0, 0}};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LineFeed lines(scanner());
    Table out;
    for (const std::string& block : {text.substr(0, cut), text.substr(cut)}) {
      std::memcpy(lines.room().data(), block.data(), block.size());
      lines.commit(block.size(), out);
    }
    lines.finish(out);
    EXPECT_EQ(out.lines, want) << "cut at " << cut;
  }
}

TEST(LineFeed, SearchesAnOverlongLineThatEndsATable) {
  const std::string text = "step\n1,2\n" + std::string(100'000, 'x') + "loss" +
                           std::string(9000, 'y') + "\nnoise\nloss\n";
  LineFeed lines(scanner());
  Table out;
  std::memcpy(lines.room().data(), text.data(), text.size());
  lines.commit(text.size(), out);
  lines.finish(out);
  ASSERT_EQ(out.lines.size(), 5u);
  EXPECT_EQ(out.lines[2].literals, 0u) << "shown, cut, to end the table";
  EXPECT_EQ(out.lines[3].literals, 4u);
  EXPECT_EQ(out.lines[4], (Got{"loss", 5, '\n', 4}));
}

TEST(LineFeed, EndsALineAtLfCrAndCrLfAndHandsOnOnlyThoseWithAnAnchor) {
  const auto got = feed({"noise\nstep 1\r2 it/s\rmore noise\r\nloss and step\r\n\nlast loss"});
  EXPECT_THAT(got,
              testing::ElementsAre(Got{"step 1", 2, '\r', 2}, Got{"2 it/s", 2, '\r', 1},
                                   Got{"loss and step", 3, '\n', 6}, Got{"last loss", 5, 0, 4}));
}

TEST(LineFeed, GivesTheSameLinesHoweverTheInputIsCutInTwo) {
  std::string text = "step 1\r\n\r\rstep 2\rx\nloss it/s\n";
  text += std::string("nul\0step", 8) + "\xff\xfe loss\r\nstep";
  const auto whole = feed({text});
  ASSERT_EQ(whole.size(), 5u);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(feed({std::string_view(text).substr(0, cut), std::string_view(text).substr(cut)}),
              whole)
        << "cut at " << cut;
  }
}

TEST(LineFeed, GivesTheSameLinesByteByByte) {
  const std::string text = "a\nstep 1\r\nb step\rloss\n";
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < text.size(); ++i)
    bytes.push_back(std::string_view(text).substr(i, 1));
  EXPECT_EQ(feed(bytes), feed({text}));
}

TEST(LineFeed, CutsAnOverlongLineAroundItsAnchorsWhereverTheBlocksEnd) {
  // Anchors far apart, close together, and near both ends of one line of 1.3 MB.
  std::string line(1'300'000, '.');
  for (const std::size_t at : {std::size_t{3}, std::size_t{40'000}, std::size_t{40'100},
                               std::size_t{262'140}, std::size_t{600'000}, line.size() - 5}) {
    line.replace(at, 4, "step");
  }
  const std::string text = "x\n" + line + "\nloss\n";
  const auto whole = feed({text});
  ASSERT_EQ(whole.size(), 6u);  // 40'000 and 40'100 share one
  std::size_t anchors = 0;
  for (const Got& got : whole) {
    EXPECT_LE(got.text.size(), 2 * LineFeed::kReach);
    for (auto at = got.text.find("step"); at != std::string::npos;
         at = got.text.find("step", at + 1)) {
      ++anchors;
    }
  }
  EXPECT_EQ(anchors, 6u) << "none lost, none doubled";
  EXPECT_EQ(whole.back(), (Got{"loss", 3, '\n', 4}));
  for (const std::size_t block : {1'000u, 4'096u, 65'537u, 200'001u}) {
    std::vector<std::string_view> blocks;
    for (std::size_t at = 0; at < text.size(); at += block) {
      blocks.push_back(std::string_view(text).substr(at, block));
    }
    EXPECT_EQ(feed(blocks), whole) << "blocks of " << block;
  }
}

TEST(LineFeed, KeepsLittleAroundAnAnchorFarFromBothEndsOfALine) {
  const std::string dots(50'000, '.');
  const auto far = std::string(LineScan::kNearFront + LineScan::kNearBehind + 100, '-');
  const std::string line = dots + "step" + far + "it/s...loss" + far + "step" + dots;
  const auto got = feed({line + "\n"});
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].literals, 2u);
  EXPECT_EQ(got[1].literals, 5u) << "near one another: one part";
  EXPECT_EQ(got[2].literals, 2u);
  for (const Got& part : got) {
    EXPECT_LE(part.text.size(), LineScan::kNearFront + LineScan::kNearBehind + 20);
    EXPECT_GE(part.text.size(), LineScan::kNearFront + LineScan::kNearBehind - 20);
    EXPECT_EQ(part.terminator, 0) << "its end is cut";
  }
  // With an end of the line within reach, all up to there is kept.
  const auto begin = feed({"x" + far + "step" + dots + "\n"});
  ASSERT_EQ(begin.size(), 1u);
  EXPECT_TRUE(begin[0].text.starts_with("x-"));
  const auto end = feed({dots + "step" + far + "x\n"});
  ASSERT_EQ(end.size(), 1u);
  EXPECT_TRUE(end[0].text.ends_with("-x"));
}

TEST(LineFeed, CountsLinesThatItDoesNotHandOn) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "nothing here\n";
  text += "step\n";
  const auto got = feed({text});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].number, 100'001);
}

TEST(StripAnsi, TakesOffColoursCursorMovesAndTitlesAndNothingElse) {
  std::string buffer;
  EXPECT_EQ(strip_ansi("plain [0m", buffer), "plain [0m");
  EXPECT_EQ(strip_ansi("\x1b[1m\x1b[38;5;12mloss\x1b[0m 1", buffer), "loss 1");
  EXPECT_EQ(strip_ansi("2.80it/s]\x1b[A", buffer), "2.80it/s]");
  EXPECT_EQ(strip_ansi("\x1b]0;title\astep\x1b]8;;u\x1b\\!", buffer), "step!");
  EXPECT_EQ(strip_ansi("cut \x1b[3", buffer), "cut ");
}

TEST(CleanLine, TakesATextOfANotebookForWhatWasPrinted) {
  const auto cleaned = [](std::string_view line) {
    std::string buffer, out;
    std::vector<Piece> pieces;
    clean_line(line, buffer, pieces);
    for (const Piece& piece : pieces) {
      out.append(piece.text).append(piece.redrawn ? "<" : "|");
    }
    return out;
  };
  EXPECT_EQ(cleaned(R"(      "loss 1\n",)"), "loss 1|");
  EXPECT_EQ(cleaned(R"(    "\u001b[1m5/5\u001b[0m \u2588\b\b6/6\r7/7\n")"), "5/5 \u2588<6/6<7/7|");
  EXPECT_EQ(cleaned(R"(      " 10%\r",)"), " 10%<");
  EXPECT_EQ(cleaned(R"(      "\n",)"), "");
  for (const std::string_view line :
       {R"(      "loss 1",)", R"("loss 1\n",)", R"(  "key": "loss 1\n",)",
        R"(      "loss\nof 1\n",)", R"(      "loss \q\n",)"}) {
    EXPECT_EQ(cleaned(line), std::string(line) + "|");
  }
}

std::vector<std::pair<std::string, int>> pieces_of(std::string_view line) {
  std::vector<Piece> pieces;
  split_by_launcher(line, pieces);
  std::vector<std::pair<std::string, int>> out;
  for (const Piece& piece : pieces) out.emplace_back(piece.text, piece.rank);
  return out;
}

using Pieces = std::vector<std::pair<std::string, int>>;

TEST(LauncherLabels, AreTakenOffInFront) {
  EXPECT_EQ(pieces_of("[1,3]<stdout>:loss 1"), (Pieces{{"loss 1", 3}}));
  EXPECT_EQ(pieces_of("Sun May 29 09:24:41 2022[1,0]<stdout>:DLL 2022"), (Pieces{{"DLL 2022", 0}}));
  EXPECT_EQ(pieces_of("  3: loss"), (Pieces{{"loss", 3}}));
  EXPECT_EQ(pieces_of("205: RESULT"), (Pieces{{"RESULT", 205}}));
  EXPECT_EQ(pieces_of("[rank13]: torch"), (Pieces{{"torch", 13}}));
  EXPECT_EQ(pieces_of("[default0]:torch"), (Pieces{{"torch", 0}}));
  EXPECT_EQ(pieces_of("[0] loss"), (Pieces{{"loss", 0}}));
}

TEST(LauncherLabels, InTheMiddleOfALineCutItInPieces) {
  EXPECT_EQ(pieces_of("5.55it/s]Thu Jun  9 09:15:21 2022[1,0]<stdout>:DLL"),
            (Pieces{{"5.55it/s]", -1}, {"DLL", 0}}));
  EXPECT_EQ(pieces_of("[1,6]<stderr>:[[1,6]<stderr>:06:24:28] x"),
            (Pieces{{"[", 6}, {"06:24:28] x", 6}}));
  EXPECT_EQ(pieces_of("[1,1]<stdout>:[1,2]<stdout>:"), Pieces{});
}

TEST(LauncherLabels, AreNotSeenWhereThereAreNone) {
  for (const char* line : {"12:30:11 step", "[INFO] loss", "[[1] x", "<stdout>: x",
                           "]<stdout>:", "1234567: too long for a rank"}) {
    EXPECT_EQ(pieces_of(line), (Pieces{{line, -1}})) << line;
  }
}

TEST(HostLabel, IsTheWordInFrontOfAColonAndABlank) {
  EXPECT_EQ(after_host_label("node-7.cluster: loss 1"), "loss 1");
  EXPECT_EQ(after_host_label("two words: loss"), "");
  const std::string pod = "transfer-learning-7jh2d-transfer-learning-training-with-argo-2847134387";
  EXPECT_EQ(after_host_label(pod + ": loss 1"), "loss 1");
  EXPECT_EQ(after_host_label("no label"), "");
}

}  // namespace
}  // namespace bertbench
