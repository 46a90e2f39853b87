// The CPU backend in bf16 and fp16, and what splits its sums, against the reference in double and
// against itself in fp32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "tests/workloads/oracle/oracle.h"
#include "tests/workloads/support.h"
#include "workloads/bert/cpu/bf16_decoder.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/model/parameters.h"
#include "workloads/bert/reference/reference.h"

namespace bert {
namespace {

using testing::copy;
using testing::make_batch;
using testing::odd_gpt2;
using testing::odd_model;
using testing::options_for;

/// Bounds of a tensor's gradient ||g - g_ref|| / ||g_ref|| and of a loss, relative: those that the
/// CUDA backend keeps.
struct Bounds {
  CpuPrecision precision;
  const char* name;
  double gradient, loss;
  double reordered;  ///< of gradients whose sums another number of threads takes in another order:
                     ///< it may round an operand of the next product the other way
};
constexpr Bounds kFp32{CpuPrecision::fp32, "fp32", 1e-5, 1e-6, 1e-6};
constexpr Bounds kBf16{CpuPrecision::bf16, "bf16", 3e-2, 2e-3, 1e-3};
constexpr Bounds kFp16{CpuPrecision::fp16, "fp16", 5e-3, 5e-4, 1e-3};

class AnyPrecision : public ::testing::TestWithParam<Bounds> {
 protected:
  void SetUp() override {
    if (GetParam().precision == CpuPrecision::bf16 && !Bf16Products::is_native()) {
      GTEST_SKIP() << "this processor multiplies no bf16";
    }
  }
  static std::unique_ptr<Backend> make(const BackendOptions& options) {
    return make_cpu_backend(options, GetParam().precision);
  }
};
class LowPrecision : public AnyPrecision {};
constexpr auto kName = [](const auto& one) { return std::string(one.param.name); };
INSTANTIATE_TEST_SUITE_P(All, AnyPrecision, ::testing::Values(kFp32, kBf16, kFp16), kName);
INSTANTIATE_TEST_SUITE_P(All, LowPrecision, ::testing::Values(kBf16, kFp16), kName);

double cosine(const Parameter& at, const float* a, const double* b) {
  double product = 0, a_square = 0, b_square = 0;
  for (std::int64_t i = at.offset; i < at.offset + at.size; ++i) {
    const auto x = static_cast<double>(a[i]);
    product += x * b[i];
    a_square += x * x;
    b_square += b[i] * b[i];
  }
  return product / std::sqrt(a_square * b_square);
}

/// `weights` are those that the backend has.
void expect_reference(Backend& backend, const Bounds& bounds, const ModelConfig& model,
                      const Batch& batch, const ReferenceDropout& dropout) {
  const std::vector<double> weights(backend.weights().begin(), backend.weights().end());
  const auto reference = reference_step<double>(model, batch, weights, dropout);
  backend.zero_gradients();
  const Loss loss =
      backend.forward_backward(batch, 1.0, dropout.training, dropout.optimizer_step, {});
  EXPECT_NEAR(loss.masked_lm, reference.masked_lm, bounds.loss * reference.masked_lm);
  EXPECT_NEAR(loss.next_sentence, reference.next_sentence, bounds.loss * reference.next_sentence);
  const std::vector<float> gradients = testing::final_gradients(backend);
  const auto worst =
      testing::worst_error(backend.parameters(), gradients.data(), reference.gradients.data());
  EXPECT_LE(worst.error, bounds.gradient) << worst.name;
  // Not fp32 by another name.
  EXPECT_GE(worst.error, 1e-4) << worst.name;
  for (const Parameter& parameter : backend.parameters()) {
    if (parameter.name.ends_with("self.key.bias")) continue;
    EXPECT_GE(cosine(parameter, gradients.data(), reference.gradients.data()), 0.9995)
        << parameter.name;
  }
}

TEST_P(LowPrecision, has_the_gradients_of_the_reference_with_the_weights_of_pytorchs_cases) {
  for (const char* file : {"gradients_2x32.bin", "gpt2_2x32.bin"}) {
    SCOPED_TRACE(file);
    const oracle::Golden golden =
        oracle::read(std::string(BB_SOURCE_DIR) + "/tests/data/oracle/" + file);
    const Batch batch = golden.batch();
    const ModelConfig model = golden.model();
    const auto backend = make(options_for(model, batch.sequences, batch.sequence_length));
    const std::vector<double> weights = oracle::weights(ParameterLayout(model));
    std::copy(weights.begin(), weights.end(), backend->weights().begin());
    expect_reference(*backend, GetParam(), model, batch, {});
  }
}

TEST_P(LowPrecision, equals_the_reference_with_dropout_on_and_odd_shapes) {
  for (const ModelConfig& model : {odd_model(), odd_gpt2()}) {
    SCOPED_TRACE(model.name);
    const auto backend = make(options_for(model, 5, 21));
    expect_reference(*backend, GetParam(), model, make_batch(model, 5, 21, 4, 6), {true, 42, 17});
  }
}

/// Products of attention have more keys than a short sequence has; lengths of 40 to 96 of 100.
TEST_P(LowPrecision, padding_and_blocks_of_queries_change_nothing) {
  ModelConfig bert = odd_model();
  bert.max_positions = 300;
  Batch batch = make_batch(bert, 5, 100, 4);
  for (std::size_t b = 0; b < 5; ++b) batch.lengths[b] = static_cast<std::int32_t>(40 + 14 * b);
  for (std::size_t i = 0; i < batch.masked.size(); ++i) {
    const auto b = static_cast<std::int32_t>(i / 4);
    batch.masked[i] = b * 100 + static_cast<std::int32_t>(i % 4) * 9 + 1;
  }
  expect_reference(*make(options_for(bert, 5, 100)), GetParam(), bert, batch, {true, 42, 3});
  ModelConfig gpt2 = odd_gpt2();
  gpt2.max_positions = 300;
  expect_reference(*make(options_for(gpt2, 1, 290)), GetParam(), gpt2, make_batch(gpt2, 1, 290, 4),
                   {true, 42, 3});
}

/// Two whole parts and a rest.
TEST_P(AnyPrecision, a_head_takes_its_logits_in_parts) {
  ModelConfig everywhere = odd_model();
  everywhere.head_everywhere = true;
  for (const auto& [model, rows] :
       {std::pair{odd_model(), 8}, std::pair{everywhere, 48}, std::pair{odd_gpt2(), 48}}) {
    SCOPED_TRACE(model.name + ", " + std::to_string(rows));
    BackendOptions options = options_for(model, 5, 20);
    options.logit_rows = rows;
    const auto backend = make(options);
    const Batch batch = make_batch(model, 5, 20, 4);
    const std::vector<double> weights(backend->weights().begin(), backend->weights().end());
    const auto reference = reference_step<double>(model, batch, weights, {true, 42, 3});
    for (const bool accumulate : {false, true}) {
      if (!accumulate) backend->zero_gradients();
      const Loss loss = backend->forward_backward(
          model.head_everywhere ? testing::predicted_everywhere(batch) : batch,
          accumulate ? 2.0 : 1.0, true, 3, {});
      EXPECT_NEAR(loss.masked_lm, reference.masked_lm, GetParam().loss * reference.masked_lm);
      std::vector<double> wanted = reference.gradients;
      for (double& value : wanted) value *= accumulate ? 3 : 1;
      EXPECT_TRUE(testing::within(GetParam().gradient, backend->parameters(),
                                  testing::final_gradients(*backend), wanted));
    }
  }
}

/// The optimizer rounds what it has changed.
TEST_P(LowPrecision, an_update_leaves_the_weights_that_the_next_step_would_round) {
  for (const auto kind : {OptimizerOptions::Kind::adamw, OptimizerOptions::Kind::lamb}) {
    const ModelConfig model = odd_model();
    BackendOptions options = options_for(model, 2, 16);
    options.loss_scale.initial = 1024;  // no step of fp16 is skipped
    const Batch batch = make_batch(model, 2, 16, 3);
    const auto step = [&](Backend& backend) {
      backend.zero_gradients();
      return backend.forward_backward(batch, 1.0, false, 1, {}).total();
    };
    const auto updated = make(options);
    const double before = step(*updated);
    UpdateRequest request;
    request.optimizer.kind = kind;
    request.learning_rate = 1e-2;
    updated->update(request);
    const double after = step(*updated);
    EXPECT_NE(after, before);
    const auto given = make(options);
    given->write_state(StateArray::weights, 0, copy(updated->weights()));
    EXPECT_EQ(step(*given), after);
  }
}

TEST_P(AnyPrecision, agrees_with_itself_for_1_2_and_5_threads) {
  for (const ModelConfig& model : {odd_model(), odd_gpt2()}) {
    const Batch batch = make_batch(model, 5, 20, 4);
    const auto gradients = [&](int threads) {
      return testing::gradients_of(*make(options_for(model, 5, 20, threads)), batch);
    };
    const auto one = gradients(1);
    for (const int threads : {2, 5}) {
      EXPECT_TRUE(testing::within(GetParam().reordered, ParameterLayout(model).parameters,
                                  gradients(threads), one))
          << model.name << " " << threads << " threads";
    }
  }
}

/// Losses of 300 steps over eight batches.
std::vector<double> loss_curve(Backend& backend, const ModelConfig& model) {
  std::vector<double> losses;
  for (std::int64_t step = 1; step <= 300; ++step) {
    backend.zero_gradients();
    const Batch batch = make_batch(model, 4, 16, 3, 4 * (step % 8));
    losses.push_back(backend.forward_backward(batch, 1.0, true, step, {}).total());
    UpdateRequest request;
    request.learning_rate = 3e-3;
    request.gradient_clipping = 1;
    request.update = step;
    backend.update(request);
  }
  return losses;
}
double mean_of_last(const std::vector<double>& losses, std::size_t count) {
  double sum = 0;
  for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

TEST_P(LowPrecision, learns_as_fp32_does) {
  const ModelConfig model = odd_model();
  BackendOptions options = options_for(model, 4, 16, 1);
  const auto exact = loss_curve(*make_cpu_backend(options), model);
  const auto rounded = loss_curve(*make(options), model);
  EXPECT_NE(rounded, exact);
  EXPECT_NEAR(rounded.front(), exact.front(), GetParam().loss * exact.front());
  EXPECT_LT(mean_of_last(exact, 20), 0.6 * exact.front());
  EXPECT_NEAR(mean_of_last(rounded, 20), mean_of_last(exact, 20), 0.05 * exact.front());
}

TEST_P(LowPrecision, a_weight_that_changes_between_steps_is_computed_with) {
  const ModelConfig model = odd_model();
  const auto backend = make(options_for(model, 2, 16, 1));
  const Batch batch = make_batch(model, 2, 16, 3);
  const auto loss = [&] {
    backend->zero_gradients();
    return backend->forward_backward(batch, 1.0, false, 1, {}).total();
  };
  const double before = loss();
  const auto at = static_cast<std::int64_t>(ParameterLayout(model).layers[0].qkv.weight);
  const std::vector<float> ones(40, 1.0F);
  backend->write_state(StateArray::weights, at, ones);
  EXPECT_NE(loss(), before);
  backend->write_state(StateArray::weights, at, std::vector<float>{std::nanf("")});
  EXPECT_TRUE(std::isnan(loss()));
}

/// A head of its own, whose numbers are those of bf16, so that only what it makes of them is
/// rounded.
class DecoderInBf16 : public ::testing::Test {
 protected:
  struct Gradients {
    std::vector<double> losses;
    std::vector<float> dx, d_weight, d_bias;
    bool operator==(const Gradients&) const = default;
  };

  void SetUp() override {
    if (!Bf16Products::is_native()) GTEST_SKIP() << "this processor multiplies no bf16";
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::uint32_t word = testing::random(1, i) % kVocabulary;
      labels_.push_back(i % 9 == 4 ? -1 : static_cast<std::int32_t>(word));
    }
  }
  static float as_bf16(float x) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFF0000U);
  }
  static std::vector<float> numbers(std::uint32_t stream, std::int64_t size, float largest) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i) {
      const float one = static_cast<float>(testing::random(stream, i)) / 0x1p31F - 1.0F;
      values.push_back(as_bf16(largest * one));
    }
    return values;
  }
  Gradients computed(int threads, bool twice = false) const {
    const Bf16Decoder::Size size{kRows, kHidden, kVocabulary};
    std::vector<Bf16> weight(weight_.size());
    kernels().to_bf16(std::ssize(weight_), weight_.data(), weight.data());
    Gradients out{std::vector<double>(kRows), std::vector<float>(x_.size()),
                  std::vector<float>(weight_.size(), 7.0F), std::vector<float>(kVocabulary)};
    Bf16Decoder decoder(kernels(), threads, size);
    Bf16Decoder::Call call;
    call.rows = kRows;
    call.x = x_.data();
    call.labels = labels_.data();
    call.scale = kScale;
    call.weight = weight.data();
    call.bias = bias_.data();
    call.losses = out.losses.data();
    call.dx = out.dx.data();
    call.d_weight = out.d_weight.data();
    call.d_bias = out.d_bias.data();
    decoder.run(call);
    call.accumulate = true;
    if (twice) decoder.run(call);
    return out;
  }
  void expect_exact(const Gradients& got, double times = 1) const {
    std::vector<double> dx(x_.size()), d_weight(weight_.size()), d_bias(kVocabulary);
    for (std::size_t r = 0; r < kRows; ++r) {
      if (labels_[r] < 0) {
        EXPECT_EQ(got.losses[r], 0);
        continue;
      }
      std::vector<double> logits;
      for (std::size_t v = 0; v < kVocabulary; ++v) {
        double sum = static_cast<double>(bias_[v]);
        for (std::size_t j = 0; j < kHidden; ++j) {
          sum += static_cast<double>(x_[r * kHidden + j]) *
                 static_cast<double>(weight_[v * kHidden + j]);
        }
        logits.push_back(sum);
      }
      const double top = std::ranges::max(logits);
      double total = 0;
      for (const double logit : logits) total += std::exp(logit - top);
      const auto label = static_cast<std::size_t>(labels_[r]);
      const double loss = std::log(total) + top - logits[label];
      EXPECT_NEAR(got.losses[r], loss,
                  1e-5 * std::max(1.0, std::abs(top) + std::abs(logits[label])))
          << r;
      for (std::size_t v = 0; v < kVocabulary; ++v) {
        const double p = std::exp(logits[v] - top) / total;
        // 1 - p of a word that is nearly certain has no digits.
        const double d = kScale * (v == label ? std::expm1(-loss) : p);
        d_bias[v] += times * d;
        for (std::size_t j = 0; j < kHidden; ++j) {
          dx[r * kHidden + j] += d * static_cast<double>(weight_[v * kHidden + j]);
          d_weight[v * kHidden + j] += times * d * static_cast<double>(x_[r * kHidden + j]);
        }
      }
    }
    const auto error = [](const std::vector<float>& one, const std::vector<double>& other) {
      double apart = 0, size = 0;
      for (std::size_t i = 0; i < one.size(); ++i) {
        apart += std::pow(static_cast<double>(one[i]) - other[i], 2);
        size += other[i] * other[i];
      }
      return std::sqrt(apart / size);
    };
    // A number is rounded by at most 2^-9 of it, in products of rows and logits both are.
    EXPECT_LE(error(got.dx, dx), 0x1p-9);
    EXPECT_LE(error(got.d_weight, d_weight), 0x1p-8);
    EXPECT_LE(error(got.d_bias, d_bias), 0x1p-9);
  }

  // More strips than groups of them, and a rest of rows and of words.
  static constexpr std::int64_t kRows = 70, kHidden = 48, kVocabulary = 9000;
  static constexpr float kScale = 0.125F;
  std::vector<float> x_ = numbers(2, kRows* kHidden, 2);
  std::vector<float> weight_ = numbers(3, kVocabulary* kHidden, 0.5F);
  std::vector<float> bias_ = numbers(4, kVocabulary, 1);
  std::vector<std::int32_t> labels_;
};

