// Variants of a sweep: every cell runs each of them in turn, and their trials are pairs.
#include "harness/sweep/config/variants.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/sweep/execute/open_sweep.h"
#include "harness/sweep/execute/placement_labels.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/execute/sweep_results.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/template_call.h"
#include "reports/gate/paired.h"
#include "reports/model/result_io.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kTwo =
    R"(, "variants": {"base": {}, "new": {"args": ["--optimizer", "lamb"], "env": {"LAMP": "1"}}})";

std::string why_not(const std::string& more) {
  const auto config = parse_config(small_config(more), "test.json");
  return config ? "" : config.error().message();
}

TEST(Variants, AreReadAndWrittenBack) {
  const auto config = value_of(parse_config(small_config(kTwo), "test.json"));
  ASSERT_EQ(config.variants.size(), 2u);
  EXPECT_EQ(config.variants[1].name, "new");
  EXPECT_THAT(config.variants[1].args, ElementsAre("--optimizer", "lamb"));
  EXPECT_EQ(config.variants[1].env.at("LAMP"), "1");
  const std::string json = config_to_json(config);
  EXPECT_THAT(json, HasSubstr("\"order_seed\": 1"));
  const auto again = value_of(parse_config(json, "sweep.json"));
  EXPECT_EQ(config_to_json(again), json);
}

TEST(Variants, CanBeLeftOutAtPointsOfTheGrid) {
  const std::string three = R"(, "variants": {"base": {}, "new": {"env": {"A": "1"}},
                                              "old": {"env": {"A": "2"}}},
      "exclude": [{"variant": ["new", "old"], "micro_batch_size": 4},
                  {"variant": "old", "micro_batch_size": 8}])";
  const auto plan = plan_of(small_config(three), {"grid.micro_batch_size=[4,8]", "trials=1"});
  std::vector<std::string> keys;
  for (const auto& trial : plan.trials) keys.push_back(plan.cells[trial.cell].key);
  EXPECT_THAT(keys, UnorderedElementsAre("bert-tiny.fp32.s64.b4.a1.1n1g+variant=base",
                                         "bert-tiny.fp32.s64.b8.a1.1n1g+variant=base",
                                         "bert-tiny.fp32.s64.b8.a1.1n1g+variant=new"));
  const std::string two = kTwo;
  EXPECT_THAT(why_not(two + R"(, "exclude": [{"variant": "base"}])"),
              HasSubstr("'base' is the first variant, which the others are held against"));
  EXPECT_THAT(why_not(two + R"(, "exclude": [{"variant": "nwe"}])"),
              HasSubstr("'nwe' is no variant of this sweep"));
  EXPECT_THAT(why_not(R"(, "exclude": [{"variant": "new"}])"), HasSubstr("unknown axis 'variant'"));
}

