// `extract` on jobs whose ranks wrote a log each.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "harness/cli/inputs.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

using RankLogsTest = CliTest;

constexpr int kSteps = 30;

/// What Megatron-LM's first rank prints before the first step.
const std::string kHead =
    "using world size: 4, data-parallel size: 4, tensor-model-parallel size: 1, "
    "pipeline-model-parallel size: 1\n"
    "  micro_batch_size ................................ 2\n"
    "  seq_length ...................................... 128\n";
const std::string kEnd = "[after training is done] datetime: 2026-02-03 15:01:00 \n";

/// Its iteration lines, a step each.
std::string steps(double ms, int planned = kSteps) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step) {
    text += fmt::format(
        " iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} "
        "| learning rate: 1.0E-04 | global batch size:     8 | lm loss: 7.0E+00 |\n",
        step, planned, step * 8, ms);
  }
  return text;
}

std::string own_times(int rank, double seconds) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step) {
    text += fmt::format("rank_time rank={} node=n{} steps={}:{} own_s={:.6f}\n", rank, rank / 2,
                        step, step, seconds);
  }
  return text;
}

json trials_of(const std::vector<std::string>& args) {
  std::vector<std::string> all{"extract", "--json", "--window", "all"};
  all.insert(all.end(), args.begin(), args.end());
  const Ran ran = run_to(0, all);
  json trials = json::array();
  const json set = json::parse(ran.out);
  for (const json& cell : set["cells"]) {
    for (json trial : cell["trials"]) {
      trial["world_size"] = cell.value("world_size", 0);
      trials.push_back(trial);
    }
  }
  return trials;
}

std::vector<std::string> codes(const json& trial) {
  std::vector<std::string> out;
  for (const json& notice : trial["notices"]) out.push_back(notice["code"]);
  return out;
}

TEST(RankFiles, AreKnownByTheWordsOfTheirPaths) {
  const auto job = [](const std::string& path) {
    const auto file = rank_file(path);
    return file ? fmt::format("{} {}", file->job, file->rank) : "none";
  };
  EXPECT_EQ(job("out/1/rank.03/stdout"), "out/1/rank.*/std 3");
  EXPECT_EQ(job("out/1/rank.03/stderr"), "out/1/rank.*/std 3");
  EXPECT_EQ(job("x/none_a1/attempt_0/7/stdout.log"), "x/none_a1/attempt_0/*/std.log 7");
  EXPECT_EQ(job("trial_2/rank_12.log"), "trial_2/rank_*.log 12");
  EXPECT_EQ(job("bert_b32_rank0_of_8.err"), "bert_b32_rank*_of_8.out 0");
  EXPECT_EQ(job("log/workerlog.2"), "log/workerlog.* 2");
  EXPECT_EQ(job("a/phase1_log.10"), "a/phase1_log.* 10");
  EXPECT_EQ(job("a/phase1_log.10.gz"), "a/phase1_log.*.gz 10");
  EXPECT_EQ(job("exp/local_rank-1/debug.log"), "exp/local_rank-*/debug.log 1");
  for (const char* path : {"crank3.log", "bert_b32_fp32_3.log", "4n8g/run.log", "ranking3x.log",
                           "attempts/3/stdout.log", "rank.log", "rank12345678.log", "3",
                           "phase1_log.", "phase1_log.3.bak", "phase1log.3"}) {
    EXPECT_EQ(job(path), "none") << path;
  }
}

// Rank 0 prints the settings and the end, the last rank the steps, as Megatron-LM does.
TEST_F(RankLogsTest, TorchrunsFolderIsOneTrialWithTheFactsOfAllAndNamesTheSlowRank) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string place = fmt::format("logs/none_k2/attempt_0/{}/", rank);
    const std::string own = own_times(rank, rank == 2 ? 0.3 : 0.2);
    put(place + "stdout.log",
        (rank == 0 ? kHead : "") + (rank == 3 ? steps(400) : "") + own + (rank == 0 ? kEnd : ""));
    put(place + "stderr.log", rank == 1 ? "" : "UserWarning: deprecated\n");
  }
  const json trials = trials_of({path("logs")});
  ASSERT_EQ(trials.size(), 1U);
  const json& trial = trials[0];
  EXPECT_EQ(trial["log"], path("logs/none_k2/attempt_0/3/stdout.log"));
  EXPECT_NEAR(trial["sequences_per_second"].get<double>(), 20.0, 1e-9);
  EXPECT_EQ(trial["world_size"], 4);
  EXPECT_EQ(trial["outcome"]["status"], "completed");
  EXPECT_EQ(trial["ranks"]["ranks"], 4);
  EXPECT_EQ(trial["ranks"]["slowest"]["rank"], 2);
  EXPECT_EQ(trial["ranks"]["stragglers"][0]["node"], "n1");
  EXPECT_THAT(codes(trial), Contains("joined_ranks"));
  EXPECT_THAT(codes(trial), Contains("straggler"));
  EXPECT_THAT(codes(trial), Not(Contains("ranks_share_step_time")));
}

