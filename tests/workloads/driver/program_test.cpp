// The real program, one process per rank.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/workloads/driver/process.h"
#include "tests/workloads/driver/state.h"
#include "workloads/bert/comm/socket.h"
#include "workloads/bert/train/checkpoint.h"

namespace bert::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Largest e = |a - b| / |a| over parameters, of array 0 (weights) or 1 (first moments). Key biases
// have a gradient of exactly zero in theory, so theirs is rounding noise: compared absolutely.
double largest_difference(const State& a, const State& b, std::size_t array, double& noise) {
  const auto elements = a.header["elements"].get<std::size_t>();
  double worst = 0;
  noise = 0;
  for (const auto& p : a.header["parameters"]) {
    double difference = 0, norm = 0;
    const auto offset = p["offset"].get<std::size_t>(), size = p["size"].get<std::size_t>();
    for (std::size_t i = array * elements + offset; i < array * elements + offset + size; ++i) {
      const double x = static_cast<double>(a.values[i]), y = static_cast<double>(b.values[i]);
      difference += (x - y) * (x - y);
      norm += x * x;
    }
    if (p["name"].get<std::string>().ends_with("key.bias")) {
      noise = std::max(noise, std::sqrt(difference));
    } else {
      worst = std::max(worst, std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30));
    }
  }
  return worst;
}

void run_two_ranks(const Words& words) {
  const int port = free_port();
  Process second(words, rank_variables(1, 2, port));
  const Finished first = run(words, rank_variables(0, 2, port));
  const Finished other = second.wait();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(count(other.out, "\n"), count(other.out, "rank_time rank=1 "))
      << "rank 0 prints the log, the others their own times";
}

/// Seconds of the steps 1 .. 3, a line each, that the rank states by itself.
double own_seconds(const std::string& text, int rank) {
  double sum = 0;
  for (int step = 1; step <= 3; ++step) {
    const std::string begin = "\nrank_time rank=" + std::to_string(rank) + " node=";
    const std::string end =
        " steps=" + std::to_string(step) + ":" + std::to_string(step) + " own_s=";
    const std::string all = "\n" + text;
    const std::size_t at = all.find(end);
    EXPECT_NE(at, std::string::npos) << text;
    if (at == std::string::npos) return 0;
    EXPECT_EQ(all.compare(all.rfind('\n', at), begin.size(), begin), 0) << text;
    sum += std::stod(all.substr(at + end.size()));
  }
  return sum;
}

TEST(Program, EachRankPrintsWhatAStepTakesItBeforeItWaits) {
  for (const char* style : {"native", "tqdm"}) {
    const int port = free_port();
    const Words words = small({"--steps", "3", "--handicap", "400%@1", "--log-style", style});
    Process second(words, rank_variables(1, 2, port));
    const Finished first = run(words, rank_variables(0, 2, port));
    const Finished other = second.wait();
    ASSERT_EQ(first.status, 0) << first.err;
    // It spins for four times what the whole step took, the waiting for rank 0 included.
    EXPECT_GT(own_seconds(other.out, 1), 2 * own_seconds(first.out, 0)) << style;
  }
}

TEST(Program, ARankThatIsAloneHasNobodyToWaitFor) {
  EXPECT_EQ(count(run(small({"--steps", "2"})).out, "rank_time"), 0);
}

using ModelAndOptimizer = std::pair<const char*, const char*>;
class DataParallel : public ::testing::TestWithParam<ModelAndOptimizer> {};

