// The command of a sweep: a template without a file, by the one-line form or by the key "command".
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "harness/sweep/config/placeholders.h"
#include "harness/sweep/plan/template_call.h"
#include "reports/model/result_io.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

OneLine line(const Words& grid, const Words& command) { return {grid, {}, "", command}; }

PlanOptions eight_cores() {
  PlanOptions how;
  how.cores = 8;
  return how;
}

Result<Plan> plan_of_line(const OneLine& given, const Words& sets = {}) {
  const auto config = parse_config("{}", "", sets, given);
  if (!config) return tl::unexpected(config.error());
  return make_plan(*config, eight_cores());
}

std::string error_of(const OneLine& given, const Words& sets = {}) {
  const auto plan = plan_of_line(given, sets);
  return plan ? "no error" : plan.error().message();
}

Words words_of(const Plan& plan, std::size_t cell) {
  return template_words(plan, {cell, 1}, {"/run", 29500, ""}, 1).value_or(Words{});
}

TEST(Command, AnyAxisBecomesAPlaceholderAndPartOfTheIdentity) {
  const auto plan = value_of(plan_of_line(
      line({"micro_batch_size=4,8", "topology=1n1g,1n2g", "learning-rate=1e-4"},
           {"python3", "train.py", "--batch", "{micro_batch_size}", "--lr={learning_rate}",
            "--steps", "{steps}", "--of", "{global_batch_size}", "{{}}"})));
  ASSERT_EQ(plan.cells.size(), 4u);
  EXPECT_EQ(plan.config.name, "python3 train.py");
  const auto& last = plan.cells[3];
  EXPECT_EQ(last.key, "?.?.s?.b8.a1.1n2g+learning_rate=1e-4");
  EXPECT_EQ(last.identity.axes.at("learning_rate"), "1e-4");
  EXPECT_FALSE(last.identity.framework || last.identity.model || last.identity.precision ||
               last.identity.sequence_length);
  EXPECT_THAT(words_of(plan, 3), ElementsAre("python3", "train.py", "--batch", "8", "--lr=1e-4",
                                             "--steps", "60", "--of", "16", "{}"));
  EXPECT_THAT(plan.notices, Contains(HasSubstr("nodes")).Times(0));
}

TEST(Command, AProgramWhoseLinesGiveNoRateIsNotMeasured) {
  const ScratchFolder temp;
  Recorder seen;
  const auto plan = value_of(plan_of_line(
      line({}, {"printf", "step 1 loss 0.5\nstep 2 loss 0.4\nstep 3 loss 0.3\nstep 4 loss 0.2\n"}),
      {"trials=1", "retries=0"}));
  const auto done = swept(plan, temp, seen, 1);
  EXPECT_EQ(seen.finished.at(0).outcome.status, Status::completed);
  EXPECT_EQ(done.settled_failures, 1) << "the same command would give the same";
}

// One rank dies, the others print on until the launcher ends them: their steps are no training.
TEST(Command, AFailureWithinTheStepsOfAFailedTrainerIsItsReason) {
  std::string text;
  for (int step = 1; step <= 40; ++step) {
    text += fmt::format("step {} loss {:.2f} 0.05 s/step\n", step, 1.0 / step);
    if (step == 6) {
      text +=
          "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n"
          "RuntimeError: boom on rank 1\n";
    }
  }
  const auto trial_of = [&](const char* script, const std::string& run) {
    const ScratchFolder temp;
    Recorder seen;
    const auto plan = value_of(
        plan_of_line(line({}, {"sh", "-c", script, "sh", text}), {"trials=1", "retries=0"}));
    const auto outcome = run_sweep(plan, quick(temp.path(run)), seen);
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome->result.cells.at(0).trials.at(0);
  };
  const auto failed = trial_of("printf %s \"$1\"; exit 1", "failed");
  EXPECT_EQ(failed.outcome.status, Status::error);
  EXPECT_EQ(failed.outcome.step, 6);
  EXPECT_THAT(detail_text(failed.outcome), HasSubstr("boom on rank 1"));
  EXPECT_FALSE(failed.rate());
  // A trainer that ends well has lived on after it.
  const auto good = trial_of("printf %s \"$1\"", "good");
  EXPECT_EQ(good.outcome.status, Status::completed);
  EXPECT_NEAR(good.rate().value_or(0), 20, 1e-9);
}

