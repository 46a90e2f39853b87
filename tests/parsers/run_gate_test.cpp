#include "parsers/scan/run_gate.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "parsers/reader/log_reader.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

TEST(NumberBlind, MakesLinesEqualThatDifferInTheirNumbersOnly) {
  EXPECT_EQ(number_blind("a 1 b-2.5e07|"), "a 0 b0e0|");
  EXPECT_EQ(number_blind("a 12345 b7e1|"), "a 0 b0e0|");
  EXPECT_EQ(number_blind(""), "");
}

TEST(NumberBlind, IsComparedWithoutBeingMade) {
  std::mt19937 random(3);
  const std::string bytes = "01.-ae+ ";
  int same = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto text = [&] {
      std::string out(random() % 6, ' ');
      for (char& c : out) c = bytes[random() % bytes.size()];
      return out;
    };
    const std::string a = text(), b = text();
    const bool expected = number_blind(a) == number_blind(b);
    ASSERT_EQ(same_but_numbers(a, b), expected) << a << '|' << b;
    same += expected ? 1 : 0;
  }
  EXPECT_GT(same, 500);
  EXPECT_EQ(blind_to_numbers("lr 1e-05, 2E+10, 0.5 of 3e4"), "lr 0, 0, 0 of 0");
}

TEST(RunGate, OpensForALineLikeTheOneBeforeUnlessANumberMakesALiteral) {
  const std::vector<std::string> numbered = {number_blind("fp16"), number_blind("error -")};
  RunGate gate;
  gate.set("loss 1.5 of step 7");
  EXPECT_TRUE(gate.opens("loss 1.25 of step 8\n", numbered));
  EXPECT_FALSE(gate.opens("step 8 of loss\n", numbered)) << "another kind of line";
  gate.set("loss 1.5 in fp32");
  EXPECT_FALSE(gate.opens("loss 1.5 in fp16\n", numbered));
}

TEST(RunGate, StaysShutWhereAnExponentMayMakeALiteral) {
  for (const char* literal : {"1e-05", "5e+10", "e-05", "0.1E"}) {
    RunGate gate;
    gate.set("rate 0.5 of step 7");
    EXPECT_FALSE(gate.opens("rate 1e-05 of step 8\n", std::vector{number_blind(literal)}))
        << literal;
  }
}

TEST(RunGate, PausesLongerEachTimeNothingWasTaken) {
  RunGate gate;
  const std::string line = "loss 1.5 of step 7";
  int asked = 0;
  for (int i = 0; i < 1000; ++i) {
    gate.set(line);
    if (!gate.opens(line, {})) continue;
    ++asked;
    gate.took(0);
  }
  EXPECT_GT(asked, 5);
  EXPECT_LT(asked, 20);
  while (!gate.opens(line, {})) {
  }
  gate.took(10);
  EXPECT_TRUE(gate.opens(line, {})) << "a run: at once again";
}

std::string line_of(int step, const std::string& type) {
  return "DLLL {\"timestamp\": \"" + std::to_string(1600000000 + step) + "." +
         std::to_string(123456 + step) + "\", \"elapsedtime\": \"" + std::to_string(step * 7) +
         ".5\", \"type\": \"" + type + "\", \"step\": [0, " + std::to_string(step) +
         "], \"data\": {\"average_loss\": 2." + std::to_string(step * 7919 % 1000 + 1) +
         ", \"step_loss\": " + std::to_string(12 - step % 20) + ".25}}\n";
}

std::string text_of(const std::vector<RunLog>& runs) { return to_test_text(runs); }

// Where the bytes come line by line nothing follows a line: no run is ever taken.
void expect_runs_change_nothing(const std::string& text, const std::string& what) {
  LogReader at_once({}, "log"), by_line({}, "log");
  at_once.feed(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    by_line.feed(std::string_view(text).substr(at, end - at));
    at = end;
  }
  EXPECT_EQ(text_of(at_once.finish()), text_of(by_line.finish())) << what;
}

std::string log_of(int lines) {
  std::string text;
  for (int step = 1; step <= lines; ++step) text += line_of(step, "LOG");
  return text;
}

TEST(Runs, GiveWhatTheirLinesGiveOneByOne) {
  std::string text = log_of(120);
  text += line_of(121, "Traceback (most recent call last):");
  text += line_of(122, "RuntimeError: CUDA out of memory");
  text += log_of(30);  // the counter goes back
  text += "noise\nDLLL {\"step\": [0, 31], \"data\": {\"step_loss\": NaN}}\n";
  text += line_of(32, "LOG").substr(0, 150) + "\r\n" + line_of(33, "LOG") + line_of(34, "fp16");
  for (int step = 35; step < 50; ++step) text += "node7: " + line_of(step, "LOG");
  expect_runs_change_nothing(text, "as it is");
  LogReader reader({}, "log");
  reader.feed(text);
  const auto runs = reader.finish();
  ASSERT_GE(runs.size(), 2u);
  EXPECT_GE(runs[0].records.size(), 120u);
}

TEST(Runs, GiveWhatTheirLinesGiveWhateverIsDamaged) {
  const std::string good = log_of(400);  // most lines are read by a layout
  constexpr std::string_view kBytes = "0123456789.-\"{}[],: \n\r\\aNe\x1b";
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (int n = 1 + static_cast<int>(random() % 12); n > 0; --n) {
      const std::size_t at = random() % text.size();
      const char byte = kBytes[random() % kBytes.size()];
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 3);
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        case 2:
          text.insert(at, "CUDA out of memory");
          break;
        default:
          text[at] = byte;
      }
    }
    expect_runs_change_nothing(text, "round " + std::to_string(round));
  }
}

}  // namespace
}  // namespace bertbench
