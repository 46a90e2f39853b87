// Results whose cells are made one at a time: their reports are those of a result in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/cells/measured_logs.h"
#include "reports/cells/spool.h"
#include "reports/model/result_io.h"
#include "reports/output/remarks.h"
#include "reports/output/render.h"
#include "reports/output/table.h"
#include "tests/reports/samples.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

using testing::ElementsAre;

Trial full_trial() {
  Trial out = samples::trial(3, 412.5);
  out.attempt = 2;
  out.log = "runs/1n8g/log_3.txt";
  out.format = "megatron";
  out.outcome = {Status::nan, 120, 340, {log_line("the loss is not finite")}};
  out.iterations = {1'000'000'000'000, 20, 300};
  out.window = {"auto (mser-5: 30:200)", "default", true, -1, 200};
  out.iterations_per_second = 0.1;
  out.estimators = {{"step_time", 412.5}, {"printed", 400}};
  out.resolution = {{"counter_clock", 0.01}};
  out.expected_error = {{"counter_clock", 0.004}};
  out.reconciliation = Reconciliation{1e9, 2.5, std::nullopt, 4e8, {{"printed", -0.03}}};
  out.step_time = StepTimes{0.1, 0.2, 0.3};
  out.rate_interval = Interval{400, 420, 0.95};
  out.steady_state = SteadyRecord{Steadiness::slow_down, 40, 0.25};
  out.periodic = PeriodicRecord{{100, 7, 3, 0.5, 0.01}, 415.0};
  out.time_parts = TimeRecord{12.5, {{"warm_up", 2.5}, {"steady", 10}}, {{"warm_up", 0, 2.5}}};
  const RankRecord::Rank slow{3, "1:gpu07", 0.5, 1.5, 20, 19, 18};
  out.ranks = RankRecord{
      4, 21, 60, 0.5, slow, {slow}, {{"1:gpu07", 2, 0.1, 0.3, 0.5}}, {2, 4}, {{3, {1.5, 0}}}};
  out.memory = MemoryRecord{1 << 30, std::int64_t{16} << 30, "log"};
  out.energy_j = 1234.5;
  out.skipped_steps = 9;
  out.block = BlockPlace{3, 2};
  out.energy_per_sequence_j = 0.25;
  out.loss = LossRecord{11.2, -0.0, 7, {{1, 11.2}, {-2, 0.5}}, 300, 10};
  out.iterations_file = "trial_3/iterations.csv";
  out.notices = {foreign_notice(77, "odd line"),
                 foreign_notice(0, std::string("a NUL: \0, no UTF-8: \xff", 22))};
  return out;
}

TEST(TrialCodec, EveryMemberComesBack) {
  Words words;
  std::string first, second;
  const Trial trial = full_trial();
  pack_trial(trial, words, first);
  pack_trial(Trial{}, words, second);
  Trial back;
  ASSERT_TRUE(unpack_trial(first, words, back));
  EXPECT_EQ(to_json(back), to_json(trial));
  EXPECT_EQ(back.notices, trial.notices);
  ASSERT_TRUE(unpack_trial(second, words, back));
  EXPECT_EQ(to_json(back), to_json(Trial{}));
}

TEST(TrialCodec, PartsOfATrialAreNone) {
  Words words;
  std::string bytes;
  pack_trial(full_trial(), words, bytes);
  Trial back;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(unpack_trial(std::string_view(bytes).substr(0, n), words, back)) << n;
  }
}

TEST(TrialCodec, TextsBeyondTheRoomForWordsStandInTheTrial) {
  Words words;
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) {
    Trial trial;
    trial.notices = {foreign_notice(0, "notice " + std::to_string(i))};
    bytes.clear();
    pack_trial(trial, words, bytes);
    Trial back;
    ASSERT_TRUE(unpack_trial(bytes, words, back));
    ASSERT_EQ(back.notices, trial.notices);
  }
  EXPECT_EQ(words.number_of("one more"), -1);
}

