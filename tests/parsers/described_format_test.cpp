// Format files: what they read, and the errors of those that cannot be used.
#include "parsers/described/described_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "parsers/described/format_keys.h"
#include "parsers/described/line_pattern.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

const std::string kFolder = std::string(BB_SOURCE_DIR) + "/configs/formats/";

Json small_format() {
  return Json::parse(R"({
    "schema": "bertbench.format/1", "name": "mine", "rate": {"unit": "iterations/s"},
    "lines": [{"literal": "it/sec", "pattern": "step (?P<step>\\d+): (?P<rate>\\S+) it/sec",
               "example": "step 3: 2.5 it/sec"}]})");
}

ReadOptions with(const Json& format) {
  auto parsed = DescribedFormat::parse(format.dump(1), "mine.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  ReadOptions options;
  if (parsed) options.user_format = *parsed;
  return options;
}

std::string error_of(const std::string& text) {
  const auto parsed = DescribedFormat::parse(text, "mine.json");
  return parsed ? "none" : parsed.error().message();
}
std::string error_in(const Json& format) { return error_of(format.dump(1)); }

TEST(DescribedFormat, TheShippedExampleReadsItsLog) {
  auto format = DescribedFormat::load(kFolder + "example.json");
  ASSERT_TRUE(format) << format.error().message();
  ReadOptions options;
  options.user_format = *format;
  const auto runs = read_log(kFolder + "example.log", options);
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 2U);
  const RunLog& run = runs->front();
  EXPECT_EQ(run.format, "acme");
  EXPECT_EQ(run.kind, WorkKind::training);
  EXPECT_EQ(run.outcome.status, Status::completed);
  EXPECT_EQ(run.facts.world(), 16);
  EXPECT_EQ(run.facts.framework.value, "acme");
  EXPECT_EQ(run.facts.sequences_per_optimizer_step(), 1024);
  ASSERT_EQ(run.records.size(), 5U);
  EXPECT_EQ(run.rate_unit, RateUnit::sequences_per_second);
  EXPECT_DOUBLE_EQ(run.records[0].printed_rate, 98.2 * 16);
  EXPECT_EQ(run.records[0].iterations, 20);
  EXPECT_DOUBLE_EQ(run.records[1].seconds, 20 * 0.625);
  EXPECT_DOUBLE_EQ(run.records[4].time_s, 63);
  EXPECT_DOUBLE_EQ(run.clock_resolution_s, 1);
  EXPECT_DOUBLE_EQ(run.records[4].loss, 8.6);
  ASSERT_TRUE(run.summary);
  EXPECT_DOUBLE_EQ(run.summary->value, 101.5 * 16);
  EXPECT_EQ(run.totals.training_s, 63.1);
  EXPECT_EQ((*runs)[1].kind, WorkKind::evaluation);
  EXPECT_DOUBLE_EQ((*runs)[1].records[0].printed_rate, 310.0 * 16);
  EXPECT_EQ((*runs)[1].outcome.status, Status::completed);  // the training after it ended well
}

TEST(DescribedFormat, ARateOfOneGpuNeedsToKnowHowManyThereAre) {
  Json format = small_format();
  format["rate"] = {{"unit", "sequences/s"}, {"per", "gpu"}};
  ReadOptions options = with(format);
  const std::string log = "step 1: 10 it/sec\nstep 2: 12 it/sec\n";
  auto runs = read_text(log, options);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(std::isnan(runs[0].records[1].printed_rate));
  ASSERT_FALSE(runs[0].notices.empty());
  EXPECT_THAT(text_of(runs[0].notices[0]), HasSubstr("--gpus-per-node"));
  options.world = 4;
  runs = read_text(log, options);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 48);
  EXPECT_EQ(runs[0].rate_unit, RateUnit::sequences_per_second);
}

TEST(DescribedFormat, SpeaksForALogThatABuiltInFormatReadsAsWell) {
  const auto runs = read_text(
      "step 1: 10 it/sec\n"
      "{'loss': 1.5, 'grad_norm': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}\nstep 2: 12 it/sec\n",
      with(small_format()));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].format, "mine");
}

TEST(DescribedFormat, LeavesALogThatItReadsNothingInToTheBuiltInFormats) {
  const auto runs = read_text("Iteration:  50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\n",
                              with(small_format()));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].format, "tqdm");
}

TEST(DescribedFormat, CanBeNamedByFormat) {
  ReadOptions options = with(small_format());
  options.format = "mine";
  EXPECT_TRUE(check_format_name("mine", options.user_format.get()));
  EXPECT_FALSE(check_format_name("mine"));
  EXPECT_TRUE(
      read_text("Iteration:  50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\n", options).empty());
  EXPECT_EQ(read_text("step 1: 10 it/sec\n", options).size(), 1U);
}

