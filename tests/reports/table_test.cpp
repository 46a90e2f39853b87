#include "reports/output/table.h"

#include <gtest/gtest.h>

#include "reports/output/cell_table.h"
#include "reports/output/value_text.h"
#include "tests/reports/result_files.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

TEST(DisplayWidthTest, CountsColumnsOfATerminal) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("bert"), 4U);
  EXPECT_EQ(display_width("é"), 1U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("测评"), 4U);
  EXPECT_EQ(display_width("가나"), 4U);
  EXPECT_EQ(display_width("Ａ"), 2U);
  EXPECT_EQ(display_width("🚀"), 2U);
  EXPECT_EQ(display_width("\u200B"), 0U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
}

TEST(TextTableTest, AlignsNumbersRightAndTextLeftByDisplayWidth) {
  const Table table{{{"模型"}, {"rate", true}, {"note"}},
                    {{"bert-base", "150.1", "ok"}, {"测评", "3671.5"}, {"e\u0301", "9", "é"}}};
  EXPECT_EQ(text_table(table),
            "模型         rate  note\n"
            "---------  ------  ----\n"
            "bert-base   150.1  ok\n"
            "测评       3671.5\n"
            "e\u0301               9  é\n");
}

TEST(TextTableTest, IndentsAndMayOmitHeadings) {
  const Table table{{{"heading"}, {"n", true}}, {{"a", "1"}, {"bb", "22"}}};
  TextTableOptions options;
  options.indent = "  ";
  options.headings = false;
  EXPECT_EQ(text_table(table, options), "  a    1\n  bb  22\n");
}

TEST(TextTableTest, PaintGetsThePaddedTextSoThatColourDoesNotShiftColumns) {
  const Table table{{{"a"}, {"n", true}}, {{"x", "1"}, {"y", "22"}}};
  TextTableOptions options;
  options.paint = [](std::size_t row, std::size_t column, const std::string& text) {
    return row == 0 && column == 1 ? "<" + text + ">" : text;
  };
  EXPECT_EQ(text_table(table, options), "a   n\n-  --\nx  < 1>\ny  22\n");
}

TEST(TextTableTest, ControlCharactersInCellsAndHeadingsAreEscaped) {
  const Table table{{{"\x1b[1mname"}, {"n", true}}, {{"\x1b[2Ja\nb", "1"}}};
  EXPECT_EQ(text_table(table),
            "\\x1b[1mname    n\n"
            "-------------  -\n"
            "\\x1b[2Ja\\x0ab  1\n");
}

TEST(MarkdownTableTest, AlignsAndMarksNumberColumns) {
  const Table table{{{"a"}, {"rate", true}}, {{"测", "1"}, {"x|y", "22.5"}, {"z"}}};
  EXPECT_EQ(markdown_table(table),
            "| a        | rate |\n"
            "| -------- | ---: |\n"
            "| 测       |    1 |\n"
            "| x&#124;y | 22.5 |\n"
            "| z        |      |\n");
}

TEST(MarkdownTextTest, MarkupBecomesReferences) {
  EXPECT_EQ(markdown_text("a|b <c> & `d` \\ *e* [f] !g ~h #1 @u"),
            "a&#124;b &lt;c&gt; &amp; &#96;d&#96; &#92; &#42;e&#42; &#91;f&#93; &#33;g &#126;h "
            "&#35;1 &#64;u");
  EXPECT_EQ(markdown_text("http://x.example"), "http&#58;//x.example");
  EXPECT_EQ(markdown_text("bert_b32_fp32"), "bert_b32_fp32");
  EXPECT_EQ(markdown_text("a\r\nb"), "a&#92;x0d&#92;x0ab");
}

TEST(VaryingColumnsTest, WhatIsTheSameInEveryRowMovesOut) {
  const Table table{{{"model"}, {"gpus", true}, {"empty"}, {"n", true}},
                    {{"bert", "1", "", "5"}, {"bert", "2", "", "5"}}};
  std::vector<Constant> constants;
  const Table shown = varying_columns(table, {"n"}, constants);
  ASSERT_EQ(shown.columns.size(), 2U);
  EXPECT_EQ(shown.columns[0].heading, "gpus");
  EXPECT_EQ(shown.columns[1].heading, "n");
  EXPECT_EQ(shown.rows[1], (std::vector<std::string>{"2", "5"}));
  ASSERT_EQ(constants.size(), 1U);
  EXPECT_EQ(constants[0].heading + "=" + constants[0].value, "model=bert");
}

