// Trainers that are not ours, through the local launcher: one that logs into files of its own, one
// that reads files written for the trial, one that needs what only the user knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/sweep/plan/template_call.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using Json = nlohmann::ordered_json;
using test::read_file;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// As gluon-nlp does: nothing on the terminal, a log for each rank. $1: folder, $2: steps, $3: what
// to do after them; $4: seconds that a step really takes. 0.1 s by the log's own word.
constexpr const char* kQuietTrainer = R"sh(
log="$1/phase1_log.$RANK"
[ "$RANK" = 0 ] && sleep 0.3  # rank 1's file is there first
step=0
while [ "$step" -lt "$2" ]; do
  step=$((step + 1))
  printf 'INFO:root:[step %d]\tmlm_loss=7.5 mlm_acc=5.0 nsp_loss=0.7 nsp_acc=50.0 throughput=0.1K tks/s lr=0.0001 time=0.10, latency=100.0 ms/step\n' "$step" >>"$log"
  sleep "$4"
done
case "$3" in
  oom) [ "$RANK" = 0 ] && { echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1; } ;;
  hang) sleep 600 ;;
esac
exit 0
)sh";

struct Quiet {
  ScratchFolder temp;
  std::string path;
  explicit Quiet(const std::string& then = "", const std::string& step_s = "0.05") {
    temp.put("train.sh", kQuietTrainer);
    path = temp.path("quiet.json");
    test::write_file(path,
                     Json{{"title", "quiet"},
                          {"framework", "mxnet"},
                          {"program", "sh"},
                          {"args", {temp.path("train.sh"), "{output}", "{steps}", then, step_s}},
                          {"logs", {"{output}/phase1_log.{rank}"}}}
                         .dump(1));
  }
  Plan plan(const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> all{"workload=" + path, "trials=1", "grid.topology=1n2g"};
    all.insert(all.end(), sets.begin(), sets.end());
    return plan_of(small_config(), all);
  }
  std::string trial() const { return temp.path("run/bert-tiny.fp32.s64.b4.a1.1n2g/trial_1/"); }
};

TEST(OwnLogs, AreReadAsTheyGrowAndKeptAsTheLogOfTheTrial) {
  Quiet quiet;
  Recorder seen;
  const SweepOutcome outcome = swept(quiet.plan(), quiet.temp, seen);
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.log, "bert-tiny.fp32.s64.b4.a1.1n2g/trial_1/trainer.log");
  EXPECT_EQ(trial.outcome.status, Status::completed);
  EXPECT_EQ(trial.iterations.used, 10);
  ASSERT_TRUE(trial.sequences_per_second);
  EXPECT_NEAR(*trial.sequences_per_second, 4 * 2 / 0.1, 1e-6);  // both ranks' sequences
  EXPECT_EQ(read_file(quiet.trial() + "trainer.log"),
            read_file(quiet.trial() + "output/phase1_log.0"));
  EXPECT_EQ(read_file(quiet.trial() + "log.txt"), "");
  EXPECT_TRUE(std::ranges::any_of(seen.progress, [](const auto& at) { return at.step > 0; }));
}

TEST(OwnLogs, OfANameThatTheTrialDidNotWriteAreReportedNowAndByAResume) {
  Quiet quiet;
  Recorder first, second;
  std::string text = read_file(quiet.path);
  const std::string_view right = "{output}/phase1_log";
  test::write_file(quiet.path, text.replace(text.find(right), right.size(), "{output}/phase2_log"));
  const Plan plan = quiet.plan();
  for (Recorder* seen : {&first, &second}) {
    const SweepOutcome outcome = swept(plan, quiet.temp, *seen, 1);
    EXPECT_THAT(outcome.result.cells.at(0).trials.at(0).notices,
                Contains(::testing::Field(&Notice::code, NoticeCode::own_log_missing)));
  }
}

TEST(OwnLogs, AreFoundAgainByAResumeAlsoWhenNoCopyWasMade) {
  Quiet quiet;
  Recorder first, second, third;
  swept(quiet.plan(), quiet.temp, first);
  const auto whole = read_file(quiet.trial() + "trainer.log");
  swept(quiet.plan(), quiet.temp, second);
  EXPECT_EQ(second.counts.reused, 1);
  fs::remove(quiet.trial() + "trainer.log");
  const SweepOutcome outcome = swept(quiet.plan(), quiet.temp, third);
  EXPECT_EQ(third.counts.reused, 1);
  EXPECT_EQ(read_file(quiet.trial() + "trainer.log"), whole);
  EXPECT_THAT(outcome.result.cells[0].trials[0].log, EndsWith("/trainer.log"));
  EXPECT_TRUE(outcome.result.cells[0].trials[0].sequences_per_second);
}