// Where no built-in format is read, none reads bars.
TEST(DescribedFormat, ByItselfReadsALineThatHoldsAnOutcomeAsWell) {
  const std::string log =
      "step 1: 2.5 it/sec\nstep 2: 2.5 it/sec torch.cuda.OutOfMemoryError: CUDA out of memory\n";
  for (const char* name : {"mine", "tqdm"}) {
    Json format = small_format();
    format["name"] = name;
    ReadOptions options = with(format);
    options.format = name;
    const auto runs = read_text(log, options);
    ASSERT_EQ(runs.size(), 1U) << name;
    EXPECT_EQ(runs[0].records.size(), 2U) << name;
    EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory) << name;
  }
}

TEST(DescribedFormat, ANumberThatTheEndOfInputCutIsNoNumber) {
  Json format = small_format();
  format["lines"][0] = {{"literal", "it/sec"},
                        {"pattern", "step (?P<step>\\d+) it/sec (?P<rate>[0-9.]+)"},
                        {"example", "step 3 it/sec 2.5"}};
  const auto runs = read_text("step 1 it/sec 10.5\nstep 2 it/sec 1", with(format));
  ASSERT_EQ(runs[0].records.size(), 2U);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 10.5);
  EXPECT_TRUE(std::isnan(runs[0].records[1].printed_rate));
}

TEST(DescribedFormat, ACounterThatStartsOverBeginsAnotherRun) {
  const auto runs = read_text(
      "step 10: 1 it/sec\nstep 20: 1 it/sec\nstep 30: 1 it/sec\nstep 40: 1 it/sec\n"
      "step 10: 2 it/sec\nstep 20: 2 it/sec\n",
      with(small_format()));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].records.size(), 4U);
  EXPECT_EQ(runs[1].records.size(), 2U);
}

TEST(DescribedFormat, GivesTheSameRunsBehindLabelsAndWithCrLf) {
  ReadOptions options;
  options.user_format = *DescribedFormat::load(kFolder + "example.json");
  std::string labelled;
  for (const char c : test::read_file(kFolder + "example.log")) {
    if (labelled.empty() || labelled.back() == '\n') labelled += "[1,0]<stdout>:";
    if (c == '\n') labelled += '\r';
    labelled += c;
  }
  const auto runs = read_text(labelled, options);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].records.size(), 5U);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(DescribedFormat, ItsOutcomeIsTheRunsOutcome) {
  ReadOptions options;
  options.user_format = *DescribedFormat::load(kFolder + "example.json");
  const auto runs = read_text(
      "2026-03-01 10:00:07 step 20/100 +0:00:13 lr 1e-4 samples/gpu/s: 98.2 step_ms: 651.7 loss: "
      "9\n"
      "rank 3: allocator gave up: 1.2 GiB wanted, 0.3 GiB free\n",
      options);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].outcome.status, Status::out_of_memory);
  EXPECT_EQ(runs[0].outcome.line, 2);
  EXPECT_THAT(detail_text(runs[0].outcome), HasSubstr("gave up"));
}

TEST(DescribedFormat, ReadsNumbersAsLogsPrintThem) {
  Json format = small_format();
  const auto rate = [&](const std::string& text) {
    const auto runs = read_text("step 1: " + text + " it/sec\n", with(format));
    return runs.empty() || runs[0].records.empty() ? -1.0 : runs[0].records[0].printed_rate;
  };
  EXPECT_DOUBLE_EQ(rate("1,234.5"), 1234.5);
  EXPECT_DOUBLE_EQ(rate("12.5K"), 12500);
  EXPECT_DOUBLE_EQ(rate("1e3"), 1000);
  EXPECT_TRUE(std::isnan(rate("12,34")));
  EXPECT_TRUE(std::isnan(rate("-3")));
  EXPECT_TRUE(std::isnan(rate("1.2.3")));
}

/// `lines` of a format of optimizer steps; their examples are the first lines of `log` that they
/// read.
std::vector<RunLog> runs_of(const std::string& lines, const std::string& log) {
  Json format = {{"schema", "bertbench.format/1"},
                 {"name", "mine"},
                 {"iteration", "optimizer_step"},
                 {"lines", Json::parse(lines)}};
  return read_text(log, with(format));
}

std::string steps_of(const RunLog& run) {
  std::string out;
  for (const Record& record : run.records) {
    out += fmt::format("{}+{}", record.step, record.iterations);
    if (!std::isnan(record.seconds)) out += fmt::format(" {:g}s", record.seconds);
    if (!std::isnan(record.time_s)) out += fmt::format(" at {:g}", record.time_s);
    out += "; ";
  }
  return out;
}