TEST_F(RankLogsTest, StepTimesBecomeTheMedianOfTheRanksWhichCannotBeDistinguished) {
  for (int rank = 0; rank < 3; ++rank) {
    put(fmt::format("out/1/rank.{}/stdout", rank), kHead + steps(400 + 10 * rank) + kEnd);
  }
  const json trials = trials_of({path("out")});
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_NEAR(trials[0]["step_time"]["p50"].get<double>(), 0.41, 1e-6);
  EXPECT_THAT(codes(trials[0]), Contains("joined_ranks"));
  EXPECT_THAT(codes(trials[0]), Contains("ranks_share_step_time"));
  EXPECT_EQ(trials_of({path("out"), "--no-join"}).size(), 3U);
}

// srun --output=%t.out: a number alone is a rank where the lines of each file state it.
TEST_F(RankLogsTest, NumberedFilesAreOfOneJobWhereTheirLinesStateIt) {
  std::vector<std::string> named;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string text = (rank == 0 ? kHead + steps(400) : "") + own_times(rank, 0.2);
    named.push_back(put(fmt::format("job/{}.out", rank), text));
  }
  EXPECT_EQ(trials_of({path("job")}).size(), 1U);
  const json trials = trials_of(named);
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_EQ(trials[0]["ranks"]["ranks"], 2);
  EXPECT_EQ(trials[0]["log"], named[0]);
}

TEST_F(RankLogsTest, TrialsAndSweptNumbersStayApart) {
  for (int trial = 0; trial < 2; ++trial) {
    // Each has the lines of both its ranks.
    put(fmt::format("runs/trial_{}.log", trial),
        kHead + steps(400) + own_times(0, 0.2) + own_times(1, 0.2) + kEnd);
    put(fmt::format("plain/run_{}.log", trial), kHead + steps(400) + kEnd);
    put(fmt::format("lora/rank{}.log", trial == 0 ? 8 : 16), kHead + steps(400) + kEnd);
  }
  for (const char* place : {"runs", "plain", "lora"}) {
    EXPECT_EQ(trials_of({path(place)}).size(), 2U) << place;
  }
}

TEST_F(RankLogsTest, TheRankThatFailedShowsHowTheJobEnded) {
  put("job/rank_0.log", kHead + steps(400, 2 * kSteps));
  put("job/rank_1.log",
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n");
  const json trials = trials_of({path("job")});
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_EQ(trials[0]["outcome"]["status"], "out_of_memory");
  EXPECT_THAT(codes(trials[0]), Contains("outcome_of_rank"));
  EXPECT_NEAR(trials[0]["sequences_per_second"].get<double>(), 20.0, 1e-9);
}

TEST_F(RankLogsTest, RestartsOfAJobOfRankLogsAreJoinedWithTheTimesOfAllRanks) {
  for (int rank = 0; rank < 2; ++rank) {
    for (int part = 0; part < 2; ++part) {
      std::string text = rank == 0 ? kHead : "";
      for (int step = 15 * part + 1; step <= 15 * (part + 1); ++step) {
        text += fmt::format("rank_time rank={} steps={}:{} own_s=0.2\n", rank, step, step);
        if (rank > 0) continue;
        text += fmt::format(
            " iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): "
            "400.0 | learning rate: 1.0E-04 | global batch size:     8 | lm loss: 7.0E+00 |\n",
            step, kSteps, step * 8);
      }
      put(fmt::format("job/part{}_rank{}.log", part, rank), text);
    }
  }
  const json trials = trials_of({path("job")});
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_THAT(codes(trials[0]), Contains("joined_restarts"));
  EXPECT_EQ(trials[0]["ranks"]["ranks"], 2);
  EXPECT_EQ(trials[0]["ranks"]["last_step"], kSteps);
}

}  // namespace
}  // namespace bertbench::test
