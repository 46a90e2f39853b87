#include "reports/cells/result_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/cells/partial.h"
#include "reports/measure/measure.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using samples::facts;
using testing::HasSubstr;

MeasureOptions all_records() {
  MeasureOptions options;
  options.window = samples::window("all");
  return options;
}

RunLog log_at(const std::string& path, const Facts& known, double seconds = 0.1) {
  RunLog log = samples::log_of_seconds(std::vector<double>(30, seconds));
  log.path = path;
  log.facts = known;
  return log;
}

ResultSet build(const std::vector<RunLog>& logs, const MeasureOptions& options = all_records()) {
  ResultBuilder builder(options);
  for (const RunLog& log : logs) builder.add(measure_log(log, options));
  return builder.finish();
}

Facts partial() {  // what a DLPerf log states: little
  Facts known = facts(32, 1, 1, 1);
  known.precision = known.model = known.framework = {};
  known.micro_batch_size = {};
  known.nodes = known.gpus_per_node = {};
  return known;
}

TEST(ResultBuilder, LogsWithAllEightFactsEqualJoinOneCellFromAnywhere) {
  const ResultSet results =
      build({log_at("a/x.log", facts(8, 1, 1, 2)), log_at("b/y.log", facts(8, 1, 1, 2)),
             log_at("z.log", facts(16, 1, 1, 2))});
  ASSERT_EQ(results.cells.size(), 2U);
  EXPECT_EQ(results.cells[0].trials.size(), 2U);
  EXPECT_EQ(results.cells[0].trials[1].trial, 2);
  EXPECT_EQ(results.cells[0].key, "bert-base.fp32.s128.b8.a1.1n2g");
  EXPECT_EQ(results.cells[1].identity.micro_batch_size, 16);
}

TEST(ResultBuilder, LogsOfDifferentGpusAreNoShareOfEithersPeak) {
  const auto on = [](const char* path, const char* gpu, double seconds) {
    RunLog log = log_at(path, facts(8, 1, 1, 1), seconds);
    log.facts.versions["gpu"] = gpu;
    return log;
  };
  const auto one = build({on("a.log", "NVIDIA H200", 0.1), on("b.log", "NVIDIA H200", 0.2)});
  EXPECT_EQ(one.cells.at(0).gpu, "NVIDIA H200");
  EXPECT_TRUE(one.cells[0].warnings.empty());
  const auto two =
      build({on("a.log", "NVIDIA H200", 0.1), on("b.log", "NVIDIA H100 80GB HBM3", 0.2)});
  ASSERT_EQ(two.cells.size(), 1U);
  EXPECT_EQ(two.cells[0].gpu, "");
  ASSERT_EQ(two.cells[0].warnings.size(), 1U);
  EXPECT_EQ(two.cells[0].warnings[0].code, NoticeCode::gpus_differ);
  EXPECT_THAT(text_of(two.cells[0].warnings[0]), HasSubstr("NVIDIA H100 80GB HBM3, NVIDIA H200"));
}

TEST(ResultBuilder, LogsWithUnknownFactsAreCellsOfTheirOwn) {
  const ResultSet results = build({log_at("a.log", partial()), log_at("b.log", partial())});
  ASSERT_EQ(results.cells.size(), 2U);
  EXPECT_EQ(results.cells[0].key, "?.?.s128.b?.a1.?n?g");
  EXPECT_EQ(results.cells[1].key, "?.?.s128.b?.a1.?n?g#2");
}

