#include "reports/model/result_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reports/samples.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

const char* const kMinimal = R"({"schema": "bertbench.result/1", "tool": {}, "cells": [
  {"key": "k", "trials": [{"trial": 1, "window": {"covered": true}, "sequences_per_second": 5}]}]})";

std::string message_of(const std::string& text) {
  const auto result = result_set_from_text(text, "r.json");
  return result ? std::string("no error") : result.error().message();
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kMinimal;
  text.replace(text.find(from), from.size(), to);
  return text;
}

// They are printed as they are: to terminals, into Markdown and pages.
TEST(ResultIo, RefusesNamesThatItNeverWrites) {
  const std::string trial = "\"trial\": 1";
  EXPECT_EQ(message_of(with(trial, R"("trial": 1, "format": "dllogger-json")")), "no error");
  for (const char* key : {"format", "estimator"}) {
    for (const char* text : {"x\\u001b]0;title\\u0007", "<script>", "a\\nb", "\\u007f"}) {
      EXPECT_THAT(message_of(with(trial, trial + ", \"" + key + "\": \"" + text + "\"")),
                  HasSubstr("holds what bertbench never writes"))
          << key << text;
    }
  }
  EXPECT_THAT(message_of(with(trial, trial + R"(, "estimators": {"<b>": 5})")),
              HasSubstr("trials[].estimators"));
  EXPECT_THAT(message_of(with("\"covered\": true", R"("covered": true, "rule": "<b>")")),
              HasSubstr("window.rule"));
  EXPECT_THAT(message_of(with(R"("key": "k")", R"("key": "k", "throughput": {"unit": "x\n<b>"})")),
              HasSubstr("throughput.unit"));
}

TEST(ResultIo, WhatIsWrittenReadsBackAsTheSameText) {
  Cell cell = samples::cell(samples::identity(2, 8), {1844.1, 1841.41, 1835.11});
  cell.identity.axes = {{"optimizer", "lamb"}, {"env.A", "x\"y\n"}};
  cell.gpu = "Tesla V100-SXM2-16GB";
  cell.emulated = true;
  cell.kind = WorkKind::evaluation;
  cell.time_to_train_s = 3600;
  cell.trials[0].periodic =
      PeriodicRecord{{.period = 50, .phase = 3, .count = 6, .extra_s = 2, .share = 0.1}, 1900.0};
  Trial& trial = cell.trials[1];
  trial.attempt = 3;
  trial.block = BlockPlace{2, 1};
  *trial.telemetry = {{"samples", 3}, {"cpu", {{"other_cores", 0.5}}}};
  trial.energy_j = 1234.5;
  trial.skipped_steps = 9;
  trial.energy_per_sequence_j = 0.25;
  trial.log = "a/b <script>.log";
  trial.outcome = {
      .status = Status::stalled, .step = 7, .line = 8, .details = {log_line("no output for 60 s")}};
  trial.estimators = {{"step_time", 1841.41}};
  trial.resolution = {{"counter_clock", 0.01}};
  trial.expected_error = {{"counter_clock", 0.004}};
  trial.reconciliation = Reconciliation{1.0, 2.0, 3.0, 4.0, {{"printed", 0.5}}};
  trial.step_time = StepTimes{0.1, 0.2, 0.3};
  trial.memory = MemoryRecord{1, 2, "nvml"};
  trial.loss = LossRecord{1.5, {}, 17, {{10, 1.5}, {20, 1.25}}, 300, 10};
  trial.notices = {foreign_notice(3, "text")};
  trial.window.first_step = 100;
  cell.trials[0].window.first_step = -1;  // a counter from 0 on: the window begins before it
  ResultSet results = samples::result_set({cell, samples::cell(samples::identity(1, 1), {150})});
  results.environment = Json::parse(R"({"z": 1, "a": [1, {"b": null}]})");
  const std::string text = to_text(results);
  const auto again = result_set_from_text(text);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(again->cells[0].identity, cell.identity);
  EXPECT_EQ(again->cells[0].trials[1].notices, trial.notices);
  EXPECT_EQ(again->cells[0].trials[1].outcome, trial.outcome);
  EXPECT_NE(text.find(R"("at":[[10,1.5],[20,1.25]])"), std::string::npos);
}

