#include "reports/output/csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "parsers/core/text.h"
#include "tests/reports/result_files.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;
using Records = std::vector<std::vector<std::string>>;

/// RFC 4180, nothing more lenient: nullopt if the text breaks the grammar.
std::optional<Records> parse_csv(std::string_view text) {
  Records records;
  while (!text.empty()) {
    std::vector<std::string> record;
    for (bool more = true; more;) {
      std::string field;
      if (text.starts_with('"')) {
        text.remove_prefix(1);
        for (;;) {
          if (text.empty()) return std::nullopt;
          if (text.starts_with("\"\"")) {
            field += '"';
            text.remove_prefix(2);
          } else if (text.starts_with('"')) {
            text.remove_prefix(1);
            break;
          } else {
            field += text.front();
            text.remove_prefix(1);
          }
        }
      } else {
        const std::size_t end = std::min(text.find_first_of(",\r\n"), text.size());
        field = text.substr(0, end);
        if (field.find('"') != std::string::npos) return std::nullopt;
        text.remove_prefix(end);
      }
      record.push_back(field);
      if (text.starts_with(',')) {
        text.remove_prefix(1);
      } else if (text.starts_with("\r\n")) {
        text.remove_prefix(2);
        more = false;
      } else {
        return std::nullopt;
      }
    }
    records.push_back(record);
  }
  return records;
}

void expect_texts(const std::vector<std::pair<std::string_view, std::string_view>>& cases) {
  for (const auto& [text, wanted] : cases) EXPECT_EQ(csv_text(text), wanted) << text;
}

TEST(CsvTextTest, QuotesWhatRfc4180Asks) {
  expect_texts({
      {"plain", "plain"},
      {"", ""},
      {"a,b", "\"a,b\""},
      {"say \"hi\"", "\"say \"\"hi\"\"\""},
      {" padded", "\" padded\""},
      {"padded ", "\"padded \""},
  });
}

TEST(CsvTextTest, FormulasBecomeText) {
  expect_texts({
      {"=1+1", "'=1+1"},
      {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
      {"-rf /", "'-rf /"},
      {"@SUM(1+1)", "'@SUM(1+1)"},
      {"\t=1", "'\\x09=1"},
      {"\r=1", "'\\x0d=1"},
      {"  =1", "'  =1"},
      {"\uFF1D1", "'\uFF1D1"},
      {"=A1,\"x\"", "\"'=A1,\"\"x\"\"\""},
  });
}

TEST(CsvTextTest, TextThatIsANumberStaysOne) {
  expect_texts({
      {"-5", "-5"},
      {"-1.5e-3", "-1.5e-3"},
      {"+3", "+3"},
      // No numbers: a calculation, a lone sign, a name, what only C++ reads as a number.
      {"-1+1", "'-1+1"},
      {"-", "'-"},
      {"--", "'--"},
      {"-inf", "'-inf"},
      {"-A1", "'-A1"},
      {"+-1", "'+-1"},
  });
}

TEST(CsvTextTest, ControlCharactersAndBadBytesAreVisibleAndARecordIsOneLine) {
  expect_texts({
      {"\x1b[31mred", "\\x1b[31mred"},
      {"two\nlines", "two\\x0alines"},
      {"\xff", "\\xff"},
      {std::string_view("a\0b", 3), "a\\x00b"},
      {"\u202Eevil", "\\u{202e}evil"},
  });
}

TEST(CsvDocumentTest, ColumnsAreTheFirstOnesThenOthersAsTheyAppear) {
  const std::vector<Json> rows = {Json{{"b", 1}, {"z", true}},
                                  Json{{"a", -0.1}, {"y", nullptr}, {"b", "=2"}}};
  EXPECT_EQ(csv_document({"a", "b"}, rows), "a,b,z,y\r\n,1,true,\r\n-0.1,'=2,,\r\n");
}

TEST(CsvDocumentTest, NumbersReadBackAsTheSameDouble) {
  for (const double value : {0.1, -1.0 / 3, 1e-300, 123456789.123456789, 5e-324, 1e22}) {
    const std::vector<Json> rows = {Json{{"v", value}}};
    const auto records = parse_csv(csv_document({}, rows));
    ASSERT_TRUE(records);
    EXPECT_EQ(to_double(records->at(1).at(0)), value);
  }
}

TEST(CsvFlatTest, NestedKeysAreJoinedAndListsOfScalarsToo) {
  const Json flat = csv_flat(Json{{"speedup", {{"value", 2.0}, {"base", "k"}}},
                                  {"axes", {{"env.NAME", "x"}}},
                                  {"warnings", {"one", "two"}},
                                  {"trials", Json::array({Json{{"trial", 1}}})}});
  EXPECT_EQ(flat.dump(),
            "{\"speedup_value\":2.0,\"speedup_base\":\"k\",\"axes_env_NAME\":\"x\","
            "\"warnings\":\"one; two\"}");
}

class CsvReportTest : public testing::TestWithParam<const char*> {};

TEST_P(CsvReportTest, RecordsHaveTheColumnsOfTheHeadingAndNoFormula) {
  for (const char* report : {"csv", "csv-trials"}) {
    const ResultSet set = result_files::read(GetParam());
    const auto records = parse_csv(result_files::render(report, set));
    ASSERT_TRUE(records) << report;
    std::size_t rows = 0;
    for (const Cell& cell : set.cells)
      rows += std::string(report) == "csv" ? 1 : cell.trials.size();
    ASSERT_EQ(records->size(), rows + 1) << report;
    for (const auto& record : *records) {
      EXPECT_EQ(record.size(), records->front().size()) << report;
      for (const std::string& field : record) {
        const bool starts = field.find_first_of("=+-@\t\r") == 0;
        EXPECT_TRUE(!starts || to_double(field)) << report << ": " << field;
      }
    }
    const std::set<std::string> unique(records->front().begin(), records->front().end());
    EXPECT_EQ(unique.size(), records->front().size()) << report << " names a column twice";
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, CsvReportTest, testing::ValuesIn(result_files::kNames),
                         [](const auto& set) { return std::string(set.param); });

TEST(CsvParserTest, RefusesWhatIsNotRfc4180) {
  EXPECT_TRUE(parse_csv("a,\"b\"\"\r\n\"\r\n"));
  for (const char* bad : {"a", "a\n", "a\"b\r\n", "\"a\"b\r\n", "\"a\r\n"})
    EXPECT_FALSE(parse_csv(bad)) << bad;
}

}  // namespace
}  // namespace bertbench