TEST_F(DecoderInBf16, has_the_losses_and_gradients_of_whole_rows_of_logits) {
  expect_exact(computed(2));
  expect_exact(computed(2, true), 2);
}

TEST_F(DecoderInBf16, has_the_same_bits_for_every_number_of_threads) {
  const Gradients one = computed(1);
  EXPECT_EQ(computed(2), one);
  EXPECT_EQ(computed(5), one);
}

/// A word that is not among those that are looked at first, as another row's label and its own.
TEST_F(DecoderInBf16, computes_again_where_a_logit_is_far_above_the_others) {
  constexpr std::int64_t kWord = 4321, kRow = 11;
  for (std::int64_t j = 0; j < kHidden; ++j) {
    weight_[static_cast<std::size_t>(kWord * kHidden + j)] =
        as_bf16(8 * x_[static_cast<std::size_t>(kRow * kHidden + j)]);
  }
  labels_[kRow] = 5;
  expect_exact(computed(2));
  labels_[kRow] = kWord;
  expect_exact(computed(2));
}

TEST_F(DecoderInBf16, a_label_that_is_nearly_certain_keeps_the_digits_of_its_gradient) {
  constexpr std::int64_t kWord = 4321, kRow = 11;
  for (std::int64_t j = 0; j < kHidden; ++j) {
    weight_[static_cast<std::size_t>(kWord * kHidden + j)] =
        as_bf16(0.3F * x_[static_cast<std::size_t>(kRow * kHidden + j)]);
  }
  for (auto& label : labels_) label = -1;
  labels_[kRow] = kWord;
  const Gradients got = computed(2);
  EXPECT_LT(got.losses[kRow], 0.2) << "the word is no likely one";
  expect_exact(got);
  EXPECT_NEAR(static_cast<double>(got.d_bias[kWord]), kScale * std::expm1(-got.losses[kRow]),
              1e-5 * got.losses[kRow]);
}

