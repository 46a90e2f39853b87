// Lines that are one another's but for their digits.
#include "parsers/formats/dllogger/dll_layouts.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <random>
#include <string>

#include "parsers/core/text.h"
#include "parsers/formats/dllogger/dll_ahead.h"
#include "parsers/formats/dllogger/dll_fast.h"

namespace bertbench {
namespace {

TEST(DigitTemplate, MatchesWhereOnlyDigitsDiffer) {
  std::mt19937 random(5);
  const std::string bytes = "0123456789/:a-.\"\\\x01\xff ";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(DigitTemplate::kShortest + random() % 200, ' ');
    for (char& c : text) c = bytes[random() % bytes.size()];
    const DigitTemplate learnt(text);
    std::string other = text;
    for (char& c : other) {
      if (is_digit(c)) c = static_cast<char>('0' + random() % 10);
    }
    ASSERT_TRUE(learnt.matches(other)) << other;
    ASSERT_TRUE(learnt.matches_bytewise(other.data()));
    const std::size_t at = random() % other.size();
    other[at] = bytes[random() % bytes.size()];
    const bool same = other[at] == text[at] || (is_digit(other[at]) && is_digit(text[at]));
    ASSERT_EQ(learnt.matches(other), same) << other << " at " << at;
    ASSERT_EQ(learnt.matches_bytewise(other.data()), same);
  }
}

TEST(DigitTemplate, OfATextTooShortOrTooLongMatchesNothing) {
  for (const std::size_t size :
       {std::size_t{0}, DigitTemplate::kShortest - 1, DigitTemplate::kLongest + 1}) {
    const std::string text(size, '7');
    EXPECT_FALSE(DigitTemplate(text).matches(text)) << size;
  }
  const std::string longest(DigitTemplate::kLongest, '7');
  EXPECT_TRUE(DigitTemplate(longest).matches(longest));
  EXPECT_FALSE(DigitTemplate(longest).matches(longest.substr(1)));
}

TEST(PlacedDecimal, IsWhatFromCharsGives) {
  std::mt19937 random(7);
  const auto digits = [&](std::size_t n) {
    std::string out;
    for (; n > 0; --n) out += static_cast<char>('0' + random() % 10);
    return out;
  };
  for (int round = 0; round < 100'000; ++round) {
    const std::size_t whole = 1 + random() % 18, fraction = random() % 18;
    std::string number = digits(whole);
    if (fraction > 0) number += "." + digits(fraction);
    if (whole > 1 && number[0] == '0') number[0] = '3';
    const bool negative = random() % 8 == 0;
    const std::string front(random() % 40, '9');
    const std::string text = front + "-" + number + digits(3);
    const PlacedDecimal placed(front.size() + 1 + number.size(), whole, fraction, negative);
    double got = 0;
    read_decimals(text.data(), std::span(&placed, 1), &got);
    double expected = 0;
    std::from_chars(number.data(), number.data() + number.size(), expected);
    ASSERT_EQ(got, negative ? -expected : expected) << number;
  }
}

// As DLLogger writes it; Python drops zeros at the end of a number.
std::string line_of(int step, const std::string& loss, const std::string& type = "LOG") {
  return R"({"timestamp": ")" + std::to_string(1600000000 + step) + R"(.370000", "type": ")" +
         type + R"(", "step": [0, )" + std::to_string(step) + R"(], "data": {"step_loss": )" +
         loss + R"(, "learning_rate": 0.00458)" + std::to_string(step % 7) + "}}";
}

/// Whether the object, on a line of a block, is taken for one like the last.
bool takes(DllReader& reader, const std::string& object) {
  std::array<DllLine, 2> read;
  return reader.read_lines("DLLL " + object + "\n" + std::string(64, ' '), read) == 1;
}

