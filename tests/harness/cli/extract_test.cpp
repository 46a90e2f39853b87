// `extract` on logs as their programs print them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using ExtractTest = CliTest;

/// TensorFlow's hooks: 2 it/s printed every 10 steps, so 2 x batch sequences/s.
std::string tf_log(int lines) {
  std::string text = "INFO:tensorflow:Running train on CPU\n";
  for (int i = 1; i <= lines; ++i) {
    text += fmt::format("INFO:tensorflow:loss = 7.5, step = {} (5.000 sec)\n", i * 10);
    text += "INFO:tensorflow:global_step/sec: 2\nINFO:tensorflow:examples/sec: 64\n";
  }
  return text;
}

json result_of(const std::vector<std::string>& args) {
  const Ran ran = run_to(0, args);
  return json::parse(ran.out);
}

TEST_F(ExtractTest, PrintsTheThroughputAndEveryEstimator) {
  const Ran ran = run_to(0, {"extract", put("run.log", tf_log(30)), "--window", "all"});
  EXPECT_THAT(ran.out, HasSubstr("64.00 sequences/s by step_time"));
  EXPECT_THAT(ran.out, HasSubstr("estimator"));
  EXPECT_THAT(ran.out, HasSubstr("used"));
  EXPECT_THAT(ran.out, HasSubstr("30 of 30 records"));
}

TEST_F(ExtractTest, TheMachineFormIsOneResultSetOnStdout) {
  const std::string log = put("run.log", tf_log(30));
  for (const std::vector<std::string>& form :
       {std::vector<std::string>{"--json"}, std::vector<std::string>{"-o", "-"}}) {
    std::vector<std::string> args{"extract", log};
    args.insert(args.end(), form.begin(), form.end());
    const json set = result_of(args);
    EXPECT_EQ(set["schema"], "bertbench.result/1");
    EXPECT_EQ(set["cells"][0]["trials"][0]["sequences_per_second"], 64.0);
  }
}

// The first steps take ten times as long: gluon-nlp's line before them is when they began.
TEST_F(ExtractTest, ArrivalHoldsTheFirstStepsOfGluonnlp) {
  std::string log, arrivals = "from_byte,to_byte,look_s,age_s,gap_s,quiet_s\n";
  double now = 0;
  const auto came = [&](double after_s, const std::string& line) {
    const std::size_t from = log.size();
    log += "INFO:root:" + line + "\n";
    now += after_s;
    arrivals +=
        fmt::format("{},{},{:.6f},0.000000,0.200000,{:.6f}\n", from, log.size(), now, after_s);
  };
  came(0.25, "Training started");
  for (int step = 10; step <= 400; step += 10) {
    const double seconds = step == 10 ? 5 : 0.5;
    came(seconds,
         fmt::format("[step {}]\tmlm_loss=7.6\tmlm_acc=0.1\tnsp_loss= 0.7\tnsp_acc=50.0\t"
                     "throughput=1.0K tks/s\tlr=0.0001 time={:.2f}, latency={:.1f} ms/step",
                     step, seconds, 100 * seconds));
  }
  put("train.log.arrivals.csv", arrivals);
  const json set = result_of({"extract", put("train.log", log), "--json", "--window", "all"});
  const json estimators = set["cells"][0]["trials"][0]["estimators"];
  EXPECT_NEAR(estimators["arrival"].get<double>() / estimators["step_time"].get<double>(), 1,
              0.001);
}

TEST_F(ExtractTest, AFileGetsTheMachineFormAndStdoutKeepsTheTable) {
  const std::string log = put("run.log", tf_log(30));
  const Ran ran = run_to(0, {"extract", log, "-o", path("r.csv")});
  EXPECT_THAT(ran.out, HasSubstr("64.00 sequences/s"));
  EXPECT_THAT(read_file(path("r.csv")), testing::StartsWith("key,kind,"));
  const Ran both = run({"extract", log, "-o", path("r.json"), "--json"});
  EXPECT_EQ(both.out, read_file(path("r.json")));
  EXPECT_THAT(both.err, Not(HasSubstr("ending")));
  const Ran other = run_to(2, {"extract", log, "-o", path("r.xlsx")});
  EXPECT_THAT(other.err, HasSubstr(".xlsx is the ending of no report; use one of .json .csv"));
  EXPECT_EQ(other.out, "");
}