TEST(SpoolTest, PiecesAreReadBackFromMemoryAndFromTheFile) {
  Spool spool(10);
  const auto a = spool.add("123456");
  const auto b = spool.add("abcdefgh");
  const auto c = spool.add("XY");
  EXPECT_TRUE(spool.in_file());
  std::string piece;
  ASSERT_TRUE(spool.read(b, 8, piece));
  EXPECT_EQ(piece, "abcdefgh");
  ASSERT_TRUE(spool.read(a, 6, piece));
  EXPECT_EQ(piece, "123456");
  ASSERT_TRUE(spool.read(c, 2, piece));
  EXPECT_EQ(piece, "XY");
  EXPECT_FALSE(spool.read(c, 3, piece));
  ASSERT_TRUE(spool.read(a + 3, 7, piece)) << "from the file and from memory";
  EXPECT_EQ(piece, "456abcd");
  EXPECT_FALSE(spool.read(a, 17, piece));
}

TEST(SpoolTest, WithoutATemporaryFolderAllStaysInMemory) {
  const char* before = getenv("TMPDIR");
  const std::string saved = before != nullptr ? before : "";
  setenv("TMPDIR", "/no/such/folder", 1);
  Spool spool(4);
  const auto a = spool.add("123456");
  const auto b = spool.add("abcdef");
  before != nullptr ? setenv("TMPDIR", saved.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_FALSE(spool.in_file());
  std::string piece;
  ASSERT_TRUE(spool.read(a, 6, piece));
  EXPECT_EQ(piece, "123456");
  ASSERT_TRUE(spool.read(b, 6, piece));
  EXPECT_EQ(piece, "abcdef");
}

MeasuredLog measured(const std::string& path, const Facts& facts) {
  RunLog log = samples::log_of_seconds(std::vector<double>(30, 0.1));
  log.path = path;
  log.facts = facts;
  return measure_log(log, {});
}

std::string text_of(const CellSource& cells) {
  std::string out;
  write_text(cells, [&](std::string_view piece) { out += piece; });
  return out;
}

TEST(GroupedCellsTest, AreTheResultThatIsInMemory) {
  ResultBuilder builder({});
  builder.add(measured("a.log", samples::facts(8, 1, 1, 1)));
  builder.add(measured("b.log", samples::facts(8, 1, 1, 2)));
  builder.add(measured("c.log", samples::facts(8, 1, 1, 2)));
  builder.add(measured("r/k/trial_2/attempt_1/log.txt", samples::facts(8, 1, 2, 2)));
  builder.add(measured("r/k/trial_2/attempt_2/log.txt", samples::facts(8, 1, 2, 2)));
  builder.add(measured("r/k/trial_1/log.txt", samples::facts(8, 1, 2, 2)));
  const auto cells = builder.finish_cells();
  const ResultSet whole = cells->whole();
  ASSERT_EQ(cells->size(), 3U);
  EXPECT_EQ(cells->trials(2), 2U);  // the first attempt is reported on the second
  EXPECT_EQ(text_of(whole.cells[2].trials[1].notices.back()), "attempt 1 ended as completed");
  EXPECT_TRUE(cells->cell(1).trials.empty());
  EXPECT_EQ(cells->cell(1).speedup->base, whole.cells[0].key);
  EXPECT_EQ(text_of(*cells), to_text(whole));
}

TEST(GroupedCellsTest, ACellOfVeryManyTrialsIsWrittenAsItIsMade) {
  ResultBuilder builder({});
  for (int i = 0; i < 1200; ++i) {
    builder.add_trial(samples::identity(1, 1), WorkKind::training, samples::trial(i + 1, 100 + i));
  }
  builder.add_trial(samples::identity(1, 2), WorkKind::training, samples::trial(1, 200));
  const auto cells = builder.finish_cells();
  const ResultSet whole = cells->whole();
  EXPECT_EQ(whole.cells[0].throughput.n, 1200);
  const auto read = result_set_from_text(text_of(*cells));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_text(*read), to_text(whole));
}

