// Batches on their way to the device while it computes, on streams that do no more than events make
// them do.
#include <gtest/gtest.h>

#include "tests/workloads/cuda/late_runtime.h"
#include "tests/workloads/support.h"
#include "workloads/bert/cuda/batch_upload.h"

namespace bert::cuda {
namespace {

constexpr std::int64_t kSequences = 3, kLength = 16, kBatches = 9;

Batch batch_of(std::int64_t number) {
  return testing::make_batch(testing::odd_model(), kSequences, kLength, 4, kSequences * number);
}

/// What the device read of each batch: tokens and labels. `ahead(t)`: whether batch t is
/// prefetched, and whether another one is before it.
enum class Ahead { never, always, sometimes, with_others };

/// What the device reads of each batch is that batch.
void check(Ahead ahead, bool unpadded) {
  const OwnedStream compute;
  BackendOptions options = testing::options_for(testing::odd_model(), kSequences, kLength);
  options.unpadded = unpadded;
  std::vector<std::vector<std::int32_t>> read(kBatches);
  std::vector<DeviceBatch> on_device;
  {
    BatchUpload upload(options, 4);
    Batch batches[2];
    for (std::int64_t t = 0; t < kBatches; ++t) {
      Batch& batch = batches[t % 2];
      batch = batch_of(t);
      if (t > 0) {
        if (ahead == Ahead::with_others) upload.prefetch(batch_of(t + 40), options.model);
        const bool now = ahead == Ahead::always || (ahead == Ahead::sometimes && t % 3 != 0);
        if (now) upload.prefetch(batch, options.model);
      }
      const DeviceBatch there = upload.upload(batch, options.model, compute.get());
      on_device.push_back(there);
      // The work of a step: reads the first thing that was packed, and one of the last.
      auto& out = read[static_cast<std::size_t>(t)];
      out.resize(static_cast<std::size_t>(there.token_count) + batch.labels.size());
      copy_to_host(out.data(), there.tokens, there.token_count * 4, compute.get());
      copy_to_host(out.data() + there.token_count, there.labels,
                   static_cast<std::int64_t>(batch.labels.size()) * 4, compute.get());
    }
    synchronize(compute.get());
  }
  for (std::int64_t t = 0; t < kBatches; ++t) {
    const Batch batch = batch_of(t);
    std::vector<std::int32_t> wanted;
    for (std::int64_t b = 0; b < kSequences; ++b) {
      const auto from = batch.tokens.begin() + b * kLength;
      wanted.insert(wanted.end(), from,
                    from + (unpadded ? batch.lengths[static_cast<std::size_t>(b)] : kLength));
    }
    wanted.insert(wanted.end(), batch.labels.begin(), batch.labels.end());
    ASSERT_EQ(read[static_cast<std::size_t>(t)], wanted) << "batch " << t;
    EXPECT_EQ(on_device[static_cast<std::size_t>(t)].first_sequence, kSequences * t);
  }
}

TEST(BatchUpload, the_device_reads_each_batch_whatever_runs_first) {
  using enum late::Pace;
  for (const Ahead ahead : {Ahead::never, Ahead::always, Ahead::sometimes, Ahead::with_others}) {
    for (const bool unpadded : {false, true}) {
      for (const late::Pace pace : {late::Pace::late, oldest_first, newest_first}) {
        late::set_pace(pace);
        SCOPED_TRACE(static_cast<int>(ahead));
        SCOPED_TRACE(static_cast<int>(pace));
        check(ahead, unpadded);
      }
      for (unsigned seed = 1; seed <= 50; ++seed) {
        late::set_pace(random, seed);
        check(ahead, unpadded);
      }
    }
  }
}

}  // namespace
}  // namespace bert::cuda
