#include "workloads/bert/cuda/sharded_moments.h"

#include <algorithm>

namespace bert::cuda {
namespace {

/// What two ranges of elements have in common: begin and size, which may be 0 or less.
struct Common {
  Common(std::int64_t a, std::int64_t a_size, std::int64_t b, std::int64_t b_size)
      : begin(std::max(a, b)), size(std::min(a + a_size, b + b_size) - begin) {}
  std::int64_t begin, size;
};

}  // namespace

void read_sharded(TrainingState& state, Reduction& reduction, StateArray array, std::int64_t offset,
                  std::span<float> out, Stream stream, const std::function<void()>& wait) {
  const ShardPlan& plan = reduction.plan();
  const auto wanted = static_cast<std::int64_t>(out.size());
  const Memory whole(Memory::Place::device,
                     4 * std::min(plan.bucket_elements(), plan.padded_total()));
  for (std::size_t i = 0; i < plan.buckets().size(); ++i) {
    const GradientRange& bucket = plan.buckets()[i];
    const Common part(bucket.offset, bucket.size, offset, wanted);
    if (part.size <= 0) continue;
    reduction.gather(state.moments(array) + plan.own()[i].local, whole.as<float>(),
                     plan.own()[i].size, stream);
    wait();
    state.read(whole.as<float>() + part.begin - bucket.offset,
               out.subspan(static_cast<std::size_t>(part.begin - offset),
                           static_cast<std::size_t>(part.size)),
               stream);
  }
}

void write_sharded(TrainingState& state, const ShardPlan& plan, StateArray array,
                   std::int64_t offset, std::span<const float> in, Stream stream) {
  for (const ShardPlan::Range& own : plan.own()) {
    const Common part(own.begin, own.size, offset, static_cast<std::int64_t>(in.size()));
    if (part.size <= 0) continue;
    state.write(array, own.local + part.begin - own.begin,
                in.subspan(static_cast<std::size_t>(part.begin - offset),
                           static_cast<std::size_t>(part.size)),
                stream);
  }
}

}  // namespace bert::cuda