TEST(GroupedCellsTest, ADroppedLogIsGoneAndANoticeIsToldBehindItsOwn) {
  ResultBuilder builder({});
  builder.add(measured("a.log", samples::facts(8, 1, 1, 1)));
  builder.add(measured("b.log", samples::facts(8, 1, 1, 1)));
  builder.logs().drop(0);
  builder.logs().add_notice(1, foreign_notice(0, "said later"));
  const ResultSet results = builder.finish();
  ASSERT_EQ(results.cells.size(), 1U);
  ASSERT_EQ(results.cells[0].trials.size(), 1U);
  EXPECT_EQ(results.cells[0].trials[0].log, "b.log");
  EXPECT_EQ(text_of(results.cells[0].trials[0].notices.back()), "said later");
}

TEST(LongTableTest, IsTheTableOfVaryingColumns) {
  const std::vector<TableColumn> columns = {{"cell"},  {"n", true}, {"same"},
                                            {"empty"}, {"kept"},    {"rate", true}};
  const std::vector<std::vector<std::string>> rows = {
      {"a", "1", "x", "", "k", "10.5"},
      {"\x1b[31mred\n", "12", "x", "", "k", ""},
      {"\xe4\xb8\xad\xe6\x96\x87", "3", "x", "", "k", "7"}};
  for (const std::size_t count : {0U, 1U, 3U}) {
    for (const std::size_t width : {0U, 12U}) {
      const Table table{columns, {rows.begin(), rows.begin() + std::ptrdiff_t(count)}};
      TextTableOptions look;
      look.most_columns = width;
      std::vector<Constant> constants;
      const std::string expected =
          text_table(varying_columns(table, {"cell", "kept"}, constants), look);
      LongTable table_of_rows(columns);
      for (const auto& row : table.rows) table_of_rows.add(row);
      std::string printed;
      table_of_rows.print({"cell", "kept"}, look, [&](std::string_view text) { printed += text; });
      EXPECT_EQ(printed, expected) << count << " rows, " << width << " columns";
    }
  }
}

TEST(LongTableTest, RowsAreReadBackAcrossBlocks) {
  LongTable table({{"cell"}, {"n", true}});
  std::string expected = "cell" + std::string(23, ' ') + "n\n" + std::string(22, '-') + "  ----\n";
  for (int i = 1000; i < 10000; ++i) {
    table.add({std::string(20, 'c') + "#" + std::to_string(i % 9), std::to_string(i)});
    expected +=
        std::string(20, 'c') + "#" + std::to_string(i % 9) + "  " + std::to_string(i) + "\n";
  }
  std::string printed;
  table.print({}, {}, [&](std::string_view text) { printed += text; });
  EXPECT_EQ(printed, expected);
}

TEST(LongTableTest, RowsThatMemoryDoesNotHoldArePrintedToTheLast) {
  LongTable table({{"cell"}});
  constexpr int kRows = 5000;  // of 1 KiB: more than a Spool keeps in memory
  for (int i = 0; i < kRows; ++i) table.add({std::string(1024, 'c') + std::to_string(i)});
  int rows = -1;  // without the head, which is one text
  std::string last;
  table.print({"cell"}, {}, [&](std::string_view text) {
    ++rows;
    last = text;
  });
  EXPECT_EQ(rows, kRows);
  EXPECT_THAT(last, testing::EndsWith("c4999\n"));
}

TEST(WriteFile, AnErrorHalfWayLeavesTheOldFile) {
  const test::ScratchFolder folder;
  const std::string path = folder.path("result.json");
  ASSERT_TRUE(write_file_atomically(path, "old"));
  const auto written = write_file_atomically(path, [](const TextSink& out) -> Result<void> {
    out(std::string(1 << 20, 'x'));
    return fail("here", "is an error", "none");
  });
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().where, "here");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.file_size(), 3U);
    ++files;
  }
  EXPECT_EQ(files, 1U);
}

}  // namespace
}  // namespace bertbench
