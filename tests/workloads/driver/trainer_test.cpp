// The loop itself, with a backend whose gradient is known in closed form.
#include "workloads/bert/train/trainer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "tests/workloads/driver/process.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/train_options.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/train/checkpoint.h"

namespace bert {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// loss = mean over sequences of sum_i (w_i - c)^2 / 2, c = the sequence's index modulo 5.
class Quadratic : public Backend {
 public:
  explicit Quadratic(std::size_t size = 4) : w_(size, 10), g_(size), m_(size), v_(size) {
    Parameter p;
    p.name = "w";
    p.shape = {static_cast<std::int64_t>(size)};
    p.size = static_cast<std::int64_t>(size);
    parameters_.push_back(p);
  }
  std::span<const Parameter> parameters() const override { return parameters_; }
  Loss forward_backward(const Batch& batch, double scale, bool training, std::int64_t step,
                        const GradientReady& ready) override {
    EXPECT_TRUE(training);
    steps.push_back(step);
    first.push_back(batch.first_sequence);
    Loss loss;
    for (std::int64_t b = 0; b < batch.sequences; ++b) {
      const auto c = static_cast<double>((batch.first_sequence + b) % 5);
      for (std::size_t i = 0; i < w_.size(); ++i) {
        const double error = static_cast<double>(w_[i]) - c;
        loss.masked_lm += error * error / 2 / static_cast<double>(batch.sequences);
        g_[i] += static_cast<float>(scale * error / static_cast<double>(batch.sequences));
      }
    }
    reported.push_back(static_cast<bool>(ready));
    if (ready) {
      ready(0, static_cast<std::int64_t>(g_.size()));
    }
    if (nan_at == step) {
      loss.masked_lm = std::nan("");
    }
    return loss;
  }
  std::span<float> weights() override { return w_; }
  std::span<float> gradients() override { return g_; }
  void zero_gradients() override { std::fill(g_.begin(), g_.end(), 0.0F); }
  double gradient_norm() override {
    return std::sqrt(std::inner_product(g_.begin(), g_.end(), g_.begin(), 0.0));
  }
  void optimizer_step(const OptimizerOptions&, double rate, double factor, double norm,
                      std::int64_t update) override {
    rates.push_back(rate);
    factors.push_back(factor);
    norms.push_back(norm);
    updates.push_back(update);
    for (std::size_t i = 0; i < w_.size(); ++i) {
      w_[i] -= static_cast<float>(rate * factor) * g_[i];
      m_[i] = g_[i];
      v_[i] += 1;
    }
  }
  std::span<float> first_moments() override { return m_; }
  std::span<float> second_moments() override { return v_; }
  std::string description() const override { return "quadratic"; }
  std::int64_t peak_bytes() const override { return 64; }

  PartSeconds part_seconds() override { return parts; }

  void prefetch(const Batch& batch) override {
    ahead.push_back(batch.first_sequence);
    given_before_update.push_back(updates.size() + 1 == steps.size());
  }

  std::vector<std::int64_t> steps, first, updates, ahead;
  std::vector<bool> given_before_update;
  std::vector<bool> reported;
  std::vector<double> rates, factors, norms;
  std::int64_t nan_at = 0;
  PartSeconds parts;  ///< what it reports of each step

 private:
  std::vector<Parameter> parameters_;
  std::vector<float> w_, g_, m_, v_;
};

// Each look at the clock is a millisecond after the one before.
class TickingClock : public Clock {
 public:
  Stamp now() override {
    seconds_ += 0.001;
    return {seconds_, 1.7e9 + seconds_};
  }