TEST(ResultIo, UnknownIsAbsentAndNeverNullOrNan) {
  Cell cell = samples::cell({}, {5});
  cell.trials[0].loss = LossRecord{{}, std::nan(""), {}, {}, {}, {}};
  cell.trials[0].estimators = {{"step_time", 1.0 / 0.0}};
  const Json json = to_json(samples::result_set({cell}));
  EXPECT_FALSE(json["cells"][0].contains("model"));
  EXPECT_FALSE(json["cells"][0].contains("world_size"));
  EXPECT_TRUE(json["cells"][0]["trials"][0]["loss"].empty());
  EXPECT_EQ(json.dump().find("null"), std::string::npos);
  EXPECT_EQ(json["cells"][0]["key"], "?.?.s?.b?.a?.?n?g");
}

TEST(ResultIo, APointOfALossCurveIsAStepAndALoss) {
  const auto points = [](const std::string& at) {
    return result_set_from_text(with("\"window\"", "\"loss\": {\"at\": " + at + "}, \"window\""));
  };
  const auto read = points("[[1, 2.5, \"later\"], [], [7]]");
  ASSERT_TRUE(read) << read.error().message();
  const auto& at = read->cells[0].trials[0].loss->at;
  ASSERT_EQ(at.size(), 3U);
  EXPECT_EQ(at[0].step, 1);
  EXPECT_EQ(at[0].loss, 2.5);
  EXPECT_TRUE(std::isnan(at[2].loss));
  for (const char* wrong : {"[5]", "[{\"step\": 1}]", "[[1.5, 2]]", "[[1, \"x\"]]"}) {
    EXPECT_FALSE(points(wrong)) << wrong;
  }
}

// The example of docs and design: keys as they are promised, in this order.
TEST(ResultIo, KeysOfACellKeepTheirPromisedOrder) {
  const Json written =
      to_json(samples::result_set({samples::cell(samples::identity(1, 1), {100, 101, 102}),
                                   samples::cell(samples::identity(2, 8), {1500, 1501, 1502})}));
  const std::string promised =
      " key identity kind model framework precision sequence_length nodes gpus_per_node world_size "
      "micro_batch_size gradient_accumulation_steps global_batch_size trials throughput "
      "sequences_per_second_per_gpu speedup scaling_efficiency scaling ";
  std::string found = " ";
  for (const auto& [key, value] : written["cells"][1].items()) {
    if (promised.find(" " + key + " ") != std::string::npos) found += key + " ";
  }
  EXPECT_EQ(found, promised);
}