// Dropout stays on: its masks depend on the sequence and not on the rank.
TEST_P(DataParallel, TwoRanksAndAccumulationEqualOneRankWithTwiceTheBatch) {
  const std::string one = temporary_folder("one"), two = temporary_folder("two"),
                    twice = temporary_folder("twice");
  const auto [model, optimizer] = GetParam();
  const std::string common = std::string("--model ") + model + " --optimizer " + optimizer +
                             " --threads 1 --sequence-length 32 --steps 4 --bucket-mb 0.7";
  const auto words = [&](const std::string& batch, const std::string& folder) {
    Words out = split_words(common + " --micro-batch-size " + batch);
    out.insert(out.end(), {"--checkpoint", folder});
    return out;
  };
  ASSERT_EQ(run(words("8", one)).status, 0);
  run_two_ranks(words("4", two));
  Words accumulated = words("4", twice);
  accumulated.insert(accumulated.end(), {"--gradient-accumulation-steps", "2"});
  ASSERT_EQ(run(accumulated).status, 0);
  const State reference = newest_state(one);
  for (const std::string& folder : {two, twice}) {
    const State state = newest_state(folder);
    ASSERT_EQ(state.values.size(), reference.values.size());
    double noise = 0;
    EXPECT_LE(largest_difference(reference, state, 1, noise), 1e-6) << "gradients, " << folder;
    EXPECT_LE(noise, 1e-10) << "key biases";
    EXPECT_LE(whole_difference(reference, state, 0), 1e-6) << "weights, " << folder;
    EXPECT_GT(whole_difference(reference, state, 1), 0) << "the same run was compared with itself";
  }
}
INSTANTIATE_TEST_SUITE_P(Optimizers, DataParallel,
                         ::testing::Values(ModelAndOptimizer{"bert-tiny", "adamw"},
                                           ModelAndOptimizer{"bert-tiny", "lamb"},
                                           ModelAndOptimizer{"gpt2-tiny", "adamw"}),
                         [](const auto& one) {
                           return std::string(one.param.first).substr(0, 4) + one.param.second;
                         });

TEST(Program, FiveStepsAndFiveResumedEqualTenBitForBit) {
  const std::string whole = temporary_folder("whole"), parts = temporary_folder("parts");
  const Words common = {"--deterministic", "--decay-steps", "10", "--warmup-steps", "3"};
  const auto train = [&](Words more) {
    more.insert(more.end(), common.begin(), common.end());
    EXPECT_EQ(run_to(0, small(more)).err, "");
  };
  train({"--steps", "10", "--checkpoint", whole});
  train({"--steps", "5", "--checkpoint", parts});
  train({"--steps", "10", "--resume", parts, "--checkpoint", parts});
  const State a = newest_state(whole), b = newest_state(parts);
  EXPECT_EQ(b.header["step"], 10);
  ASSERT_EQ(a.values.size(), b.values.size());
  const Finished changed =
      run_to(0, small({"--steps", "11", "--decay-steps", "10", "--warmup-steps", "3", "--dropout",
                       "0.2", "--resume", parts}));
  EXPECT_THAT(changed.err, HasSubstr("rank 0: warning: --resume " + parts +
                                     ": goes on with other settings: --dropout was \"0.1\" and is "
                                     "\"0.2\"\n"));
  EXPECT_EQ(std::memcmp(a.values.data(), b.values.data(), a.values.size() * 4), 0);
}

std::vector<nlohmann::json> lines_of(const Finished& done) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(done.out);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// Of each step the member, as "learning_rate".
std::vector<double> of_steps(const Finished& done, const char* member) {
  EXPECT_EQ(done.status, 0) << done.err;
  std::vector<double> all;
  for (const auto& line : lines_of(done)) {
    if (line["type"] == "step") all.push_back(line[member].get<double>());
  }
  return all;
}

TEST(Program, TheLossOfATrainingFalls) {
  const Finished done = run({"--threads", "1", "--micro-batch-size", "8", "--sequence-length", "32",
                             "--steps", "160", "--learning-rate", "1e-3", "--warmup-steps", "30"});
  const auto losses = of_steps(done, "loss");
  ASSERT_EQ(losses.size(), 160u);
  const auto mean = [&](std::size_t from) {
    double sum = 0;
    for (std::size_t i = from; i < from + 20; ++i) sum += losses[i] / 20;
    return sum;
  };
  EXPECT_NEAR(losses[0], std::log(30522.0) + std::log(2.0), 0.4);  // knows nothing yet
  EXPECT_LT(mean(140), mean(0) - 1.5);
}