// Lines of a loop differ in their digits, and where all digits are alike to the pattern a line
// gives what one like it gave. Some of these patterns take one digit and not another.
TEST(LinePattern, ALineLikeOneBeforeGivesWhatItGivesAlone) {
  const char* const patterns[] = {
      R"(step (?P<step>\d+(?:,\d{3})*)\b.*?loss *(?P<loss>[-+]?(?:[\d.,]*\d[kKMB]?|nan)))",
      R"(^step (?P<step>[0-9]+) .*[^.0-9](?P<rate>[.0-9]+) (?:it|\x80)/s)",
      R"(step (?P<step>\d{2,3}) (?P<unit>[^]0-9]+)0?)",
      R"(step (?P<step>[[:digit:]]+) [[:alpha:]]+(?P<epoch>\d?))",
      R"(step (?P<step>\d+) top1)",
      R"(step (?P<step>[1-5]+) )",
      R"(step (?P<step>[!-5]+) )",
      R"(step (?P<step>[[:alpha:]{3}]+) )",
      R"(step (?P<step>\x31\d*) )",
      R"(step (?P<step>\Q{2}\E|\d) )",
      R"(step (?P<step>\d+) (?P<unit>{1,2,3}|[a-z]+))"};
  std::mt19937 random(7);
  const auto number = [&](unsigned below) { return std::to_string(random() % below); };
  std::vector<std::string> lines;
  for (int i = 0; i < 3000; ++i) {
    lines.push_back("step " + number(i % 3 == 0 ? 20000U : 30U) + " top" + number(3) + " loss " +
                    number(12) + "." + number(1000) + (i % 7 == 0 ? " 1.5 it/s" : ""));
  }
  lines.emplace_back("step 3");
  lines.push_back("step 3 top1 loss 0.5" + std::string(600, '.'));
  LinePattern::Memo memo;
  for (const char* const text : patterns) {
    const LinePattern pattern(text, "step");
    ASSERT_FALSE(pattern.problem()) << text;
    int matched = 0;
    for (const std::string& line : lines) {
      LinePattern::Memo nothing;
      std::vector<LinePattern::Group> alone, after;
      const bool by_itself = pattern.match(line, alone, nothing);
      ASSERT_EQ(pattern.match(line, after, memo), by_itself) << text << '\n' << line;
      ASSERT_EQ(after.size(), alone.size()) << text << '\n' << line;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(after[i].field, alone[i].field);
        EXPECT_EQ(after[i].text.data(), alone[i].text.data()) << text << '\n' << line;
        EXPECT_EQ(after[i].text.size(), alone[i].text.size()) << text << '\n' << line;
      }
      matched += by_itself ? 1 : 0;
    }
    EXPECT_GT(matched, 0) << text;
  }
}

TEST(DescribedFormat, TakesThePlaceOfTheBuiltInOneOfItsName) {
  Json format = small_format();
  format["name"] = "tinygrad";
  const std::string log =
      "    4 4.32 s run, 11.8750 loss, 0.0000002 LR, 14.57 GB used, 40.0 GFLOPS\n";
  EXPECT_EQ(read_text(log, {}).at(0).format, "tinygrad");
  EXPECT_TRUE(read_text(log, with(format)).empty());
  EXPECT_EQ(read_text(log + "step 3: 2.5 it/sec\n", with(format)).at(0).records.at(0).step, 3);
}

TEST(DescribedFormat, TakesMembersOfJsonWhereverTheyAre) {
  const auto runs =
      runs_of(R"j([
      {"literal": "{\"event\": \"step\"", "scale": {"clock": 0.001},
       "json": {"at.step": "step", "at.loss": "loss", "ms": "clock", "rank": "rank"},
       "example": "{\"event\": \"step\", \"at\": {\"step\": 1, \"loss\": \"nan\"}, \"ms\": 5000}"}])j",
              "x {\"event\": \"step\", \"at\": {\"step\": 1, \"loss\": 2.5}, \"ms\": 1000}\n"
              "{\"event\": \"step\", \"at\": {\"step\": 2, \"loss\": \"nan\"}, \"ms\": 1250}\n"
              "{\"event\": \"step\", \"at\": {\"step\": 3, \"loss\": 1}, \"ms\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(steps_of(runs[0]), "1+1 at 0; 2+1 at 0.25; ");
  EXPECT_EQ(runs[0].first_nan_step, 2);
  EXPECT_DOUBLE_EQ(runs[0].clock_resolution_s, 1e-3);
}

// Trackers group their keys: "perf/step_ms".
TEST(DescribedFormat, AKeyMayHaveAPrefixThatEndsWithASlash) {
  const auto read = [](const std::string& members) {
    std::string text;
    for (int i = 1; i <= 3; ++i) {
      text += "{\"step\": " + std::to_string(i) + ", \"train/loss\": 2.5, " + members + "}\n";
    }
    auto runs = read_text(text);
    EXPECT_EQ(runs.size(), 1U) << members;
    EXPECT_EQ(runs.at(0).format, "jsonl");
    return std::move(runs.at(0));
  };
  const auto second = [](const RunLog& run) { return run.records.at(1); };
  EXPECT_EQ(second(read("\"perf/step_ms\": 250")).seconds, 0.25);
  EXPECT_EQ(second(read("\"perf/gpu0_free\": 1, \"my run/perf/step_time\": 0.5")).seconds, 0.5);
  EXPECT_EQ(second(read("\"perf/samples_per_second\": 320")).printed_rate, 320);
  EXPECT_EQ(second(read("\"perf/tps\": 320")).printed_rate, 320);
  EXPECT_EQ(second(read("\"step_ms\": 250, \"perf/step_ms\": 500")).seconds, 0.25);
  // Of other work, of one device, or of two: none is the step's.
  for (const char* other : {"\"eval/step_ms\": 250", "\"rank_1/step_ms\": 250",
                            "\"a/step_ms\": 250, \"b/step_ms\": 500", "\"my/thing\": 1"}) {
    const RunLog run = read(other);
    EXPECT_TRUE(std::isnan(second(run).seconds)) << other;
    const auto notice = std::ranges::find(run.notices, NoticeCode::no_known_key, &Notice::code);
    ASSERT_NE(notice, run.notices.end()) << other;
    EXPECT_THAT(text_of(*notice), HasSubstr("train/loss"));
  }
  const RunLog job = read("\"rollout/tokens_per_second\": 9, \"device/tokens_per_second\": 9");
  EXPECT_TRUE(std::isnan(second(job).printed_rate));
}