TEST(ResultBuilder, TrialsOfADlperfCellFolderJoinThoughFactsAreUnknown) {
  const ResultSet results = build({log_at("logs/1n8g/bert_base_b32_fp32_2.log", partial()),
                                   log_at("logs/1n8g/bert_base_b32_fp32_1.log", partial()),
                                   log_at("logs/1n8g/bert_base_b64_fp32_1.log", partial()),
                                   log_at("other/1n8g/bert_base_b32_fp32_1.log", partial())});
  ASSERT_EQ(results.cells.size(), 3U);
  EXPECT_EQ(results.cells[0].key, "bert-base.fp32.s128.b32.a1.1n8g");
  ASSERT_EQ(results.cells[0].trials.size(), 2U);
  EXPECT_EQ(results.cells[0].trials[0].trial, 1);
  EXPECT_THAT(results.cells[0].trials[0].log, HasSubstr("fp32_1.log"));
  EXPECT_EQ(results.cells[1].key, "bert-base.fp32.s128.b32.a1.1n8g#2");
  EXPECT_EQ(results.cells[2].identity.micro_batch_size, 64);
}

TEST(ResultBuilder, ALogThatBrokeOffEarlyJoinsItsCellFolder) {
  RunLog broken = log_at("logs/1n8g/bert_base_b32_fp32_3.log", Facts{});
  broken.records.clear();
  broken.records_seen = 0;
  broken.outcome = {
      .status = Status::out_of_memory, .step = {}, .line = 4, .details = {log_line("OOM")}};
  const ResultSet results = build({broken, log_at("logs/1n8g/bert_base_b32_fp32_1.log", partial()),
                                   log_at("logs/1n8g/bert_base_b32_fp32_2.log", partial(), 0.11)});
  ASSERT_EQ(results.cells.size(), 1U);
  const Cell& cell = results.cells[0];
  EXPECT_EQ(cell.trials.size(), 3U);
  EXPECT_EQ(cell.throughput.n, 2);
  EXPECT_EQ(cell.identity.sequence_length, 128);
  EXPECT_EQ(cell.trials[2].outcome.status, Status::out_of_memory);
  ASSERT_EQ(cell.warnings.size(), 1U);
  EXPECT_EQ(text_of(cell.warnings[0]), "1 of 3 trials give no number (out_of_memory x1)");
}

TEST(ResultBuilder, OneThatMayBeOfTwoCellsOrOfAnotherKindStaysAlone) {
  const auto in_folder = [](int trial, Facts known) {
    return log_at("logs/1n8g/bert_base_b32_fp32_" + std::to_string(trial) + ".log", known);
  };
  Facts longer = partial();
  longer.sequence_length.set(512, FactSource::log);
  Facts xla = partial();
  xla.axes["xla"] = "true";
  Facts nothing;
  EXPECT_EQ(
      build({in_folder(1, partial()), in_folder(2, longer), in_folder(3, nothing)}).cells.size(),
      3U);
  RunLog evaluation = in_folder(3, nothing);
  evaluation.kind = WorkKind::evaluation;
  EXPECT_EQ(build({in_folder(1, partial()), evaluation}).cells.size(), 2U);
  const auto joined = build({in_folder(3, nothing), in_folder(1, xla)}).cells;
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].identity.axes.at("xla"), "true");
  EXPECT_EQ(joined[0].identity.sequence_length, 128);
  // Trials of a sweep are of the cells that it names.
  ResultBuilder builder(all_records());
  Identity known = samples::identity(1, 2), unknown = known;
  unknown.precision.reset();
  builder.add_trial(known, WorkKind::training, samples::trial(1, 100));
  builder.add_trial(unknown, WorkKind::training, samples::trial(1, 100));
  EXPECT_EQ(builder.finish().cells.size(), 2U);
}

TEST(ResultBuilder, TrialsAndAttemptsOfARunFolderAreNumberedByTheTree) {
  RunLog first = log_at("run/KEY/trial_2/log.txt", partial());
  first.outcome = {
      .status = Status::stalled, .step = {}, .line = 0, .details = {log_line("no output")}};
  const ResultSet results = build({log_at("run/KEY/trial_2/attempt_2/log.txt", partial(), 0.2),
                                   first, log_at("run/KEY/trial_1/log.txt", partial())});
  ASSERT_EQ(results.cells.size(), 1U);
  const auto& trials = results.cells[0].trials;
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[1].trial, 2);
  EXPECT_EQ(trials[1].attempt, 2);
  EXPECT_THAT(text_of(trials[1].notices.back()),
              HasSubstr("attempt 1 ended as stalled: no output"));
}

