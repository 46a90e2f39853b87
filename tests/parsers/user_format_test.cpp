// Format files: what they read, and what is said about those that cannot be used.
#include "parsers/described/user_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  auto parsed = UserFormat::parse(format.dump(1), "mine.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  ReadOptions options;
  if (parsed) options.user_format = *parsed;
  return options;
}

std::string error_of(const std::string& text) {
  const auto parsed = UserFormat::parse(text, "mine.json");
  return parsed ? "none" : parsed.error().message();
}
std::string error_in(const Json& format) { return error_of(format.dump(1)); }

TEST(UserFormat, TheShippedExampleReadsItsLog) {
  auto format = UserFormat::load(kFolder + "example.json");
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

TEST(UserFormat, ARateOfOneGpuNeedsToKnowHowManyThereAre) {
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

TEST(UserFormat, SpeaksForALogThatABuiltInFormatReadsAsWell) {
  const auto runs = read_text(
      "step 1: 10 it/sec\n"
      "{'loss': 1.5, 'grad_norm': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}\nstep 2: 12 it/sec\n",
      with(small_format()));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].format, "mine");
}

TEST(UserFormat, LeavesALogThatItReadsNothingInToTheBuiltInFormats) {
  const auto runs = read_text("Iteration:  50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\n",
                              with(small_format()));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].format, "tqdm");
}

TEST(UserFormat, CanBeNamedByFormat) {
  ReadOptions options = with(small_format());
  options.format = "mine";
  EXPECT_TRUE(check_format_name("mine", options.user_format.get()));
  EXPECT_FALSE(check_format_name("mine"));
  EXPECT_TRUE(
      read_text("Iteration:  50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\n", options).empty());
  EXPECT_EQ(read_text("step 1: 10 it/sec\n", options).size(), 1U);
}

TEST(UserFormat, ANumberThatTheEndOfInputCutIsNoNumber) {
  Json format = small_format();
  format["lines"][0] = {{"literal", "it/sec"},
                        {"pattern", "step (?P<step>\\d+) it/sec (?P<rate>[0-9.]+)"},
                        {"example", "step 3 it/sec 2.5"}};
  const auto runs = read_text("step 1 it/sec 10.5\nstep 2 it/sec 1", with(format));
  ASSERT_EQ(runs[0].records.size(), 2U);
  EXPECT_DOUBLE_EQ(runs[0].records[0].printed_rate, 10.5);
  EXPECT_TRUE(std::isnan(runs[0].records[1].printed_rate));
}

TEST(UserFormat, ACounterThatStartsOverBeginsAnotherRun) {
  const auto runs = read_text(
      "step 10: 1 it/sec\nstep 20: 1 it/sec\nstep 30: 1 it/sec\nstep 40: 1 it/sec\n"
      "step 10: 2 it/sec\nstep 20: 2 it/sec\n",
      with(small_format()));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].records.size(), 4U);
  EXPECT_EQ(runs[1].records.size(), 2U);
}

TEST(UserFormat, GivesTheSameRunsBehindLabelsAndWithCrLf) {
  ReadOptions options;
  options.user_format = *UserFormat::load(kFolder + "example.json");
  std::string labelled;
  for (const char c : slurp(kFolder + "example.log")) {
    if (labelled.empty() || labelled.back() == '\n') labelled += "[1,0]<stdout>:";
    if (c == '\n') labelled += '\r';
    labelled += c;
  }
  const auto runs = read_text(labelled, options);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].records.size(), 5U);
  EXPECT_EQ(runs[0].outcome.status, Status::completed);
}

TEST(UserFormat, ItsOutcomeIsTheRunsOutcome) {
  ReadOptions options;
  options.user_format = *UserFormat::load(kFolder + "example.json");
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

TEST(UserFormat, ReadsNumbersAsLogsPrintThem) {
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

TEST(UserFormatErrors, NameFileLineRuleAndRemedy) {
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

TEST(UserFormatErrors, EveryRuleIsChecked) {
  const std::vector<Case> cases = {
      {"/schema", "bertbench.format/2", "must be \"bertbench.format/1\""},
      {"/name", "tqdm", "'tqdm' is a built-in format"},
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
      {"/lines/0/pattern", "(?P<loss>[0-9.]+) it/sec", "no pattern has a group 'step'"},
      {"/lines/0/pattern", "step +(?P<step>\\d+)x", "is not matched"},
      {"/lines/0/pattern", "(?P<step>step 3): ", "the group 'step' is 'step 3'"},
      {"/lines/0/example", "", "needs a line that it reads"},
      {"/lines/0/example", "step 3: 2.5 it/s", "does not hold the literal"},
      {"/lines/0/outcome", "oom", "is no outcome"},
      {"/lines/0/kind", "train", "use one of training"},
      {"/lines/0/scale", Json{{"seconds", 2}}, "has no group 'seconds'"},
      {"/lines/0/scale", Json{{"rate", -1}}, "above 0"},
      {"/lines/0/patern", "x", "did you mean 'pattern'?"},
  };
  for (const Case& c : cases) {
    Json format = small_format();
    format[Json::json_pointer(c.pointer)] = c.value;
    EXPECT_THAT(error_in(format), HasSubstr(c.says)) << c.pointer << " = " << c.value;
    EXPECT_THAT(error_in(format), testing::StartsWith("mine.json:")) << c.pointer;
  }
  Json no_unit = small_format();
  no_unit.erase("rate");
  EXPECT_THAT(error_in(no_unit), HasSubstr("does not say of what"));
  EXPECT_THAT(UserFormat::load("/nowhere/x.json").error().message(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace bertbench
