// Tables are other people's text: whatever is in them, the audit ends and keeps its memory bounded.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

TEST(Hostile, SpansCannotMultiplyAFewBytesIntoGigabytes) {
  std::string text = "<table>";
  for (int n = 0; n < 2000; ++n) text += "<tr><td colspan=99999999999 rowspan=100000>1";
  const auto tables = read_html_tables(text);
  std::size_t cells = 0;
  for (const auto& table : tables) {
    for (const auto& row : table.rows) cells += row.cells.size();
  }
  EXPECT_LE(cells, kMaxCells);
}

TEST(Hostile, ShortRowsBelowAWideHeadingAreNotFilledUp) {
  std::string text = "|" + std::string(1000, '|') + "\n|-|\n";
  for (int n = 0; n < 5000; ++n) text += "| batch | 1 |\n";
  const PageAudit page = audit_page(text, "a.md", {});
  EXPECT_TRUE(page.tables.empty());
  EXPECT_EQ(page.notices.at(0).line, 1);
}

TEST(Hostile, NestedUnclosedAndBrokenMarkupEnds) {
  std::string nested;
  for (int n = 0; n < 5000; ++n) nested += "<table><tr><td>";
  EXPECT_NO_THROW((void)read_html_tables(nested));
  for (const char* text : {"<", "<table", "<table><tr><td", "<table><!--", "<script><table>",
                           "<table><tr><td a='>", "&#99999999999;&#x;&#;&", "<h1><h2><table>",
                           "</table></td></tr>", "<table></caption><caption>"}) {
    EXPECT_NO_THROW((void)read_tables(text, "x.html")) << text;
    EXPECT_NO_THROW((void)read_tables(text, "x.csv")) << text;
    EXPECT_NO_THROW((void)read_tables(text, "x.md")) << text;
  }
}

TEST(Hostile, NumbersBeyondTheRangeOfDoublesAreText) {
  const auto tables = audit_rows({"GPUs | samples/s | speedup", "1 | 0 | 1", "2 | 1e999 | 2",
                                  "4 | 1e-300 | 1e300", "8 | -5 | 3"});
  EXPECT_NO_THROW((void)audit_to_json(tables, {}, true).dump());
}

TEST(Hostile, RandomBytesNeverCrash) {
  std::mt19937 random(20191121);
  const std::string alphabet = "|-:\n\r,;\t\"'<>/tablerdh=0123456789.xK% and#&\\()[]\xC2\xA0\xFF";
  for (int n = 0; n < 3000; ++n) {
    std::string text = "| GPUs | samples/s | speedup |\n|---|---|---|\n";
    for (int k = 0; k < 120; ++k) text += alphabet[random() % alphabet.size()];
    for (const char* path : {"a.md", "a.html", "a.csv"}) {
      EXPECT_NO_THROW((void)audit_page(text, path, {}));
    }
  }
}

TEST(Hostile, AThousandContradictionsAreReportedCellByCell) {
  std::string text = "| GPUs | samples/s | speedup |\n|---|---|---|\n| 1 | 100.0 | 1 |\n";
  for (int n = 2; n < 1500; ++n) {
    text += "| " + std::to_string(n) + " | " + std::to_string(n * 100) + ".0 | " +
            std::to_string(2 * n) + "." + std::to_string(n % 10) + " |\n";
  }
  EXPECT_EQ(count(audit_markdown(text)).impossible, 1498U);
}

}  // namespace
}  // namespace bertbench::audit