TEST(ResultBuilder, GivenFactsBeatTheLogWhichBeatsThePathWithANotice) {
  MeasureOptions options = all_records();
  options.given.micro_batch_size.set(48, FactSource::command_line);
  Facts known = facts(64, 1, 1, 1);
  known.micro_batch_size.source = FactSource::log;
  known.nodes.set(1, FactSource::log);
  known.gpus_per_node.set(4, FactSource::log);
  const ResultSet results = build({log_at("x/1n8g/bert_b32_fp16_3.log", known)}, options);
  const Cell& cell = results.cells[0];
  EXPECT_EQ(cell.identity.micro_batch_size, 48);
  EXPECT_EQ(cell.identity.gpus_per_node, 4);
  const std::string text = samples::notices(cell.trials[0]);
  EXPECT_THAT(text, HasSubstr("micro_batch_size is 48 by the command line but 64 by the log"));
  EXPECT_THAT(text, HasSubstr("gpus_per_node is 4 by the log but 8 by the path"));
}

TEST(ResultBuilder, TrainingAndEvaluationNeverMix) {
  RunLog evaluation = log_at("a.log", facts(8, 1, 1, 1));
  evaluation.kind = WorkKind::evaluation;
  const ResultSet results = build({log_at("a.log", facts(8, 1, 1, 1)), evaluation});
  ASSERT_EQ(results.cells.size(), 2U);
  EXPECT_EQ(results.cells[0].kind, WorkKind::training);
  EXPECT_EQ(results.cells[1].kind, WorkKind::evaluation);
  EXPECT_THAT(results.cells[1].key, HasSubstr("#2"));
}

TEST(ResultBuilder, CellsAreInTheSameOrderWhateverTheOrderOfTheLogs) {
  const std::vector<RunLog> logs{log_at("a", facts(8, 1, 4, 8)), log_at("b", facts(8, 1, 1, 1)),
                                 log_at("c", facts(8, 1, 1, 8)), log_at("d", facts(4, 1, 2, 8))};
  const auto keys = [](const ResultSet& results) {
    std::vector<std::string> out;
    for (const Cell& cell : results.cells) out.push_back(cell.key);
    return out;
  };
  const auto forward = keys(build(logs));
  EXPECT_EQ(forward, keys(build({logs[3], logs[2], logs[1], logs[0]})));
  EXPECT_THAT(forward.front(), HasSubstr("b4.a1.2n8g"));
  EXPECT_THAT(forward.back(), HasSubstr("b8.a1.4n8g"));
}

TEST(ResultBuilder, AStatedWorldSizeIsKeptWhenTheTopologyIsUnknown) {
  Facts known = facts(8, 1, 1, 1);
  known.nodes = known.gpus_per_node = {};
  known.world_size.set(16, FactSource::log);
  const ResultSet results = build({log_at("a.log", known)});
  const Cell& cell = results.cells[0];
  EXPECT_EQ(cell.world_size(), 16);
  EXPECT_EQ(cell.global_batch_size(), 128);
  EXPECT_FALSE(cell.identity.nodes);
  EXPECT_NEAR(*cell.sequences_per_second_per_gpu, 80, 1e-9);
}

TEST(ResultBuilder, SweptTrialsJoinByIdentityAndCarryTheMarkOfEmulation) {
  ResultBuilder builder(all_records());
  const Identity identity = samples::identity(1, 2);
  builder.add_trial(identity, WorkKind::training, samples::trial(2, 101));
  builder.add_trial(identity, WorkKind::training, samples::trial(1, 100));
  builder.mark_emulated(identity, WorkKind::training);
  const ResultSet results = builder.finish();
  ASSERT_EQ(results.cells.size(), 1U);
  EXPECT_TRUE(results.cells[0].emulated);
  EXPECT_EQ(results.cells[0].trials[0].trial, 1);
  EXPECT_EQ(results.cells[0].throughput.n, 2);
  EXPECT_FALSE(results.created.empty());
  EXPECT_FALSE(results.tool.version.empty());
}