TEST(DllReader, ReadsARunOfLinesWhoseNumbersHaveManyLengths) {
  std::mt19937 random(9);
  DllReader reader;
  DllStep step;
  // The first line teaches the shape, the second one its places.
  ASSERT_TRUE(reader.read(line_of(1000, "2.5"), step));
  ASSERT_TRUE(reader.read(line_of(1001, "2.5"), step));
  std::string text;
  std::vector<std::string> losses, lines;
  for (int i = 1002; i < 9000; ++i) {
    losses.push_back(std::to_string(1 + random() % 9) + "." +
                     std::to_string(1 + random() % (random() % 3 == 0 ? 99 : 9'999'999)));
    lines.push_back("DLLL " + line_of(i, losses.back()));
    text += lines.back() + "\n";
  }
  std::vector<DllLine> read(losses.size() + 1);
  ASSERT_EQ(reader.read_lines(text, read), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    ASSERT_EQ(text.substr(read[i].begin, read[i].size), lines[i]);
    EXPECT_EQ(read[i].values.iteration, 1002 + static_cast<double>(i));
    EXPECT_EQ(read[i].values.loss, to_double(losses[i])) << lines[i];
    EXPECT_EQ(read[i].values.time_s, 1600001002.37 + static_cast<double>(i));
    EXPECT_FALSE(read[i].values.last);
  }
}

TEST(DllReader, TakesNoLineOfAnotherKindForOneOfTheRun) {
  DllReader reader;
  DllStep step;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(reader.read(line_of(100 + i, "2.5"), step));
  ASSERT_TRUE(takes(reader, line_of(130, "2.75")));
  // Literals may stand on such a line that do not stand on those of the run.
  EXPECT_FALSE(takes(reader, line_of(131, "2.75", "EVA")));
  ASSERT_TRUE(reader.read(line_of(131, "2.75", "EVA"), step));
  EXPECT_FALSE(takes(reader, line_of(132, "2.75"))) << "now of the other kind";
  EXPECT_TRUE(takes(reader, line_of(132, "2.75", "EVA")));
  // What the library reads, and no run goes on behind it.
  ASSERT_TRUE(reader.read(R"({"step": [0, 7.5], "data": {"final_loss": 1}})", step));
  EXPECT_FALSE(takes(reader, line_of(133, "2.75", "EVA")));
}

TEST(DllAhead, HoldsTheLinesOfTheKindAndSkipsAllOthers) {
  DllReader reader;
  DllStep step;
  EXPECT_TRUE(reader.kind().empty());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(reader.read(line_of(100 + i, "2.5"), step));
  std::string text;
  std::vector<std::size_t> begins;
  for (int i = 103; i < 203; ++i) {
    if (i % 10 == 0) text += "a line of another kind\nDLLL " + line_of(i, "2.5", "EVA") + "\n\n";
    begins.push_back(text.size());
    text += "DLLL " + line_of(i, "2." + std::to_string(i)) + "\n";
  }
  text += "the end, a line that has no line break and is longer than a layout looks ahead";
  const auto ahead = DllRunReader(reader).read_ahead(text, nullptr);
  const auto& lines = dynamic_cast<const DllAhead&>(*ahead);
  EXPECT_EQ(lines.kind(), reader.kind());
  const auto all = lines.from(text.data());
  ASSERT_EQ(all.size(), begins.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].begin, begins[i]);
    EXPECT_EQ(text[all[i].begin + all[i].size], '\n');
    EXPECT_EQ(all[i].values.iteration, 103 + static_cast<double>(i));
  }
  EXPECT_EQ(lines.from(text.data() + begins[7]).size(), begins.size() - 7);
  EXPECT_TRUE(lines.from(text.data() + text.size()).empty());
}

TEST(DllReader, LeavesLeadingZerosToTheLibrary) {
  DllReader reader;
  DllStep step;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(reader.read(line_of(10, "12.5"), step));
  EXPECT_TRUE(takes(reader, line_of(13, "10.5")));
  EXPECT_FALSE(takes(reader, line_of(13, "02.5")));
  EXPECT_FALSE(reader.read(line_of(13, "02.5"), step));
}

}  // namespace
}  // namespace bertbench