// 15 steps of the start of 80: what a scheduler or a user ended so early is run again.
TEST(Command, AnEndBeforeHalfOfTheStepsGivesNoRate) {
  const auto trial_of = [&](int steps, const char* script, const std::string& run) {
    std::string text;
    for (int step = 1; step <= steps; ++step) {
      text += fmt::format("step {} loss {:.2f} 0.05 s/step\n", step, 1.0 / step);
    }
    const ScratchFolder temp;
    Recorder seen;
    const auto plan = value_of(plan_of_line(line({}, {"sh", "-c", script, "{steps}", text}),
                                            {"trials=1", "retries=0", "steps=80"}));
    const auto outcome = run_sweep(plan, quick(temp.path(run)), seen);
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome->result.cells.at(0).trials.at(0);
  };
  const auto early = trial_of(15, "printf %s \"$1\"; kill -9 $$", "early");
  EXPECT_EQ(early.outcome.status, Status::killed);
  EXPECT_FALSE(early.window.covered);
  EXPECT_FALSE(early.rate());
  EXPECT_THAT(early.notices,
              Contains(::testing::Field(&Notice::code, NoticeCode::ended_too_early)));
  const auto late = trial_of(60, "printf %s \"$1\"; kill -9 $$", "late");
  EXPECT_NEAR(late.rate().value_or(0), 20, 1e-9) << "it trained well until then";
  // A trainer that stops early by itself did what it had to do.
  EXPECT_NEAR(trial_of(15, "printf %s \"$1\"", "stopped").rate().value_or(0), 20, 1e-9);
}

TEST(Command, RanksThatOutnumberTheCoresAreLabelled) {
  const auto plan = value_of(plan_of_line(line({"topology=2n8g"}, {"train"})));
  EXPECT_THAT(plan.notices, Contains("ranks outnumber cores: 16 ranks on 8 cores"));
}

TEST(Command, WordsThatNoPlaceholderMadeAreTheContext) {
  const auto one =
      value_of(plan_of_line(line({"lr=1,2"}, {"t", "--lr", "{lr}", "--compile", "{steps}"})));
  EXPECT_THAT(one.cells[0].command, ElementsAre("t", "--lr", "{lr}", "--compile", "{steps}"));
  EXPECT_EQ(one.cells[0].command, one.cells[1].command);
}

TEST(Command, KnowsNothingThatNobodySaid) {
  const auto plan = value_of(plan_of_line(line({}, {"./train", "{steps}"})));
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_EQ(plan.cells[0].key, "?.?.s?.b?.a1.1n1g");
  const auto given = value_of(plan_of_line(
      line({"model=my-bert", "precision=bf16"}, {"./train", "{steps}"}), {"framework=jax"}));
  EXPECT_EQ(given.cells[0].key, "my-bert.bf16.s?.b?.a1.1n1g");
  EXPECT_EQ(given.cells[0].identity.framework, "jax");
}

TEST(Command, MayAskForTheLargestBatch) {
  const auto plan = value_of(plan_of_line(line(
      {"micro_batch_size=max"}, {"t", "{micro_batch_size}", "{global_batch_size}", "{steps}"})));
  EXPECT_THAT(words_of(plan, 0), ElementsAre("t", "max", "<max>", "60"));
  auto found = plan;
  set_micro_batch(found, 0, 7);
  EXPECT_THAT(words_of(found, 0), ElementsAre("t", "7", "7", "60"));
}

TEST(Command, StartsAsManyProcessesAsEachSays) {
  for (const auto& [each, processes] :
       {std::pair{"gpu", 4}, std::pair{"node", 2}, std::pair{"job", 1}}) {
    auto given = line({"topology=2n2g"}, {"t", "{steps}"});
    given.each = each;
    const auto plan = value_of(plan_of_line(given));
    const auto count = process_count(plan, plan.cells[0]);
    EXPECT_EQ(count.nodes * count.per_node, processes) << each;
  }
}

TEST(Command, IsPlannedUnderEveryLauncher) {
  for (const char* launcher : {"local", "mpi", "ssh", "slurm"}) {
    const auto plan = value_of(
        plan_of_line(line({"topology=2n2g", "lr=0.5"}, {"python3", "t.py", "{lr}", "{steps}"}),
                     {std::string("launcher=") + launcher}));
    const auto lines = dry_run(plan, "run");
    ASSERT_TRUE(lines) << launcher << lines.error().message();
    // Words of a remote shell have quotes of their own.
    EXPECT_THAT(lines->front(), testing::ContainsRegex("t\\.py.{1,7}0\\.5.{1,7}60")) << launcher;
  }
}