/// Shard i of 3, of a log each.
NamedShard shard_of(int i) {
  Shard out;
  out.shard = i;
  out.of = 3;
  out.logs = 3;
  out.list = "0123";
  out.options = {{"window", "all"}, {"base", "1n1g"}};
  const std::string path = "log" + std::to_string(i);
  out.measured.push_back({measure_log(log_at(path, facts(8, 1, 1, i)), all_records()),
                          static_cast<std::size_t>(i - 1), 0});
  return {"shard" + std::to_string(i) + ".json", std::move(out)};
}

TEST(Shards, JoinToTheResultOfOneRun) {
  std::vector<NamedShard> shards{shard_of(3), shard_of(1), shard_of(2)};
  for (NamedShard& one : shards) {
    auto read = read_shard(partial_result(std::move(one.shard)), one.name);
    ASSERT_TRUE(read) << read.error().message();
    one.shard = *read;
  }
  std::vector<Notice> notices;
  const auto merged = merge_shards(shards, notices);
  ASSERT_TRUE(merged) << merged.error().message();
  ASSERT_EQ(merged->cells.size(), 3U);
  EXPECT_EQ(merged->cells[2].speedup->base, merged->cells[0].key);
  EXPECT_TRUE(merged->partial.is_null());
}

TEST(Shards, OfAnotherSetAreRefusedWithTheReason) {
  const auto message = [](std::vector<NamedShard> shards) {
    std::vector<Notice> notices;
    const auto merged = merge_shards(std::move(shards), notices);
    return merged ? std::string("no error") : merged.error().message();
  };
  EXPECT_THAT(message({}), HasSubstr("nothing to merge"));
  EXPECT_THAT(message({shard_of(2)}), HasSubstr("of 3 shards these are missing: 1, 3"));
  EXPECT_THAT(message({shard_of(1), shard_of(2), shard_of(2), shard_of(3)}),
              HasSubstr("is shard 2 once more, after shard2.json"));
  const std::tuple<const char*, void (*)(Shard&)> others[] = {
      {"is one of 4 shards, not of 3", [](Shard& one) { one.of = 4; }},
      {"another list of logs (4 against 3)", [](Shard& one) { one.logs = 4; }},
      {"another list of logs (3 against 3)", [](Shard& one) { one.list = "4567"; }},
      {"another window (auto against all)", [](Shard& one) { one.options["window"] = "auto"; }},
      {"another base (not given against 1n1g)", [](Shard& one) { one.options.erase("base"); }},
      {"another x (y against not given)", [](Shard& one) { one.options["x"] = "y"; }}};
  for (const auto& [why, change] : others) {
    NamedShard other = shard_of(3);
    change(other.shard);
    EXPECT_THAT(message({shard_of(1), shard_of(2), other}), HasSubstr(why));
  }
  const auto read = [](const ResultSet& results) {
    const auto shard = read_shard(results, "r.json");
    return shard ? std::string("no error") : shard.error().message();
  };
  const auto part = [](void (*change)(Shard&)) {
    Shard one = shard_of(1).shard;
    change(one);
    return partial_result(std::move(one));
  };
  EXPECT_THAT(read(build({})), HasSubstr("is no part of a sharded extraction"));
  EXPECT_THAT(read(part([](Shard& one) { one.shard = 4; })), HasSubstr("$.partial.shard"));
  EXPECT_THAT(read(part([](Shard& one) { one.measured[0].log = 3; })),
              HasSubstr("$.partial.sources[0].log"));
  ResultSet fewer = part([](Shard&) {});
  fewer.cells[0].trials.clear();
  EXPECT_THAT(read(fewer), HasSubstr("$.partial.sources"));
  fewer.cells.clear();
  EXPECT_THAT(read(fewer), HasSubstr("$.partial.sources"));
}

}  // namespace
}  // namespace bertbench