TEST(DescribedFormat, TakesWhatIsAfterATextInAnyOrderAndMultipliesSizes) {
  const char* lines = R"j([
      {"literal": "mesh of ", "after": {"pp=": "world_size", " dp=": "world_size"},
       "example": "mesh of pp=2, dp=4"},
      {"literal": "devices [", "pattern": "devices \\[(?P<world_size>[0-9, ]+)\\]", "example": "devices [2, 8]"},
      {"literal": "it: ", "after": {"it: ": "step", "loss=": "loss", "lm loss: ": "loss"},
       "example": "it: 3 loss=2"}])j";
  const auto runs =
      runs_of(lines, "mesh of pp=2, dp=16\nlm loss: 3.5, it: 1,234\nit: 1,235 loss=\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].facts.world(), 32);
  EXPECT_EQ(runs[0].records.at(0).step, 1234);
  EXPECT_DOUBLE_EQ(runs[0].records.at(0).loss, 3.5);
  EXPECT_TRUE(std::isnan(runs[0].records.at(1).loss));
  EXPECT_EQ(runs_of(lines, "devices [4, 8, 2]\nit: 1\n").at(0).facts.world(), 64);
}

TEST(DescribedFormat, CountsFromWhereTheLogDoes) {
  const auto lines = [](const std::string& from) {
    return R"j([{"literal": "step ", "pattern": "step (?P<step>\\d+)/(?P<planned>\\d+)",
                "counts_from": ")j" +
           from + R"j(", "example": "step 1/9"}])j";
  };
  const std::string zero = "step 0/3\nstep 1/3\nstep 2/3\n", one = "step 1/2\nstep 2/2\n";
  const auto first = runs_of(lines("first"), zero);
  EXPECT_EQ(steps_of(first[0]), "1+1; 2+1; 3+1; ");
  EXPECT_EQ(first[0].outcome.status, Status::completed);
  EXPECT_EQ(steps_of(runs_of(lines("first"), one)[0]), "1+1; 2+1; ");
  EXPECT_EQ(steps_of(runs_of(lines("zero"), one)[0]), "2+1; 3+1; ");
  EXPECT_EQ(runs_of(lines("one"), zero)[0].outcome.status, Status::truncated);
}

TEST(DescribedFormat, AStepMayStandForSeveralIterations) {
  const auto lines = [](const std::string& more) {
    return R"j([{"literal": "epoch ", "pattern": "epoch (?P<step>\\d+)/(?P<planned>\\d+)(?: took (?P<seconds>[0-9]+)s)?",
                "step_iterations": 448, "example": "epoch 1/9")j" +
           more + "}]";
  };
  const auto runs = runs_of(lines(""), "epoch 1/2 took 10s\nepoch 2/2 took 9s\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(steps_of(runs[0]), "448+448 10s; 896+448 9s; ");
  EXPECT_EQ(runs[0].planned, 896);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
  const auto from_zero = runs_of(lines(R"(, "counts_from": "zero")"), "epoch 0/2\nepoch 1/2\n");
  ASSERT_EQ(from_zero.size(), 1U);
  EXPECT_EQ(steps_of(from_zero[0]), "448+448; 896+448; ");
  const auto huge = runs_of(lines(""), "epoch 1/900000000000000\nepoch 2/900000000000000\n");
  ASSERT_EQ(huge.size(), 1U);
  EXPECT_LE(huge[0].planned.value_or(0), 1'000'000'000'000'000) << "no product overflows";
}

TEST(DescribedFormat, SecondsOfTheLinesOwnStepAreNotThoseOfTheInterval) {
  const char* lines = R"j([{"literal": "took ", "own_step": true, "rate": {"unit": "iterations/s"},
      "pattern": "^(?P<clock>\\d[0-9: -]+\\d )?step (?P<step>\\d+) took (?P<seconds>[0-9.]+)(?P<unit>ms|s)$",
      "scale": {"seconds": {"ms": 0.001, "s": 1}}, "least": {"seconds": 0.01},
      "note": {"when": "gaps", "text": "a sample"}, "example": "step 1 took 20ms"}])j";
  auto runs = runs_of(lines, "step 10 took 1s\nstep 20 took 500ms\nstep 30 took 1ms\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(steps_of(runs[0]), "10+1 1s; 20+1 0.5s; 30+1 0.001s; ") << "the median is 0.5 s";
  ASSERT_EQ(runs[0].notices.size(), 1U);
  EXPECT_EQ(runs[0].notices[0], make_notice(NoticeCode::format_note, 0, "a sample"));
  const auto fast = runs_of(lines, "step 10 took 1s\nstep 20 took 5ms\nstep 30 took 1ms\n");
  EXPECT_EQ(steps_of(fast[0]), "10+1; 20+1; 30+1; ") << "half of them are too coarse: none counts";
  // A clock measures the interval: the time of one step of it is no more than a printed rate.
  runs = runs_of(lines,
                 "2026-03-01 10:00:00 step 10 took 1s\n2026-03-01 10:00:06 step 20 took 500ms\n");
  EXPECT_EQ(steps_of(runs[0]), "10+1 at 0; 20+10 at 6; ");
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 2);
  runs = runs_of(lines, "step 1 took 1s\nstep 2 took 500ms\n");
  EXPECT_TRUE(runs[0].notices.empty());
}