 private:
  double seconds_ = 5;
};

struct ScriptedClock : Clock {
  Stamp now() override { return {seconds, 1000 + seconds}; }
  std::atomic<double> seconds = 10;
};

struct Job {
  Job() {
    options.micro_batch_size = 3;
    options.sequence_length = 16;
    options.steps = 4;
    options.schedule.peak = 0.1;
    options.schedule.power = 0;
    options.gradient_clipping = 0;
    data.sequence_length = 16;
    data.masked_per_sequence = 3;
  }
  Result<RunEnd> run() {
    const auto source = make_source();
    const auto log = find_log_style("native")->make(out);
    return train(
        {options, backend, communicator, *source, data, clock, RunFacts(options), log.get(), &out,
         timings, [this] { return signal_at == backend.steps.back() ? 15 : 0; },
         [this](const std::string& text) { warnings.push_back(text); }, nullptr, next_step});
  }
  std::function<void()> next_step = [] {};
  std::function<std::unique_ptr<SequenceSource>()> make_source = [this] {
    return make_synthetic_source(1, data.vocabulary);
  };
  TrainOptions options;
  DataOptions data;
  Quadratic backend;
  SelfCommunicator communicator;
  TickingClock clock;
  TimingsFile* timings = nullptr;
  std::int64_t signal_at = -1;
  std::ostringstream out;
  std::vector<std::string> warnings;
};

TEST(Trainer, TheNextBatchIsGivenWhileTheStepRunsAndNoneAfterTheLast) {
  Job job;
  ASSERT_TRUE(job.run());
  EXPECT_THAT(job.backend.first, ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(job.backend.ahead, ElementsAre(3, 6, 9));
  EXPECT_THAT(job.backend.given_before_update, ElementsAre(true, true, true));
}

TEST(Turns, TheClockStandsStillWhileAnotherOneComputes) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ScriptedClock clock;
  auto turns = Turns::over(ends[0], 0.5, clock);
  ASSERT_TRUE(turns);
  const auto give = [&](double waited_s) {
    std::thread other([&] {
      char byte = 0;
      ASSERT_EQ(recv(ends[1], &byte, 1, 0), 1);
      clock.seconds += waited_s;
      ASSERT_EQ(send(ends[1], &byte, 1, 0), 1);
    });
    turns->next_step();
    other.join();
  };
  give(3);
  EXPECT_DOUBLE_EQ(turns->now().seconds, 10);
  EXPECT_DOUBLE_EQ(turns->now().unix_seconds, 1010);
  clock.seconds += 0.25;
  turns->next_step();  // the turn has not lasted: nobody is asked
  EXPECT_DOUBLE_EQ(turns->now().seconds, 10.25);
  clock.seconds += 0.25;
  give(7);
  EXPECT_DOUBLE_EQ(turns->now().seconds, 10.5);
  close(ends[1]);
  for (int step = 0; step < 3; ++step) {
    clock.seconds += 1;
    turns->next_step();  // whoever gave turns is gone: it runs on
  }
  EXPECT_DOUBLE_EQ(turns->now().seconds, 13.5);
  close(ends[0]);
}

TEST(Turns, AreTakenOverASocketAlone) {
  ScriptedClock clock;
  const int null = open("/dev/null", O_RDWR);
  const auto turns = Turns::over(null, 1, clock);
  ASSERT_FALSE(turns);
  EXPECT_EQ(turns.error().status, ExitStatus::usage);
  EXPECT_THAT(turns.error().message, HasSubstr("standard input is no socket"));
  close(null);
}

TEST(Trainer, AsksBeforeEachStep) {
  Job job;
  int asked = 0;
  job.next_step = [&] { ++asked; };
  ASSERT_TRUE(job.run());
  EXPECT_EQ(asked, 4);
}

TEST(Trainer, AccumulationSeesTheSequencesOfTheWholeBatchInOrder) {
  Job job;
  job.options.gradient_accumulation_steps = 2;
  job.options.steps = 2;
  ASSERT_TRUE(job.run());
  EXPECT_THAT(job.backend.first, ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(job.backend.steps, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(job.backend.updates, ElementsAre(1, 2));
}

TEST(Trainer, AccumulationOfKEqualsABatchOfKTimesTheSize) {
  Job split, whole;
  split.options.gradient_accumulation_steps = 4;
  whole.options.micro_batch_size = 12;
  ASSERT_TRUE(split.run());
  ASSERT_TRUE(whole.run());
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(split.backend.weights()[i], whole.backend.weights()[i], 1e-5);
  }
}

TEST(Trainer, ClippingScalesToTheBound) {
  Job job;
  job.options.gradient_clipping = 2;
  job.options.steps = 1;
  ASSERT_TRUE(job.run());
  // c = 0, 1, 2: gradient 9 in each of 4 weights, norm 18
  EXPECT_NEAR(job.backend.norms[0], 18, 1e-5);
  EXPECT_NEAR(job.backend.factors[0], 2.0 / 18, 1e-6);
}

// Counted by looks at the clock, each of which takes a millisecond.
TEST(Trainer, AHandicapSpinsTheGivenShareOfEachStep) {
  const auto seconds = [](double handicap) {
    Job job;
    job.options.steps = 100;
    job.options.handicap = handicap;
    const auto end = job.run();
    return end ? end->training_s : -1;
  };
  const double without = seconds(0);
  ASSERT_GT(without, 0);
  // A step is a few looks long: 10 times its time is spun to within two of them.
  EXPECT_GT(seconds(10) / without, 4);
  EXPECT_GT(seconds(20) / seconds(10), 1.7);
  EXPECT_LT(seconds(20) / seconds(10), 2.3);
}

TEST(RankTimes, AreAtMostSoManyLinesOfAllSteps) {
  std::ostringstream out;
  RankTimes times("rank=3 node=1:host", 11, 1010, false, &out);
  times.begin();
  for (std::int64_t step = 11; step <= 1010; ++step) times.step_done(step);
  std::istringstream lines(out.str());
  std::int64_t next = 11, count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string begin = "rank_time rank=3 node=1:host steps=" + std::to_string(next) + ":";
    ASSERT_EQ(line.compare(0, begin.size(), begin), 0) << line;
    next = std::stoll(line.substr(begin.size())) + 1;
  }
  EXPECT_EQ(next, 1011);
  EXPECT_LE(count, RankTimes::kMostLines);
  EXPECT_GE(count, RankTimes::kMostLines / 2);
}

TEST(RankTimes, WhatIsWaitedIsNotTheRanksOwn) {
  std::ostringstream out;
  RankTimes times("rank=0", 1, 2, true, &out);
  times.begin();
  times.waited(1e9);
  times.step_done(1);
  EXPECT_EQ(out.str(), "\nrank_time rank=0 steps=1:1 own_s=0\n");
  times.waited(-5);  // the waiting of the step before does not count here
  times.step_done(2);
  EXPECT_THAT(out.str(), HasSubstr("steps=2:2 own_s=5"));
}

TEST(Trainer, TimingsAreTheStepsOfTheLogAndJoinWithoutGaps) {
  Job job;
  const std::string path = testing::temporary_folder("timings") + "/t.jsonl";
  auto file = TimingsFile::open(path);
  ASSERT_TRUE(file);
  job.timings = &*file;
  ASSERT_TRUE(job.run());
  std::ifstream in(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(lines.size(), 4u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["step"], i + 1);
    EXPECT_EQ(lines[i]["sequences"], 3);
    if (i > 0) {
      EXPECT_NEAR(lines[i]["end"].get<double>() - lines[i - 1]["end"].get<double>(),
                  lines[i]["seconds"].get<double>(), 1e-8);
    }
  }
  std::istringstream log(job.out.str());
  std::string line;
  std::getline(log, line);
  double total = 0;
  for (int i = 0; i < 4 && std::getline(log, line); ++i) {
    total += nlohmann::json::parse(line)["seconds"].get<double>();
  }
  // The log's clock stops before its last line is written, timings' after it: two looks apart.
  EXPECT_NEAR(total, lines[3]["end"].get<double>() - 5.001, 0.0021);
}

std::vector<nlohmann::json> parts_in(const std::string& log) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["type"] == "step") out.push_back(json.value("parts", nlohmann::json::object()));
  }
  return out;
}