TEST_F(ExtractTest, TrialsOfOneDlperfFolderAreOneCell) {
  for (int i = 1; i <= 3; ++i) {
    put(fmt::format("bz32/1n8g/bert_b32_fp32_{}.log", i), tf_log(30));
  }
  put("bz32/2n8g/bert_b32_fp32_1.log", tf_log(30));
  const json set = result_of({"extract", folder.string(), "--json"});
  ASSERT_EQ(set["cells"].size(), 2U);
  EXPECT_EQ(set["cells"][0]["trials"].size(), 3U);
  EXPECT_EQ(set["cells"][0]["gpus_per_node"], 8);
  EXPECT_EQ(set["cells"][1]["nodes"], 2);
  const Ran table = run({"extract", folder.string(), "--summary"});
  EXPECT_THAT(table.out, HasSubstr("1n8g"));
  EXPECT_THAT(table.out, Not(HasSubstr("bert_b32_fp32_1.log")));
}

TEST_F(ExtractTest, TheNumberOfThreadsDoesNotChangeTheAnswer) {
  for (int i = 1; i <= 9; ++i) put(fmt::format("logs/run_{}.log", i), tf_log(20 + i));
  const auto without_time = [&](const std::string& threads) {
    json set = result_of({"extract", path("logs"), "--json", "--threads", threads});
    set.erase("created");
    return set;
  };
  EXPECT_EQ(without_time("1"), without_time("5"));
  EXPECT_EQ(without_time("1")["cells"].size(), 9U);
}

TEST_F(ExtractTest, FactsOfTheCommandLineTurnIterationsIntoSequences) {
  std::string log = "INFO:tensorflow:Running train on CPU\n";
  for (int i = 1; i <= 30; ++i) log += "INFO:tensorflow:global_step/sec: 2\n";
  const std::string file = put("run.log", log);
  const json unknown = result_of({"extract", file, "--json", "--window", "all"});
  EXPECT_EQ(unknown["cells"][0]["trials"][0]["iterations_per_second"], 2.0);
  EXPECT_FALSE(unknown["cells"][0]["trials"][0].contains("sequences_per_second"));
  const json known =
      result_of({"extract", file, "--json", "--window", "all", "--nodes", "2", "--gpus-per-node",
                 "8", "--micro-batch-size", "4", "--gradient-accumulation-steps", "1", "--model",
                 "bert-base", "--precision", "fp16", "--sequence-length", "128"});
  EXPECT_EQ(known["cells"][0]["trials"][0]["sequences_per_second"], 2.0 * 4 * 16);
  EXPECT_EQ(known["cells"][0]["key"], "bert-base.fp16.s128.b4.a1.2n8g");
  EXPECT_THAT(run({"extract", file, "--window", "all"}).out, HasSubstr("2.000 iterations/s"));
}

TEST_F(ExtractTest, AMisspeltModelIsToldAndTaken) {
  const std::string log = put("run.log", tf_log(30));
  const Ran slip = run_to(0, {"extract", log, "--model", "bert-lage"});
  EXPECT_THAT(slip.err, HasSubstr("'bert-lage' is no known model, did you mean 'bert-large'?"));
  EXPECT_THAT(slip.out, HasSubstr("bert-lage"));
  EXPECT_THAT(run({"extract", log, "--model", "BERT-Large-uncased"}).err, Not(HasSubstr("model")));
  EXPECT_THAT(run({"extract", log, "--model", "t5"}).err, Not(HasSubstr("--model")));
}

TEST_F(ExtractTest, AnUncoveredWindowGivesNoNumberAndIsNoError) {
  const Ran ran = run_to(0, {"extract", put("run.log", tf_log(30)), "--window", "100:200"});
  EXPECT_THAT(ran.out, HasSubstr("not covered"));
  EXPECT_THAT(ran.out, HasSubstr("throughput  -"));
}