TEST(OwnLogs, OfATrainerThatStopsWritingAreAStall) {
  Quiet quiet("hang", "0.2");
  Recorder seen;
  // 20 steps of 0.2 s outlast the limit: only the own log shows that it lives. A step that a busy
  // machine holds up may take fifteen times as long.
  const SweepOutcome outcome =
      swept(quiet.plan({"stall_timeout_s=3", "window=steps:10:20"}), quiet.temp, seen, 1);
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.outcome.status, Status::stalled);
  EXPECT_EQ(trial.iterations.seen, 20);
}

TEST(OwnLogs, LeaveTheReasonOfAFailureToTheTerminal) {
  Quiet quiet("oom");
  Recorder seen;
  const SweepOutcome outcome = swept(quiet.plan(), quiet.temp, seen, 1);
  const auto& trial = outcome.result.cells.at(0).trials.at(0);
  EXPECT_EQ(trial.outcome.status, Status::out_of_memory);
  EXPECT_THAT(detail_text(trial.outcome), HasSubstr("log.txt:1"));
  EXPECT_THAT(trial.log, EndsWith("/trainer.log"));
}

TEST(OwnLogs, AndCheckpointsOfAnAttemptThatBeginsAgainAreGone) {
  Quiet quiet;
  Recorder seen;
  fs::create_directories(quiet.trial() + "output");
  fs::create_directory_symlink(quiet.temp.path(""), quiet.trial() + "output/link");
  test::write_file(quiet.trial() + "output/phase1_log.0", "INFO:root:[step 999]\n");
  test::write_file(quiet.trial() + "output/ckpt_1.pt", "old");
  swept(quiet.plan(), quiet.temp, seen);
  EXPECT_FALSE(fs::exists(quiet.trial() + "output/ckpt_1.pt"));
  EXPECT_TRUE(fs::exists(quiet.temp.path("train.sh")));  // the link went, not what it names
  EXPECT_EQ(read_file(quiet.trial() + "trainer.log").find("999"), std::string::npos);
}

TEST(PrintedLog, ItsLastLineThatIsNotMpirunsIsTheReasonOfAStartThatFailed) {
  ScratchFolder temp;
  Recorder seen;
  const std::string rule = "echo " + std::string(40, '-') + "; ";
  const std::string script = "echo 'no such data set: wiki'; " + rule +
                             "echo 'Primary job  terminated normally, but 1 process returned'; " +
                             rule + rule + "echo 'Exit code: 1'; " + rule + "exit 1";
  temp.put("bad.json", Json{{"framework", "pytorch"},
                            {"program", "sh"},
                            {"each", "job"},
                            {"args", {"-c", script, "{steps}"}}}
                           .dump(1));
  const Plan plan = plan_of(small_config(), {"workload=" + temp.path("bad.json"), "trials=1"});
  const SweepOutcome outcome = swept(plan, temp, seen, 1);
  EXPECT_THAT(detail_text(outcome.result.cells.at(0).trials.at(0).outcome),
              HasSubstr("no such data set: wiki"));
}

TEST(OwnLogs, FollowNoLinkOutOfTheFolder) {
  ScratchFolder temp, outside;
  outside.put("phase1_log.0", "secret");
  fs::create_directories(temp.path("a/b1"));
  fs::create_directories(temp.path("a/b2"));
  fs::create_directory_symlink(outside.path(), temp.path("a/b0"));
  fs::create_symlink(outside.path("phase1_log.0"), temp.path("a/b1/phase1_log.0"));
  temp.put("a/b2/phase1_log.0", "mine");
  OwnLogs logs;
  logs.folder = temp.path("a");
  logs.patterns = {"b*/phase1_log.0", "none/*", "b2/*_log.*"};
  EXPECT_THAT(logs.find(),
              ElementsAre(temp.path("a/b2/phase1_log.0"), temp.path("a/b2/phase1_log.0")));
  EXPECT_EQ(logs.first(), temp.path("a/b2/phase1_log.0"));
}

// Prints the steps of a trainer whose batch stands in a JSON file only.
constexpr const char* kReader = R"sh(
batch=$(sed -n 's/.*"train_batch_size": \([0-9]*\).*/\1/p' "$1")
echo "INFO:root:Namespace(total_batch_size=$batch, accumulate=1)"
step=0
while [ "$step" -lt "$2" ]; do
  step=$((step + 1))
  printf 'INFO:root:[step %d]\tmlm_loss=7.5 mlm_acc=5.0 nsp_loss=0.7 nsp_acc=50.0 throughput=0.1K tks/s lr=0.0001 time=0.10, latency=100.0 ms/step\n' "$step"
done
)sh";

