// `extract` on the logs of one run that was ended and went on.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using RestartsTest = CliTest;

/// Megatron's lines: 8 sequences a step of 500 ms.
std::string steps(int first, int last) {
  std::string text;
  for (int step = first; step <= last; step += 10) {
    text += fmt::format(
        " iteration {:8}/     200 | consumed samples: {:12} | elapsed time per iteration (ms): "
        "500.0 | learning rate: 1.0E-04 | global batch size:     8 | lm loss: 7.0E+00 |\n",
        step, step * 8);
  }
  return text;
}

TEST_F(RestartsTest, ALogThatGoesOnWhereAnotherEndedIsTheSameTrial) {
  const std::string a = put("logs/run-1.log", steps(10, 100));
  put("logs/run-2.log", steps(90, 200));
  const Ran ran = run_to(0, {"extract", path("logs"), "--json", "--window", "all"});
  const json set = json::parse(ran.out);
  ASSERT_EQ(set["cells"].size(), 1u);
  ASSERT_EQ(set["cells"][0]["trials"].size(), 1u);
  const json& trial = set["cells"][0]["trials"][0];
  EXPECT_EQ(trial["log"], a);
  EXPECT_NEAR(trial["sequences_per_second"].get<double>(), 16.0, 1e-9);
  EXPECT_THAT(trial["notices"].dump(), HasSubstr("joined with its restarts"));
  EXPECT_THAT(trial["notices"].dump(), HasSubstr("20 steps were lost and done again"));
  EXPECT_EQ(trial["outcome"]["status"], "completed");
}

TEST_F(RestartsTest, NoJoinKeepsEveryLogATrial) {
  put("logs/run-1.log", steps(10, 100));
  put("logs/run-2.log", steps(90, 200));
  const Ran ran = run_to(0, {"extract", path("logs"), "--json", "--no-join"});
  std::size_t trials = 0;
  const json set = json::parse(ran.out);
  for (const json& cell : set["cells"]) trials += cell["trials"].size();
  EXPECT_EQ(trials, 2u);
  EXPECT_THAT(ran.out, Not(HasSubstr("joined with")));
}

TEST_F(RestartsTest, TwoThatFitAreLeftApartAndSaidSo) {
  put("logs/a.log", steps(10, 100));
  put("logs/b.log", steps(10, 100));
  put("logs/c.log", steps(90, 200));
  const Ran ran = run({"extract", path("logs")});
  EXPECT_THAT(ran.err, HasSubstr("more than one log fits"));
}

TEST_F(RestartsTest, OneFileThatARestartWasAppendedToIsOneTrial) {
  const std::string log = put("run.log", steps(10, 100) + steps(90, 200));
  const Ran ran = run_to(0, {"extract", log, "--json"});
  const json set = json::parse(ran.out);
  ASSERT_EQ(set["cells"].size(), 1u);
  EXPECT_EQ(set["cells"][0]["trials"].size(), 1u);
}

TEST_F(RestartsTest, IterationsOfAllPartsHaveTheTrialsNumber) {
  const std::string a = put("logs/run-1.log", steps(10, 100));
  const std::string b = put("logs/run-2.log", steps(90, 200));
  ASSERT_EQ(run({"extract", a, b, "--iterations", path("rows.csv")}).status, 0);
  std::ifstream in(path("rows.csv"));
  std::string line;
  std::getline(in, line);
  std::size_t rows = 0;
  while (std::getline(in, line)) {
    const std::string log = rows < 10 ? a : b;
    EXPECT_EQ(line.substr(0, log.size() + 3), log + ",1,") << rows;
    ++rows;
  }
  EXPECT_EQ(rows, 22u);
}

TEST_F(RestartsTest, GoodputOfStepsWithoutTimesIsNoAnswer) {
  const auto log = put("run.log", "{\"step\": 10, \"loss\": 2.5}\n{\"step\": 20, \"loss\": 2.4}\n");
  for (const std::string file : {"out.json", "out.html", "out.svg"}) {
    const Ran ran = run_to(5, {"goodput", log, "-o", path(file)});
    EXPECT_THAT(ran.err, HasSubstr("the logs have no times"));
    EXPECT_FALSE(std::filesystem::exists(path(file)));
  }
}

}  // namespace
}  // namespace bertbench::test
