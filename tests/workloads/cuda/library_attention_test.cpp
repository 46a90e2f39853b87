// --attention cudnn: on a real device cuDNN itself, on the emulated one the plain kernels in its
// place, which shows that a step gives it what it needs and does the rest.
#include "workloads/bert/cuda/attention/library_attention.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/workloads/cuda/support.h"

namespace bert {
namespace {

using cuda::Attention;
using cuda::copy_to_device;
using cuda::copy_to_host;
using cuda::DType;
using cuda::LibraryAttention;
using cuda::make_library_attention;
using cuda::Memory;
using cuda::open_device;
using cuda::OwnedStream;
using cuda::synchronize;
using testing::cuda_backend;
using testing::even_gpt2;
using testing::even_model;
using testing::gradients_of;
using testing::make_batch;
using testing::options_for;
using testing::reference_gradients;
using testing::skip_without_device;
using testing::state_of;
using testing::within;

class LibraryAttentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    skip_without_device();
    if (IsSkipped()) return;
    try {
      static_cast<void>(
          make_library_attention(options_for(even_model(), 1, 64), DType::bf16, open_device(0)));
    } catch (const NoDevice& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

/// All sequences as long as they can be.
Batch full_batch(Batch batch) {
  for (std::int32_t& length : batch.lengths) {
    length = static_cast<std::int32_t>(batch.sequence_length);
  }
  return batch;
}

TEST_F(LibraryAttentionTest, gradients_without_dropout_follow_the_reference) {
  struct Case {
    const char* precision;
    double bound;  ///< as those of CudaPrecision
    std::vector<std::int64_t> lengths;
  };
  for (const Case& one :
       {Case{"bf16", 3e-2, {70, 128}}, Case{"fp16", 5e-3, {70}}, Case{"fp8", 1.5e-1, {70}}}) {
    for (ModelConfig model : {even_model(), even_gpt2()}) {
      model.hidden_dropout = model.attention_dropout = 0;
      model.max_positions = 128;
      for (const std::int64_t length : one.lengths) {
        for (const bool shorter : {false, true}) {
          for (const bool unpadded : {false, true}) {
            if (unpadded && model.objective == Objective::next_word) continue;
#ifndef BERT_REAL_DEVICE
            // What stands in for the library is the same code for every type and length.
            const bool again = one.precision != std::string("bf16") || length == 128;
            if (again && !shorter) continue;
#endif
            BackendOptions options = options_for(model, 3, length);
            options.attention = AttentionBy::cudnn;
            options.unpadded = unpadded;
            const Batch made = make_batch(model, 3, length, 4);
            const Batch batch = shorter ? made : full_batch(made);
            const auto backend = cuda_backend(options, one.precision);
            const auto weights = state_of(*backend, StateArray::weights);
            const auto gradients = gradients_of(*backend, batch);
            const auto exact = reference_gradients(options, batch, weights, 3);
            EXPECT_TRUE(within(one.bound, backend->parameters(), gradients, exact))
                << one.precision << " " << model.name << " " << length
                << (shorter ? " with padding" : "") << (unpadded ? " left out" : "");
          }
        }
      }
    }
  }
}

/// One call on random numbers, its matrices read back.
class OneAttentionCall {
 public:
  OneAttentionCall(double dropout, bool deterministic) {
    options_ = options_for(even_model(), kSequences, kLength);
    options_.model.attention_dropout = dropout;
    options_.deterministic = deterministic;
    library_ = make_library_attention(options_, DType::bf16, open_device(0));
    a_.sequences = kSequences;
    a_.length = static_cast<int>(kLength);
    a_.heads = static_cast<int>(options_.model.heads);
    a_.size = static_cast<int>(options_.model.head_size());
    a_.padded = false;
    upload(lengths_, std::vector<std::int32_t>(kSequences, kLength));
    a_.lengths = lengths_.as<std::int32_t>();
    qkv_values_ = random(kRows * 3 * hidden(), 1);
    d_output_values_ = random(kRows * hidden(), 2);
  }
  [[nodiscard]] std::int64_t hidden() const { return options_.model.hidden; }
  /// Of qkv: all of a value matrix.
  void set_values(float value) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t c = 0; c < hidden(); ++c) {
        qkv_values_[static_cast<std::size_t>((3 * i + 2) * hidden() + c)] = value;
      }
    }
  }
  void run(std::int64_t step, std::int64_t first_sequence = 0) {
    const double probability = options_.model.attention_dropout;
    a_.dropout.on = probability > 0;
    a_.dropout.key = dropout_key(options_.seed, step, 5, 0, probability);
    a_.dropout.first_sequence = first_sequence;
    upload(qkv_, halves(qkv_values_));
    upload(d_output_, halves(d_output_values_));
    output_ = Memory(Memory::Place::device, kRows * hidden() * 2);
    d_qkv_ = Memory(Memory::Place::device, kRows * 3 * hidden() * 2);
    log_sums_ = Memory(Memory::Place::device, kRows * a_.heads * 4);
    delta_ = Memory(Memory::Place::device, kRows * a_.heads * 4);
    a_.qkv = qkv_.data();
    a_.output = output_.data();
    a_.log_sums = log_sums_.as<float>();
    a_.delta = delta_.as<float>();
    a_.d_output = d_output_.data();
    a_.d_qkv = d_qkv_.data();
    library_->forward(a_, stream_.get());
    library_->backward(a_, stream_.get());
  }
  [[nodiscard]] std::vector<float> output() const { return values(output_); }
  [[nodiscard]] std::vector<float> d_qkv() const { return values(d_qkv_); }
  [[nodiscard]] const std::vector<float>& qkv() const { return qkv_values_; }
  [[nodiscard]] const std::vector<float>& d_output() const { return d_output_values_; }