TEST(Command, IsResolvedIntoAConfigThatReadsBackTheSame) {
  ScratchFolder temp;
  temp.put("ds.json", R"({"batch": "{micro_batch_size}", "deep": {"lr": "{lr}"}})");
  temp.put("a.yaml", "steps: {steps}\nmap: {{a: 1}}\n");
  auto given =
      line({"micro_batch_size=4,8", "lr=1,2"}, {"t", "{file:ds.json}", "--config={file:a.yaml}"});
  given.files = {"ds.json=" + temp.path("ds.json"), "a.yaml=" + temp.path("a.yaml")};
  given.each = "node";
  const auto plan =
      value_of(plan_of_line(given, {"trial_setup=[\"true\", \"{dir}\"]", "framework=x"}));
  const auto files = trial_files(plan, {3, 1}, {"/run", 29500, ""});
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ(files->at(0).text, "steps: 60\nmap: {a: 1}\n");
  EXPECT_EQ(nlohmann::json::parse(files->at(1).text),
            nlohmann::json::parse(R"({"batch": 8, "deep": {"lr": 2}})"));

  const auto text = config_to_json(plan.config);
  const auto again = value_of(parse_config(text, "sweep.json"));
  EXPECT_EQ(config_to_json(again), text);
  const auto same = value_of(make_plan(again, eight_cores()));
  EXPECT_EQ(*dry_run(same, "r"), *dry_run(plan, "r"));
  EXPECT_EQ(same.cells[3].command, plan.cells[3].command);
}

TEST(Command, TakesThePlaceOfAnAxisOfAConfig) {
  const auto config = value_of(parse_config(
      R"({"command": ["t", "{micro_batch_size}", "{steps}"], "grid": {"micro_batch_size": [1, 2]}})",
      "c.json", {}, line({"micro_batch_size=16,32,64", "topology=1n2g"}, {})));
  EXPECT_THAT(config.axis("micro_batch_size")->values, ElementsAre("16", "32", "64"));
  EXPECT_THAT(config.axis("topology")->values, ElementsAre("1n2g"));
  const auto trained =
      value_of(parse_config(test::small_config(), "c.json", {}, line({"model=bert-mini"}, {})));
  EXPECT_THAT(trained.axis("model")->values, ElementsAre("bert-mini"));
}

TEST(Command, ATemplateTakesItsPlaceholdersAsAxesToo) {
  const auto workload = value_of(parse_workload(
      "mine", R"({"framework": "f", "program": "t", "args": ["{lr}", "{steps}", "{{no}}"]})", "m"));
  EXPECT_THAT(workload.own_axes(), ElementsAre("lr"));
}

TEST(Command, WithoutStepsIsNoticedAndEndsWhenItsProgramDoes) {
  const auto plan = value_of(plan_of_line(line({}, {"t"})));
  EXPECT_THAT(plan.notices, Contains(HasSubstr("no word of the command holds {steps}")));
  EXPECT_FALSE(plan.config.asks_for_steps());
  EXPECT_THAT(plan.notices, Contains(HasSubstr("the grid has no micro_batch_size")));
  const auto with = plan_of_line(line({"micro_batch_size=4"}, {"t", "{steps}"}));
  EXPECT_THAT(with->notices, IsEmpty());
}

TEST(Command, EveryPlaceholderThatHelpNamesIsOne) {
  for (const auto& one : known_placeholders()) {
    if (one.name == "rank") continue;
    const auto plan =
        plan_of_line(line({"model=m", "precision=fp32", "sequence_length=8", "micro_batch_size=2"},
                          {"t", "{seed}", "{" + std::string(one.name) + "}"}),
                     {"seed=3", R"(variants={"base": {}, "new": {}})"});
    EXPECT_TRUE(plan) << plan.error().message();
  }
}

TEST(Command, TheDocsListEveryPlaceholder) {
  const auto page = test::read_file(BB_SOURCE_DIR "/docs/templates.md");
  for (const auto& one : known_placeholders()) {
    EXPECT_THAT(
        page, HasSubstr("| `" + std::string(one.name) + "` | " + std::string(one.meaning) + " |"));
  }
}

