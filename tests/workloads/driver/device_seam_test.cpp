// The loop around a backend that keeps its state to itself, as a device does: losses that come
// late, skipped updates, state read in parts, inference.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/workloads/driver/process.h"
#include "workloads/bert/comm/sim.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/train/checkpoint.h"
#include "workloads/bert/train/state_exchange.h"
#include "workloads/bert/train/trainer.h"

namespace bert {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// loss = w; gradient = 1 in every element; what is asked of it is written down.
class Device : public Backend {
 public:
  explicit Device(std::int64_t size = 5) {
    for (auto& array : state_) array.assign(static_cast<std::size_t>(size), 0);
    Parameter p;
    p.name = "w";
    p.shape = {size};
    p.size = size;
    parameters_.push_back(p);
  }
  std::span<const Parameter> parameters() const override { return parameters_; }
  Loss forward_backward(const Batch&, double factor, bool, std::int64_t,
                        const GradientReady& ready) override {
    calls += ready ? "ready " : "step ";
    for (float& g : at(StateArray::gradients)) g += static_cast<float>(factor);
    ++computed_;
    return {0, 0, true};
  }
  Loss forward(const Batch&) override {
    calls += "forward ";
    return {2, 0.5, false};
  }
  std::span<float> weights() override { return {}; }
  std::span<float> gradients() override { return {}; }
  std::span<float> first_moments() override { return {}; }
  std::span<float> second_moments() override { return {}; }
  void zero_gradients() override {
    std::fill(at(StateArray::gradients).begin(), at(StateArray::gradients).end(), 0.0F);
    computed_ = 0;
  }
  double gradient_norm() override { throw std::logic_error("not asked of a device"); }
  void optimizer_step(const OptimizerOptions&, double, double, double, std::int64_t) override {
    throw std::logic_error("not asked of a device");
  }
  bool reduce_with(Communicator&, const ReductionOptions& options) override {
    if (options.zero_stage != 0) throw std::invalid_argument("--zero 1 is not served here");
    bucket_bytes = options.bucket_bytes;
    return reduces;
  }
  void begin_reduction() override { calls += "reduce "; }
  UpdateResult update(const UpdateRequest& request) override {
    updates.push_back(request.update);
    UpdateResult result;
    result.loss_scale = scale;
    result.device_seconds = 0.25;
    result.gradient_norm = static_cast<double>(at(StateArray::gradients)[0]);
    seen_gradient = at(StateArray::gradients)[0];
    if (static_cast<int>(updates.size()) == overflow_at) {
      result.skipped = true;
      scale /= 2;
      return result;
    }
    for (float& w : at(StateArray::weights)) w += 1;
    return result;
  }
  std::vector<Loss> pending_losses() override {
    std::vector<Loss> losses;
    for (int i = 0; i < computed_; ++i) losses.push_back({1.0 + i, 0.5, false});
    return losses;
  }
  void read_state(StateArray array, std::int64_t offset, std::span<float> out) override {
    std::copy_n(at(array).begin() + offset, out.size(), out.begin());
  }
  void write_state(StateArray array, std::int64_t offset, std::span<const float> in) override {
    std::copy(in.begin(), in.end(), at(array).begin() + offset);
  }
  ScalarState scalar_state() override { return {scale, 3}; }
  void set_scalar_state(const ScalarState& s) override { restored = s; }
  std::string description() const override { return "device"; }
  std::int64_t peak_bytes() const override { return 64; }
  std::int64_t predicted_peak_bytes() const override { return 1000; }
  std::int64_t measured_peak_bytes() const override { return 1010; }

  std::vector<float>& at(StateArray array) { return state_[static_cast<std::size_t>(array)]; }

  std::string calls;
  std::vector<std::int64_t> updates;
  ScalarState restored;
  std::int64_t bucket_bytes = 0;
  double scale = 1024;
  float seen_gradient = 0;
  int overflow_at = 0;
  bool reduces = true;