  static constexpr std::int64_t kSequences = 4, kLength = 128, kRows = kSequences * kLength;

 private:
  /// In [-1, 1), with the 8 bits that bf16 holds.
  static std::vector<float> random(std::int64_t count, std::uint32_t stream) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(static_cast<float>(testing::random(stream, i) >> 24) / 128.0F - 1.0F);
    }
    return out;
  }
  /// bf16 is the upper half of a float.
  static std::vector<std::uint16_t> halves(const std::vector<float>& values) {
    std::vector<std::uint16_t> out;
    out.reserve(values.size());
    for (const float x : values) {
      out.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
    }
    return out;
  }
  template <typename T>
  void upload(Memory& to, const std::vector<T>& values) const {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    to = Memory(Memory::Place::device, bytes);
    const Memory pinned(Memory::Place::host, bytes);
    std::memcpy(pinned.data(), values.data(), values.size() * sizeof(T));
    copy_to_device(to.data(), pinned.data(), bytes, stream_.get());
    synchronize(stream_.get());
  }
  [[nodiscard]] std::vector<float> values(const Memory& from) const {
    const Memory pinned(Memory::Place::host, from.bytes());
    copy_to_host(pinned.data(), from.data(), from.bytes(), stream_.get());
    synchronize(stream_.get());
    std::vector<float> out;
    for (std::int64_t i = 0; i < from.bytes() / 2; ++i) {
      out.push_back(std::bit_cast<float>(std::uint32_t{pinned.as<std::uint16_t>()[i]} << 16));
    }
    return out;
  }

  OwnedStream stream_;
  BackendOptions options_;
  std::unique_ptr<LibraryAttention> library_;
  Attention a_;
  Memory lengths_, qkv_, d_output_, output_, d_qkv_, log_sums_, delta_;
  std::vector<float> qkv_values_, d_output_values_;
};

// The output is linear in the values: where backward drops the same elements as forward, the sum of
// output * d_output is that of value * d_value.
TEST_F(LibraryAttentionTest, backward_drops_what_forward_dropped) {
  OneAttentionCall call(0.1, false);
  call.run(7);
  const auto output = call.output();
  const auto d_qkv = call.d_qkv();
  double forward = 0;
  double backward = 0;
  double squares = 0;
  const std::int64_t h = call.hidden();
  for (std::int64_t i = 0; i < OneAttentionCall::kRows * h; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double product = double{output[at]} * call.d_output()[at];
    forward += product;
    squares += product * product;
    const auto value = static_cast<std::size_t>(i / h * 3 * h + 2 * h + i % h);
    backward += double{call.qkv()[value]} * d_qkv[value];
  }
  // Other masks in backward would leave a tenth of the weights in one sum and not in the other:
  // apart by about 0.4 standard deviations of the sum. Rounding to bf16 leaves less than 0.01.
  EXPECT_NEAR(forward, backward, 0.05 * std::sqrt(squares));
}

// With all values 1, an output is the kept part of its weights, scaled so that its mean is 1.
TEST_F(LibraryAttentionTest, dropout_keeps_the_mean_and_has_other_masks_in_each_call) {
  OneAttentionCall call(0.1, false);
  call.set_values(1);
  call.run(7);
  const auto output = call.output();
  double sum = 0;
  for (const float x : output) sum += x;
  // A row's sum is the same in all 64 columns of a head, so there are 1024 of them. Each has a
  // standard deviation of at most 0.35 / sqrt(128 / 2): the weights differ.
  EXPECT_NEAR(sum / static_cast<double>(output.size()), 1.0, 5 * 0.05 / std::sqrt(1024.0));
  call.run(7);
  EXPECT_EQ(call.output(), output);
  call.run(8);
  EXPECT_NE(call.output(), output);
  call.run(7, 4);
  EXPECT_NE(call.output(), output);
}

TEST_F(LibraryAttentionTest, deterministic_gives_the_same_bits_twice) {
  OneAttentionCall call(0.1, true);
  call.run(7);
  const auto first = call.d_qkv();
  call.run(7);
  EXPECT_EQ(call.d_qkv(), first);
}

TEST_F(LibraryAttentionTest, is_refused_in_fp32) {
  BackendOptions options = options_for(even_model(), 2, 64);
  options.attention = AttentionBy::cudnn;
  EXPECT_THROW(static_cast<void>(cuda_backend(options, "fp32")), std::invalid_argument);
}

}  // namespace
}  // namespace bert