TEST(DescribedFormat, ALineMayHaveANoteAlone) {
  const char* lines =
      R"j([{"literal": "step ", "pattern": "^step (?P<step>\\d+)", "example": "step 1"},
      {"literal": "checking", "within_run": true, "note": "times hold the checks", "example": "checking"}])j";
  EXPECT_TRUE(runs_of(lines, "checking\nstep 1\nstep 2\n")[0].notices.empty()) << "before the run";
  const auto runs = runs_of(lines, "step 1\nchecking\nstep 2\n");
  ASSERT_EQ(runs[0].notices.size(), 1U);
  EXPECT_EQ(runs[0].notices[0], make_notice(NoticeCode::format_note, 0, "times hold the checks"));
}

TEST(DescribedFormat, ReadsTheUsualLayoutsOfStamps) {
  const auto seconds = [](const std::string& one, const std::string& two, bool day_first = false) {
    Json format = {
        {"schema", "bertbench.format/1"},
        {"name", "mine"},
        {"date_order", day_first ? "day_first" : "month_first"},
        {"lines",
         Json::parse(R"j([{"literal": "> step", "example": "at <2026-01-01 00:00:00> step 1",
                     "pattern": "<(?P<clock>.*)> step (?P<step>\\d+)"}])j")}};
    const auto runs = read_text("at <" + one + "> step 1\nat <" + two + "> step 2\n", with(format));
    return runs.at(0).records.at(1).time_s;
  };
  EXPECT_DOUBLE_EQ(seconds("2026-02-28T23:59:59.5", "2026-03-01 00:00:00,25"), 0.75);
  EXPECT_DOUBLE_EQ(seconds("02/28/2026 23:59:59", "03/01/2026 00:00:00"), 1);
  EXPECT_DOUBLE_EQ(seconds("28/02/2026 23:59:59", "01/03/2026 00:00:00", true), 1);
  EXPECT_DOUBLE_EQ(seconds("2026/02/28 23:59:59", "2026/03/01 00:00:00", true), 1);
  EXPECT_DOUBLE_EQ(seconds("12/31 23:59:59", "01/01 00:00:00"), 1);
  EXPECT_DOUBLE_EQ(seconds("Fri Jun  2 05:59:58 2023", "Fri Jun  2 06:00:08 2023"), 10);
  EXPECT_DOUBLE_EQ(seconds("I0228 23:59:59.5", "I0229 00:00:00.0"), 0.5);
  EXPECT_DOUBLE_EQ(seconds("1685685578.25", "1685685580"), 1.75);
}

TEST(DescribedFormat, ARecordMayBeOnSeveralLines) {
  const auto runs = runs_of(R"j([
      {"literal": "iteration: ", "after": {"iteration: ": "step"}, "example": "iteration: 1"},
      {"literal": "total_ips: ", "after": {"total_ips: ": "rate"}, "continues": true,
       "rate": {"unit": "sequences/s"}, "example": "total_ips: 7.5"},
      {"literal": "loss: ", "after": {"loss: ": "loss"}, "continues": true, "example": "loss: 2"}])j",
                            "loss: 9\niteration: 10\ntotal_ips: 7.5\nloss: 3\niteration: 20\n"
                            "total_ips: 8.5\nloss: 2\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(steps_of(runs[0]), "10+10; 20+10; ");
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 7.5);
  EXPECT_DOUBLE_EQ(runs[0].records[0].loss, 3);
  EXPECT_DOUBLE_EQ(runs[0].records[1].printed_rate, 8.5);
  EXPECT_DOUBLE_EQ(runs[0].records[1].loss, 2);
}