// Phase 1 at 32 tokens, phase 2 at 64 with another batch; a resume within phase 2 keeps its start.
TEST(Program, APhaseGoesOnFromTheOneBeforeAtAnotherLengthWithItsScheduleBegunAnew) {
  const std::string one = temporary_folder("phase1"), two = temporary_folder("phase2");
  const Words schedule = {"--threads",          "1", "--schedule",      "warmup_linear_decay_exp",
                          "--warmup-steps",     "2", "--decay-rate",    "0.5",
                          "--decay-rate-steps", "1", "--learning-rate", "1e-3"};
  const auto with = [&](Words words) {
    words.insert(words.end(), schedule.begin(), schedule.end());
    return run(words);
  };
  const Finished first = with(
      {"--micro-batch-size", "2", "--sequence-length", "32", "--steps", "4", "--checkpoint", one});
  ASSERT_EQ(first.status, 0) << first.err;
  const Words longer = {"--micro-batch-size", "1", "--sequence-length", "64"};
  const auto phase2 = [&](Words words) {
    words.insert(words.end(), longer.begin(), longer.end());
    return with(words);
  };
  const Finished refused = phase2({"--steps", "7", "--resume", one});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("was made with"));
  EXPECT_THAT(refused.err, HasSubstr("only --new-phase changes it"));
  const Finished second =
      phase2({"--steps", "7", "--resume", one, "--new-phase", "--checkpoint", two});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(of_steps(first, "learning_rate"),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), {0.5e-3, 1e-3, 0.5e-3, 0.25e-3}));
  EXPECT_EQ(lines_of(second)[1]["step"], 5);
  EXPECT_THAT(of_steps(second, "learning_rate"),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), {0.5e-3, 1e-3, 0.5e-3}));
  const Finished third = phase2({"--steps", "8", "--resume", two});
  ASSERT_EQ(third.status, 0) << third.err;
  EXPECT_THAT(of_steps(third, "learning_rate"),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), {0.25e-3}));
}

// Seen: the decay was reckoned over all steps, so a second phase ended at half the rate.
TEST(Program, TheDecayOfAPhaseEndsWithTheLastStepOfThePhase) {
  const std::string one = temporary_folder("decay1"), two = temporary_folder("decay2");
  const auto with = [&](const Words& words) {
    Words all = {"--learning-rate", "1e-3", "--warmup-steps", "1"};
    all.insert(all.end(), words.begin(), words.end());
    return run(small(all));
  };
  ASSERT_EQ(with({"--steps", "3", "--checkpoint", one}).status, 0);
  const Finished phase =
      with({"--steps", "6", "--resume", one, "--new-phase", "--checkpoint", two});
  EXPECT_THAT(of_steps(phase, "learning_rate"),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), {1e-3, 1e-3, 0.5e-3}));
  EXPECT_EQ(lines_of(phase)[0]["decay_steps"], 3);
  const Finished later = with({"--steps", "8", "--resume", two});
  EXPECT_THAT(of_steps(later, "learning_rate"),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), {0.5e-3, 0.25e-3}));
  const Finished refused =
      run_to(2, small({"--steps", "6", "--resume", one, "--new-phase", "--warmup-steps", "4"}));
  EXPECT_THAT(refused.err, HasSubstr("more than the 3 steps of this phase"));
}

TEST(Program, InferenceStatesItsLatencyAndTakesTheWeightsOfACheckpoint) {
  const std::string folder = temporary_folder("inference");
  const Finished trained = run_to(0, small({"--steps", "20", "--learning-rate", "1e-3", "--dropout",
                                            "0", "--checkpoint", folder}));
  const auto first_loss = [](const Finished& done) {
    return lines_of(done).at(1)["loss"].get<double>();
  };
  const Finished fresh = run_to(0, small({"--inference", "--steps", "10"}));
  EXPECT_NEAR(first_loss(fresh), first_loss(trained), 1e-6) << "the same weights and batch";
  const Finished loaded =
      run_to(0, small({"--inference", "--steps", "10", "--init-checkpoint", folder}));
  EXPECT_LT(first_loss(loaded), first_loss(fresh) - 0.5);
  const auto latency = lines_of(fresh).back()["latency_ms"];
  EXPECT_EQ(latency["n"], 9) << "all batches but the first";
  double last = 0;
  for (const char* key : {"p50", "p90", "p95", "p99", "max"}) {
    EXPECT_GE(latency[key].get<double>(), last) << key;
    last = latency[key];
  }
  EXPECT_GT(latency["p50"].get<double>(), 0);
  EXPECT_LE(latency["mean"].get<double>(), last);
  const Finished dll = run(small({"--inference", "--steps", "3", "--log-style", "dllogger"}));
  EXPECT_THAT(dll.out, HasSubstr("inference_sequences_per_second : "));
  EXPECT_THAT(dll.out, HasSubstr("latency_99_ms : "));
}