 private:
  std::vector<Parameter> parameters_;
  std::vector<float> state_[4];
  int computed_ = 0;
};

// Two ranks of which the other one always gives the same as this one.
class Mirror : public SelfCommunicator {
 public:
  int world_size() const override { return 2; }
  void all_reduce_sum(std::span<float> values) override {
    for (float& v : values) v *= 2;
  }
  void all_reduce_sum(std::span<double> values) override {
    for (double& v : values) v *= 2;
  }
  void abort() noexcept override { aborted = true; }
  bool aborted = false;
};

struct DeviceJob {
  Result<RunEnd> run() {
    options.sequence_length = 16;
    data.sequence_length = 16;
    data.masked_per_sequence = 3;
    const auto source = make_synthetic_source(1, data.vocabulary);
    const auto log = find_log_style("native")->make(out);
    RunFacts facts(options);
    facts.settings = {"NCCL_ALGO=Ring"};
    SystemClock clock;
    return train({options, backend, communicator, *source, data, clock, facts, log.get(), &out,
                  timings, [] { return 0; }, [](const std::string&) {}});
  }
  nlohmann::json line(int number) const {
    std::istringstream in(out.str());
    std::string text;
    for (int i = 0; i <= number; ++i) std::getline(in, text);
    return nlohmann::json::parse(text);
  }
  DeviceJob() { options.steps = 3; }
  TrainOptions options;
  DataOptions data;
  Device backend;
  Mirror communicator;
  TimingsFile* timings = nullptr;
  std::ostringstream out;
};

TEST(DeviceSeam, OnlyTheLastMicroStepIsReducedAndByTheDevice) {
  DeviceJob job;
  job.options.gradient_accumulation_steps = 2;
  job.options.steps = 1;
  job.options.bucket_mb = 2;
  const auto end = job.run();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(job.backend.calls, "step reduce step ");
  EXPECT_EQ(job.backend.bucket_bytes, 2 << 20);
  EXPECT_FLOAT_EQ(job.backend.seen_gradient, 0.5F) << "the trainer did not touch the gradients";
  // Losses 1 and 2 of the micro-steps, their mean, the mirror's twice a half of it.
  EXPECT_DOUBLE_EQ(job.line(1)["masked_lm_loss"].get<double>(), 1.5);
  EXPECT_DOUBLE_EQ(job.line(1)["next_sentence_loss"].get<double>(), 0.5);
}

TEST(DeviceSeam, WithoutCollectivesOnTheDeviceGradientsGoThroughHostMemory) {
  DeviceJob job;
  job.backend.reduces = false;
  job.options.steps = 1;
  ASSERT_TRUE(job.run());
  EXPECT_EQ(job.backend.calls, "step ");
  EXPECT_FLOAT_EQ(job.backend.seen_gradient, 1.0F) << "half of this rank and half of the other";
}

TEST(DeviceSeam, ASkippedStepIsCountedAndItsUpdateAskedForAgain) {
  DeviceJob job;
  job.backend.overflow_at = 2;
  const auto end = job.run();
  ASSERT_TRUE(end);
  EXPECT_THAT(job.backend.updates, ElementsAre(1, 2, 2));
  EXPECT_EQ(end->skipped_steps, 1);
  EXPECT_EQ(job.line(0)["settings"][0], "NCCL_ALGO=Ring");
  EXPECT_EQ(job.line(1)["skipped_steps"], 0);
  EXPECT_EQ(job.line(1)["loss_scale"], 1024);
  EXPECT_EQ(job.line(2)["skipped_steps"], 1);
  EXPECT_EQ(job.line(3)["loss_scale"], 512);
  EXPECT_EQ(job.line(4)["skipped_steps"], 1);
  EXPECT_EQ(job.line(4)["predicted_peak_bytes"], 1000);
  EXPECT_EQ(job.line(4)["measured_peak_bytes"], 1010);
  EXPECT_EQ(job.line(1)["device_seconds"], 0.25);
}

TEST(DeviceSeam, SkippedStepsAndTheLossScaleLiveInTheCheckpoint) {
  const std::string folder = testing::temporary_folder("scaler");
  DeviceJob first;
  first.backend.overflow_at = 2;
  first.options.checkpoint = folder;
  ASSERT_TRUE(first.run());
  DeviceJob second;
  second.options.resume = folder;
  second.options.steps = 5;
  const auto end = second.run();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_THAT(second.backend.updates, ElementsAre(3, 4)) << "steps 4 and 5, one was skipped";
  EXPECT_EQ(second.backend.restored.loss_scale, 512);
  EXPECT_EQ(second.backend.restored.good_steps, 3);
  EXPECT_EQ(second.backend.at(StateArray::weights)[4], 4);
}

TEST(DeviceSeam, ALossScaleThatIsNoWholeNumberIsResumedAsItWas) {
  for (const double scale : {1000.5, 0.25, 1e30}) {
    const std::string folder = testing::temporary_folder("odd_scale");
    DeviceJob first;
    first.backend.scale = scale;
    first.options.checkpoint = folder;
    ASSERT_TRUE(first.run());
    DeviceJob second;
    second.options.resume = folder;
    second.options.steps = 4;
    const auto end = second.run();
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(second.backend.restored.loss_scale, scale);
  }
}

TEST(DeviceSeam, BothClocksAreInTheTimings) {
  DeviceJob job;
  const std::string path = testing::temporary_folder("device_timings") + "/t.jsonl";
  auto file = TimingsFile::open(path);
  job.timings = &*file;
  ASSERT_TRUE(job.run());
  std::ifstream in(path);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["device_seconds"], 0.25);
  EXPECT_GT(first["seconds"].get<double>(), 0);
}

TEST(DeviceSeam, InferenceComputesForwardAndUpdatesNothing) {
  DeviceJob job;
  job.options.inference = true;
  ASSERT_TRUE(job.run());
  EXPECT_EQ(job.backend.calls, "forward forward forward ");
  EXPECT_TRUE(job.backend.updates.empty());
  EXPECT_DOUBLE_EQ(job.line(1)["loss"].get<double>(), 2.5);
}

TEST(DeviceSeam, WhatTheBackendCannotServeIsWrongUsageAndEndsCollectives) {
  DeviceJob job;
  job.options.zero_stage = 1;
  const auto end = job.run();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().status, ExitStatus::usage);
  EXPECT_THAT(end.error().message, HasSubstr("--zero 1"));
  EXPECT_TRUE(job.communicator.aborted);
}

TEST(DeviceSeam, StateIsExchangedInPartsThatCoverIt) {
  Device backend((1 << 22) + 17);
  std::int64_t next = 0;
  for_each_part(backend, [&](std::int64_t offset, std::span<float> part) {
    EXPECT_EQ(offset, next);
    next += static_cast<std::int64_t>(part.size());
  });
  EXPECT_EQ(next, (1 << 22) + 17);
}

}  // namespace
}  // namespace bert