TEST(Variants, WhatCannotBeMeasuredIsNamed) {
  EXPECT_THAT(why_not(R"(, "variants": {"base": {}})"), HasSubstr("two or more variants"));
  EXPECT_THAT(why_not(R"(, "variants": ["base", "new"])"), HasSubstr("two or more variants"));
  EXPECT_THAT(why_not(R"(, "variants": {"a": {}, "b c": {}})"), HasSubstr("no name of a variant"));
  EXPECT_THAT(why_not(R"(, "variants": {"a": {}, "b": {"arg": []}})"),
              HasSubstr("did you mean 'args'?"));
  EXPECT_THAT(why_not(R"(, "variants": {"a": {}, "b": {"args": ["--optimiser", "sgd"]}})"),
              HasSubstr("variants.b.args[0]"));
  EXPECT_THAT(why_not(R"(, "variants": {"a": {}, "b": {"args": ["--comm", "sim"]}})"),
              HasSubstr("cannot be simulated next to"));
  EXPECT_THAT(why_not(R"(, "order_seed": 3)"), HasSubstr("only for a sweep with variants"));
  EXPECT_THAT(why_not(R"(, "turn_s": 0.01)"), HasSubstr("only for a sweep with variants"));
  const std::string two = kTwo;
  const auto with = [&](const std::string& set) {
    const auto config = parse_config(small_config(two), "test.json", {set});
    return config ? std::string() : config.error().message();
  };
  const auto automatic = [&](const std::string& set) {
    const auto config = parse_config(small_config(two), "test.json", {"trials=auto", set});
    return config ? make_plan(*config).error().message() : config.error().message();
  };
  EXPECT_THAT(automatic("trials_interval=0.02"), HasSubstr("is not for a sweep with variants"));
  EXPECT_THAT(automatic("order=sequential"), HasSubstr("must be interleaved"));
  const auto many = parse_config(small_config(two), "test.json", {"trials=1001"});
  EXPECT_THAT(make_plan(*many).error().message(), HasSubstr("must be at most 1000"));
  EXPECT_THAT(with("turn_s=0"), HasSubstr("must be seconds, a number above 0"));
  const auto turns = [&](const std::string& set) {
    const auto config = parse_config(small_config(two), "test.json", {"turn_s=0.01", set});
    return config ? make_plan(*config).error().message() : config.error().message();
  };
  EXPECT_THAT(turns("grid.topology=[\"1n2g\"]"), HasSubstr("has 2 ranks"));
  EXPECT_THAT(turns("launcher=mpi"), HasSubstr("launcher mpi starts ranks elsewhere"));
  EXPECT_THAT(with("grid.micro_batch_size=[\"max\"]"), HasSubstr("must be numbers in a sweep"));
  EXPECT_THAT(with("grid.env.LAMP=[\"1\"]"), HasSubstr("env.LAMP"));
}

TEST(Variants, AreCellsOfTheirOwnWithOneIdentityButForTheirName) {
  const auto plan = plan_of(small_config(kTwo), {"args=[\"--gelu\",\"tanh\"]", "env.LAMP=0"});
  ASSERT_EQ(plan.cells.size(), 2u);
  const auto &base = plan.cells[0], &changed = plan.cells[1];
  EXPECT_EQ(base.identity.axes.at("variant"), "base");
  EXPECT_THAT(base.key, HasSubstr("+variant=base"));
  Identity a = base.identity, b = changed.identity;
  a.axes.erase(kVariantAxis);
  b.axes.erase(kVariantAxis);
  EXPECT_EQ(a, b);
  EXPECT_EQ(base.grid_point, changed.grid_point);
  EXPECT_THAT(*base.variant, IsEmpty());
  EXPECT_THAT(*changed.variant, ElementsAre("LAMP=1", "--optimizer", "lamb"));
  const LaunchPlace place{"/x", 0, ""};
  const auto words = trainer_words(plan, {1, 1, 1}, place, 1);
  ASSERT_TRUE(words);
  EXPECT_THAT(std::vector<std::string>(words->end() - 4, words->end()),
              ElementsAre("--gelu", "tanh", "--optimizer", "lamb"));
  const auto env = trainer_env(plan, {1, 1, 1}, place);
  ASSERT_TRUE(env);
  EXPECT_NE(std::ranges::find(*env, std::pair<std::string, std::string>("LAMP", "1")), env->end());
}

TEST(Variants, FollowEachOtherInEachBlockWhateverTheOrder) {
  for (const char* order : {"interleaved", "sequential"}) {
    const auto plan =
        plan_of(small_config(kTwo), {"grid.model=[\"bert-tiny\",\"bert-mini\"]", "trials=6",
                                     std::string("order=\"") + order + "\""});
    ASSERT_EQ(plan.trials.size(), 24u);
    std::map<std::pair<std::size_t, int>, std::set<int>> positions;
    for (std::size_t i = 0; i < plan.trials.size(); i += 2) {
      const auto &first = plan.trials[i], &second = plan.trials[i + 1];
      EXPECT_EQ(first.trial, second.trial);
      EXPECT_EQ(plan.cells[first.cell].grid_point, plan.cells[second.cell].grid_point);
      EXPECT_NE(first.cell, second.cell);
      EXPECT_EQ(first.position, 1);
      EXPECT_EQ(second.position, 2);
    }
  }
}

