// Wrong command lines: one line that names the place and the remedy, status 2, nothing on stdout.
#include "harness/cli/command.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

struct Wrong {
  std::vector<std::string> args;
  std::string error;
};

void PrintTo(const Wrong& wrong, std::ostream* os) {
  for (const std::string& arg : wrong.args) *os << arg << ' ';
}

std::string command_names() {
  std::string names;
  for (const Command* command : all_commands()) {
    names += (names.empty() ? "" : ", ") + std::string(command->name);
  }
  return names;
}

class UsageTest : public testing::TestWithParam<Wrong> {};

TEST_P(UsageTest, SaysWhatIsWrongAndWhatToDo) {
  const Ran ran = run_to(2, GetParam().args);
  expect_one_error_line(ran);
  EXPECT_EQ(ran.err, GetParam().error + "\n");
}

const Wrong kWrong[] = {
    {{"extarct"}, "bertbench: extarct: unknown command; did you mean 'extract'?"},
    {{"frobnicate"}, "bertbench: frobnicate: unknown command; commands are " + command_names()},
    {{"--versoin"}, "bertbench: --versoin: unknown option; see `bertbench --help`"},
    {{"extract"},
     "bertbench: extract: PATH is required (logs, folders that are searched for logs, or - for "
     "stdin; .gz and .zst too); see `bertbench extract --help`"},
    {{"list"},
     "bertbench: list: KIND is required (formats, reports, launchers, models, hardware, published "
     "or notices; several with commas); see `bertbench list --help`"},
    {{"describe"},
     "bertbench: describe: LOG is required (a log, also .gz or .zst; - for stdin); see `bertbench "
     "describe --help`"},
    {{"extract", "--windw", "1:2", "x"},
     "bertbench: extract: unknown option --windw; did you mean --window?"},
    {{"extract", "x", "--frob=1"},
     "bertbench: extract: unknown option --frob; see `bertbench extract --help`"},
    {{"doctor", "--jsn"}, "bertbench: doctor: unknown option --jsn; did you mean --json?"},
    {{"store", "lst", "--db", "x.db"},
     "bertbench: store: 'lst' is no action; did you mean 'list'?"},
    {{"extract", "--window", "5:3", "x"},
     "bertbench: --window: '5:3' is no window; use A:B (drop A records, use up to the B-th; B > A "
     ">= 0), steps:A:B, last:N, auto or all"},
    {{"extract", "--nodes", "0", "x"},
     "bertbench: --nodes: '0' is not a whole number of at least 1; for example --nodes 8"},
    {{"extract", "--nodes", "2x", "x"},
     "bertbench: --nodes: '2x' is not a whole number of at least 1; for example --nodes 8"},
    {{"extract", "--threads", "-1", "x"},
     "bertbench: --threads: '-1' is not a whole number of at least 1; for example --threads 8"},
    {{"extract", "--estimator", "step_tme", "x"},
     "bertbench: --estimator: 'step_tme' is not an estimator; did you mean 'step_time'?"},
    {{"extract", "--precision", "fp23", "x"},
     "bertbench: --precision: 'fp23' is no precision; use one of fp32, tf32, bf16, fp16, fp8, "
     "fp64, fp4, int8"},
    {{"extract", "--compat", "foo", "x"}, "bertbench: --compat: 'foo' is not known; use dlperf"},
    {{"extract", "--json", "--iterations", "-", "x"},
     "bertbench: --iterations: two machine forms cannot share stdout; give one of them a file "
     "name"},
    {{"sweep", "--out", "run"},
     "bertbench: sweep: needs a CONFIG, or a program after --; as in `bertbench sweep --out run -- "
     "python3 train.py`"},
    {{"sweep", "--out", "run", "--"},
     "bertbench: sweep: no program follows --; write the program and its arguments after "
     "it"},
    {{"sweep", "--out", "run", "python3", "train.py"},
     "bertbench: sweep: 'train.py' is one argument too many; the words of a program follow --; see "
     "`bertbench sweep --help`"},
    {{"sweep", "--out", "run", "--grid", "topology=0n1g", "--", "--help", "--out", "no"},
     "bertbench: --grid topology: '0n1g' is an impossible topology; write NnGg: N nodes of G GPUs, "
     "both at least 1, as 1n8g or 4n8g"},
    {{"sweep", "x.json"},
     "bertbench: sweep: --out DIR is required; name the run folder, or use --dry-run "
     "or --plan"},
    {{"sweep", "x.json", "--dry-run", "--plan"},
     "bertbench: sweep: --dry-run and --plan print different things; give one of the two"},
    {{"sweep", "x.json", "--dry-run", "--history", "y.json"},
     "bertbench: --history: is for the forecast of --plan; give --plan, or leave it out"},
    {{"sweep", "x.json", "--out", "run", "--noise", "1%"},
     "bertbench: --noise: is for the forecast of --plan; give --plan, or leave it out"},
    {{"list", "modles"}, "bertbench: list: there is no list of 'modles'; did you mean 'models'?"},
    {{"list", "models", "more"},
     "bertbench: list: 'more' is one argument too many; see `bertbench list --help`"},
    {{"check", "a"},
     "bertbench: check: there is nothing to hold the result against; give --baseline FILE-OR-DB, "
     "or --paired VARIANT for a run with variants"},
    {{"check", "a", "--baseline", "b", "--confirm-out", "c"},
     "bertbench: --confirm-out: is for what --confirm measures; give --confirm CONFIG"},
    {{"check", "a", "--baseline", "b", "--floor", "150%"},
     "bertbench: --floor: '150%' is not a share from 0 up to 100 %; for example --floor 2% or "
     "--floor 0.02"},
    {{"flops", "--model", "bert-base", "--sequence-length"},
     "bertbench: flops: --sequence-length takes one value (tokens per sequence); see `bertbench "
     "flops --help`"},
    {{"flops", "--model", "bert-base", "--sequence-length", "8", "--masked", "9"},
     "bertbench: --masked: 9 positions of 8 tokens cannot be; give at most --sequence-length"},
};

