// Whole steps on streams that do no more than events make them do: what the host queues, waits for
// and reads gives the same bits in every order that CUDA allows.
#include <gtest/gtest.h>

#include <utility>

#include "tests/workloads/cuda/late_runtime.h"
#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/twin.h"
#include "workloads/bert/cuda/emulated/device.h"

namespace bert {
namespace {

using testing::make_batch;

class LateTwin : public testing::TwinCommunicator {
 public:
  void wait(const std::function<bool()>& done) override { late::run_until(done); }

 protected:
  void submit(void* stream, std::function<void()> work) override {
    emulated::submit(stream, std::move(work));
  }
};

struct Ending {
  std::vector<float> weights, moments;
  std::vector<double> reported;  ///< losses and norms
  friend bool operator==(const Ending&, const Ending&) = default;
};

struct Job {
  const char* name;
  BackendOptions options;
  const char* precision;
  bool reduce = false;
};

/// Three steps of two micro-steps as the trainer makes them, state written and read in between, and
/// a forward pass.
Ending train(const Job& job) {
  const ModelConfig& model = job.options.model;
  const auto batch_of = [&](std::int64_t number) {
    return make_batch(model, 2, job.options.sequence_length, 3, 2 * number);
  };
  Ending end;
  LateTwin twin;
  const auto backend = testing::cuda_backend(job.options, job.precision);
  if (job.reduce) backend->reduce_with(twin, {4000, 0});
  Batch batches[2] = {batch_of(0), {}};
  UpdateRequest request;
  request.learning_rate = 1e-2;
  request.gradient_clipping = 1;
  for (std::int64_t step = 0; step < 3; ++step) {
    backend->zero_gradients();
    for (std::int64_t micro = 2 * step; micro < 2 * step + 2; ++micro) {
      if (job.reduce && micro % 2 == 1) backend->begin_reduction();
      backend->forward_backward(batches[micro % 2], 0.5, true, step, {});
      batches[(micro + 1) % 2] = batch_of(micro + 1);
      backend->prefetch(batches[(micro + 1) % 2]);
    }
    request.update = step + 1;
    end.reported.push_back(backend->update(request).gradient_norm);
    for (const Loss& loss : backend->pending_losses()) end.reported.push_back(loss.total());
    if (step == 1) {
      auto weights = testing::state_of(*backend, StateArray::weights);
      for (float& weight : weights) weight *= 1.01F;
      backend->write_state(StateArray::weights, 0, weights);
    }
  }
  end.reported.push_back(backend->forward(batch_of(9)).total());
  end.weights = testing::state_of(*backend, StateArray::weights);
  end.moments = testing::state_of(*backend, StateArray::second_moments);
  return end;
}

std::vector<Job> jobs() {
  std::vector<Job> all;
  all.push_back({"fp32", testing::options_for(testing::odd_model(1), 2, 12), "fp32"});
  all.push_back({"reduced", all.front().options, "fp32", true});
  all.push_back({"fp16, kept layers", testing::options_for(testing::even_gpt2(2), 2, 8), "fp16"});
  all.back().options.activation_checkpointing = true;
  all.push_back(
      {"unpadded, reduced", testing::options_for(testing::even_model(1), 2, 8), "bf16", true});
  all.back().options.unpadded = true;
  all.push_back({"graphs", testing::options_for(testing::even_model(1), 2, 8), "bf16"});
  all.back().options.cuda_graph = CudaGraphs::on;
  return all;
}

TEST(CudaLate, steps_give_the_same_bits_in_every_order_of_streams) {
  using enum late::Pace;
  for (const Job& job : jobs()) {
    late::set_pace(at_once);
    const Ending wanted = train(job);
    EXPECT_GT(wanted.reported.front(), 0);
    for (const late::Pace pace : {late::Pace::late, oldest_first, newest_first}) {
      late::set_pace(pace);
      EXPECT_EQ(train(job), wanted) << job.name << ", pace " << static_cast<int>(pace);
    }
    for (unsigned seed = 1; seed <= 2; ++seed) {
      late::set_pace(late::Pace::random, seed);
      EXPECT_EQ(train(job), wanted) << job.name << ", random order " << seed;
    }
  }
}

}  // namespace
}  // namespace bert