TEST(Variants, EachComesFirstInHalfOfTheBlocks) {
  std::set<std::vector<std::size_t>> seen;
  for (std::size_t point = 0; point < 20; ++point) {
    std::size_t first = 0;
    std::vector<std::size_t> orders;
    for (int block = 1; block <= 10; ++block) {
      const auto order = order_in_block(1, point, block, 2);
      first += order[0] == 0 ? 1 : 0;
      orders.push_back(order[0]);
      EXPECT_EQ(order, order_in_block(1, point, block, 2));
    }
    EXPECT_EQ(first, 5u);
    seen.insert(orders);
  }
  EXPECT_GT(seen.size(), 10u);  // drawn anew for each point
  EXPECT_EQ(order_in_block(1, 0, 1, 1), std::vector<std::size_t>{0});
  auto three = order_in_block(7, 0, 1, 3);
  const auto turned = order_in_block(7, 0, 2, 3);
  std::ranges::reverse(three);
  EXPECT_EQ(three, turned);
}

TEST(Variants, ShareAJobOfAQueueAndCanBeChosenAlone) {
  auto plan = plan_of(small_config(kTwo), {"launcher=slurm"});
  EXPECT_EQ(batch_group(plan, plan.trials[0]), batch_group(plan, plan.trials[1]));
  plan.config.slurm.job = "trial";
  EXPECT_EQ(batch_group(plan, plan.trials[0]), batch_group(plan, plan.trials[1]));
  EXPECT_NE(batch_group(plan, plan.trials[0]), batch_group(plan, plan.trials[2]));
  PlanOptions only;
  only.only = {"variant=new"};
  const auto one = plan_of(small_config(kTwo), {}, only);
  ASSERT_EQ(one.trials.size(), 2u);
  EXPECT_EQ(one.trials[0].cell, 1u);
}

TEST(Variants, MayBeAnotherProgramEach) {
  const auto config =
      small_config(R"(, "variants": {"base": {}, "new": {"trainer": "/opt/other/bert_train"}})");
  const auto plan = plan_of(config);
  EXPECT_THAT(programs_of(plan), UnorderedElementsAre("/opt/other/bert_train", BB_FAKE_TRAINER));
  const auto words = trainer_words(plan, {1, 1, 1}, {"/x", 0, ""}, 1);
  EXPECT_EQ(words->front(), "/opt/other/bert_train");
  const auto own = plan_of(
      R"({"command": ["/opt/old/train", "{variant}.py"], "trials": 1, "steps": 2,
          "variants": {"base": {}, "new": {"trainer": "/opt/new/train"}}})");
  EXPECT_THAT(programs_of(own), ElementsAre("/opt/new/train", "/opt/old/train"));
  const auto own_words = trainer_words(own, {1, 1, 1}, {"/x", 0, ""}, 1);
  EXPECT_THAT(*own_words, ElementsAre("/opt/new/train", "new.py"));
  const auto without = value_of(
      parse_config(R"({"command": ["/opt/train", "{variant}.py"], "steps": 2})", "test.json"));
  const auto refused = make_plan(without);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("the sweep has no variants"));
}

/// Two variants of which "new" takes 10 % more time; six pairs.
Plan slow_plan(const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets{"trials=6", "env.FAKE_SECONDS=0.01", "env.FAKE_DELAY_MS=2"};
  sets.insert(sets.end(), more.begin(), more.end());
  return plan_of(
      small_config(R"(, "variants": {"base": {}, "new": {"env": {"FAKE_SECONDS": "0.011"}}})"),
      sets);
}

using SweepOfVariants = test::SweepTest;