TEST(DescribedFormat, TheRowsOfATableAreReadBelowItsHead) {
  const Json format = {{"schema", "bertbench.format/1"},
                       {"name", "table"},
                       {"lines",
                        {{{"literal", "step  loss  time"},
                          {"pattern", "^(?P<step>\\d+) +(?P<loss>\\S+) +(?P<seconds>\\S+)$"},
                          {"rows", true},
                          {"example", "step  loss  time\n1  2.5  0.5"}}}}};
  auto parsed = DescribedFormat::parse(format.dump(), "table");
  ASSERT_TRUE(parsed) << parsed.error().message();
  ReadOptions options;
  options.user_format = *parsed;
  // Numbers above the head are no rows, and none below it whose counter does not grow.
  const auto runs = read_text(
      "7  9.5  0.1\nstep  loss  time\n1  2.5  0.5\nsaved\n2  2.4  0.5\n0  0.1  0.1\n3  2.3  0.5\n",
      options);
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].records.size(), 3U);
  EXPECT_EQ(runs[0].records[2].step, 3);
  EXPECT_EQ(runs[0].records[2].loss, 2.3);
}

TEST(DescribedFormat, AFallbackCountsWhereNothingElseDoes) {
  const char* lines = R"j([
      {"literal": "step ", "pattern": "step (?P<step>\\d+) loss", "example": "step 1 loss"},
      {"literal": "step ", "pattern": "step (?P<step>\\d+)$", "fallback": true, "example": "step 1"}])j";
  EXPECT_EQ(steps_of(runs_of(lines, "step 1\nstep 2\n").at(0)), "1+1; 2+1; ");
  const auto runs = runs_of(lines, "step 7\nstep 8\nstep 1 loss\nstep 50\nstep 2 loss\nstep 3\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(steps_of(runs[0]), "1+1; 2+1; ");
}

TEST(DescribedFormat, CountsOnThroughEpochs) {
  const char* lines = R"j([
      {"literal": "epochs=", "after": {"epochs=": "epochs"}, "example": "epochs=3"},
      {"literal": "epoch ", "pattern": "epoch (?P<epoch>\\d+) batch (?P<step>\\d+)(?:/(?P<epoch_steps>\\d+))?",
       "example": "epoch 0 batch 1/9"},
      {"literal": "end of ", "pattern": "end of (?P<epoch>\\d+)", "example": "end of 1"}])j";
  const std::string lengths =
      "epochs=2\nepoch 0 batch 10/25\nepoch 0 batch 20/25\nepoch 1 batch 10/25\nepoch 1 batch "
      "20/25\n";
  EXPECT_EQ(steps_of(runs_of(lines, lengths).at(0)), "10+10; 20+10; 35+15; 45+10; ");
  EXPECT_EQ(runs_of(lines, lengths).at(0).outcome.status, Status::truncated);
  EXPECT_EQ(runs_of(lines, lengths + "end of 1\n").at(0).outcome.status, Status::completed);
  const auto runs =
      runs_of(lines,
              "epochs=2\nepoch 0 batch 10\nepoch 0 batch 20\nepoch 1 batch 10\nepoch 1 batch 20\n"
              "epoch 0 batch 10\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(steps_of(runs[0]), "10+10; 20+10; 30+10; 40+10; ");
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(DescribedFormat, FactsFollowFromTwoNumbers) {
  const char* lines = R"j([
      {"literal": "iter ", "rate": {"unit": "tokens/s"},
       "after": {"iter ": "step", "upd ": "updates", "seen ": "sequences_done", "tok/s ": "rate", "per gpu ": "rate_per_gpu"},
       "example": "iter 1"}])j";
  auto runs = runs_of(lines,
                      "iter 3 upd 1 seen 96 tok/s 57.8K per gpu 14.5K\niter 7 upd 2 seen 224 tok/s "
                      "57K per gpu 14K\n");
  EXPECT_EQ(runs[0].facts.gradient_accumulation_steps.value, 4);
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 32);
  EXPECT_EQ(runs[0].facts.world(), 4);
  runs = runs_of(lines, "iter 3 upd 1 tok/s 5.8M per gpu 14K\niter 7 upd 2\niter 13 upd 3\n");
  EXPECT_FALSE(runs[0].facts.gradient_accumulation_steps.known());  // updates of two lengths
  EXPECT_FALSE(runs[0].facts.world());                              // 412 to 416
}

TEST(DescribedFormat, EvaluationsAreTakenOffTheClock) {
  const auto runs = runs_of(R"j([
      {"literal": "step ", "pattern": "(?P<clock>\\d+) step (?P<step>\\d+)", "example": "1 step 1"},
      {"literal": "eval ", "interrupts": true, "example": "eval 7"}])j",
                            "100 step 1\n101 step 2\neval x\n132 step 3\n133 step 4\n");
  EXPECT_EQ(steps_of(runs[0]), "1+1 at 0; 2+1 at 1; 3+1 at 2; 4+1 at 3; ");
  ASSERT_EQ(runs[0].notices.size(), 1U);
  EXPECT_EQ(runs[0].notices[0].code, NoticeCode::evaluations_off_the_clock);
}

