// Tables as they are pasted: the seed documents as they lie, the ways of pasting, and what is none.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "reports/studies/audit/words.h"
#include "tests/read_file.h"
#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using test::read_file;

// Of each cell: line, heading, number, verdict, what it should be.
std::vector<std::string> cells(const PageAudit& page) {
  std::vector<std::string> out;
  for (const TableAudit& table : page.tables) {
    for (const CheckedCell& cell : table.cells) {
      out.push_back(std::to_string(cell.line) + " " + cell.heading + " " + cell.number + " " +
                    std::string(name(cell.verdict)) + " " + cell.should_be);
    }
  }
  return out;
}

PageAudit audit_file(const std::string& path) {
  AuditOptions options;
  options.flops = &flops;
  return audit_page(read_file(path), path, options);
}

PageAudit pasted(const std::string& text, const AuditOptions& options = {}) {
  return audit_page(text, "page.txt", options);
}

// The page as it lies and the table copied from it by hand, whose column "line" is another.
class SeedPage : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(SeedPage, AsItLiesGivesWhatItsTablesGive) {
  const auto& [page, table] = GetParam();
  const std::string path = std::string(BB_SOURCE_DIR) + "/../shared/seeds/" + page;
  if (read_file(path).empty()) GTEST_SKIP() << "the third-party page is not here: " << path;
  const PageAudit lies = audit_file(path);
  const PageAudit copied =
      audit_file(std::string(BB_SOURCE_DIR) + "/tests/data/published/" + table);
  const auto plain = [](const PageAudit& audit) {
    std::vector<std::string> out;
    for (const std::string& cell : cells(audit)) out.push_back(cell.substr(cell.find(' ') + 1));
    return out;
  };
  ASSERT_GE(plain(copied).size(), 2U);
  EXPECT_EQ(plain(lies), plain(copied));
  EXPECT_THAT(lies.notices, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, SeedPage,
    testing::Values(std::pair("000_3474513dc4720f47.txt", "seed000_dgx2_tensorflow_pytorch.csv"),
                    std::pair("001_1e811c5819f13b6d.txt", "seed001_ngc_bert_pytorch.csv"),
                    std::pair("003_111371dfc05c532d.txt", "seed003_deepspeed_bing_bert.csv"),
                    std::pair("004_8d134b2ac4565579.txt", "seed004_dlperf_mxnet_bert.csv")),
    [](const auto& each) { return "Seed" + each.param.first.substr(0, 3); });

TEST(SeedPages, TheNotebooksTflopsAreRecomputedFromItsOutputsAndSettings) {
  const std::string path = std::string(BB_SOURCE_DIR) + "/../shared/seeds/002_067bbe9d8c135acb.txt";
  if (read_file(path).empty()) GTEST_SKIP() << "the third-party page is not here: " << path;
  const PageAudit page = audit_file(path);
  ASSERT_THAT(page.tables, SizeIs(1));
  const Counts counts = count(page.tables);
  EXPECT_EQ(counts.exact, 13U);
  EXPECT_EQ(counts.possible, 3U);
  EXPECT_EQ(counts.all(), 16U);
  EXPECT_THAT(page.tables[0].readings, ElementsAre(HasSubstr("formula notebook")));
  EXPECT_EQ(page.tables[0].cells.front().line, 153);
}

TEST(SeedPages, AnImpossibleCellIsNamedWithItsLineOfThePage) {
  const std::string path = std::string(BB_SOURCE_DIR) + "/../shared/seeds/004_8d134b2ac4565579.txt";
  if (read_file(path).empty()) GTEST_SKIP() << "the third-party page is not here: " << path;
  for (const TableAudit& table : audit_file(path).tables) {
    for (const CheckedCell& cell : table.cells) {
      if (cell.verdict != Verdict::impossible) continue;
      EXPECT_EQ(cell.line, 328);
      EXPECT_EQ(cell.should_be, "27.23");
      return;
    }
  }
  FAIL() << "27.33 was not found";
}

// One small table in every way of pasting: 8 GPUs cannot be 7.9 times as fast.
const std::vector<std::vector<std::string>> kTable = {
    {"node_num", "gpu_num", "samples/s", "speedup"},
    {"1", "1", "100.0", "1"},
    {"1", "8", "700.0", "7.9"},
    {"2", "16", "1400.0", "14.0"}};

std::string joined(const std::string& between, const std::string& end) {
  std::string text = "Some page\n\nBERT-base FP32\n\n";
  for (const auto& row : kTable) {
    for (std::size_t n = 0; n < row.size(); ++n) text += (n == 0 ? "" : between) + row[n];
    text += end;
  }
  return text + "\nText after it, with 3 numbers: 1 2 3.\n";
}

TEST(Pasted, BetweenTabsBarsBlanksAndOneCellALine) {
  for (const std::string& text :
       {joined("\t", "\n"), joined(" ", "\n"), joined("    ", "\n"), joined(" | ", " |\n"),
        joined("\n", "\n"), joined("\n\n", "\n\n"), joined("\t", "\r\n"), joined(" ", "\n\n"),
        joined("  \xE2\x94\x82 ", "\n")}) {
    EXPECT_THAT(cells(pasted(text)), SizeIs(3)) << text;
    EXPECT_THAT(findings(pasted(text).tables), ElementsAre("impossible 7.9 -> 7.0")) << text;
  }
}

TEST(Pasted, RulesAndRowNumbersAreNotCells) {
  const std::string psql =
      " gpu_num | samples/s | speedup \n---------+-----------+---------\n"
      "       1 |     100.0 |       1\n       8 |     700.0 |     7.9\n(2 rows)\n";
  EXPECT_THAT(findings(pasted(psql).tables), ElementsAre("impossible 7.9 -> 7.0"));
  const std::string boxed =
      "+---------+-----------+---------+\n| gpu_num | samples/s | speedup |\n"
      "+---------+-----------+---------+\n|       1 |     100.0 |       1 |\n"
      "|       8 |     700.0 |     7.9 |\n+---------+-----------+---------+\n";
  EXPECT_THAT(findings(pasted(boxed).tables), ElementsAre("impossible 7.9 -> 7.0"));
  const std::string frame =
      "   gpu_num  samples/s  speedup\n0        1      100.0      1.0\n1        8      700.0      "
      "7.9\n";
  EXPECT_THAT(findings(pasted(frame).tables), ElementsAre("impossible 7.9 -> 7.0"));
}

TEST(Pasted, AlignedCellsMayBeEmpty) {
  const std::string text =
      "gpu_num  agg size  samples/s  speedup\n"
      "      1        32      100.0        1\n"
      "      8                700.0      7.9\n";
  const PageAudit page = pasted(text);
  EXPECT_THAT(findings(page.tables), ElementsAre("impossible 7.9 -> 7.0"));
  EXPECT_THAT(page.tables[0].notices, IsEmpty());
}

TEST(Pasted, NamesOfSeveralWordsArePartedByWhatIsKnownAndTextTakesWhatIsLeft) {
  const PageAudit page = pasted(
      "GPU type GPUs Batch size / GPU (TF32 and FP16) TF32 Throughput Mixed Precision Throughput "
      "Speedup (TF32 to mixed precision)\n"
      "DGX A100 80GB 8 64 and 128 250 500 2.0\n"
      "A100 8 64 & 128 --- 400 n/a\n");
  ASSERT_THAT(page.tables, SizeIs(1));
  std::vector<std::string> headings;
  for (const Column& column : page.tables[0].columns) headings.push_back(column.heading);
  EXPECT_THAT(headings,
              ElementsAre("GPU type", "GPUs", "Batch size / GPU (TF32 and FP16)", "TF32 Throughput",
                          "Mixed Precision Throughput", "Speedup (TF32 to mixed precision)"));
  EXPECT_THAT(cells(page), ElementsAre("2 Speedup (TF32 to mixed precision) 2.0 exact 2.0"));
}

TEST(Pasted, APrecisionLeadsItsNameOrTrailsItWhereOneReadingIsConsistent) {
  const PageAudit page =
      pasted("GPUs Throughput FP32 Throughput FP16 Speedup\n8 100 400 4.0\n16 200 810 4.1\n");
  ASSERT_THAT(page.tables, SizeIs(1));
  ASSERT_THAT(page.tables[0].columns, SizeIs(4));
  EXPECT_EQ(page.tables[0].columns[1].heading, "Throughput FP32");
}

TEST(Pasted, ARowThatFitsNoHeadingOrMoreThanOneIsNamed) {
  const PageAudit page =
      pasted("node_num gpu_num samples/s speedup\n1 1 100.0 1\n1 8 700.0\n2 16 1400.0 14.0\n");
  ASSERT_THAT(page.tables, SizeIs(1));
  ASSERT_THAT(page.tables[0].notices, SizeIs(1));
  EXPECT_EQ(page.tables[0].notices[0].line, 3);
  EXPECT_THAT(text_of(page.tables[0].notices[0]), HasSubstr("cannot be assigned"));
  EXPECT_THAT(cells(page), SizeIs(2));
  const PageAudit two =
      pasted("model system GPUs samples/s speedup\nbert dgx 1 100.0 1\na b c 4 400.0 3.0\n");
  EXPECT_EQ(two.tables.at(0).notices.at(0).line, 3) << "b is of either column";
  const PageAudit column = pasted("GPUs\nsamples/s\nspeedup\n1\n100.0\n1\n8\n700.0\nthe end\n");
  EXPECT_EQ(text_of(column.tables.at(0).notices.at(0)).find("a row of 3 cells begins here"), 0U);
  EXPECT_EQ(column.tables[0].notices[0].line, 7);
  const PageAudit wide = pasted("node_num gpu_num samples/s speedup\n1 1 100.0 1 5 6\n");
  EXPECT_THAT(text_of(wide.notices.at(0)), HasSubstr("another number of cells"));
}

TEST(Pasted, RowsMayLackCellsAndHeadingsHaveTwoRows) {
  for (const char* text : {
           "gpu_num\tsamples/s\tspeedup\tnote\tmodel\n1\t100.0\t1\n8\t700.0\t7.9\t\t\t\n",
           "node\tgpu\trate\tspeedup\nnum\tnum\tsamples/"
           "s\t\n1\t1\t100.0\t1\n\n\n1\t8\t700.0\t7.9\n",
           "GPUs samples/s speedup\n1 100.0 h 1 h\n8 700.0 h 7.9\n",
       }) {
    EXPECT_THAT(findings(pasted(text).tables), ElementsAre("impossible 7.9 -> 7.0")) << text;
  }
}

TEST(Pasted, AnUnknownNameIsNamedAndCanBeStated) {
  const std::string text =
      "node_num gpu_num samples/s frobnication speedup\n1 1 100.0 5 1\n1 8 700.0 5 7.9\n";
  const PageAudit unread = pasted(text);
  EXPECT_THAT(unread.tables, IsEmpty());
  ASSERT_THAT(unread.notices, SizeIs(1));
  EXPECT_EQ(unread.notices[0].line, 1);
  EXPECT_THAT(text_of(unread.notices[0]), HasSubstr("'frobnication'"));
  AuditOptions options;
  options.grid.columns = {{Role::ignore, "frobnication"}};
  EXPECT_THAT(findings(pasted(text, options).tables), ElementsAre("impossible 7.9 -> 7.0"));
}

TEST(Pasted, TheLinesAboveGiveTitleAndFacts) {
  const PageAudit page = pasted(
      "Results\n\nBatch size = 64 & W/O xla\n\ngpu_num it/s samples/s\n4 3.19 816.64\n8 3.18 "
      "1728.16\n"
      "16 3.15 3225.6\n");
  EXPECT_THAT(findings(page.tables), ElementsAre("impossible 1728.16 -> 1628.16"));
  EXPECT_THAT(page.tables[0].title, HasSubstr("Batch size = 64"));
}

TEST(Records, OfANotebookCarryTheSettingsOfTheirRuns) {
  const PageAudit page = pasted(
      "@dataclass\nclass Config:\n    model: str  # it's a name\n    seq_len: int\n    gpus: str = "
      "'0'\n"
      "\nIn [1]:\na = Config('bert-large-uncased', 128)\nrun(a)\n\n"
      "# samples per second:\t88.9\nMeasured TFLOPs:\t23.2\n\n"
      "In [2]:\nb = a\nb.gpus = '0,1'\nos.environ[\"NCCL_P2P_DISABLE\"] = \"1\"\nrun(b)\n\n"
      "# samples per second:\t177.8\nMeasured per GPU TFLOPs:\t23.2\n");
  ASSERT_THAT(page.tables, SizeIs(1));
  const SourceTable table = read_record_tables(
      "@dataclass\nclass Config:\n    model: str\n    gpus: str = '0'\nc = Config('x',\n  "
      "gpus='0,1')\n"
      "run(c)\n# samples per second: 5\nMeasured TFLOPs: 2\n")[0];
  EXPECT_THAT(table.rows[0].cells,
              ElementsAre("run of", "model", "gpus", "# samples per second", "Measured TFLOPs"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("c", "x", "2", "5", "2"));
  EXPECT_THAT(table.rows[1].cell_lines, ElementsAre(7, 7, 7, 8, 9));
}

TEST(Records, OfOneBlockAreAStatementAndOfManyATable) {
  EXPECT_THAT(pasted("batch size: 64\nthroughput: 100\n").tables, IsEmpty());
  const PageAudit page = pasted(
      "GPUs: 1\nthroughput: 100.0\nspeedup: 1\n\nGPUs: 8\nthroughput: 700.0\nspeedup: 7.9\n");
  EXPECT_THAT(findings(page.tables), ElementsAre("impossible 7.9 -> 7.0"));
  EXPECT_EQ(page.tables[0].cells.back().line, 7);
}

TEST(NoTable, InProseLogsConfigurationAndSourceCode) {
  for (const char* text : {
           "We ran on 8 GPUs, with a batch size of 64, and got 1,058 samples/s, 7.05 times\n"
           "the throughput of 1 GPU, 150.11 samples/s, in 3 trials of 200 steps, 5 minutes each.\n",
           "model speed was measured in 2020\n1 2 3 4 5\n",
           "Time, effort, and 3 people\nModels, 2 of them, and 4 more\n",
           "step 1 loss 10.9 time 0.25 throughput 250\nstep 2 loss 10.7 time 0.25 throughput 251\n",
           "2020-07-01 10:00:00,1 INFO step 1, loss 10.9\n2020-07-01 10:00:01,2 INFO step 2, loss "
           "9.1\n",
           "model: bert\nbatch_size: 64\nsteps: 100\nnodes: 2\n",
           "int gpus, nodes, batch;\nfor (int i = 0; i < 8; ++i) x[i] = 3;\n",
           "GPUs\nNodes\nThroughput\n\nThe number of GPUs is 8.\n",
           "Model\nSteps\nTime\n1\n",
           "Seed 0  Seed 1\nSeed 0  Seed 1\n",
           "I had 1, 2, 3\nand then 4, 5, 6\n",
           "GPUs\tspeed\t5\n1\t2\t3\n",
           "throughput: a\n: 5\nspeed:\nGPUs: 1\n",
           "GPUs: 1\nnodes: 2\n\nGPUs: 2\nnodes: 2\n",
       }) {
    const PageAudit page = pasted(text);
    EXPECT_THAT(page.tables, IsEmpty()) << text;
  }
}

TEST(NoTable, InOwnDocumentsBesideTheirTables) {
  // Lines of the source tree as text: nothing is checked in code that is only about tables.
  const std::string text =
      read_file(std::string(BB_SOURCE_DIR) + "/reports/studies/audit/read_pasted.cpp") +
      read_file(std::string(BB_SOURCE_DIR) + "/CONTRIBUTING.md");
  ASSERT_GT(text.size(), 10000U);
  EXPECT_THAT(pasted(text).tables, IsEmpty());
}

TEST(HostilePages, TakeTimeInProportionToTheirLength) {
  // Each of these made some reader look at the rest of the text from every line.
  std::vector<std::string> lines = {"GPUs\n",
                                    "Seed 0  Seed 1\n",
                                    "seed 0 seed 1 seed 2 seed 3\n",
                                    "gpus batch size speed time\n",
                                    "gpus\tspeed\n1 2 3\n",
                                    "GPUs: 1\n",
                                    "GPUs: 1\nspeed: 2\n",
                                    "@dataclass\nclass A:\n  a: int\n",
                                    "a = f(\n",
                                    "GPUs speed time\n1 2 3\nGPUs nodes speed time\n1 2 3 4\n",
                                    "\n",
                                    "| |\n",
                                    "'''\n"};
  for (const std::string& line : lines) {
    std::string text;
    while (text.size() < 300'000) text += line;
    std::size_t held = 0;
    for (const SourceTable& table : read_tables(text, "page")) {
      for (const SourceRow& row : table.rows) held += row.cells.size();
    }
    EXPECT_LE(held, 2 * kMaxCells) << line;
  }
}

TEST(HostilePages, RandomWordsOfHeadingsNeverCrash) {
  std::mt19937 random(20191121);
  const std::vector<std::string> pieces = {"GPUs",
                                           "gpus",
                                           " ",
                                           "  ",
                                           "\t",
                                           "\n",
                                           "|",
                                           "batch size",
                                           "/",
                                           "(",
                                           ")",
                                           "TF32",
                                           "and",
                                           "-",
                                           "Throughput",
                                           "Mixed Precision",
                                           "1",
                                           "8",
                                           "3.5",
                                           "---",
                                           ":",
                                           "=",
                                           "Seed 0",
                                           "speedup",
                                           "%",
                                           "\xC2\xB1",
                                           "\xE2\x94\x82",
                                           "\xFF",
                                           "@dataclass\nclass C:\n  gpus: int\nx = C(1)\nf(x)\n",
                                           "\r"};
  for (int n = 0; n < 3000; ++n) {
    std::string text;
    for (int k = 0; k < 60; ++k) text += pieces[random() % pieces.size()];
    for (const char* path : {"a.md", "a.txt"}) {
      EXPECT_NO_THROW((void)audit_to_json(audit_page(text, path, {}).tables, {}, true)) << text;
    }
  }
}

TEST(Words, HeadingsThatCanBePartedInTwoWaysAreAmbiguous) {
  const HeadingWords heading("Accumulation steps Accumulation steps", {});
  const auto three = heading.split(3);
  ASSERT_TRUE(three);
  EXPECT_TRUE(three->ambiguous);
  ASSERT_TRUE(heading.split(2));
  EXPECT_FALSE(heading.split(2)->ambiguous);
}

}  // namespace
}  // namespace bertbench::audit
