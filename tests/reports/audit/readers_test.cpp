#include <gmock/gmock.h>

#include "reports/studies/audit/source_table.h"
#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

using testing::ElementsAre;

TEST(MarkdownTables, CarryTheHeadingsAboveThem) {
  const auto tables = read_markdown_tables(
      "# Results\n## FP32\n#### Batch size = 64 & W/O xla\n\n"
      "| gpu_num | samples/s |\n|---|:--:|\n| 1 | 156.76 |\n| 2 | 295.42 |\n\ntext\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].line, 5);
  EXPECT_THAT(tables[0].context, ElementsAre("Results", "FP32", "Batch size = 64 & W/O xla"));
  ASSERT_EQ(tables[0].rows.size(), 3U);
  EXPECT_EQ(tables[0].rows[2].line, 8);
  EXPECT_THAT(tables[0].rows[2].cells, ElementsAre("2", "295.42"));
}

TEST(MarkdownTables, EscapedPipesAndMissingBordersAreCellsOfTheirOwn) {
  const auto tables = read_markdown_tables("a \\| b | c\n---|---\n1 | 2<br>x\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("a | b", "c"));
  EXPECT_THAT(tables[0].rows[1].cells, ElementsAre("1", "2 x"));
  const auto odd =
      read_markdown_tables("\n**x**\n| a | b |\n|---|---|\n| < 1 | \\n &gt;&#x2264;\\\n");
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_THAT(odd[0].context, ElementsAre("**x**"));
  EXPECT_THAT(odd[0].rows[1].cells, ElementsAre("< 1", "\\n >\xE2\x89\xA4\\"));
}

TEST(MarkdownTables, InCodeFencesAreNotTables) {
  for (const std::string fence : {"```\n", "~~~\n"}) {
    EXPECT_TRUE(read_markdown_tables(fence + "| a | b |\n|---|---|\n| 1 | 2 |\n" + fence).empty());
  }
  EXPECT_TRUE(read_markdown_tables("| a | b |\n-----\n| 1 | 2 |\n").empty()) << "no bars";
}

TEST(HtmlTables, SpansFillTheirCellsAndEntitiesAreDecoded) {
  const auto tables = read_html_tables(
      "<h2>FP16 &amp; more</h2><table><tr><th rowspan=2>GPUs</th><th colspan=\"2\">Throughput</th>"
      "</tr><tr><th>TF32<th>mixed</tr>\n<tr><td>1<td>317<td>580</tr></table>");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(tables[0].context, ElementsAre("FP16 & more"));
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("GPUs", "Throughput", "Throughput"));
  EXPECT_THAT(tables[0].rows[1].cells, ElementsAre("GPUs", "TF32", "mixed"));
  EXPECT_THAT(tables[0].rows[2].cells, ElementsAre("1", "317", "580"));
  EXPECT_EQ(tables[0].rows[2].line, 2);
}

TEST(HtmlTables, CellsKeepWhatIsNoMarkOfATable) {
  const auto tables = read_html_tables(
      "<table><tr><td><h4>x</h4></td><td>1<b>2</b></td></tr>"
      "<tr><td>< 5 ms</td><td title=\"a>b\">a<br>b</td></tr></table>");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("x", "12"));
  EXPECT_THAT(tables[0].rows[1].cells, ElementsAre("< 5 ms", "a b"));
}

TEST(HtmlTables, TitlesAreTheHeadingsAboveAndTheCaption) {
  const auto tables = read_html_tables(
      "<h1>A</h1><h2>B</h2><!-- <h2>C</h2><table> --><h2>D</h2><script>'<table><tr><td>'</script>"
      "<table title='>'><caption> of <p>both </caption><td><p>1</p><p>2<td> 3 \n 4 "
      "<tr><td>5</table>"
      "<table><tr><td>1<tr><td>2</table>");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_THAT(tables[0].context, ElementsAre("A", "D", "of both"));
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("1 2", "3 4"));
  EXPECT_THAT(tables[1].context, ElementsAre("A", "D"));
}

TEST(HtmlTables, OfTwoHeadingRowsAreChecked) {
  const auto tables = audit_page(
                          "<table><tr><th rowspan=2>GPUs</th><th colspan=2>Throughput</th><th "
                          "rowspan=2>Speedup</th>"
                          "</tr><tr><th>TF32</th><th>FP16</th></tr><tr><td>1</td><td>317</"
                          "td><td>580</td><td>1.83</td>"
                          "</tr><tr><td>8</td><td>2505</td><td>4591</td><td>1.93</td></tr></table>",
                          "t.html", {})
                          .tables;
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].columns[1].role, Role::throughput);
  EXPECT_THAT(tables[0].columns[2].variants, ElementsAre("mixed"));
}

TEST(CsvTables, SeparatorsQuotesAndSeveralTablesOfOneFile) {
  const auto tables = read_csv_tables(
      "# batch 64, FP32\nGPUs;samples/s;\"note; \"\"x\"\"\"\n1;150,5;a\r\n2;301,0;\"b\nc\"\n\n"
      "x;y\n1;2\n");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_THAT(tables[0].context, ElementsAre("batch 64, FP32"));
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("GPUs", "samples/s", "note; \"x\""));
  EXPECT_THAT(tables[0].rows[2].cells, ElementsAre("2", "301,0", "b\nc"));
  EXPECT_EQ(tables[1].rows[0].line, 7);
}

TEST(CsvTables, LinesOfCommentsTogetherAreTheTitleOfWhatFollows) {
  const auto tables = read_csv_tables(
      "\xEF\xBB\xBF# A\n#\n# B\na,b \"c\"\n1,\"2\"\n# C\nd,e\n\n# D\nf,g\n3,4\n,\nprose\nprose\n");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_THAT(tables[0].context, ElementsAre("A", "B"));
  EXPECT_EQ(tables[0].line, 4);
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("a", "b \"c\""));
  EXPECT_THAT(tables[1].context, ElementsAre("D"));
}

TEST(CsvTables, AHeadingMayBeginWithAHash) {
  const auto tables = read_csv_tables("# nodes,# GPUs,samples/s\n1,8,100\n2,8,190\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("# nodes", "# GPUs", "samples/s"));
}

TEST(Formats, AreToldByContentWhereTheNameDoesNot) {
  EXPECT_EQ(read_tables("| a | b |\n|---|---|\n| 1 | 2 |\n", "seed.txt").size(), 1U);
  EXPECT_EQ(read_tables("<table><tr><td>a<td>b<tr><td>1<td>2</table>", "-").size(), 1U);
  EXPECT_EQ(read_tables("a,b\n1,2\n", "-").size(), 1U);
  EXPECT_TRUE(read_tables("just prose\n", "-").empty());
  EXPECT_TRUE(read_tables("", "-").empty());
  EXPECT_TRUE(read_tables("a,b\n1,2\n3\n", "-").empty()) << "rows of other lengths";
  for (const char* path : {"a.CSV", "a.tsv"}) {
    EXPECT_EQ(read_tables("# <table><tr><td>\na,b\n1,x\n", path).size(), 1U) << path;
  }
  for (const char* path : {"a.html", "a.HTM"}) {
    EXPECT_TRUE(read_tables("a,b\n1,2\n", path).empty()) << path;
  }
}

}  // namespace
}  // namespace bertbench::audit