TEST(ShortNamesTest, NameOnlyWhatVaries) {
  const auto names = short_names(result_files::read("quickstart"));
  ASSERT_EQ(names.size(), 8U);
  EXPECT_EQ(names[0], "bert-tiny b4 1n1g");
  EXPECT_EQ(names[7], "bert-mini b8 1n2g");
  ResultSet twins = samples::result_set({samples::cell(samples::identity(1, 1), {1}),
                                         samples::cell(samples::identity(1, 1), {2}),
                                         samples::cell(samples::identity(1, 2), {3})});
  EXPECT_EQ(short_names(twins)[1], twins.cells[1].key) << "which ends in #2";
  EXPECT_EQ(short_names(twins)[2], "1n2g");
}

TEST(PresentTest, NumbersAsPeopleReadThem) {
  EXPECT_EQ(number_text(3671.45), "3671.4");
  EXPECT_EQ(number_text(150.11), "150.1");
  EXPECT_EQ(number_text(27.234), "27.23");
  EXPECT_EQ(number_text(0.4172), "0.417");
  EXPECT_EQ(number_text(0.00123), "0.00123");
  EXPECT_EQ(number_text(123456.7), "123457");
  EXPECT_EQ(number_text(0), "0.000");
  EXPECT_EQ(number_text(2.5e15), "2.500e+15");
  EXPECT_EQ(number_text(1.0 / 0.0), "-");
  EXPECT_EQ(percent_text(1.0 / 0.0), "-");
  EXPECT_EQ(percent_text(0.9841), "98.4 %");
  EXPECT_EQ(ratio_text(12.2953), "12.30x");
  EXPECT_EQ(duration_text(-1), "-");
  EXPECT_EQ(duration_text(1.72e-5), "17.2 us");
  EXPECT_EQ(duration_text(0.0172), "17.2 ms");
  EXPECT_EQ(duration_text(4.12), "4.12 s");
  EXPECT_EQ(duration_text(3e12), "3e+12 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(37785.8), "10 h 30 min");
  EXPECT_EQ(energy_text(0.05), "50.00 mJ");
  EXPECT_EQ(bytes_text(10.1 * 1024 * 1024 * 1024), "10.1 GiB");
  Identity part;
  EXPECT_EQ(topology_text(part), "");
  part.gpus_per_node = 8;
  EXPECT_EQ(topology_text(part), "?n8g");
}

TEST(CellTable, HasTheGpusThatALogStatesAsAProductAlone) {
  ResultSet set;
  Cell& cell = set.cells.emplace_back();
  cell.stated_world_size = 2;
  cell.stated_global_batch_size = 10240;
  const Table table = filled_columns(cell_table(set));
  EXPECT_EQ(table.columns[0].heading, "GPUs");
  EXPECT_EQ(table.rows[0][0], "2");
  EXPECT_EQ(table.rows[0][1], "10240");
}

TEST(PresentTest, FailuresInWords) {
  const ResultSet set = result_files::read("failures");
  std::string all;
  for (const Cell& cell : set.cells) all += failures_of(cell).text() + "\n";
  EXPECT_EQ(all, "\n\n5 out_of_memory\n\n1 stalled at step 31\n\n1 nan at step 23\n\n\n\n");
}

TEST(TextTable, ATableTooWideForTheTerminalGivesItsCellsALineOfTheirOwn) {
  Table table{{{"n", true}, {"cell"}, {"rate", true}}, {{"7", "bert-large.1n8g", "12.5"}}};
  TextTableOptions narrow;
  narrow.most_columns = 23;
  EXPECT_EQ(text_table(table, narrow),
            "cell\n    n  rate\n    -  ----\nbert-large.1n8g\n    7  12.5\n");
  narrow.most_columns = 24;
  EXPECT_EQ(text_table(table, narrow), text_table(table));
  narrow.most_columns = 10;
  table.columns[1].heading = "model";  // no cell: nothing can be done
  EXPECT_EQ(text_table(table, narrow), text_table(table));
}

}  // namespace
}  // namespace bertbench
