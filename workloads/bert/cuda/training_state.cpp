#include "workloads/bert/cuda/training_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bert::cuda {
namespace {

constexpr std::int64_t kStaging = 64LL << 20;

struct ChunkTable {
  std::vector<Chunk> chunks;
  std::vector<std::int32_t> first;  ///< of each parameter, and the end
};

/// Both parameters and own ranges ascend, so those of one parameter are neighbours.
ChunkTable chunk_table(const std::vector<Parameter>& parameters, const ShardPlan& plan) {
  ChunkTable table;
  std::size_t next = 0;  // the first range that reaches into this parameter
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    table.first.push_back(static_cast<std::int32_t>(table.chunks.size()));
    const std::int64_t end = parameters[p].offset + parameters[p].size;
    const auto& own = plan.own();
    while (next < own.size() && own[next].begin + own[next].size <= parameters[p].offset) ++next;
    for (std::size_t r = next; r < own.size() && own[r].begin < end; ++r) {
      const std::int64_t from = std::max(own[r].begin, parameters[p].offset);
      const std::int64_t to = std::min(own[r].begin + own[r].size, end);
      for (std::int64_t begin = from; begin < to; begin += kChunk) {
        table.chunks.push_back({begin, own[r].local + begin - own[r].begin,
                                static_cast<std::int32_t>(std::min(kChunk, to - begin)),
                                static_cast<std::int32_t>(p)});
      }
    }
  }
  table.first.push_back(static_cast<std::int32_t>(table.chunks.size()));
  return table;
}

template <typename T>
Memory on_device(const std::vector<T>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
  const Memory host(Memory::Place::host, bytes);
  Memory device(Memory::Place::device, bytes);
  std::memcpy(host.data(), values.data(), static_cast<std::size_t>(bytes));
  copy_to_device(device.data(), host.data(), bytes, nullptr);
  synchronize(nullptr);
  return device;
}

/// What two ranges of elements have in common: begin and size, which may be 0 or less.
struct Common {
  Common(std::int64_t a, std::int64_t a_size, std::int64_t b, std::int64_t b_size)
      : begin(std::max(a, b)), size(std::min(a + a_size, b + b_size) - begin) {}
  std::int64_t begin, size;
};

}  // namespace

std::int64_t TrainingState::bytes(const ParameterLayout& layout, DType type, bool inference,
                                  int shares) {
  const std::int64_t copy = type == DType::f32 ? 0 : layout.total * size_of(type);
  const std::int64_t whole = ShardPlan::padded(layout.total, shares);
  const std::int64_t chunks =
      layout.total / kChunk + static_cast<std::int64_t>(layout.parameters.size());
  if (inference) return 4 * whole + copy;
  return 8 * whole + 8 * (whole / shares) + copy +
         chunks * static_cast<std::int64_t>(sizeof(Chunk) + 2 * sizeof(double));
}

TrainingState::TrainingState(const ParameterLayout& layout, DType type, bool inference, int shares)
    : type_(type),
      parameters_(static_cast<std::int64_t>(layout.parameters.size())),
      weights_(Memory::Place::device, ShardPlan::padded(layout.total, shares) * 4),
      copy_(Memory::Place::device, type == DType::f32 ? 0 : layout.total * size_of(type)) {
  staging_ = Memory(Memory::Place::host, std::min(kStaging, layout.total * 4));
  total_on_host_ = Memory(Memory::Place::host, sizeof(double));
  if (inference) return;
  gradients_ = Memory(Memory::Place::device, weights_.bytes());
  first_ = Memory(Memory::Place::device, weights_.bytes() / shares);
  second_ = Memory(Memory::Place::device, weights_.bytes() / shares);
  std::vector<std::uint8_t> decays;
  for (const Parameter& parameter : layout.parameters) decays.push_back(parameter.decay ? 1 : 0);
  decays_ = on_device(decays);
  ratios_ = Memory(Memory::Place::device, parameters_ * 4);
  parameter_sums_ = Memory(Memory::Place::device, parameters_ * 16);
  take_share(layout, ShardPlan::whole(layout.total));
}

void TrainingState::take_share(const ParameterLayout& layout, const ShardPlan& plan) {
  const ChunkTable table = chunk_table(layout.parameters, plan);
  chunk_count_ = static_cast<std::int64_t>(table.chunks.size());
  chunks_ = on_device(table.chunks);
  first_chunk_ = on_device(table.first);
  partial_ = Memory(Memory::Place::device, (2 * chunk_count_ + 1) * 8);
}

Memory& TrainingState::memory(StateArray array) {
  switch (array) {
    case StateArray::weights:
      return weights_;
    case StateArray::first_moments:
      return first_;
    case StateArray::second_moments:
      return second_;
    case StateArray::gradients:
      return gradients_;
  }
  return weights_;
}

void TrainingState::read(StateArray array, std::int64_t offset, std::span<float> out,
                         Stream stream) {
  read(memory(array).as<float>() + offset, out, stream);
}