std::string reader_template(const ScratchFolder& temp, double rate) {
  temp.put("train.sh", kReader);
  const Json json = {
      {"framework", "pytorch"},
      {"program", "sh"},
      {"each", "job"},
      {"args", {temp.path("train.sh"), "{file:ds.json}", "{steps}"}},
      {"defaults", {{"optimizer", "adam"}}},
      {"define",
       {{"settings",
         {{"optimizer",
           {{"adam", {{"type", "Adam"}, {"lr", rate}}}, {"lamb", {{"type", "Lamb"}}}}}}},
        {"half", {{"precision", {{"fp16", true}, {"*", false}}}}}}},
      {"files",
       {{"ds.json",
         {{"train_batch_size", "{global_batch_size}"},
          {"optimizer", "{settings}"},
          {"fp16", {{"enabled", "{half}"}}},
          {"name", "of {model}"},
          {"braces", "{{}}"}}},
        {"unused.txt", "{host_lines}"}}}};
  temp.put("mine.json", json.dump(1));
  return temp.path("mine.json");
}

TEST(TrialFiles, AreWrittenForEachTrialAndReadByTheTrainer) {
  ScratchFolder temp;
  Recorder seen;
  const auto path = reader_template(temp, 1e-4);
  const auto plan =
      plan_of(small_config(), {"workload=" + path, "trials=1", "grid.optimizer=[\"adam\",\"lamb\"]",
                               "grid.topology=1n2g", "grid.precision=fp16"});
  swept(plan, temp, seen);
  const auto cell = temp.path("run/bert-tiny.fp16.s64.b4.a1.1n2g+optimizer=lamb/trial_1/");
  const auto file = Json::parse(read_file(cell + "files/ds.json"));
  EXPECT_EQ(file.dump(), R"({"train_batch_size":8,"optimizer":{"type":"Lamb"},)"
                         R"("fp16":{"enabled":true},"name":"of bert-tiny","braces":"{}"})");
  EXPECT_FALSE(fs::exists(cell + "files/unused.txt"));
  EXPECT_THAT(read_file(cell + "log.txt"), HasSubstr("total_batch_size=8"));
  const auto command = Json::parse(read_file(cell + "command.json"));
  EXPECT_EQ(command["files"]["ds.json"], read_file(cell + "files/ds.json"));
  EXPECT_EQ(command["processes"][0]["argv"][2], cell + "files/ds.json");
}

TEST(TrialFiles, OfAnotherTextAreAnotherCommand) {
  ScratchFolder temp;
  Recorder first, same, other;
  const std::vector<std::string> sets{"workload=" + reader_template(temp, 1e-4), "trials=1"};
  swept(plan_of(small_config(), sets), temp, first);
  swept(plan_of(small_config(), sets), temp, same);
  EXPECT_EQ(same.counts.reused, 1);
  const auto before = plan_of(small_config(), sets);
  reader_template(temp, 2e-4);
  const auto after = plan_of(small_config(), sets);
  EXPECT_NE(template_command(before.config, before.workload, before.cells[0]),
            template_command(after.config, after.workload, after.cells[0]));
  swept(after, temp, other);
  EXPECT_EQ(other.counts.reused, 0);
  EXPECT_THAT(other.notices, Contains(HasSubstr("its command has changed")));
}

TEST(Needs, AreAllNamedBeforeAnythingStarts) {
  ScratchFolder temp;
  Recorder seen;
  const auto bare = plan_of(small_config(), {"workload=gluonnlp-bert", "grid.model=bert-base"});
  ASSERT_EQ(bare.missing.size(), 2u);
  EXPECT_EQ(bare.missing[0].option, "--data");
  EXPECT_EQ(bare.missing[1].option, "--data_eval");
  const auto lines = value_of(dry_run(bare, "run"));
  EXPECT_THAT(lines.front(), HasSubstr("--data_eval '<data_eval>'"));
  const auto given =
      plan_of(small_config(), {"workload=gluonnlp-bert", "grid.model=bert-base",
                               R"(args=["--data_eval=/d/eval.npz", "--data", "/d/train.npz"])"});
  EXPECT_TRUE(given.missing.empty());
  // An axis gives it as well; one that is only needed elsewhere is not asked for.
  const auto squad =
      plan_of(small_config(), {"workload=nvidia-squad", "grid.init_checkpoint=[\"a.pt\",\"b.pt\"]",
                               "grid.mode=eval", R"(args=["--vocab_file=v"])"});
  std::vector<std::string> options;
  for (const auto& need : squad.missing) options.push_back(need.option);
  EXPECT_THAT(options, ElementsAre("--predict_file", "--eval_script"));
  // Whoever starts it without asking first gets the error as well.
  temp.put("mine.json", R"({"framework": "x", "program": "sh",
    "needs": {"--data": "the data"}})");
  const auto plan = plan_of(small_config(), {"workload=" + temp.path("mine.json")});
  const auto outcome = run_sweep(plan, quick(temp.path("run")), seen);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("needs --data"));
  EXPECT_FALSE(fs::exists(temp.path("run")));
}

