// Micro-steps as CUDA graphs (--cuda-graph), on the emulated device, which keeps what is recorded
// with its arguments, and on a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>

#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/twin.h"
#include "workloads/bert/cuda/device/runtime.h"
#ifndef BERT_REAL_DEVICE
#include "workloads/bert/cuda/emulated/device.h"
#endif

namespace bert {
namespace {

using ::testing::Contains;
using testing::cuda_backend;
using testing::even_gpt2;
using testing::even_model;
using ::testing::HasSubstr;
using testing::make_batch;
using ::testing::Not;
using testing::odd_gpt2;
using testing::odd_model;
using testing::options_for;
using testing::state_of;

// Full and padded batches are two kinds of micro-step: ten steps replay each.
constexpr std::int64_t kSteps = 10, kLength = 12;

class CudaGraph : public ::testing::Test {
 protected:
  void SetUp() override { testing::skip_without_device(); }
};

struct Job {
  const char* name;
  ModelConfig model;
  const char* precision;
  std::int64_t accumulation = 1;
  OptimizerOptions::Kind optimizer = OptimizerOptions::Kind::adamw;
  bool checkpointing = false;
  AttentionBy attention = AttentionBy::kernels;
};
/// ctest shows it in the test's name, which must not change from run to run.
void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

BackendOptions options_of(const Job& job, CudaGraphs graphs) {
  BackendOptions options = options_for(job.model, 2, kLength);
  options.deterministic = true;
  options.activation_checkpointing = job.checkpointing;
  options.attention = job.attention;
  options.cuda_graph = graphs;
  // fp16: the first steps overflow, and later the scale doubles again and again.
  options.loss_scale.initial = 1e7;
  options.loss_scale.growth_interval = 3;
  return options;
}

/// Every third is full, the others have padding.
Batch batch_of(const Job& job, std::int64_t number) {
  Batch batch = make_batch(job.model, 2, kLength, 3, 2 * number);
  if (number % 3 == 0) batch.lengths.assign(batch.lengths.size(), kLength);
  return batch;
}

struct Ending {
  std::vector<double> losses, norms, scales;
  std::vector<float> weights, first_moments, second_moments;
  int skipped = 0;
};

/// As the trainer makes steps: the learning rate rises and falls, skipped updates are not counted,
/// and the next batch is given ahead.
Ending train(Backend& backend, const Job& job, Communicator* sums = nullptr) {
  Ending end;
  UpdateRequest request;
  request.optimizer.kind = job.optimizer;
  request.gradient_clipping = 1;
  std::unique_ptr<Batch> batch = std::make_unique<Batch>(batch_of(job, 0));
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    backend.zero_gradients();
    for (std::int64_t k = 0; k < job.accumulation; ++k) {
      if (sums != nullptr && k + 1 == job.accumulation) backend.begin_reduction();
      backend.forward_backward(*batch, 1.0 / static_cast<double>(job.accumulation), true, step, {});
      batch = std::make_unique<Batch>(batch_of(job, (step - 1) * job.accumulation + k + 1));
      backend.prefetch(*batch);
    }
    request.learning_rate = 2e-3 * static_cast<double>(std::min<std::int64_t>(step, 5));
    request.learning_rate *= 1 - static_cast<double>(step) / kSteps;
    request.update = step - end.skipped;
    const UpdateResult result = backend.update(request);
    end.skipped += result.skipped ? 1 : 0;
    end.norms.push_back(result.skipped ? -1 : result.gradient_norm);
    end.scales.push_back(result.loss_scale);
    for (const Loss& loss : backend.pending_losses()) end.losses.push_back(loss.total());
    const PartSeconds parts = backend.part_seconds();
    EXPECT_GE(parts.forward, 0);
    EXPECT_GE(parts.backward, 0);
  }
  end.weights = state_of(backend, StateArray::weights);
  end.first_moments = state_of(backend, StateArray::first_moments);
  end.second_moments = state_of(backend, StateArray::second_moments);
  return end;
}

void expect_same(const Ending& graphs, const Ending& calls) {
  EXPECT_EQ(graphs.losses, calls.losses);
  EXPECT_EQ(graphs.norms, calls.norms);
  EXPECT_EQ(graphs.scales, calls.scales);
  EXPECT_EQ(graphs.skipped, calls.skipped);
  EXPECT_EQ(graphs.weights, calls.weights);
  EXPECT_EQ(graphs.first_moments, calls.first_moments);
  EXPECT_EQ(graphs.second_moments, calls.second_moments);
}

class CudaGraphJob : public ::testing::TestWithParam<Job> {
 protected:
  void SetUp() override { testing::skip_without_device(); }
};

TEST_P(CudaGraphJob, training_gives_the_same_bits) {
  const Job& job = GetParam();
  std::unique_ptr<Backend> calls;
  std::unique_ptr<Backend> graphs;
  try {
    calls = cuda_backend(options_of(job, CudaGraphs::off), job.precision);
    graphs = cuda_backend(options_of(job, CudaGraphs::on), job.precision);
  } catch (const std::exception& error) {
#ifdef BERT_REAL_DEVICE
    GTEST_SKIP() << error.what();  // no cuDNN, or no products of 8 bits
#else
    FAIL() << error.what();
#endif
  }
  const Ending wanted = train(*calls, job);
  EXPECT_EQ(wanted.losses.size(), kSteps * job.accumulation);
  const bool half = std::string(job.precision) == "fp16";
  EXPECT_EQ(wanted.skipped > 0, half);
  EXPECT_EQ(std::ranges::adjacent_find(wanted.scales, std::less<>()) != wanted.scales.end(), half);
  expect_same(train(*graphs, job), wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaGraphJob,
    ::testing::Values(Job{"fp32_with_plain_attention_and_odd_widths", odd_model(1), "fp32", 2},
                      Job{"tf32_gpt2", odd_gpt2(1), "tf32", 3},
                      Job{"bf16_lamb", even_model(1), "bf16", 1, OptimizerOptions::Kind::lamb},
                      Job{"bf16_kept_layers", even_model(2), "bf16", 1,
                          OptimizerOptions::Kind::adamw, true},
                      Job{"bf16_attention_of_a_library", even_model(1), "bf16", 1,
                          OptimizerOptions::Kind::adamw, false, AttentionBy::cudnn},
                      Job{"fp16", even_model(1), "fp16", 2},
                      Job{"fp16_gpt2", even_gpt2(1), "fp16", 2},
                      Job{"fp8", even_model(1), "fp8", 2}),
    [](const auto& one) { return std::string(one.param.name); });

/// Losses and gradients of micro-steps of a backend.
class Trace {
 public:
  Trace(const Job& job, CudaGraphs graphs)
      : job_(job), backend_(cuda_backend(options_of(job, graphs), job.precision)) {}
  [[nodiscard]] Backend& backend() { return *backend_; }
  /// Each kind of micro-step comes call by call, recorded and replayed.
  void add(const std::function<Batch(std::int64_t)>& batch, bool training = true) {
    for (std::int64_t i = 0; i < 6; ++i) {
      backend_->zero_gradients();
      backend_->forward_backward(batch(i), 1.0, training, 7, {});
      values_.push_back(backend_->pending_losses().at(0).total());
      for (const float gradient : state_of(*backend_, StateArray::gradients)) {
        values_.push_back(static_cast<double>(gradient));
      }
    }
  }
  void add() {
    add([this](std::int64_t i) { return batch_of(job_, i); });
  }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  const Job& job_;
  std::unique_ptr<Backend> backend_;
  std::vector<double> values_;
};

TEST_F(CudaGraph, weights_that_are_written_are_those_of_the_next_micro_step) {
  const Job job{"", even_model(1), "fp8"};
  std::vector<std::vector<double>> values;
  for (const CudaGraphs graphs : {CudaGraphs::off, CudaGraphs::on}) {
    Trace trace(job, graphs);
    trace.add();
    auto weights = state_of(trace.backend(), StateArray::weights);
    for (float& weight : weights) weight *= 1.5F;
    trace.backend().write_state(StateArray::weights, 0, weights);
    trace.add();
    values.push_back(trace.values());
  }
  EXPECT_EQ(values[1], values[0]);
}

TEST_F(CudaGraph, another_shape_is_another_graph) {
  const Job job{"", odd_model(1), "fp32"};
  std::vector<std::vector<double>> values;
  for (const CudaGraphs graphs : {CudaGraphs::off, CudaGraphs::on}) {
    Trace trace(job, graphs);
    const auto shaped = [&](std::int64_t sequences, std::int64_t length, std::int64_t masked) {
      trace.add(
          [&](std::int64_t i) { return make_batch(job.model, sequences, length, masked, 2 * i); });
    };
    trace.add();
    trace.backend().forward(batch_of(job, 2));
    trace.add([&](std::int64_t i) { return batch_of(job, i); }, false);  // without dropout
    shaped(2, kLength, 9);  // more masked positions than were planned: everything moves
    trace.add();
    shaped(1, 8, 6);
    values.push_back(trace.values());
  }
  EXPECT_EQ(values[1], values[0]);
}

#ifndef BERT_REAL_DEVICE
TEST_F(CudaGraph, a_replay_asks_for_no_memory_waits_for_nothing_and_makes_few_calls) {
  const Job job{"", even_model(2), "fp8"};
  const auto backend = cuda_backend(options_of(job, CudaGraphs::on), job.precision);
  UpdateRequest request;
  request.learning_rate = 1e-3;
  std::vector<std::int64_t> calls;
  for (std::int64_t step = 1; step <= 12; ++step) {
    const Batch batch = batch_of(job, step);
    backend->zero_gradients();
    backend->prefetch(batch);
    const emulated::HostCalls before = emulated::host_calls();
    backend->forward_backward(batch, 1.0, true, step, {});
    const emulated::HostCalls after = emulated::host_calls();
    calls.push_back(after.queued - before.queued);
    if (step > 1) {  // the first has more masked positions than were planned
      EXPECT_EQ(after.allocations, before.allocations) << step;
      EXPECT_EQ(after.waits, before.waits) << step;
    }
    request.update = step;
    backend->update(request);
  }
  EXPECT_GT(calls.front(), 100);
  // StepValues, forward, backward, the copy of the losses.
  EXPECT_THAT(std::vector(calls.end() - 6, calls.end()), ::testing::Each(4));
}

TEST(EmulatedRuntime, keeps_what_is_recorded_with_its_arguments_and_refuses_what_cuda_refuses) {
  const cuda::OwnedStream stream;
  const cuda::Memory memory(cuda::Memory::Place::device, 16);
  const cuda::Event event;
  int* const number = memory.as<int>();
  const auto add = [&](int value) {
    emulated::submit(stream.get(), [number, value] { *number += value; });
  };
  cuda::Graph graph;
  {
    cuda::Recording recording(stream.get());
    add(1);
    add(4);
    EXPECT_EQ(*number, 0);
    EXPECT_THROW(cuda::Memory(cuda::Memory::Place::device, 1), std::logic_error);
    EXPECT_THROW(cuda::synchronize(stream.get()), std::logic_error);
    EXPECT_THROW(event.wait_on_host(), std::logic_error);
    EXPECT_THROW(static_cast<void>(event.reached()), std::logic_error);
    EXPECT_THROW(event.wait_on(stream.get()), std::logic_error);
    EXPECT_THROW(cuda::Event().record(stream.get()), std::logic_error);
    EXPECT_THROW(cuda::fill_zero(number, 4, nullptr), std::logic_error);
    EXPECT_THROW(cuda::Recording(stream.get()), std::logic_error);
    graph = recording.end();
  }
  EXPECT_EQ(*number, 0);
  graph.launch(stream.get());
  add(100);
  graph.launch(stream.get());
  EXPECT_EQ(*number, 110);
  {
    const cuda::Recording dropped(stream.get());
    add(1000);
  }
  add(10000);
  EXPECT_EQ(*number, 10110);
  EXPECT_THROW(cuda::Recording(nullptr), std::logic_error);
}

TEST_F(CudaGraph, micro_steps_that_sum_over_ranks_come_call_by_call) {
  const Job job{"", odd_model(1), "fp32", 2};
  testing::TwinCommunicator twin;
  std::vector<Ending> endings;
  std::vector<std::int64_t> queued;
  for (const CudaGraphs graphs : {CudaGraphs::off, CudaGraphs::automatic}) {
    const auto backend = cuda_backend(options_of(job, graphs), job.precision);
    EXPECT_TRUE(backend->reduce_with(twin, {4000, 0}));
    const std::int64_t before = emulated::host_calls().queued;
    endings.push_back(train(*backend, job, &twin));
    queued.push_back(emulated::host_calls().queued - before);
  }
  expect_same(endings[1], endings[0]);
  EXPECT_LT(queued[1], queued[0] * 4 / 5) << "the first of two micro-steps comes as graphs";

  const auto always = cuda_backend(options_of(job, CudaGraphs::on), job.precision);
  EXPECT_THAT(
      [&] {
        always->reduce_with(twin, {4000, 0});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(
          HasSubstr("--cuda-graph on: twin sums gradients between")));
}

TEST_F(CudaGraph, on_is_refused_where_it_cannot_be_and_auto_says_why_there_is_none) {
  const auto check = [](BackendOptions options, const char* reason) {
    options.cuda_graph = CudaGraphs::automatic;
    EXPECT_THAT(cuda_backend(options, "bf16")->settings(),
                Contains(::testing::AllOf(HasSubstr("CUDA graphs: none, "), HasSubstr(reason))));
    options.cuda_graph = CudaGraphs::on;
    EXPECT_THAT([&] { cuda_backend(options, "bf16"); },
                ::testing::ThrowsMessage<std::invalid_argument>(
                    HasSubstr(std::string("--cuda-graph on: ") + reason)));
  };
  const BackendOptions plain = options_for(even_model(1), 2, 16);
  BackendOptions options = plain;
  options.unpadded = true;
  check(options, "--unpadded");
  options = plain;
  options.inference = true;
  check(options, "--inference");
  setenv("BERT_CUDA_SYNC", "1", 1);
  check(plain, "BERT_CUDA_SYNC=1");
  unsetenv("BERT_CUDA_SYNC");
}
#endif

TEST_F(CudaGraph, auto_takes_graphs_for_small_micro_batches) {
  BackendOptions options = options_for(even_model(1), 16, 8);
  const auto settings = [&](CudaGraphs graphs) {
    options.cuda_graph = graphs;
    return cuda_backend(options, "bf16")->settings();
  };
  const char* const some = "CUDA graphs: forward and backward";
  EXPECT_THAT(settings(CudaGraphs::off), Not(Contains(HasSubstr("CUDA graphs"))));
  EXPECT_THAT(settings(CudaGraphs::automatic), Contains(HasSubstr(some)));
  options.micro_batch_size = 17;
  EXPECT_THAT(settings(CudaGraphs::automatic),
              Contains("CUDA graphs: none, micro-batches have more than 16 sequences"));
  EXPECT_THAT(settings(CudaGraphs::on), Contains(HasSubstr(some)));
}

}  // namespace
}  // namespace bert