TEST_F(SweepOfVariants, MeasuresPairsThatTheGateJudges) {
  const SweepOutcome outcome = swept(slow_plan(), temp_, seen_);
  ASSERT_EQ(outcome.result.cells.size(), 2u);
  std::map<int, std::set<int>> positions;
  for (const Cell& cell : outcome.result.cells) {
    EXPECT_EQ(cell.throughput.n, 6);
    for (const Trial& trial : cell.trials) {
      ASSERT_TRUE(trial.block);
      EXPECT_EQ(trial.block->session, 1);
      positions[trial.trial].insert(trial.block->position);
    }
  }
  for (const auto& [trial, both] : positions) EXPECT_THAT(both, ElementsAre(1, 2)) << trial;
  const auto written = value_of(read_result_set(temp_.path("run")));
  EXPECT_THAT(variants_of(written), ElementsAre("base", "new"));
  EXPECT_EQ((*written.cells[1].context)["variant"][0], "FAKE_SECONDS=0.011");
  GateOptions options;
  options.floor = kPairedFloor;
  const auto slower = check_paired(written, "base", options);
  EXPECT_EQ(slower.exit_status, 1) << reason_text(slower.cells[0]);
  EXPECT_EQ(slower.cells[0].n_new, 6);
  EXPECT_EQ(check_paired(written, "new", options).exit_status, 0);
}

/// Two variants that take turns; `fake` is what "new" does besides.
Plan plan_of_turns(const ScratchFolder& temp, const std::string& fake,
                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets{"turn_s=0.01", "env.FAKE_TURNS=" + temp.path("turns")};
  sets.insert(sets.end(), more.begin(), more.end());
  return plan_of(small_config(R"(, "variants": {"base": {}, "new": {"env": {)" + fake + "}}}"),
                 sets);
}

/// The process of each step, in order; "" where two computed at the same time.
std::vector<std::string> steps_in(const std::string& file) {
  std::istringstream in(test::read_file(file));
  std::vector<std::string> steps;
  std::string pid, what, busy;
  while (in >> pid >> what) {
    const bool begins = what == "begins";
    if (begins) steps.push_back(busy.empty() ? pid : "");
    if (!begins && busy != pid) steps.emplace_back();
    busy = begins ? pid : "";
  }
  return steps;
}

TEST_F(SweepOfVariants, TakeTurnsStepByStepWhereTheConfigurationAsksForThem) {
  const SweepOutcome outcome = swept(plan_of_turns(temp_, ""), temp_, seen_);
  const auto steps = steps_in(temp_.path("turns"));
  ASSERT_EQ(steps.size(), 80u);  // two blocks, two variants, 20 steps
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSERT_FALSE(steps[i].empty()) << i;
    if (i % 40 > 0) {
      EXPECT_NE(steps[i], steps[i - 1]) << i;
    }
  }
  for (const Cell& cell : outcome.result.cells) {
    EXPECT_EQ((*cell.context)["turn_s"], 0.01);
    for (const Trial& trial : cell.trials) {
      EXPECT_TRUE(trial.block);
      EXPECT_EQ(trial.estimators.count("arrival"), 0u) << "that of the lines shows the waiting";
    }
  }
  Recorder again;
  swept(plan_of_turns(temp_, ""), temp_, again);
  EXPECT_THAT(again.started, IsEmpty());
}

TEST_F(SweepOfVariants, OneThatFailsInItsTurnLeavesItToTheOthers) {
  for (const char* fake :
       {R"("FAKE": "exit:1")", R"("FAKE": "signal:9")", R"("FAKE": "exit:1", "FAKE_AT": "0")",
        R"("FAKE": "hang")", R"("FAKE": "hang", "FAKE_AT": "0")"}) {
    ScratchFolder temp;
    Recorder seen;
    const auto plan = plan_of_turns(temp, fake, {"trials=1", "stall_timeout_s=3"});
    const SweepOutcome outcome = swept(plan, temp, seen, 1);
    ASSERT_EQ(outcome.result.cells.size(), 2u);
    for (const Cell& cell : outcome.result.cells) {
      const bool base = cell.identity.axes.at("variant") == "base";
      EXPECT_EQ(cell.trials.at(0).outcome.status == Status::completed, base)
          << fake << " " << cell.key;
    }
  }
}

