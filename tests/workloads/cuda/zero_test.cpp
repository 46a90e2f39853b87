// ZeRO-1 on the emulated device: several ranks, each with a share of the moments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/thread_ranks.h"
#include "workloads/bert/comm/bucket_planner.h"
#include "workloads/bert/cuda/sharding.h"
#include "workloads/bert/model/parameters.h"

namespace bert {
namespace {

using testing::cuda_backend;
using testing::even_model;
using testing::make_batch;
using testing::on_ranks;
using testing::options_for;
using testing::state_of;
using testing::ThreadRank;
using testing::within;

TEST(ShardPlan, owns_every_element_once_in_parts_of_vectors) {
  for (const int world : {1, 2, 3, 8}) {
    for (const std::int64_t total : {40, 1000, 100003}) {
      for (const std::int64_t bucket : {1, 4000, 1000000}) {
        std::vector<int> owners(static_cast<std::size_t>(cuda::ShardPlan::padded(total, world)));
        for (int rank = 0; rank < world; ++rank) {
          const cuda::ShardPlan plan(total, bucket, rank, world);
          ASSERT_EQ(plan.padded_total(), static_cast<std::int64_t>(owners.size()));
          std::int64_t local = 0;
          for (const auto& own : plan.own()) {
            EXPECT_EQ(own.local, local) << "shares lie dense";
            local += own.size;
            if (world > 1) {
              EXPECT_EQ(own.begin % 8, 0);
            }
            for (std::int64_t i = 0; i < own.size; ++i) {
              ++owners[static_cast<std::size_t>(own.begin + i)];
            }
          }
          EXPECT_EQ(local, plan.share());
        }
        EXPECT_THAT(owners, ::testing::Each(1));
      }
    }
  }
}

TEST(ShardPlan, has_the_buckets_in_which_gradients_arrive) {
  const cuda::ShardPlan plan(100003, 4000, 1, 3);
  BucketPlanner planner(plan.padded_total(), plan.bucket_elements());
  auto arrived = planner.add(0, plan.padded_total());
  std::reverse(arrived.begin(), arrived.end());
  EXPECT_EQ(arrived, plan.buckets());
}

struct RankEnding {
  std::vector<float> weights, first, second;
  double loss = 0, norm = 0;
  std::int64_t planned = 0;
  friend bool operator==(const RankEnding&, const RankEnding&) = default;
};

UpdateRequest request_of(OptimizerOptions::Kind kind, double clipping) {
  UpdateRequest request;
  request.optimizer.kind = kind;
  request.learning_rate = 1e-3;
  request.gradient_clipping = clipping;
  return request;
}

constexpr std::int64_t kBucket = 40000;  ///< bytes

/// Two steps, the second from moments, of two micro-steps, and a forward pass that reads the
/// working copy.
RankEnding train(Backend& backend, ThreadRank* ranks, UpdateRequest request) {
  const int world = ranks != nullptr ? ranks->world_size() : 1;
  const std::int64_t batch = 4 / world;
  RankEnding end;
  for (std::int64_t step = 1; step <= 2; ++step) {
    request.update = step;
    backend.zero_gradients();
    for (std::int64_t micro = 0; micro < 2; ++micro) {
      if (ranks != nullptr && micro == 1) backend.begin_reduction();
      const std::int64_t first =
          8 * step + 4 * micro + batch * (ranks != nullptr ? ranks->rank() : 0);
      backend.forward_backward(make_batch(even_model(), batch, 16, 3, first), 0.5 / world, true,
                               step, {});
    }
    const UpdateResult result = backend.update(request);
    end.norm = result.gradient_norm;
    if (ranks != nullptr) {
      EXPECT_GE(result.communication_s, result.exposed_communication_s);
      EXPECT_GT(result.communication_s, 0);
    }
  }
  end.weights = state_of(backend, StateArray::weights);
  end.first = state_of(backend, StateArray::first_moments);
  end.second = state_of(backend, StateArray::second_moments);
  end.loss = backend.forward(make_batch(even_model(), batch, 16, 3)).total();
  end.planned = backend.predicted_peak_bytes();
  return end;
}

std::vector<RankEnding> train_ranks(int world, int zero, const char* precision,
                                    const UpdateRequest& request) {
  std::vector<RankEnding> ends(static_cast<std::size_t>(world));
  on_ranks(world, [&](ThreadRank& ranks) {
    BackendOptions options = options_for(even_model(), 4 / world, 16);
    options.rank = ranks.rank();
    options.world_size = world;
    options.zero_stage = zero;
    const auto backend = cuda_backend(options, precision);
    EXPECT_TRUE(backend->reduce_with(ranks, {kBucket, zero}));
    ends[static_cast<std::size_t>(ranks.rank())] = train(*backend, &ranks, request);
  });
  return ends;
}

TEST(CudaZero, has_the_bits_of_all_reduced_gradients) {
  const UpdateRequest request = request_of(OptimizerOptions::Kind::adamw, 0);
  for (const char* precision : {"fp32", "bf16"}) {
    const auto whole = train_ranks(2, 0, precision, request);
    const auto shared = train_ranks(2, 1, precision, request);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(shared[rank].weights, whole[0].weights) << precision;
      EXPECT_EQ(shared[rank].first, whole[0].first) << precision;
      EXPECT_EQ(shared[rank].second, whole[0].second) << precision;
      EXPECT_EQ(shared[rank].loss, whole[rank].loss) << "the copy that products read";
      EXPECT_NEAR(shared[rank].norm, whole[0].norm, 1e-9 * whole[0].norm);
    }
    const std::int64_t moments = 8 * ParameterLayout(even_model()).total;
    EXPECT_LT(shared[0].planned, whole[0].planned - 4 * moments / 10) << "half of the moments";
  }
}

TEST(CudaZero, lamb_and_clipping_follow_one_rank_with_the_whole_batch) {
  for (const auto kind : {OptimizerOptions::Kind::lamb, OptimizerOptions::Kind::adamw}) {
    const UpdateRequest request = request_of(kind, 0.5);
    const auto alone = cuda_backend(options_for(even_model(), 4, 16), "fp32");
    const RankEnding wanted = train(*alone, nullptr, request);
    for (const int world : {2, 4}) {
      const auto ends = train_ranks(world, 1, "fp32", request);
      for (const RankEnding& end : ends) {
        EXPECT_EQ(end.weights, ends[0].weights) << "ranks must not drift apart";
        EXPECT_EQ(end.first, ends[0].first);
        EXPECT_NEAR(end.norm, wanted.norm, 1e-5 * wanted.norm);
        EXPECT_TRUE(
            within(1e-5, ParameterLayout(even_model()).parameters, end.weights, wanted.weights))
            << world;
      }
    }
  }
}

TEST(CudaZero, state_that_is_written_is_read_on_every_rank) {
  std::vector<float> values(static_cast<std::size_t>(ParameterLayout(even_model()).total));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  on_ranks(3, [&](ThreadRank& ranks) {
    BackendOptions options = options_for(even_model(), 1, 16);
    options.world_size = 3;
    options.zero_stage = 1;
    const auto backend = cuda_backend(options, "fp32");
    EXPECT_TRUE(backend->reduce_with(ranks, {kBucket, 1}));
    // In parts that end inside buckets and inside shares.
    for (std::size_t begin = 0; begin < values.size(); begin += 33333) {
      const std::size_t size = std::min<std::size_t>(33333, values.size() - begin);
      backend->write_state(StateArray::second_moments, static_cast<std::int64_t>(begin),
                           std::span(values).subspan(begin, size));
    }
    EXPECT_EQ(state_of(*backend, StateArray::second_moments), values);
    EXPECT_THAT(state_of(*backend, StateArray::first_moments), ::testing::Each(0.0F));
  });
}

/// Ranks that can only be reached through host memory.
class HostRanks : public ThreadRank {
 public:
  using ThreadRank::ThreadRank;
  [[nodiscard]] DeviceCommunicator* device() override { return nullptr; }
};

TEST(CudaZero, needs_collectives_on_the_device) {
  testing::MeetingPoint point(2);
  HostRanks ranks(point, 0);
  BackendOptions options = options_for(even_model(), 2, 16);
  options.world_size = 2;
  options.zero_stage = 1;
  const auto backend = cuda_backend(options, "fp32");
  EXPECT_THAT(
      [&] {
        backend->reduce_with(ranks, {kBucket, 1});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(
          ::testing::HasSubstr("--zero 1 needs --comm nccl")));
}

}  // namespace
}  // namespace bert