TEST(DescribedFormat, AHeaderBeginsARunAndAClosingLineNeedsOne) {
  const auto runs =
      runs_of(R"j([
      {"literal": "batch ", "pattern": "^batch (?P<global_batch_size>\\d+)( model (?P<model>\\S+))?", "begins_run": true,
       "example": "batch 8"},
      {"literal": "step ", "after": {"step ": "step"}, "example": "step 1"},
      {"literal": "done in ", "after": {"done in ": "total_seconds"}, "within_run": true,
       "outcome": "completed", "example": "done in 3"}])j",
              "done in 9\nbatch 8 model a\nstep 1\nstep 2\nbatch 16\nstep 3\ndone in 5\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].facts.model.value, "a");
  EXPECT_EQ(runs[0].facts.global_batch_size.value, 8);
  EXPECT_NE(runs[0].outcome.status, Status::completed);
  EXPECT_FALSE(runs[1].facts.model.known());
  EXPECT_EQ(runs[1].facts.global_batch_size.value, 16);
  EXPECT_EQ(runs[1].totals.training_s, 5);
  EXPECT_EQ(runs[1].outcome.status, Status::completed);
}

TEST(DescribedFormat, ALineThatPartsRunsEndsNoEpoch) {
  const char* lines = R"j([
      {"literal": "step ", "pattern": "step (?P<step>\\d+)/(?P<epoch_steps>\\d+)", "wraps": true,
       "example": "step 1/2"},
      {"literal": "size ", "pattern": "size (?P<setting>\\d+)", "parts_runs": true,
       "example": "size 8"},
      {"literal": "finished", "parts_runs": true, "example": "finished"}])j";
  const auto runs_with = [&](const std::string& between) {
    return runs_of(lines, "size 8\nstep 1/2\nstep 2/2\n" + between + "step 1/2\nstep 2/2\n");
  };
  EXPECT_EQ(runs_with("").size(), 1U);
  EXPECT_EQ(runs_with("size 8\n").size(), 1U);
  EXPECT_EQ(runs_with("size 16\n").size(), 2U);
  EXPECT_EQ(runs_with("finished\n").size(), 2U);
}

TEST(DescribedFormat, ARateThatIsStatedAgainWithFewerDigitsAddsNothing) {
  const char* lines = R"j([{"literal": "step ", "after": {"step ": "step"}, "example": "step 1"},
      {"literal": "mean ", "rate": {"unit": "sequences/s"}, "after": {"mean ": "average_rate"}, "example": "mean 1"}])j";
  EXPECT_DOUBLE_EQ(runs_of(lines, "mean 15.6172\nmean 15.62\n").at(0).summary->value, 15.6172);
  EXPECT_DOUBLE_EQ(runs_of(lines, "mean 15.6172\nmean 15.7\n").at(0).summary->value, 15.7);
}