TEST_F(SweepOfVariants, OneThatIsTriedAgainTakesTurnsWithNobodyAndIsInNoPair) {
  const auto fake = fmt::format(R"("FAKE": "exit:1", "FAKE_ONCE": "{}")", temp_.path("once"));
  const SweepOutcome outcome = swept(plan_of_turns(temp_, fake, {"retries=1"}), temp_, seen_);
  int paired = 0;
  for (const Cell& cell : outcome.result.cells) {
    for (const Trial& trial : cell.trials) paired += trial.block ? 1 : 0;
  }
  EXPECT_EQ(paired, 3) << "of four trials one was made again";
}

TEST_F(SweepOfVariants, PairsEndByTheRuleThatTheRunRecordsAndAResumeEndsThemAlike) {
  Recorder first, second;
  const std::vector<std::string> sets{"trials=auto", "trials_max=28"};
  const SweepOutcome outcome = swept(slow_plan(sets), temp_, first);
  for (const Cell& cell : outcome.result.cells) {
    EXPECT_EQ(cell.trials.size(), 14U) << "10 % show at the first look";
    EXPECT_EQ((*cell.context)[kStoppingKey]["looks"], nlohmann::json({14, 18, 21, 25, 28}));
  }
  GateOptions options;
  options.floor = kPairedFloor;
  const auto report = check_paired(outcome.result, "base", options);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_THAT(reason_text(report.cells[0]), HasSubstr("after 14 of at most 28"));
  swept(slow_plan(sets), temp_, second);
  EXPECT_THAT(second.started, IsEmpty());
  for (const auto& other : {slow_plan({"trials=30"}), slow_plan({"trials=auto"})}) {
    const auto refused = run_sweep(other, quick(temp_.path("run")), second);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("by another rule"));
  }
}

/// "lost" is out of memory in every trial; "new" takes 10 % more time than "base".
Plan plan_with_a_lost_variant() {
  return plan_of(small_config(R"(, "variants": {"base": {}, "lost": {"env": {"FAKE": "oom_exit"}},
                                 "new": {"env": {"FAKE_SECONDS": "0.011"}}})"),
                 {"trials=auto", "trials_max=28", "env.FAKE_SECONDS=0.01"});
}

std::map<std::string, std::size_t> trials_by_variant(const ResultSet& result) {
  std::map<std::string, std::size_t> out;
  for (const Cell& cell : result.cells) {
    out[cell.identity.axes.at(kVariantAxis)] = cell.trials.size();
  }
  return out;
}

TEST_F(SweepOfVariants, AVariantThatIsOutOfMemoryEndsNoPairsOfTheOthers) {
  const auto plan = plan_with_a_lost_variant();
  Recorder first, second;
  const SweepOutcome outcome = swept(plan, temp_, first, 1);
  const std::map<std::string, std::size_t> wanted{{"base", 14}, {"lost", 1}, {"new", 14}};
  EXPECT_EQ(trials_by_variant(outcome.result), wanted);
  const SweepOutcome again = swept(plan, temp_, second, 1);
  EXPECT_THAT(second.started, IsEmpty());
  EXPECT_EQ(trials_by_variant(again.result), wanted);
}

TEST_F(SweepOfVariants, AResumeKeepsThePairsThatALostVariantHasNoPartIn) {
  std::atomic<bool> stop{false};
  Recorder first, second;
  first.on_record = [&] {
    if (first.finished.size() == 7) stop = true;  // three blocks: of three, two and two trials
  };
  const auto plan = plan_with_a_lost_variant();
  auto options = quick(temp_.path("run"));
  options.stop = &stop;
  ASSERT_TRUE(run_sweep(plan, options, first));
  swept(plan, temp_, second, 1);
  EXPECT_EQ(second.started.size(), 22U) << "eleven blocks of two";
}