TEST_F(ExtractTest, UnusableLogsAreNamedAndCountUnderStrict) {
  const std::string good = put("good.log", tf_log(30));
  const std::string empty = put("empty.log", "");
  const std::string foreign = put("foreign.log", "The quick brown fox\n");
  const Ran lenient = run_to(0, {"extract", good, empty, foreign, path("missing.log")});
  EXPECT_THAT(lenient.out, HasSubstr("64.00 sequences/s"));
  for (const char* name : {"empty.log", "foreign.log", "missing.log"}) {
    EXPECT_THAT(lenient.err, HasSubstr(path(name) + ": ")) << name;
  }
  EXPECT_EQ(run({"extract", good, empty, "--strict"}).status, 1);
  EXPECT_EQ(run({"extract", good, "--strict"}).status, 0);
}

TEST_F(ExtractTest, NothingUsableIsStatusFiveWithOneLineEach) {
  for (const std::string& file :
       {put("empty.log", ""), put("foreign.log", "The quick brown fox\n"), path("missing.log")}) {
    const Ran ran = run_to(5, {"extract", file});
    expect_one_error_line(ran);
    EXPECT_THAT(ran.err, HasSubstr(file));
    EXPECT_THAT(ran.err, HasSubstr(": "));
  }
  std::filesystem::create_directories(folder / "none");
  const Ran ran = run_to(5, {"extract", path("none")});
  expect_one_error_line(ran);
}

TEST_F(ExtractTest, DescribeNamesWhyALogHasNoLines) {
  EXPECT_THAT(run_to(5, {"describe", put("empty.log", "")}).err, HasSubstr("is empty"));
  std::string lines;
  for (int i = 1; i < 30; ++i) lines += fmt::format("step {} loss 7.5 took 0.2 s\n", i);
  const Ran named = run_to(2, {"describe", "--name", "X", put("own.log", lines)});
  EXPECT_THAT(named.err, testing::StartsWith("bertbench: --name X: name: must be"));
}

TEST_F(ExtractTest, IterationsAreCsvWithTheNumberOfTheTrial) {
  put("bz32/1n1g/bert_b32_fp32_1.log", tf_log(3));
  put("bz32/1n1g/bert_b32_fp32_2.log", tf_log(2));
  const Ran ran = run_to(0, {"extract", folder.string(), "--iterations", "-"});
  const auto lines = split(ran.out, '\n');
  ASSERT_EQ(lines.size(), 1U + 3U + 2U + 1U) << ran.out;
  EXPECT_EQ(lines[0], "log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread");
  const std::string second = path("bz32/1n1g/bert_b32_fp32_2.log");
  EXPECT_THAT(std::string(lines[4]), testing::StartsWith(second + ",2,10,"));
  run({"extract", folder.string(), "--iterations", path("it.csv")});
  EXPECT_EQ(read_file(path("it.csv")), ran.out);
}

TEST_F(ExtractTest, HostileTextOfALogIsShownEscaped) {
  const std::string log =
      tf_log(30) + "Traceback (most recent call last):\n" +
      "RuntimeError: \x1b]0;owned\x07\x1b[2J \xe2\x80\xae CUDA out of memory. Tried to allocate\n";
  const std::string file = put("evil\x1b[31m.log", log);
  const Ran ran = run_to(0, {"extract", file, put("ev\nil.log", "nothing\n")});
  for (const std::string& text : {ran.out, ran.err}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << text;
  }
  EXPECT_THAT(ran.out, HasSubstr("out_of_memory"));
  EXPECT_THAT(ran.err, HasSubstr("ev\\x0ail.log"));
}

TEST_F(ExtractTest, AFullDiskIsOneLineAndStatusTwo) {
  const std::string log = put("run.log", tf_log(30));
  for (const char* option : {"-o", "--iterations"}) {
    const Ran ran = run_to(2, {"extract", log, option, "/dev/full"});
    EXPECT_THAT(ran.err, HasSubstr("/dev/full: ")) << option;
    EXPECT_THAT(ran.err, HasSubstr("No space left on device")) << option;
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace bertbench::test
