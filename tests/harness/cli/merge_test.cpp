// `extract --shard` and `merge`: many processes give the result of one.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string native_log(int batch, double rate, int steps, bool whole = true) {
  std::string text = "INFO:tensorflow:Running train on CPU\n";
  for (int i = 1; i <= steps; ++i) {
    text += fmt::format("INFO:tensorflow:loss = 7.5, step = {} (5.000 sec)\n", i * 10);
    text += fmt::format("INFO:tensorflow:global_step/sec: {}\nINFO:tensorflow:examples/sec: {}\n",
                        rate, rate * batch);
  }
  if (!whole) text += "CUDA out of memory. Tried to allocate 2.00 GiB\n";
  return text;
}

class MergeTest : public CliTest {
 protected:
  /// Grids as DLPerf keeps them, a run folder with a repeated attempt, logs that say nothing of
  /// themselves, one that fails early: everything that grouping looks at.
  std::string tree() {
    for (const char* topology : {"1n1g", "1n2g", "2n8g"}) {
      for (int trial = 1; trial <= 5; ++trial) {
        put(fmt::format("logs/bz32/{}/bert_b32_fp32_{}.log", topology, trial),
            native_log(32, 2 + 0.01 * trial, 30));
      }
    }
    put("logs/bz32/1n1g/bert_b32_fp32_6.log", native_log(32, 2, 3, false));
    for (int trial = 1; trial <= 3; ++trial) {
      put(fmt::format("logs/run/cell/trial_{}/log.txt", trial), native_log(8, 3 + trial, 25));
    }
    put("logs/run/cell/trial_2/attempt_2/log.txt", native_log(8, 3.5, 25));
    for (int i = 0; i < 4; ++i) {
      put(fmt::format("logs/loose/{}.log", i), native_log(16, 1 + i, 22));
    }
    put("logs/loose/nothing.log", "no known trainer wrote this\n");
    return path("logs");
  }

  json whole(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"extract", path("logs"), "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return set_of(run(args));
  }

  std::vector<std::string> shards(int n, const std::vector<std::string>& more = {}) {
    std::vector<std::string> files;
    for (int i = 1; i <= n; ++i) {
      files.push_back(path(fmt::format("parts/{}of{}.json", i, n)));
      std::filesystem::create_directories(path("parts"));
      std::vector<std::string> args{"extract", path("logs"), "--shard", fmt::format("{}/{}", i, n),
                                    "-o",      files.back()};
      args.insert(args.end(), more.begin(), more.end());
      const Ran ran = run(args);
      EXPECT_THAT(ran.status, testing::AnyOf(0, 5)) << ran.err;
    }
    return files;
  }

  static Ran merge(std::vector<std::string> files) {
    files.insert(files.begin(), "merge");
    files.push_back("--json");
    return run(files);
  }

  static json set_of(const Ran& ran) {
    EXPECT_EQ(ran.status, 0) << ran.err;
    json set = json::parse(ran.out);
    EXPECT_TRUE(set.contains("created"));
    set.erase("created");
    set.erase("environment");
    return set;
  }
};

TEST_F(MergeTest, ShardsJoinedInAnyOrderEqualTheResultOfOneProcess) {
  tree();
  const json expected = whole();
  ASSERT_GE(expected["cells"].size(), 8U);
  std::mt19937 random(1);
  for (const int n : {1, 2, 3, 7, 40}) {
    auto files = shards(n);
    std::shuffle(files.begin(), files.end(), random);
    EXPECT_EQ(set_of(merge(files)).dump(1), expected.dump(1)) << n << " shards";
  }
}

TEST_F(MergeTest, OptionsThatDecideTheResultGoThroughTheShards) {
  tree();
  const std::vector<std::string> options{"--window",    "2:20", "--estimator", "printed",
                                         "--base",      "1n2g", "--model",     "bert-base",
                                         "--precision", "fp32"};
  EXPECT_EQ(set_of(merge(shards(3, options))).dump(1), whole(options).dump(1));
}