TEST_F(SweepOfVariants, WithoutItsBaseAPointEnds) {
  const auto plan =
      plan_of(small_config(R"(, "variants": {"base": {"env": {"FAKE": "oom_exit"}}, "new": {}})"),
              {"trials=auto", "trials_max=28"});
  swept(plan, temp_, seen_, 1);
  EXPECT_LE(seen_.started.size(), 2U);
}

TEST_F(SweepOfVariants, ALookWaitsForEveryTrialUpToItAndForRetries) {
  const auto plan = slow_plan({"trials=auto", "trials_max=28"});
  const auto options = quick(temp_.path("run"));
  const StopSignals signals(false);
  const auto sweep = OpenSweep::open(plan, options, seen_, signals);
  ASSERT_TRUE(sweep) << sweep.error().message();
  const PlacementLabels placement(*sweep);
  SweepResults results(*sweep, placement);
  const auto keep = [&](const PlannedTrial& planned, SweepResults::Retry retry) {
    MeasuredAttempt measured;
    measured.trial.trial = planned.trial;
    measured.trial.block = BlockPlace{1, planned.position};
    if (retry == SweepResults::Retry::none) {
      measured.trial.outcome.status = Status::completed;
      measured.trial.window = {"steps:10:20", "config", true, 10, 20};
      measured.trial.sequences_per_second = planned.cell == 0 ? 100.0 : 90.0;
      measured.trial.estimator = "step_time";
    }
    results.keep(planned, std::move(measured), retry);
    return results.settled_with(planned.cell).size();
  };
  // Of two jobs the one with trial 13 of the second cell takes longest.
  const PlannedTrial* late = nullptr;
  for (const PlannedTrial& planned : plan.trials) {
    if (planned.trial > 14) continue;
    if (planned.trial == 13 && planned.cell == 1) {
      late = &planned;
    } else {
      EXPECT_EQ(keep(planned, SweepResults::Retry::none), 0U) << planned.trial;
    }
  }
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(keep(*late, SweepResults::Retry::pending), 0U);
  EXPECT_EQ(keep(*late, SweepResults::Retry::none), 2U);
}

TEST_F(SweepOfVariants, LaunchesNothingWhenAllPairsAreWhole) {
  Recorder first, second;
  swept(slow_plan(), temp_, first);
  const auto before = test::read_file(temp_.path("run/results.json"));
  const SweepOutcome outcome = swept(slow_plan(), temp_, second);
  EXPECT_THAT(second.started, IsEmpty());
  // The blocks come back from what was recorded.
  for (const Cell& cell : outcome.result.cells) {
    for (const Trial& trial : cell.trials) EXPECT_EQ(trial.block->session, 1);
  }
  const auto result = nlohmann::json::parse(before);
  const auto again = nlohmann::json::parse(test::read_file(temp_.path("run/results.json")));
  EXPECT_EQ(result["cells"], again["cells"]);
}

TEST_F(SweepOfVariants, AHalfWhosePartnerIsLostIsMeasuredAgainWithIt) {
  Recorder first, second, third;
  swept(slow_plan(), temp_, first);
  const std::string key =
      "bert-tiny.fp32.s64.b4.a1.1n1g+env.FAKE_DELAY_MS=2+env.FAKE_SECONDS=0.01+variant=";
  std::filesystem::remove(temp_.path("run/" + key + "new/trial_3/log.txt"));
  const SweepOutcome outcome = swept(slow_plan(), temp_, second);
  EXPECT_THAT(second.started, ::testing::UnorderedElementsAre(key + "base#3", key + "new#3"));
  EXPECT_THAT(second.notices,
              ::testing::Contains(HasSubstr("1 trial measured anew: the other half")));
  for (const Cell& cell : outcome.result.cells) {
    ASSERT_EQ(cell.trials.size(), 6u);
    for (const Trial& trial : cell.trials) {
      EXPECT_EQ(trial.block->session, trial.trial == 3 ? 2 : 1);
    }
  }
  GateOptions options;
  EXPECT_EQ(check_paired(outcome.result, "base", options).cells[0].n_new, 6);
  swept(slow_plan(), temp_, third);
  EXPECT_THAT(third.started, IsEmpty());
}