TEST(Command, ErrorsNameTheWordAndTheCure) {
  EXPECT_THAT(
      error_of(line({}, {"t", "--batch={micro_batchsize}"})),
      testing::AllOf(HasSubstr("the command: '--batch={micro_batchsize}' holds no known "
                               "placeholder; did you mean {micro_batch_size}? any axis of "
                               "the grid is one"),
                     HasSubstr("--grid micro_batchsize=..."), HasSubstr("global_batch_size")));
  EXPECT_THAT(error_of(line({}, {"t", "{stpes}"})), HasSubstr("did you mean {steps}?"));
  EXPECT_THAT(error_of(line({}, {"t", "{micro_batch_size}"})),
              HasSubstr("the grid has no micro_batch_size; give it that axis, as in --grid "
                        "micro_batch_size=..."));
  EXPECT_THAT(error_of(line({}, {"t", "{global_batch_size}"})),
              HasSubstr("as in --grid micro_batch_size=..."));
  EXPECT_THAT(error_of(line({}, {"t", "{seed}"})), HasSubstr("--set seed=1"));
  EXPECT_THAT(error_of(line({}, {"t", "{steps"})), HasSubstr("has a '{' without its '}'"));
  EXPECT_THAT(error_of(line({}, {"t", "steps}"})), HasSubstr("has a '}' without its '{'"));
  EXPECT_THAT(error_of(line({}, {"{python}", "t"})), HasSubstr("the program '{python}' holds a"));
  EXPECT_THAT(error_of(line({}, {"t --steps {steps}"})), HasSubstr("no shell splits them"));
  EXPECT_THAT(error_of(line({"lr=1"}, {"t", "{steps}"})),
              HasSubstr("--grid lr: no word of the command holds {lr}; write {lr} where the "
                        "program takes it"));
  EXPECT_THAT(error_of(line({"micro_batch_size=4,8"}, {"t", "{steps}"})),
              HasSubstr("--grid micro_batch_size: no word of the command holds {micro_batch_size}, "
                        "so its values change nothing"));
  EXPECT_THAT(error_of(line({"topology=1n1g,2g"}, {"t"})),
              HasSubstr("--grid topology: '2g' is an impossible topology"));
  EXPECT_THAT(error_of(line({"lr=1,,2"}, {"t", "{lr}"})),
              HasSubstr("--grid lr: '1,,2' has an empty value"));
  EXPECT_THAT(error_of(line({"lr"}, {"t", "{lr}"})),
              HasSubstr("--grid lr: has no value; write it as --grid micro_batch_size=4,8"));
  EXPECT_THAT(error_of(line({"lr=1", "lr=2"}, {"t", "{lr}"})),
              HasSubstr("--grid lr: is given twice"));
  EXPECT_THAT(error_of(line({"lr=1,1"}, {"t", "{lr}"})), HasSubstr("'1' is there twice"));
  EXPECT_THAT(error_of(line({}, {""})), HasSubstr("the command: names no program"));
  EXPECT_THAT(error_of(line({}, {"t"}), {"workload=bert_train"}),
              HasSubstr("the command: a sweep has a command or a workload, not both"));
  auto each = line({}, {"t"});
  each.each = "gpus";
  EXPECT_THAT(error_of(each), HasSubstr("--each: 'gpus' is not one of gpu, node, job"));
  ScratchFolder temp;
  temp.put("f", "x");
  auto unused = line({}, {"t", "{steps}"});
  unused.files = {"ds.json=" + temp.path("none")};
  EXPECT_THAT(error_of(unused), HasSubstr("none: cannot be read: No such file"));
  auto yaml = line({}, {"t", "{file:y}"});
  temp.put("y", "a: 1\nb: {bb}\nc: {dir\n");
  yaml.files = {"y=" + temp.path("y")};
  EXPECT_THAT(error_of(yaml), HasSubstr("the command, file y: 'b: {bb}' holds no known"));
  temp.put("y", "a: 1\nc: {dir\n");
  EXPECT_THAT(error_of(yaml), HasSubstr("the command, file y: 'c: {dir' has a '{' without its"));
  unused.files = {"f=" + temp.path("f")};
  EXPECT_THAT(error_of(unused), HasSubstr("--file f: no word of the command holds {file:f}"));
  unused.files = {"f.json=" + temp.path("f")};
  EXPECT_THAT(error_of(unused), HasSubstr("is not JSON"));
}