INSTANTIATE_TEST_SUITE_P(All, UsageTest, testing::ValuesIn(kWrong));

TEST(UsageErrorTest, UnknownFormatNamesTheNearestAndTheList) {
  const Ran ran = run_to(2, {"extract", "--format", "tqmd", "x"});
  expect_one_error_line(ran);
  EXPECT_NE(ran.err.find("tqmd"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("tqdm"), std::string::npos) << ran.err;
}

TEST(UsageErrorTest, UnknownReportNamesTheNearest) {
  const Ran ran = run_to(2, {"report", "--to", "markdwn", "x"});
  expect_one_error_line(ran);
  EXPECT_NE(ran.err.find("markdown"), std::string::npos) << ran.err;
}

TEST(UsageErrorTest, UnknownModelNamesTheNearest) {
  const Ran ran = run_to(2, {"flops", "--model", "bert-larg", "--sequence-length", "128"});
  expect_one_error_line(ran);
  EXPECT_NE(ran.err.find("bert-large"), std::string::npos) << ran.err;
}

TEST(UsageErrorTest, WhatIsAskedForOnlyLaterIsCheckedAtOnce) {
  EXPECT_NE(run_to(2, {"check", "a", "--baseline", "b", "--confirm", "/nonexistent.json"})
                .err.find("/nonexistent.json"),
            std::string::npos);
  EXPECT_NE(run_to(2, {"sweep", "x.json", "--dry-run", "-o", "x.nope"})
                .err.find(".nope is the ending of no report"),
            std::string::npos);
}

TEST(UsageErrorTest, AutoOfTheCommandLineTakesTheLimitsThatAreSet) {
  const std::string config = std::string(BB_SOURCE_DIR) + "/configs/quickstart.json";
  const Ran ran = run_to(
      0, {"sweep", config, "--dry-run", "--only", "micro_batch_size=8", "--only", "topology=1n1g",
          "--only", "model=bert-tiny", "--trials", "auto", "--set", "trials_max=7"});
  EXPECT_NE(ran.out.find("trial=7 "), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("trial=8 "), std::string::npos) << ran.out;
}

TEST(UsageErrorTest, ARepeatableOptionDoesNotSwallowTheArgumentBehindIt) {
  const Ran ran =
      run_to(2, {"sweep", "--set", "a=1", "--set", "b=2", "/nonexistent.json", "--dry-run"});
  expect_one_error_line(ran);
  EXPECT_NE(ran.err.find("/nonexistent.json"), std::string::npos) << ran.err;
}

TEST(UsageErrorTest, HostileArgumentsAreEscaped) {
  const Ran ran = run_to(2, {"\x1b[2Jboo\n"});
  expect_one_error_line(ran);
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

TEST(SweepNeeds, AllAreNamedAtOnceAndNothingStarts) {
  const ScratchFolder folder;
  const auto config =
      folder.put("c.json", R"({"workload": "gluonnlp-bert", "grid": {"topology": "1n1g",
    "model": "bert-base", "micro_batch_size": 32, "sequence_length": 128}})");
  const auto out = folder.path("run");
  const Ran bare = run_to(2, {"sweep", config, "--out", out});
  EXPECT_EQ(bare.out, "");
  EXPECT_NE(bare.err.find("template gluonnlp-bert needs --data: training data"), std::string::npos)
      << bare.err;
  EXPECT_NE(bare.err.find("template gluonnlp-bert needs --data_eval: evaluation data"),
            std::string::npos);
  EXPECT_NE(bare.err.find("nothing was started"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out));
  const Ran dry = run_to(0, {"sweep", config, "--dry-run"});
  EXPECT_NE(dry.out.find("--data_eval '<data_eval>'"), std::string::npos) << dry.out;
  EXPECT_NE(dry.err.find("needs --data_eval"), std::string::npos);
}

}  // namespace
}  // namespace bertbench::test