TEST_F(SweepOfVariants, HalvesOfTwoSessionsAreMeasuredAnew) {
  Recorder alone, whole;
  PlanOptions only;
  only.only = {"variant=base"};
  const std::vector<std::string> sets{"trials=2"};
  const auto config =
      small_config(R"(, "variants": {"base": {}, "new": {"env": {"FAKE_SECONDS": "0.011"}}})");
  swept(plan_of(config, sets, only), temp_, alone);
  EXPECT_EQ(alone.started.size(), 2u);
  const SweepOutcome outcome = swept(plan_of(config, sets), temp_, whole);
  EXPECT_EQ(whole.started.size(), 4u);
  for (const Cell& cell : outcome.result.cells) {
    for (const Trial& trial : cell.trials) EXPECT_EQ(trial.block->session, 2);
  }
}

TEST_F(SweepOfVariants, AStopInTheMiddleOfAPairLeavesNoHalfInTheResult) {
  std::atomic<bool> stop{false};
  Recorder first, second;
  first.on_record = [&] {
    if (first.started.size() == 4) stop = true;  // the second half of the second pair
  };
  auto options = quick(temp_.path("run"));
  options.stop = &stop;
  const auto plan = slow_plan({"trials=3"});
  const auto cut = value_of(run_sweep(plan, options, first));
  EXPECT_TRUE(cut.interrupted);
  const SweepOutcome outcome = swept(plan, temp_, second);
  EXPECT_EQ(second.started.size(), 4u);  // both halves of the second and of the third
  GateOptions gate;
  gate.floor = kPairedFloor;
  const auto report = check_paired(outcome.result, "base", gate);
  EXPECT_EQ(report.cells[0].n_new, 3);
  EXPECT_EQ(report.exit_status, 3);  // three pairs decide nothing
}

/// Variants of which trials say that the trainer was built anew since.
std::set<std::string> built_anew(const ResultSet& result) {
  std::set<std::string> out;
  for (const Cell& cell : result.cells) {
    for (const Trial& trial : cell.trials) {
      for (const Notice& notice : trial.notices) {
        if (notice.code == NoticeCode::trainer_build_changed) {
          out.insert(cell.identity.axes.at(kVariantAxis));
        }
      }
    }
  }
  return out;
}

// Seen: with --only the programs of the sweep were others, so every trial was called changed.
TEST_F(SweepOfVariants, EachKnowsTheBuildOfItsOwnTrainer) {
  const auto other = temp_.path("other_trainer");
  std::filesystem::copy_file(BB_FAKE_TRAINER, other);
  const auto config =
      small_config(R"(, "variants": {"base": {}, "new": {"trainer": ")" + other + "\"}}");
  const auto run = [&](const PlanOptions& options) {
    Recorder seen;
    const SweepOutcome outcome = swept(plan_of(config, {}, options), temp_, seen);
    return built_anew(outcome.result);
  };
  PlanOptions only;
  only.only = {"variant=new"};
  EXPECT_THAT(run({}), IsEmpty());
  EXPECT_THAT(run(only), IsEmpty());
  EXPECT_THAT(run({}), IsEmpty());
  std::ofstream(other, std::ios::app) << "another build";
  EXPECT_THAT(run({}), ElementsAre("new"));
}

}  // namespace
}  // namespace bertbench
