// `extract --compat dlperf` on a folder as DLPerf's run scripts leave it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using DlperfTreeTest = CliTest;

// gluon-nlp as DLPerf patches it: every step has a latency, every rank prints. The warm-up steps
// are slow; the measured ones alternate around a mean, so that a mean of rates is no work over
// time.
std::string mxnet_log(int ranks, double milliseconds) {
  std::string text;
  for (int step = 0; step < 200; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const double latency =
          step < 100 ? 1000.0 : milliseconds + (step % 2 == 0 ? 20 : -20) + 0.1 * rank;
      text += fmt::format(
          "INFO:root:[step {}]\tmlm_loss=9.1\tmlm_acc=1.0\tnsp_loss=0.6\tnsp_acc=50.0\tthroughput="
          "5.2K tks/s\tlr=0.0001 time={:.2f}, latency={:.1f} ms/batch\n",
          step, latency / 1000, latency);
    }
  }
  return text;
}

TEST_F(DlperfTreeTest, IsOneResultSetWithTheNumbersOfTheScript) {
  for (int trial = 1; trial <= 3; ++trial) {
    put(fmt::format("bz32/1n1g/bert_b32_fp32_{}.log", trial), mxnet_log(1, 210 + trial));
    put(fmt::format("bz32/1n2g/bert_b32_fp32_{}.log", trial), mxnet_log(2, 220 + trial));
  }
  const Ran ran = run_to(0, {"extract", path("bz32"), "--compat", "dlperf", "--json"});
  const json set = json::parse(ran.out);
  ASSERT_EQ(set["cells"].size(), 2u);
  const auto rates = [&](std::size_t cell) {
    std::vector<double> out;
    for (const json& trial : set["cells"][cell]["trials"]) {
      out.push_back(trial["sequences_per_second"].get<double>());
    }
    return out;
  };
  // mean of 32000/191 and 32000/231, of 192 and 232, of 193 and 233
  EXPECT_EQ(rates(0), (std::vector<double>{153.03, 152.3, 151.57}));
  EXPECT_EQ(set["cells"][0]["throughput"]["median"], 152.3);
  EXPECT_EQ(set["cells"][0]["throughput"]["mean"], 152.3);
  // two ranks, 0.1 ms apart, each with 64 sequences a step: the median of their rates
  EXPECT_EQ(rates(1), (std::vector<double>{291.92, 290.58, 289.26}));
  EXPECT_EQ(set["cells"][1]["speedup"]["value"], 1.91);
  EXPECT_EQ(set["cells"][1]["trials"][0]["window"]["rule"], "100:200");
  EXPECT_THAT(ran.err, HasSubstr("above work over time, 151.66"));
}

TEST_F(DlperfTreeTest, ALogThatEndsEarlyHasNoNumberAndSaysWhy) {
  put("bz32/1n1g/bert_b32_fp32_1.log", mxnet_log(1, 211));
  std::string cut = mxnet_log(1, 211);
  cut.resize(cut.size() / 2);
  put("bz32/1n1g/bert_b32_fp32_2.log", cut);
  const Ran ran = run_to(0, {"extract", path("bz32"), "--compat", "dlperf", "--json"});
  const json set = json::parse(ran.out);
  EXPECT_EQ(set["cells"][0]["throughput"]["n"], 1);
  EXPECT_THAT(ran.err, HasSubstr("needs exactly 200 lines"));
}

TEST_F(DlperfTreeTest, OtherLogsKeepTheirNumberWithANotice) {
  const Ran ran = run_to(0, {"extract", put("run.log", mxnet_log(1, 211)), "--compat", "dlperf"});
  EXPECT_THAT(ran.err, HasSubstr("from the place of a log"));
}

}  // namespace
}  // namespace bertbench::test