TEST(Trainer, PartsOfAStepAreInTheLogWhereTheBackendTimesThem) {
  Job job;
  job.backend.parts = {.forward = 0.25, .backward = 0.5, .optimizer = 0.125};
  ASSERT_TRUE(job.run());
  const auto parts = parts_in(job.out.str());
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0]["forward"], 0.25);
  EXPECT_EQ(parts[0]["backward"], 0.5);
  EXPECT_EQ(parts[0]["optimizer"], 0.125);
  EXPECT_GE(parts[0]["data"], 0.0);
  EXPECT_FALSE(parts[0].contains("reduce")) << "one rank alone";
}

TEST(Trainer, TheHostTimesTheUpdateOfABackendInItsOwnMemory) {
  Job job;
  job.backend.parts = {.forward = 0.25, .backward = 0.5};
  ASSERT_TRUE(job.run());
  EXPECT_GE(parts_in(job.out.str())[0]["optimizer"], 0.0);
  Job untimed;  // of a device that times nothing, update() also waits for what was queued
  ASSERT_TRUE(untimed.run());
  EXPECT_FALSE(parts_in(untimed.out.str())[0].contains("optimizer"));
}

TEST(Trainer, ASignalEndsTheRunAfterTheStepWithAClosingLine) {
  Job job;
  job.options.steps = 100;
  job.signal_at = 3;
  job.options.checkpoint = testing::temporary_folder("signal");
  const auto end = job.run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, 15);
  EXPECT_EQ(end->step, 3);
  EXPECT_THAT(job.out.str(), HasSubstr("\"outcome\":\"interrupted\",\"signal\":15"));
  EXPECT_THAT(end->checkpoint, HasSubstr("step_00000003.ckpt"));
}