TEST(ResultIo, KeysOfALaterMinorVersionAreIgnored) {
  const auto result = result_set_from_text(with("\"key\"", R"("new_key": [1, {"x": 2}], "key")"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->cells.size(), 1U);
  EXPECT_TRUE(result->cells[0].trials[0].counts());
}

TEST(ResultIo, NullIsAnUnknownMemberAndNoElement) {
  const auto read = result_set_from_text(
      with(R"("key": "k")", R"("key": "k", "model": null, "throughput": null, "warnings": ["w"])"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->cells[0].identity.model);
  EXPECT_THAT(message_of(with(R"("key": "k")", R"("key": "k", "warnings": [null])")),
              HasSubstr("warnings[0]: must be a string"));
  EXPECT_THAT(message_of("null"), HasSubstr("$: must be an object"));
  EXPECT_THAT(message_of(with(R"("key": "k")", R"("key": "k", "context": [1])")),
              HasSubstr("context: must be"));
}

TEST(ResultIo, WholeNumbersAreThoseThatADoubleHolds) {
  for (const auto& [text, good] : {std::pair("3.0", true),
                                   {"9007199254740992.0", true},
                                   {"9007199254740994.0", false},
                                   {"18446744073709551615", false},
                                   {"-9007199254740994.0", false}}) {
    EXPECT_EQ(message_of(with(R"("trial": 1)", std::string(R"("trial": 1, "skipped_steps": )") +
                                                   text)) == "no error",
              good)
        << text;
  }
}

// Files of before 0.2 have the memory of a cell in its trials alone.
TEST(ResultIo, TheMemoryOfATrialIsThatOfItsCell) {
  const auto read = result_set_from_text(
      with(R"("trial": 1)",
           R"("trial": 1, "memory": {"peak_bytes": 7, "capacity_bytes": 9, "source": "log"})"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->cells[0].memory.value().peak_bytes, 7);
}

TEST(ResultIo, HostileTextStaysTextAndBrokenUtf8IsReplaced) {
  Cell cell = samples::cell(samples::identity(1, 1), {5});
  cell.identity.model = "<img src=x onerror=alert(1)>\x1b[2J=cmd|' /C calc'!A0";
  cell.trials[0].log = std::string("a\xff\xfe\0b", 5);
  const auto again = result_set_from_text(to_text(samples::result_set({cell})));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->cells[0].identity.model, cell.identity.model);
  EXPECT_EQ(again->cells[0].trials[0].log, std::string("a\xEF\xBF\xBD\xEF\xBF\xBD\0b", 9));
}

TEST(ResultIo, ErrorsNameTheFileAndTheJsonPath) {
  EXPECT_EQ(message_of(kMinimal), "no error");
  EXPECT_EQ(message_of(with(R"("sequences_per_second": 5)", R"("sequences_per_second": "5")")),
            "r.json: $.cells[0].trials[0].sequences_per_second: must be a number; see "
            "configs/schema/result.schema.json");
  EXPECT_THAT(message_of(with(R"("sequences_per_second": 5)", R"("sequences_per_second": 0)")),
              HasSubstr("must be a rate above 0"));
  EXPECT_THAT(message_of(with(R"("covered": true)", R"("covered": 1)")),
              HasSubstr("$.cells[0].trials[0].window.covered: must be true or false"));
  EXPECT_THAT(message_of(with(R"("covered": true)", "")),
              HasSubstr("$.cells[0].trials[0].window: the key \"covered\" is missing"));
  EXPECT_THAT(message_of(with(R"("trial": 1)", R"("trial": 0)")),
              HasSubstr("must be a whole number of at least 1"));
  EXPECT_THAT(message_of(with(R"("trial": 1)", R"("trial": 1.5)")), HasSubstr("a whole number"));
  EXPECT_THAT(message_of(with(R"("trial": 1)", R"("trial": 1e300)")), HasSubstr("a whole number"));
  EXPECT_THAT(message_of(with(R"("trial": 1)", R"("outcome": {"status": "fine"})")),
              HasSubstr("$.cells[0].trials[0].outcome.status: must be completed, nan"));
  EXPECT_THAT(message_of(with(R"("key": "k")", R"("kind": "x", "key": "k")")),
              HasSubstr("must be training, evaluation or inference"));
  EXPECT_THAT(message_of(with(R"("key": "k")", R"("identity": {"a": []}, "key": "k")")),
              HasSubstr("$.cells[0].identity.a"));
  EXPECT_THAT(message_of(with(R"("key": "k")", R"("warnings": [1], "key": "k")")),
              HasSubstr("$.cells[0].warnings[0]: must be a string"));
}

TEST(ResultIo, AnotherSchemaOrNoJsonIsRefusedWithWhatWasExpected) {
  EXPECT_THAT(message_of(with("result/1", "result/2")),
              HasSubstr("$.schema: must be bertbench.result/1"));
  EXPECT_THAT(message_of("{}"), HasSubstr("the key \"schema\" is missing"));
  EXPECT_THAT(message_of("[]"), HasSubstr("$: must be an object"));
  EXPECT_THAT(message_of("Step: 1, loss"), HasSubstr("r.json: is not JSON: byte 0: Invalid value"));
  EXPECT_THAT(message_of("{\"a\": " + std::string(200000, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(message_of(std::string(kMinimal).substr(0, 60)), HasSubstr("is not JSON"));
}

TEST(ResultFile, ARunFolderStandsForItsResultsFile) {
  const test::ScratchFolder folder;
  EXPECT_THAT(read_result_set(folder.path()).error().message(), HasSubstr("holds no results.json"));
  const std::string file = folder.put("results.json", kMinimal);
  EXPECT_TRUE(read_result_set(folder.path()));
  EXPECT_TRUE(read_result_set(file));
}

TEST(ResultFile, AMissingOrEmptyFileIsAnErrorOfOneLine) {
  const test::ScratchFolder folder;
  const auto missing = read_result_set(folder.path("none.json"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("cannot be read: No such file or directory"));
  EXPECT_THAT(read_result_set(folder.put("empty.json", "")).error().message(),
              HasSubstr("is empty"));
}

TEST(ResultFile, AThousandCellsOfSevenTrialsSurviveTheRoundTrip) {
  std::vector<Cell> cells;
  for (int i = 1; i <= 1000; ++i) {
    cells.push_back(samples::cell(samples::identity(1, i), {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5}));
  }
  const ResultSet results = samples::result_set(cells);
  const test::ScratchFolder folder;
  const auto again = read_result_set(folder.put("large.json", to_text(results)));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_text(*again), to_text(results));
}

}  // namespace
}  // namespace bertbench