void TrainingState::read(const float* from, std::span<float> out, Stream stream) {
  const auto most = static_cast<std::size_t>(staging_.bytes() / 4);
  for (std::size_t done = 0; done < out.size(); done += most) {
    const std::size_t count = std::min(most, out.size() - done);
    copy_to_host(staging_.data(), from + done, static_cast<std::int64_t>(4 * count), stream);
    synchronize(stream);
    std::memcpy(out.data() + done, staging_.data(), 4 * count);
  }
}

void TrainingState::write(StateArray array, std::int64_t offset, std::span<const float> in,
                          Stream stream) {
  float* to = memory(array).as<float>() + offset;
  const auto most = static_cast<std::size_t>(staging_.bytes() / 4);
  for (std::size_t done = 0; done < in.size(); done += most) {
    const std::size_t count = std::min(most, in.size() - done);
    std::memcpy(staging_.data(), in.data() + done, 4 * count);
    copy_to_device(to + done, staging_.data(), static_cast<std::int64_t>(4 * count), stream);
    synchronize(stream);
  }
  if (array == StateArray::weights && type_ != DType::f32) {
    cast_from_float(type_, to, copy_.data() + offset * size_of(type_),
                    static_cast<std::int64_t>(in.size()), stream);
  }
}

void TrainingState::read_shared(Reduction& reduction, StateArray array, std::int64_t offset,
                                std::span<float> out, Stream stream,
                                const std::function<void()>& wait) {
  const ShardPlan& plan = reduction.plan();
  const auto wanted = static_cast<std::int64_t>(out.size());
  const Memory whole(Memory::Place::device,
                     4 * std::min(plan.bucket_elements(), plan.padded_total()));
  for (std::size_t i = 0; i < plan.buckets().size(); ++i) {
    const GradientRange& bucket = plan.buckets()[i];
    const Common part(bucket.offset, bucket.size, offset, wanted);
    if (part.size <= 0) continue;
    reduction.gather(memory(array).as<float>() + plan.own()[i].local, whole.as<float>(),
                     plan.own()[i].size, stream);
    wait();
    read(whole.as<float>() + part.begin - bucket.offset,
         out.subspan(static_cast<std::size_t>(part.begin - offset),
                     static_cast<std::size_t>(part.size)),
         stream);
  }
}

void TrainingState::write_shared(const ShardPlan& plan, StateArray array, std::int64_t offset,
                                 std::span<const float> in, Stream stream) {
  for (const ShardPlan::Range& own : plan.own()) {
    const Common part(own.begin, own.size, offset, static_cast<std::int64_t>(in.size()));
    if (part.size <= 0) continue;
    write(array, own.local + part.begin - own.begin,
          in.subspan(static_cast<std::size_t>(part.begin - offset),
                     static_cast<std::size_t>(part.size)),
          stream);
  }
}

void TrainingState::queue_copy(std::int64_t elements, Stream stream) {
  if (type_ == DType::f32) return;
  cast_from_float(type_, weights(), copy_.data(), elements, stream);
}

void TrainingState::zero_gradients(Stream stream) {
  fill_zero(gradients_.data(), gradients_.bytes(), stream);
}

void TrainingState::queue_norm(const SumOverRanks& sum, Stream stream) {
  double* total = partial_.as<double>() + 2 * chunk_count_;
  sum_of_squares(chunks_.as<Chunk>(), chunk_count_, gradients(), partial_.as<double>(), total,
                 stream);
  if (sum) sum(total, 1);
  copy_to_host(total_on_host_.data(), total, sizeof(double), stream);
}

double TrainingState::norm() const { return std::sqrt(*total_on_host_.as<double>()); }

void TrainingState::queue_update(const OptimizerOptions& options, double learning_rate,
                                 double factor, double norm, std::int64_t update,
                                 const SumOverRanks& sum, Stream stream) {
  const bool is_lamb = options.kind == OptimizerOptions::Kind::lamb;
  OptimizerArguments a{adam_constants(options, factor, norm, update)};
  a.chunks = chunks_.as<Chunk>();
  a.count = chunk_count_;
  a.decays = decays_.as<std::uint8_t>();
  a.gradients = gradients();
  a.weights = weights_.as<float>();
  a.first = first_.as<float>();
  a.second = second_.as<float>();
  a.copy = copy_.data();
  a.decay =
      static_cast<float>(is_lamb ? options.weight_decay : learning_rate * options.weight_decay);
  a.rate = static_cast<float>(learning_rate);
  a.sums = partial_.as<double>();
  a.parameter_sums = parameter_sums_.as<double>();
  a.ratios = ratios_.as<float>();
  a.first_chunk = first_chunk_.as<std::int32_t>();
  a.parameters = static_cast<std::int32_t>(parameters_);
  a.min_trust = static_cast<float>(options.min_trust);
  a.max_trust = static_cast<float>(options.max_trust);
  a.trust_without_decay = options.trust_ratio_without_decay;
  if (is_lamb) {
    lamb_moments(a, stream);
    if (sum) sum(a.parameter_sums, 2 * parameters_);
    lamb_weights(type_, a, stream);
  } else {
    adamw(type_, a, stream);
  }
}

}  // namespace bert::cuda