TEST(Trainer, ANotANumberLossIsReportedOnceAndTheRunGoesOn) {
  Job job;
  job.backend.nan_at = 2;
  const auto end = job.run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->first_nan_step, 2);
  EXPECT_EQ(end->step, 4);
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_THAT(job.warnings[0], HasSubstr("step 2"));
}

TEST(Trainer, ABrokenLogEndsTheRun) {
  Job job;
  job.out.setstate(std::ios::badbit);
  const auto end = job.run();
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("standard output"));
}

class DoublingCommunicator : public SelfCommunicator {
 public:
  using SelfCommunicator::all_reduce_sum;
  void all_reduce_sum(std::span<float> values) override { elements += values.size(); }
  bool reduces() const override { return true; }
  std::size_t elements = 0;
};

TEST(Trainer, GradientsAreReducedOnlyOnTheLastMicroStep) {
  Job job;
  job.options.gradient_accumulation_steps = 3;
  job.options.steps = 2;
  DoublingCommunicator communicator;
  const auto source = make_synthetic_source(1, job.data.vocabulary);
  ASSERT_TRUE(
      train({job.options, job.backend, communicator, *source, job.data, job.clock, RunFacts{}}));
  EXPECT_THAT(job.backend.reported, ElementsAre(false, false, true, false, false, true));
  EXPECT_EQ(communicator.elements, 8u);
}

TEST(Trainer, ResumingBeyondTheLastStepIsAUsageError) {
  Job job;
  job.options.checkpoint = testing::temporary_folder("beyond");
  ASSERT_TRUE(job.run());
  Job again;
  again.options.resume = job.options.checkpoint;
  const auto end = again.run();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().status, ExitStatus::usage);
}

TEST(Schedule, WarmsUpLinearlyAndDecaysToTheLastStep) {
  const Schedule s{0.8, 4, 12, 1};
  EXPECT_DOUBLE_EQ(s.learning_rate(1), 0.2);
  EXPECT_DOUBLE_EQ(s.learning_rate(4), 0.8);
  EXPECT_DOUBLE_EQ(s.learning_rate(5), 0.8);
  EXPECT_DOUBLE_EQ(s.learning_rate(9), 0.4);
  EXPECT_NEAR(s.learning_rate(12), 0.1, 1e-15);
  EXPECT_EQ(s.learning_rate(13), 0);
  EXPECT_EQ(s.learning_rate(99), 0);
  EXPECT_DOUBLE_EQ((Schedule{1, 0, 4, 0.5}).learning_rate(4), 0.5);
  EXPECT_DOUBLE_EQ((Schedule{1, 0, 4, 0}).learning_rate(3), 1);
}

// The published recipe of phase 2: rate 1e-3, decay rate 0.70 each 1000 steps.
TEST(Schedule, DecaysExponentiallyAfterALinearWarmUp) {
  Schedule s{1e-3, 187, 18700, 1};
  s.decay = Schedule::Decay::exponential;
  s.rate = 0.70;
  s.rate_steps = 1000;
  EXPECT_DOUBLE_EQ(s.learning_rate(1), 1e-3 / 187);
  EXPECT_DOUBLE_EQ(s.learning_rate(187), 1e-3);
  EXPECT_DOUBLE_EQ(s.learning_rate(1187), 0.7e-3);
  EXPECT_DOUBLE_EQ(s.learning_rate(2089), 1e-3 * std::pow(0.7, 1.902));
  EXPECT_NEAR(s.learning_rate(2187), 0.49e-3, 1e-12);
}

CheckpointFacts some_facts() { return {"bert-tiny", "adamw", 16, 3, 1, 7}; }

TEST(Checkpoint, ComesBackBitForBitAndTheNewestIsChosen) {
  const std::string folder = testing::temporary_folder("checkpoint");
  Quadratic a, b;
  a.weights()[2] = -0.0F;
  a.first_moments()[1] = 1e-42F;
  auto facts = some_facts();
  ASSERT_TRUE(write_checkpoint(folder + "/deep/er", facts, a));
  facts.step = 12;
  a.weights()[3] = 3.25F;
  const auto path = write_checkpoint(folder + "/deep/er", facts, a);
  ASSERT_TRUE(path);
  std::ofstream(folder + "/deep/er/step_00000099.ckpt.tmp") << "torn";  // of a killed run
  const auto step = read_newest_checkpoint(folder + "/deep/er", some_facts(), b);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(*step, 12);
  Hash64 ha, hb;
  for (Quadratic* q : {&a, &b}) {
    Hash64& hash = q == &a ? ha : hb;
    for (auto array : {q->weights(), q->first_moments(), q->second_moments()}) {
      hash.add(array);
    }
  }
  EXPECT_EQ(ha.value(), hb.value());
}