TEST(DescribedFormat, ItsSchemaIsTheOneThatEditorsAreGiven) {
  const std::string path = std::string(BB_SOURCE_DIR) + "/configs/schema/format.schema.json";
  if (std::getenv("BB_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << format_schema();
  EXPECT_EQ(format_schema(), test::read_file(path)) << "BB_UPDATE_GOLDEN=1 rewrites it";
}

TEST(DescribedFormatErrors, NameFileLineRuleAndRemedy) {
  EXPECT_EQ(error_of("{\n \"schema\": \"bertbench.format/1\",\n \"nam\": \"x\"\n}"),
            "mine.json:3: nam: unknown key 'nam'; did you mean 'name'?");
  EXPECT_THAT(error_of("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("a format is a JSON object"));
  EXPECT_THAT(error_of(""), HasSubstr("is empty"));
  EXPECT_THAT(error_of(std::string(100, '[')), HasSubstr("nested more than 64 levels"));
}

struct Case {
  const char* pointer;
  Json value;
  const char* says;
};

TEST(DescribedFormatErrors, EveryRuleIsChecked) {
  const std::vector<Case> cases = {
      {"/schema", "bertbench.format/2", "must be \"bertbench.format/1\""},
      {"/name", "Mine Own", "must be 1 to 40 letters"},
      {"/name", "auto", "'auto' is no name"},
      {"/iteration", "optimiser_step", "did you mean 'optimizer_step'?"},
      {"/rate/unit", "sequences", "did you mean 'sequences/s'?"},
      {"/rate/per", "node", "use one of job, gpu"},
      {"/rate/per", "gpu", "iterations are of the job"},
      {"/facts", Json{{"world", 4}}, "unknown fact 'world'"},
      {"/facts", Json{{"world_size", 0}}, "whole number from 1"},
      {"/lines", Json::array(), "needs a list of lines"},
      {"/lines/0/literal", "it/", "4 to 200 bytes"},
      {"/lines/0/literal", "it\nsec", "control characters"},
      {"/lines/0/pattern", "step (?P<stp>\\d+)", "did you mean 'step'?"},
      {"/lines/0/pattern", "step (?P<step>\\d+", "is no RE2 pattern: missing )"},
      {"/lines/0/pattern", "(?=x)(?P<step>\\d+)", "neither look-around"},
      {"/lines/0/pattern", "((a{1000}){1000}(?P<step>\\d+))", "is no RE2 pattern"},
      {"/lines/0/pattern", "(?P<step>\\d+)" + std::string(1000, '.'), "longer than 1000 bytes"},
      {"/lines/0/pattern", "(?P<rate>\\S+) it/sec", "no 'step'"},
      {"/lines/0/pattern", "(?P<average_rate>[0-9.]+) it/sec", "no pattern has a group 'step'"},
      {"/lines/0/pattern", "step +(?P<step>\\d+)x", "is not matched"},
      {"/lines/0/pattern", "(?P<step>step 3): ", "the group 'step' is 'step 3'"},
      {"/lines/0/example", "", "needs a line that it reads"},
      {"/lines/0/example", "step 3: 2.5 it/s", "does not hold the literal"},
      {"/lines/0/outcome", "oom", "use one of completed"},
      {"/lines/0/kind", "train", "use one of training"},
      {"/lines/0/scale", Json{{"seconds", 2}}, "has no group 'seconds'"},
      {"/lines/0/scale", Json{{"rate", {{"K", 1000}}}}, "has no group 'unit'"},
      {"/lines/0/least", Json{{"seconds", 2}}, "has no group 'seconds'"},
      {"/lines/0/counts_from", "two", "use one of one, zero, first"},
      {"/lines/0/own_step", "yes", "must be true or false"},
      {"/lines/0/step_iterations", 0, "must be a whole number from 1 to 1000000"},
      {"/lines/0/rows", true, "no head with a row"},
      {"/lines/0/after", Json{{"x ", "los"}}, "did you mean 'loss'?"},
      {"/lines/0/after", Json{{"x ", "clock"}}, "by a group of a pattern"},
      {"/lines/0/json", Json{{"a.b", "loss"}}, "both a pattern and json"},
      {"/lines/0/note", Json{{"when", "used"}}, "needs a text"},
      {"/lines/0/scale", Json{{"rate", -1}}, "above 0"},
      {"/lines/0/patern", "x", "did you mean 'pattern'?"},
  };
  for (const Case& c : cases) {
    Json format = small_format();
    format[Json::json_pointer(c.pointer)] = c.value;
    EXPECT_THAT(error_in(format), HasSubstr(c.says)) << c.pointer << " = " << c.value;
    EXPECT_THAT(error_in(format), testing::StartsWith("mine.json:")) << c.pointer;
  }
  Json half = small_format();
  half["lines"].push_back({{"literal", "began at"},
                           {"pattern", "began at (?P<began>[0-9:]+)"},
                           {"example", "began at 10:00:00"}});
  EXPECT_THAT(error_in(half), HasSubstr("'ended' by no line"));
  Json no_unit = small_format();
  no_unit.erase("rate");
  EXPECT_THAT(error_in(no_unit), HasSubstr("does not state its unit"));
  EXPECT_THAT(DescribedFormat::load("/nowhere/x.json").error().message(),
              HasSubstr("cannot be read"));
}

TEST(DescribedFormat, ARuleMayHaveSeveralLiteralsAndFactorsOfMembers) {
  Json format = small_format();
  format["lines"] = Json::parse(R"([{"literal": ["step\":", "iter\":"],
    "json": {"step": "step", "iter": "step", "t": "seconds", "ms": "seconds"},
    "scale": {"ms": 0.001}, "own_step": true,
    "example": ["{\"step\": 1, \"t\": 2}", "{\"iter\": 1, \"ms\": 2}"]}])");
  const auto runs =
      read_text("{\"step\": 1, \"t\": 0.5}\n{\"a\": {}, \"iter\": 2, \"ms\": 250}\n{\"step\": 3}\n",
                with(format));
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].records.size(), 2U) << "a step alone is no record";
  EXPECT_EQ(runs[0].records[0].seconds, 0.5);
  EXPECT_EQ(runs[0].records[1].seconds, 0.25);
  format["lines"][0]["example"] = "{\"step\": 1, \"t\": 2}";
  EXPECT_THAT(error_in(format), HasSubstr("must be a list of text"));
}

TEST(DescribedFormat, ALineOfAnotherFormatIsNoneOfOneThatYields) {
  Json format = small_format();
  format["lines"] =
      Json::parse(R"([{"literal": "\"step\":", "json": {"step": "step", "loss": "loss"},
    "example": "{\"step\": 1, \"loss\": 2}"}])");
  const std::string native = test::read_file(BB_SOURCE_DIR "/parsers/samples/native/sample.log");
  const std::size_t two_steps = native.find("{\"type\":\"step\",\"step\":3");
  const std::string text = native.substr(0, two_steps) + "{\"step\": 3, \"loss\": 2}\n";
  const auto steps = [&](bool yields, const std::string& asked) {
    format["yields"] = yields;
    ReadOptions options = with(format);
    options.format = asked;
    const auto runs = read_text(text, options);
    return runs.empty() ? std::size_t{0} : runs.front().records.size();
  };
  for (const std::string asked : {"auto", "mine"}) {
    EXPECT_EQ(steps(false, asked), 3U) << asked;
    EXPECT_EQ(steps(true, asked), 1U) << asked;
  }
  EXPECT_EQ(steps(true, "native"), 2U) << "of its own lines";
}

}  // namespace
}  // namespace bertbench