TEST_F(MergeTest, TheLogsOfOneCellFolderMayLieInDifferentShards) {
  tree();
  const json merged = set_of(merge(shards(4)));
  const auto dlperf = std::ranges::count_if(
      merged["cells"], [](const json& cell) { return cell["trials"].size() >= 5; });
  EXPECT_EQ(dlperf, 3) << "three DLPerf folders of five trials";
}

TEST_F(MergeTest, AMissingARepeatedAndAForeignShardAreNamed) {
  tree();
  auto files = shards(3);
  Ran ran = merge({files[0], files[2]});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("of 3 shards these are missing: 2"));
  ran = merge({files[0], files[1], files[1], files[2]});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("is shard 2 once more"));
  ran = merge({files[0], shards(2)[1]});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("shards"));
  const auto other = shards(3, {"--window", "all"});
  files = shards(2);
  run({"extract", path("logs"), "--shard", "2/2", "-o", path("w.json"), "--window", "all"});
  ran = merge({files[0], path("w.json")});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("another window (all against not given)"));
}

TEST_F(MergeTest, AListOfLogsThatGrewBetweenTheShardsIsNoticed) {
  tree();
  const auto first = shards(2)[0];
  put("logs/late.log", native_log(8, 1, 30));
  run({"extract", path("logs"), "--shard", "2/2", "-o", path("late.json")});
  const Ran ran = merge({first, path("late.json")});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("another list of logs"));
}

TEST_F(MergeTest, APartIsRefusedWhereAWholeResultIsExpected) {
  tree();
  const auto files = shards(2);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"report", files[0]},
        std::vector<std::string>{"check", files[0], "--baseline", files[1]}}) {
    const Ran ran = run_to(5, args);
    EXPECT_THAT(ran.err, HasSubstr("is one shard of a result"));
  }
  run({"extract", path("logs"), "-o", path("whole.json")});
  const Ran ran = merge({path("whole.json")});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("is no part of a sharded extraction"));
}

TEST_F(MergeTest, AnEmptyShardIsWrittenAndShardsWithoutAnyLogReadEndWithStatus5) {
  put("logs/one.log", native_log(8, 1, 30));
  const auto files = shards(3);
  EXPECT_EQ(set_of(merge(files)).dump(), whole().dump());
  write_file(path("logs/one.log"), "nothing known\n");
  EXPECT_EQ(run({"extract", path("logs"), "--shard", "1/1", "-o", path("x.json")}).status, 5);
  EXPECT_EQ(merge({path("x.json")}).status, 5);
}

TEST_F(MergeTest, WrongShardsAndWhatCannotBeShardedAreUsageErrors) {
  tree();
  for (const char* shard : {"0/3", "4/3", "3", "a/b", "1/0", "-1/2", "1/2/3", ""}) {
    const Ran ran =
        run({"extract", path("logs"), fmt::format("--shard={}", shard), "-o", path("o")});
    EXPECT_EQ(ran.status, *shard == '\0' ? ran.status : 2) << shard;
  }
  EXPECT_EQ(run({"extract", path("logs"), "--shard", "1/2"}).status, 2);
  EXPECT_EQ(run({"extract", "-", "--shard", "1/2", "--json"}).status, 2);
  EXPECT_EQ(
      run({"extract", path("logs"), "--shard", "1/2", "--json", "--iterations", path("i.csv")})
          .status,
      2);
}

TEST_F(MergeTest, ADamagedPartIsAnErrorThatNamesFileAndPlace) {
  tree();
  const auto file = shards(1)[0];
  for (const auto& [key, value] : std::map<std::string, json>{
           {"shard", 2}, {"of", "x"}, {"logs", 0}, {"sources", json::array()}}) {
    json part = json::parse(read_file(file));
    part["partial"][key] = value;
    write_file(path("damaged.json"), part.dump());
    const Ran ran = merge({path("damaged.json")});
    EXPECT_EQ(ran.status, 2) << key;
    EXPECT_THAT(ran.err, HasSubstr("damaged.json: $.partial")) << key;
  }
}

}  // namespace
}  // namespace bertbench::test