TEST(Command, ErrorsOfAConfigNameItsLine) {
  const auto error = [](const std::string& text) {
    const auto config = parse_config(text, "c.json");
    return config ? "no error" : config.error().message();
  };
  EXPECT_THAT(error("{\n\"command\": []}"), HasSubstr("c.json:2: command: names no program"));
  EXPECT_THAT(error("{\"command\": \"t\"}"), HasSubstr("must be a list of text, not text"));
  EXPECT_THAT(error("{\"command\": [\"t\"],\n\"each\": 3}"), HasSubstr("c.json:2: each: must be"));
  EXPECT_THAT(error("{\"each\": \"gpu\", \"grid\": {}}"), HasSubstr("belongs to a command"));
  EXPECT_THAT(error("{\"command\": [\"t\"], \"logs\": [\"/tmp/x\"]}"),
              HasSubstr("must begin with {output}/ or {dir}/"));
  EXPECT_THAT(error("{\"command\": [\"t\"],\n\"trial_setup\": []}"),
              HasSubstr("c.json:2: trial_setup: names no program"));
}

OneLine fake(const Words& more = {}) {
  Words command{BB_FAKE_TRAINER};
  for (const auto& [option, value] :
       {std::pair{"--model", "bert-tiny"}, std::pair{"--precision", "fp32"},
        std::pair{"--sequence-length", "64"}, std::pair{"--micro-batch-size", "{micro_batch_size}"},
        std::pair{"--gradient-accumulation-steps", "1"},
        std::pair{"--expect-world-size", "{world_size}"}, std::pair{"--steps", "{steps}"}}) {
    command.insert(command.end(), {option, value});
  }
  command.insert(command.end(), more.begin(), more.end());
  return line({"micro_batch_size=4"}, command);
}

const Words kShort{"trials=2", "steps=20", "window=steps:10:20", "retries=0"};

TEST(Command, IsMeasuredResumedAndMeasuredAnewWhenItsWordsChange) {
  ScratchFolder temp;
  Recorder first;
  const auto plan = value_of(plan_of_line(fake(), kShort));
  const SweepOutcome outcome = swept(plan, temp, first);
  ASSERT_EQ(outcome.result.cells.size(), 1u);
  const auto& cell = outcome.result.cells[0];
  EXPECT_EQ(cell.throughput.n, 2);
  EXPECT_TRUE(cell.trials[0].sequences_per_second);
  EXPECT_EQ((*cell.context)["command"].back(), "{steps}");

  // The same by the run folder's own sweep.json, as `check --confirm run/sweep.json` reads it.
  const auto config = value_of(load_config(temp.path("run/sweep.json")));
  Recorder again;
  swept(*make_plan(config, eight_cores()), temp, again);
  EXPECT_EQ(again.counts.reused, 2);
  EXPECT_THAT(again.started, IsEmpty());

  Recorder changed;
  swept(*plan_of_line(fake({"--more"}), kShort), temp, changed);
  EXPECT_EQ(changed.counts.reused, 0);
  EXPECT_THAT(changed.notices, Contains(HasSubstr("its command has changed")));
}

TEST(Command, StepsOverRunTimeStandWhereTheLogCountsNothing) {
  ScratchFolder temp;
  const auto total_time = [&](const Words& command, const std::string& run) {
    Recorder seen;
    const auto plan = plan_of_line(line({"micro_batch_size=4"}, command), {"trials=1", "steps=50"});
    const auto outcome = run_sweep(*plan, quick(temp.path(run)), seen);
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome->result.cells.at(0).trials.at(0);
  };
  const auto silent = total_time({"sleep", "0.5", "--", "{steps}e-3"}, "silent");
  EXPECT_EQ(silent.outcome.status, Status::no_data);
  EXPECT_FALSE(silent.sequences_per_second) << "start-up is part of it: never the trial's rate";
  ASSERT_TRUE(silent.estimators.contains("total_time"));
  EXPECT_LE(silent.estimators.at("total_time"), 50 * 4 / 0.55);  // it sleeps 0.5 + 50e-3 s
  EXPECT_THAT(silent.notices,
              Contains(::testing::Field(&Notice::code, NoticeCode::steps_over_run_time)));

  const auto asked_for_nothing = total_time({"sleep", "0.1"}, "unasked");
  EXPECT_THAT(asked_for_nothing.estimators, IsEmpty()) << "its steps are not known";
  const auto failed = total_time({"sleep", "{steps}x"}, "failed");
  EXPECT_THAT(failed.estimators, IsEmpty());
}

}  // namespace
}  // namespace bertbench