TEST(Checkpoint, DamageAndForeignRunsAreRefused) {
  const std::string folder = testing::temporary_folder("damage");
  Quadratic a;
  const auto path = write_checkpoint(folder, some_facts(), a);
  ASSERT_TRUE(path);
  const std::string good = testing::read_file(*path);
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(*path, std::ios::binary) << bytes;
    const auto step = read_newest_checkpoint(folder, some_facts(), a);
    return step ? std::string("accepted") : step.error().message;
  };
  EXPECT_THAT(refused(good.substr(0, good.size() - 3)), HasSubstr("cut off"));
  std::string flipped = good;
  flipped[good.size() - 20] ^= 1;
  EXPECT_THAT(refused(flipped), HasSubstr("damaged"));
  EXPECT_THAT(refused(good + "x"), HasSubstr("damaged"));
  EXPECT_THAT(refused("BERTCKP1"), HasSubstr("not a checkpoint"));
  EXPECT_EQ(refused(good), "accepted");
  auto other = some_facts();
  other.seed = 2;
  const auto step = read_newest_checkpoint(folder, other, a);
  ASSERT_FALSE(step);
  EXPECT_THAT(step.error().message, HasSubstr("seed 1, this run has 2"));
  auto larger = some_facts();
  larger.global_batch_size = 6;
  EXPECT_THAT(read_newest_checkpoint(folder, larger, a).error().message,
              HasSubstr("global_batch_size 3, this run has 6; it is --micro-batch-size x"));
  EXPECT_THAT(read_newest_checkpoint(folder + "/none", other, a).error().message,
              HasSubstr("no step_"));
}

TEST(Checkpoint, AHeaderWithValuesOfAnotherTypeIsDamaged) {
  const std::string folder = testing::temporary_folder("header");
  Quadratic a;
  const auto path = write_checkpoint(folder, some_facts(), a);
  ASSERT_TRUE(path);
  const std::string good = testing::read_file(*path);
  std::uint64_t size = 0;
  std::memcpy(&size, good.data() + 8, sizeof size);
  const auto with = [&](const std::string& member) {
    std::string header = good.substr(16, size - 1) + "," + member + "}";
    const std::uint64_t longer = header.size();
    std::string bytes = good.substr(0, 16) + header + good.substr(16 + size);
    std::memcpy(bytes.data() + 8, &longer, sizeof longer);
    std::ofstream(*path, std::ios::binary) << bytes;
    const auto step = read_newest_checkpoint(folder, some_facts(), a);
    return step ? std::string("accepted") : step.error().message;
  };
  EXPECT_EQ(with(R"("loss_scale": 512.5, "good_steps": 3, "skipped_steps": 1)"), "accepted");
  for (const char* member : {R"("loss_scale": "512")", R"("good_steps": 1.5)",
                             R"("skipped_steps": null)", R"("step": {})"}) {
    EXPECT_THAT(with(member), HasSubstr("its header is damaged")) << member;
  }
}

TEST(Checkpoint, AFolderThatCannotBeWrittenIsAnError) {
  Quadratic a;
  const auto path = write_checkpoint("/proc/nowhere", some_facts(), a);
  ASSERT_FALSE(path);
  EXPECT_THAT(path.error().message, HasSubstr("/proc/nowhere"));
}

/// Takes at least half a millisecond a sequence.
class SlowSource : public SequenceSource {
 public:
  SegmentPair pair(std::uint64_t, std::int64_t tokens) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    return {{1000}, std::vector<std::int32_t>(static_cast<std::size_t>(tokens - 1), 1001), true};
  }
  std::vector<std::int32_t> text(std::uint64_t, std::int64_t) const override { return {}; }
  std::string description() const override { return "slow"; }
};

TEST(Trainer, WarnsOfARateThatIsThatOfItsData) {
  Job job;
  job.options.steps = 400;
  job.make_source = [] { return std::make_unique<SlowSource>(); };
  const auto end = job.run();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_GE(end->data_s, 400 * 3 * 500e-6);
  EXPECT_EQ(end->data_wait_s, end->data_s);
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_THAT(job.warnings[0], HasSubstr("while batches were made"));
}

}  // namespace
}  // namespace bert