TEST(Needs, HostsOnACommandLineAreKnownBeforeItStarts) {
  const auto names_hosts = [](const char* workload, const char* topology) {
    const auto plan =
        plan_of(small_config(), {std::string("workload=") + workload, "launcher=slurm",
                                 std::string("grid.topology=") + topology, "grid.model=bert-large",
                                 "grid.precision=fp16"});
    const auto names = template_names_hosts(plan, plan.trials.front());
    EXPECT_TRUE(names) << names.error().message();
    return names.value_or(false);
  };
  EXPECT_TRUE(names_hosts("deepspeed-bing-bert", "2n2g"));  // in its hostfile
  EXPECT_FALSE(names_hosts("deepspeed-bing-bert", "1n2g"));
  EXPECT_FALSE(names_hosts("gluonnlp-bert", "2n2g"));  // srun starts its ranks
  EXPECT_FALSE(names_hosts("nvidia-bert-pytorch", "2n2g"));
}

std::string error_of_template(const std::string& text) {
  const auto workload = parse_workload("mine", text, "mine.json");
  return workload ? "" : workload.error().message();
}

TEST(TemplateFile, NamesLineAndRuleOfWhatIsWrong) {
  const std::string begin = "{\"framework\": \"x\", \"program\": \"sh\",\n ";
  EXPECT_THAT(error_of_template(begin + "\"processes\": \"per_node\"}"),
              HasSubstr("mine.json:2: processes: is spelled 'each' now"));
  EXPECT_THAT(error_of_template(begin + "\"each\": \"per_node\"}"),
              HasSubstr("mine.json:2: each: 'per_node' is not one of gpu, node, job"));
  EXPECT_THAT(error_of_template(begin + "\"fils\": {}}"),
              HasSubstr("mine.json:2: fils: unknown key 'fils'; did you mean 'files'?"));
  EXPECT_THAT(error_of_template(begin + "\"logs\": [\"/tmp/x.log\"]}"),
              HasSubstr("mine.json:2: logs[0]: must begin with {output}/ or {dir}/"));
  EXPECT_THAT(error_of_template(begin + "\"logs\": [\"{output}/../../x\"]}"),
              HasSubstr("must begin with {output}/"));
  EXPECT_THAT(error_of_template(begin + "\"files\": {\"../x\": \"\"}}"),
              HasSubstr("cannot name a file of a trial"));
  EXPECT_THAT(error_of_template(begin + "\"define\": {\"a\": {\"b\": {}, \"c\": {}}}}"),
              HasSubstr("mine.json:2: define.a: follows from one axis"));
  EXPECT_THAT(error_of_template(begin + "\"needs\": {\"--x\": \"\"}}"),
              HasSubstr("needs a line that describes it"));
  EXPECT_THAT(error_of_template(begin + "\"launch\": []}"), HasSubstr("belongs into the ways"));
  EXPECT_THAT(error_of_template("{\"framework\": \"x\",\n \"launch\": [{\"name\": \"a\", "
                                "\"words\": [\"sh\"], \"gpu\": \"one\"}]}"),
              HasSubstr("mine.json:2: launch[0].gpu: unknown key 'gpu'"));
}

TEST(TemplateFile, ChoosesTheWayByGpusNodesLauncherAndName) {
  const auto workload = value_of(parse_workload("mine", R"({"framework": "x", "launch": [
    {"name": "plain", "gpus": "one", "each": "job", "words": ["a"]},
    {"name": "mpi", "under": ["mpi"], "each": "gpu", "words": ["b"]},
    {"name": "nodes", "nodes": "many", "each": "node", "words": ["c"]},
    {"name": "run", "each": "job", "words": ["d"]}]})",
                                                "mine.json"));
  const auto word = [&](const char* topology, const char* launcher, const char* asked = nullptr) {
    PlannedCell cell;
    cell.topology = *parse_topology(topology);
    if (asked) cell.point["launch"] = asked;
    const auto way = choose_way(workload, cell, launcher);
    return way ? workload.launch[*way].words[0] : way.error().message();
  };
  EXPECT_EQ(word("1n1g", "local"), "a");
  EXPECT_EQ(word("1n1g", "mpi"), "a");
  EXPECT_EQ(word("1n2g", "mpi"), "b");
  EXPECT_EQ(word("2n2g", "ssh"), "c");
  EXPECT_EQ(word("1n2g", "ssh"), "d");
  EXPECT_THAT(word("1n2g", "ssh", "plain"), HasSubstr("has no way 'plain' to start 1n2g"));
  EXPECT_EQ(word("1n1g", "local", "run"), "d");
  EXPECT_THAT(word("1n1g", "ssh", "mpi"), HasSubstr("has no way 'mpi' to start 1n1g"));
}

}  // namespace
}  // namespace bertbench