// With this seed the relation of question and context is learnt within 200 steps, by the kernels of
// AVX-512 as by those of SSE4.1; with others it takes up to 500.
Words questions(const Words& more) {
  Words words = split_words(
      "--threads 1 --task squad --micro-batch-size 32 --sequence-length 24 --learning-rate 1e-3 "
      "--warmup-steps 40 --decay-steps 2000 --decay-power 0.5 --dropout 0 --log-every 1000 "
      "--evaluate 256 --seed 2");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Program, FineTuningLearnsToAnswerAndNotWhenLabelsAreShuffled) {
  const auto exact_match = [](const Finished& done) {
    EXPECT_EQ(done.status, 0) << done.err;
    const auto scores = lines_of(done).back()["evaluation"];
    EXPECT_EQ(scores["sequences"], 256);
    EXPECT_GE(scores["f1"].get<double>(), scores["exact_match"].get<double>());
    return scores["exact_match"].get<double>();
  };
  const std::string folder = temporary_folder("squad");
  EXPECT_LT(exact_match(run(questions({"--inference", "--steps", "1"}))), 5);
  EXPECT_GT(exact_match(run(questions({"--steps", "250", "--checkpoint", folder}))), 60);
  EXPECT_LT(exact_match(run(questions({"--steps", "250", "--shuffle-labels"}))), 5);
  // The scores are those of the weights, whoever asks, and in every other style SQuAD's own line.
  const Finished again = run(questions(
      {"--inference", "--steps", "1", "--init-checkpoint", folder, "--log-style", "huggingface"}));
  EXPECT_THAT(again.out, HasSubstr("{\"exact_match\": "));
}

TEST(Program, ClassificationIsScoredAsGlueScriptsDo) {
  const Finished done = run_to(0, small({"--task", "classification", "--steps", "2", "--log-style",
                                         "tqdm", "--evaluate", "10"}));
  EXPECT_THAT(done.out, HasSubstr("***** Eval results *****\n  acc = 0."));
}

TEST(Program, SigtermToOneRankEndsAllAtAStepBoundary) {
  const std::string folder = temporary_folder("sigterm");
  const int port = free_port();
  const Words words = small({"--steps", "1000000", "--checkpoint", folder});
  Process second(words, rank_variables(1, 2, port));
  Process first(words, rank_variables(0, 2, port));
  ASSERT_TRUE(first.wait_for_output("\"type\":\"step\"", 3));
  second.signal(SIGTERM);
  const Finished zero = first.wait(), one = second.wait();
  EXPECT_EQ(zero.status, 130) << zero.err;
  EXPECT_EQ(one.status, 130) << one.err;
  EXPECT_THAT(zero.out,
              HasSubstr("{\"type\":\"summary\",\"outcome\":\"interrupted\",\"signal\":15"));
  const auto summary =
      nlohmann::json::parse(zero.out.substr(zero.out.find("{\"type\":\"summary\"")));
  EXPECT_EQ(newest_state(folder).header["step"], summary["step"]);
  EXPECT_EQ(count(zero.out, "\"type\":\"step\""), summary["steps"].get<int>());
}

TEST(Program, TheOtherStylesCloseTheirLogsOnASignalToo) {
  for (const auto& [style, sign, closing] :
       {std::tuple{"tqdm", "Step:2", "Training interrupted by signal 2"},
        std::tuple{"tf", "step = 2", "training_loop marked as finished"},
        std::tuple{"megatron", "iteration        2/", "[exiting program after receiving SIGTERM.]"},
        std::tuple{"deepspeed", "global_step=3,", "Main process received SIGINT, exiting"},
        std::tuple{"dllogger", "Iteration: 2 ", "raw_train_time : "}}) {
    Process process(small({"--steps", "1000000", "--log-style", style}));
    ASSERT_TRUE(process.wait_for_output(sign));
    process.signal(SIGINT);
    const Finished done = process.wait();
    EXPECT_EQ(done.status, 130) << done.err;
    EXPECT_THAT(done.out, HasSubstr(closing));
  }
}