TEST(Fp16OnTheCpu, skips_a_step_that_overflows_and_lowers_the_scale) {
  const ModelConfig model = odd_model();
  BackendOptions options = options_for(model, 2, 16, 1);
  options.loss_scale.initial = 1e9;  // beyond fp16: the first steps must overflow
  options.loss_scale.growth_interval = 3;
  const auto backend = make_cpu_backend(options, CpuPrecision::fp16);
  const auto start = copy(backend->weights());
  UpdateRequest request;
  request.learning_rate = 1e-3;
  int skipped = 0, good = 0;
  double scale = options.loss_scale.initial;
  for (std::int64_t step = 1; good < 4 && step < 60; ++step) {
    backend->zero_gradients();
    backend->forward_backward(make_batch(model, 2, 16, 3), 1.0, true, step, {});
    const UpdateResult result = backend->update(request);
    EXPECT_EQ(result.loss_scale, scale);
    EXPECT_EQ(result.skipped, !std::isfinite(result.gradient_norm));
    if (result.skipped) {
      ++skipped;
      if (good == 0) {
        EXPECT_EQ(copy(backend->weights()), start) << "a skipped step changed weights";
      }
      scale /= 2;
    } else {
      ++good;
      EXPECT_LT(result.gradient_norm, 100) << "the scale is not divided out";
      if (good == 3) scale *= 2;
    }
    EXPECT_EQ(backend->scalar_state().loss_scale, scale);
  }
  EXPECT_GT(skipped, 5);
  EXPECT_NE(copy(backend->weights()), start);
}

TEST(Fp16OnTheCpu, a_checkpoint_carries_the_scale) {
  const BackendOptions options = options_for(odd_model(), 2, 16);
  const auto backend = make_cpu_backend(options, CpuPrecision::fp16);
  backend->set_scalar_state({1024, 17});
  EXPECT_EQ(backend->scalar_state().loss_scale, 1024);
  EXPECT_EQ(backend->scalar_state().good_steps, 17);
  EXPECT_EQ(make_cpu_backend(options)->scalar_state().loss_scale, 0) << "fp32 has none";
}

}  // namespace
}  // namespace bert
