// No number of formats or literals is too many: 200 formats, of 8 literals each and one of 70.
#include "parsers/reader/anchor_tables.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

constexpr std::size_t kFormatCount = 200, kRows = 8, kMostRows = 70, kLarge = 150;
constexpr std::string_view kShared = "a literal of all formats";

std::string literal_of(std::size_t format, std::size_t row) {
  return "f" + std::to_string(format) + " row " + std::to_string(row) + ":";
}

std::size_t rows_of(std::size_t format) { return format == kLarge ? kMostRows : kRows; }

/// A record for each of the format's literals on a line, whose step is the literal's row.
class RowParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override {
    any_row(line, [&](std::uint32_t row, std::size_t at) {
      Sample sample;
      sample.step = row;
      sample.seconds = static_cast<double>(at + 1);
      sample.line = line.number;
      out.run(WorkKind::training, line.number).add(sample);
      return false;
    });
    return !line.literals.empty();
  }
};

struct Generated {
  std::array<std::string, kFormatCount> names;
  std::array<std::array<std::string, kMostRows>, kFormatCount> texts;
  std::array<std::array<std::string_view, kMostRows>, kFormatCount> literals;
  std::array<Format, kFormatCount> formats;
  std::array<const Format*, kFormatCount> list;

  Generated() {
    for (std::size_t i = 0; i < kFormatCount; ++i) {
      names[i] = "format-" + std::to_string(i);
      for (std::size_t row = 0; row < rows_of(i); ++row) {
        texts[i][row] = row == 0 ? std::string(kShared) : literal_of(i, row);
        literals[i][row] = texts[i][row];
      }
      formats[i] = {names[i], "", "", std::span(literals[i]).first(rows_of(i)),
                    []() -> std::unique_ptr<LineParser> { return std::make_unique<RowParser>(); }};
      list[i] = &formats[i];
    }
  }
};

std::vector<RunLog> read(const std::string& text) {
  static const Generated generated;
  static const auto tables = std::make_shared<const AnchorTables>(generated.list, nullptr);
  LogReader reader(tables, {}, "generated.log");
  reader.feed(text);
  return reader.finish();
}

TEST(AnchorTables, EveryRowOfEveryFormatIsFoundWithItsPlace) {
  for (const int format_number : {0, 59, 60, 63, 64, 127, 128, static_cast<int>(kLarge), 199}) {
    const auto format = static_cast<std::size_t>(format_number);
    std::string text;
    const std::size_t rows = rows_of(format);
    for (std::size_t row = 1; row < rows; ++row) text += ".. " + literal_of(format, row) + "\n";
    const auto runs = read(text);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].format, "format-" + std::to_string(format));
    ASSERT_EQ(runs[0].records.size(), rows - 1);
    for (std::size_t row = 1; row < rows; ++row) {
      EXPECT_EQ(runs[0].records[row - 1].step, static_cast<std::int64_t>(row));
      EXPECT_EQ(runs[0].records[row - 1].seconds, 4);
    }
  }
}

TEST(AnchorTables, ALiteralHasAnyNumberOfOwners) {
  const auto runs = read("12345 " + std::string(kShared) + "\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "format-0") << "of equals the first in the list";
  EXPECT_EQ(runs[0].records[0].seconds, 7);
  ASSERT_FALSE(runs[0].notices.empty());
  const std::string others = std::get<std::string>(runs[0].notices[0].values[0]);
  EXPECT_NE(others.find("format-199"), std::string::npos) << others;
}

TEST(AnchorTables, RowsOfALineComeInTheirOrderWithThePlacesInTheText) {
  const auto runs =
      read(literal_of(7, 6) + literal_of(7, 2) + literal_of(8, 1) + literal_of(7, 2) + "\n");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "format-7");
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].step, 2);
  EXPECT_EQ(runs[0].records[0].seconds, static_cast<double>(literal_of(7, 6).size() + 1));
  EXPECT_EQ(runs[0].records[1].step, 6);
  EXPECT_EQ(runs[0].records[1].seconds, 1);
}

TEST(AnchorTables, PlacesHoldAfterColoursAndLabelsAreTakenOff) {
  for (const std::string& label : {std::string("[1,3]<stdout>:"), std::string("\x1b[32m")}) {
    const auto runs = read(label + ".. " + literal_of(kLarge, 69) + "\n");
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].format, "format-150");
    ASSERT_EQ(runs[0].records.size(), 1u);
    EXPECT_EQ(runs[0].records[0].step, 69);
    EXPECT_EQ(runs[0].records[0].seconds, 4);
  }
}

// No format of the list reads bars: that the second piece holds none must not depend on the first.
TEST(AnchorTables, PiecesOfALineHaveLiteralsOfTheirOwn) {
  const auto runs =
      read("[1,0]<stdout>:" + literal_of(7, 1) + "[1,1]<stdout>:" + literal_of(7, 2) + "\n");
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[0].records[0].step, 1);
  EXPECT_EQ(runs[0].records[1].step, 2);
}

}  // namespace
}  // namespace bertbench