// A signal in the middle of a matrix product damaged the heap, once in some hundred (main.cpp).
TEST(Program, AStormOfSignalsHurtsNoStep) {
  Process process(small({"--steps", "1000000", "--gradient-accumulation-steps", "100"}));
  ASSERT_TRUE(process.wait_for_output("\"type\":\"step\""));
  for (int i = 0; i < 2000; ++i) {
    process.signal(SIGTERM);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  const Finished done = process.wait();
  EXPECT_EQ(done.status, 130) << done.err;
}

// A step may take hours, and a log may be a full pipe that nobody reads.
TEST(Program, AnotherSignalEndsTheProgramWithinAStep) {
  Process process(small({"--steps", "2", "--gradient-accumulation-steps", "2000000"}));
  ASSERT_TRUE(process.wait_for_output("\"type\":\"header\""));
  while (!process.ended()) {
    process.signal(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const Finished done = process.wait();
  EXPECT_EQ(done.status, 130);
  EXPECT_THAT(done.err, HasSubstr("interrupted twice"));
}

TEST(Program, AKilledRankEndsTheOthersWithAnErrorThatNamesIt) {
  for (const int victim : {0, 1}) {
    const int port = free_port();
    const Words words = small({"--steps", "1000000", "--comm-timeout", "60"});
    Process first(words, rank_variables(0, 2, port));
    Process second(words, rank_variables(1, 2, port));
    ASSERT_TRUE(first.wait_for_output("\"type\":\"step\"", 2));
    (victim == 0 ? first : second).signal(SIGKILL);
    const Finished survivor = (victim == 0 ? second : first).wait();
    EXPECT_EQ(survivor.status, 1);
    EXPECT_THAT(survivor.err, HasSubstr("rank " + std::to_string(victim) + " died"));
    EXPECT_THAT(survivor.err, HasSubstr("bert_train: rank " + std::to_string(1 - victim) + ":"));
    EXPECT_EQ(count(survivor.err, "\n"), 1) << "one line";
  }
}

TEST(Program, RanksWithDifferentOptionsAreRefused) {
  const int port = free_port();
  Process second(small({"--steps", "9"}), rank_variables(1, 2, port));
  const Finished first =
      run_to(2, small({"--steps", "8", "--log-every", "2"}), rank_variables(0, 2, port));
  EXPECT_THAT(first.err, HasSubstr("different options"));
  EXPECT_EQ(second.wait().status, 2);
}

TEST(Program, ARankThatNeverComesIsNamed) {
  const Finished done =
      run_to(1, small({"--comm-timeout", "0.3"}), rank_variables(0, 2, free_port()));
  EXPECT_THAT(done.err, HasSubstr("rank 1 of 2 did not come"));
}

TEST(Program, ASignalWhileWaitingForRanksEndsAtOnce) {
  const int port = free_port();
  Process process(small({"--comm-timeout", "600"}), rank_variables(0, 2, port));
  // Its store answers once the handlers are in place.
  (void)connect_to("127.0.0.1", port, std::chrono::steady_clock::now() + std::chrono::seconds(60));
  process.signal(SIGTERM);
  const Finished done = process.wait();
  EXPECT_EQ(done.status, 130);
  EXPECT_THAT(done.err, HasSubstr("before training"));
}

TEST(Program, AnotherWorldThanExpectedEndsBeforeTraining) {
  const Finished done = run_to(2, small({"--expect-world-size", "2"}));
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("--expect-world-size 2, but the world is 1"));
}

// It is there to prove gates, and no part of the workload.
TEST(Program, TheHandicapIsNoOptionThatHelpShows) {
  EXPECT_EQ(run({"--help"}).out.find("handicap"), std::string::npos);
  EXPECT_EQ(run({"--describe-options"}).out.find("handicap"), std::string::npos);
  EXPECT_EQ(run(small({"--handicap", "2%"})).status, 0);
  for (const char* wrong : {"2%%", "-1%", "nan", "fast", "%"}) {
    const Finished done = run_to(2, small({std::string("--handicap=") + wrong}));
    EXPECT_THAT(done.err, HasSubstr("not a share of a step, as 2% or 0.02"));
  }
  for (const char* wrong : {"2%@", "2%@-1", "2%@x", "@1"}) {
    EXPECT_EQ(run(small({std::string("--handicap=") + wrong})).status, 2) << wrong;
  }
}

TEST(Program, HelpAndVersionGoToStandardOutput) {
  const Finished help = run_to(0, {"--help"});
  EXPECT_THAT(help.out, HasSubstr("Exit status"));
  for (const std::string& option : split_words(
           "--model --backend --precision --micro-batch-size --gradient-accumulation-steps "
           "--sequence-length --steps --optimizer --seed --data --activation-checkpointing "
           "--log-style --log-every --timings --checkpoint --resume --deterministic --threads "
           "--comm --expect-world-size")) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  const Finished version = run_to(0, {"--version"});
  EXPECT_THAT(version.out, HasSubstr("bert_train 0."));
}

TEST(Program, WhatCannotRunIsRefusedInOneLineWithItsStatus) {
  struct Case {
    Words words;
    int status;
    const char* says;
  };
  const Case cases[] = {
      {{"--nonsense"}, 2, "--nonsense"},
      {{"--model", "gpt"}, 2, "bert-tiny, bert-mini"},
      {{"--log-style", "x"}, 2, "unknown; there are: native, tqdm, tf, dllogger"},
      {{"--precision", "tf32"}, 2, "tensor cores"},
      {{"--precision", "fp8"}, 2, "no CPU multiplies fp8"},
      {{"--precision", "int8"}, 2, "fp32, tf32, bf16"},
      {{"--model", "gpt2-tiny", "--lengths", "uniform"}, 2, "every position of full sequences"},
      {{"--model", "gpt2", "--backend", "cuda", "--unpadded"}, 2, "take a bert model"},
      {{"--model", "gpt2", "--log-style", "gluonnlp"}, 2, "take another style"},
      {{"--model", "bert-base", "--sequence-length", "513"}, 2, "bert-base has 512 positions"},
      {{"--inference", "--checkpoint", "x"}, 2, "without an update"},
      {{"--all-positions", "--model", "gpt2-tiny"}, 2, "pre-training of bert models"},
      {{"--new-phase"}, 2, "needs --resume"},
      {{"--init-checkpoint", "x", "--resume", "y"}, 2, "leave one out"},
      {{"--init-checkpoint", "/nonexistent"}, 2, "--init-checkpoint /nonexistent: no step_"},
      {{"--decay-rate", "0.5"}, 2, "needs --schedule warmup_linear_decay_exp"},
      {{"--schedule", "warmup_linear_decay_exp", "--decay-power", "2"}, 2, "needs --schedule poly"},
      {{"--lamb-min-trust", "1"}, 2, "--lamb-min-trust: needs --optimizer lamb"},
      {{"--sim-topology", "2n2g"}, 2, "--sim-topology: needs --comm sim"},
      {{"--optimizer", "lamb", "--lamb-min-trust", "2", "--lamb-max-trust", "1"}, 2, "lower it"},
      {{"--checkpoint", ""}, 2, "--checkpoint: \"\" is not a name"},
      {{"--resume", ""}, 2, "--resume: \"\" is not a name"},
      {{"--seed", "-1"}, 2, "from 0 to 18446744073709551615"},
      {{"--seed", "18446744073709551616"}, 2, "from 0 to 18446744073709551615"},
      {{"--micro-batch-size", "1.5"}, 2, "\"1.5\" is not a whole number of at least 1"},
      {{"--beta1", "-0.1"}, 2, "\"-0.1\" is not a number from 0 to 0.999999"},
      {{"--shuffle-labels"}, 2, "needs --task"},
      {{"--task", "squad", "--sequence-length", "16"}, 2, "at least 24"},
      {{"--task", "squad", "--lengths", "wikipedia"}, 2, "as long as they are"},
      {{"--task", "squad", "--data", "/nonexistent"}, 2, "No such file"},
      {{"--task", "squad", "--model", "gpt2-tiny"}, 2, "takes a bert model"},
      {{"--task", "squad", "--backend", "cuda"}, 2, "needs --backend cpu"},
      {{"--all-positions", "--unpadded"}, 2, "has a prediction at padding"},
      {{"--vocabulary", "v.txt"}, 2, "name a file with --data"},
      {{"--whole-word-masking"}, 2, "name a text with --data"},
      {{"--matmul-epilogues", "off"}, 2, "no such choice"},
      {{"--attention", "cudnn"}, 2, "cuDNN computes on GPUs"},
      {{"--attention", "cudnn", "--backend", "cuda"}, 2, "16-bit numbers"},
      {{"--cuda-graph", "on"}, 2, "CUDA graphs are of GPUs"},
      {{"--cuda-graph", "yes"}, 2, "there are: off, on, auto"},
      {{"--loss-scale", "128"}, 2, "needs --precision fp16"},
      {{"--backend", "cuda", "--precision", "fp16", "--loss-scale", "0.5"}, 2, "at least 1"},
      {{"--backend", "cuda", "--inference", "--checkpoint", "x"}, 2, "without an update"},
      {{"--comm", "pigeon"}, 2, "auto, self, shm, tcp, mpi, nccl, sim"},
      {{"--steps", "0"}, 2, "at least 1"},
      {{"--steps", "ten"}, 2, "ten"},
      {{"--micro-batch-size", "-4"}, 2, "-4"},
      {{"--learning-rate", "nan"}, 2, "nan"},
      {{"--sequence-length", "1025"}, 2, "8 to 1024"},
      {{"--warmup-steps", "200"}, 2, "--warmup-steps 200"},
      {{"--data", "/nonexistent"}, 2, "/nonexistent"},
      {{"--resume", "/nonexistent"}, 2, "no step_"},
      {{"--timings", "/nonexistent/t"}, 2, "/nonexistent/t"},
      {{"--checkpoint", "/dev/null"}, 2, "--checkpoint /dev/null: Not a directory"},
      {{"--checkpoint-every", "5"}, 2, "--checkpoint DIR"},
      {{"--comm", "sim", "--sim-topology", "4x8"}, 2, "NnGg"},
      {{"--model", "bert-large", "--micro-batch-size", "1000000"}, 12, "out of memory"},
      {{"--memory-limit-mb", "80"}, 12, "80 MiB are available"},
      {{"--memory-limit-mb", "-1"}, 2, "-1"},
  };
  for (const Case& c : cases) {
    const Finished done = run(c.words);
    EXPECT_EQ(done.status, c.status) << c.words[0] << ' ' << done.err;
    EXPECT_THAT(done.err, HasSubstr(c.says)) << c.words[0];
    EXPECT_EQ(count(done.err, "\n"), 1) << done.err;
    EXPECT_EQ(done.out, "");
  }
}

TEST(Program, AProcessorWithoutBf16RefusesItInOneLine) {
  const Finished done = run_to(3, small({"--precision", "bf16"}), {{"ONEDNN_MAX_CPU_ISA", "AVX2"}});
  EXPECT_THAT(done.err, HasSubstr("AVX-512 BF16 or AMX"));
  EXPECT_EQ(count(done.err, "\n"), 1) << done.err;
  EXPECT_EQ(done.out, "");
}

// A scale beyond fp16: each of these steps overflows.
TEST(Program, EveryLogStyleShowsTheSkippedStepsOfFp16) {
  const std::map<std::string, const char*> shown = {
      {"native", "\"skipped_steps\":"},
      {"tqdm", "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to "},
      {"dllogger", "skipped_steps : "},
      {"dllogger-json", "\"skipped_steps\": "},
      {"gluonnlp", "DynamicLossScaler: overflow detected. set loss_scale = "},
      {"deepspeed",
       "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1073741824, reducing to "},
      {"huggingface", "'grad_norm': nan"},
      {"mlperf", "'skipped_steps': 1,"},
      {"megatron", "| number of skipped iterations:   1 |"}};
  for (const auto& [style, text] : shown) {
    const Finished done = run_to(0, small({"--precision", "fp16", "--log-style", style, "--steps",
                                           "4", "--loss-scale-initial", "1073741824"}));
    EXPECT_THAT(done.out, HasSubstr(text)) << style;
  }
}

TEST(Program, TheHeaderStatesThatAPrecisionIsEmulated) {
  const auto emulated_by = [](const char* precision) {
    const Finished done = run_to(0, small({"--precision", precision, "--steps", "1"}));
    return lines_of(done).at(0).value("precision_emulated_by", "");
  };
  EXPECT_EQ(emulated_by("fp16"), "fp32");
  EXPECT_EQ(emulated_by("fp32"), "");
}

TEST(Program, ABackendWithoutItsModuleOrDeviceIsRefusedInOneLine) {
  const Finished done = run_to(3, {"--backend", "cuda"}, {{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_THAT(done.err, AnyOf(HasSubstr("bert_cuda.so"), HasSubstr("no CUDA device")));
  EXPECT_EQ(count(done.err, "\n"), 1) << done.err;
  EXPECT_EQ(done.out, "");
}

TEST(Program, HalfSetLauncherVariablesAreAUsageError) {
  const Finished done = run_to(2, {}, {{"RANK", "1"}});
  EXPECT_THAT(done.err, HasSubstr("RANK is set but WORLD_SIZE is not"));
}

TEST(Program, AFullDiskIsAnErrorAndNotASilentLoss) {
  const Finished log = run_to(1, small({"--steps", "3"}), {}, "/dev/full");
  EXPECT_THAT(log.err, HasSubstr("standard output"));
  const Finished timings = run_to(1, small({"--steps", "3", "--timings", "/dev/full"}));
  EXPECT_THAT(timings.err, HasSubstr("--timings /dev/full"));
}

TEST(Program, TheLogAndTheTimingsTellTheSameTime) {
  const std::string path = temporary_folder("times") + "/t.jsonl";
  const Finished done = run_to(0, small({"--steps", "20", "--timings", path}));
  std::ifstream in(path);
  std::istringstream log(done.out);
  std::string line, logged;
  std::getline(log, logged);  // header
  double sum = 0, log_sum = 0;
  int steps = 0;
  while (std::getline(in, line) && std::getline(log, logged)) {
    const auto truth = nlohmann::json::parse(line), said = nlohmann::json::parse(logged);
    EXPECT_EQ(truth["step"], ++steps);
    EXPECT_EQ(said["step"], steps);
    EXPECT_EQ(truth["sequences"], 2);
    sum += truth["seconds"].get<double>();
    log_sum += said["seconds"].get<double>();
  }
  EXPECT_EQ(steps, 20);
  // Both clocks start together and stop one log line apart.
  EXPECT_LE(log_sum, sum);
  EXPECT_GT(log_sum, 0.5 * sum);
}

TEST(Program, AWholeNumberWithZerosBeforeItIsNoOctalOne) {
  const Finished done = run_to(0, {"--steps", "1", "--threads", "1", "--sequence-length", "032"});
  EXPECT_EQ(lines_of(done).at(0)["sequence_length"], 32);
}

TEST(Program, ASimulatedClusterIsLabelled) {
  const Finished done =
      run_to(0, small({"--steps", "2", "--comm", "sim", "--sim-topology", "4n8g"}));
  const auto header = nlohmann::json::parse(done.out.substr(0, done.out.find('\n')));
  EXPECT_EQ(header["simulated"], true);
  EXPECT_EQ(header["simulated_topology"], "4n8g");
  EXPECT_EQ(header["nodes"], 4);
  EXPECT_EQ(header["gpus_per_node"], 8);
  EXPECT_EQ(header["world_size"], 32);
  EXPECT_EQ(header["global_batch_size"], 32 * header["micro_batch_size"].get<int>());
  EXPECT_EQ(header["ranks"], 1);
}

TEST(Program, WhatASimulatedClusterPrintsAndTimesIsTheWholeJob) {
  const std::string path = temporary_folder("simulated") + "/t.jsonl";
  const Finished done = run_to(
      0, small({"--steps", "3", "--comm", "sim", "--sim-topology", "4n8g", "--timings", path}));
  std::istringstream log(done.out);
  std::string line;
  std::getline(log, line);
  const auto header = nlohmann::json::parse(line);
  std::getline(log, line);
  const auto step = nlohmann::json::parse(line);
  EXPECT_NEAR(step["sequences_per_second"].get<double>() * step["seconds"].get<double>(),
              header["global_batch_size"].get<double>(), 1e-6);
  std::ifstream in(path);
  std::getline(in, line);
  EXPECT_EQ(nlohmann::json::parse(line)["sequences"], header["global_batch_size"]);
}

TEST(Program, ASimulatedClusterThatIsNotNamedIsThatOfTheRanks) {
  const Finished done = run_to(0, small({"--steps", "2", "--comm", "sim"}));
  const auto header = nlohmann::json::parse(done.out.substr(0, done.out.find('\n')));
  EXPECT_EQ(header["simulated_topology"], "1n1g");
}

}  // namespace
}  // namespace bert::testing
