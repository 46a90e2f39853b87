// The CPU backend in bf16 and fp16, against the reference in double and against itself in fp32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/workloads/oracle/oracle.h"
#include "tests/workloads/support.h"
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
};
constexpr Bounds kBf16{CpuPrecision::bf16, "bf16", 3e-2, 2e-3};
constexpr Bounds kFp16{CpuPrecision::fp16, "fp16", 5e-3, 5e-4};

class LowPrecision : public ::testing::TestWithParam<Bounds> {
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
INSTANTIATE_TEST_SUITE_P(All, LowPrecision, ::testing::Values(kBf16, kFp16),
                         [](const auto& one) { return std::string(one.param.name); });

/// Without the loss scale.
std::vector<float> unscaled_gradients(Backend& backend) {
  std::vector<float> gradients = copy(backend.gradients());
  const double scale = std::max(1.0, backend.scalar_state().loss_scale);
  for (float& g : gradients) g = static_cast<float>(static_cast<double>(g) / scale);
  return gradients;
}

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
  const std::vector<float> gradients = unscaled_gradients(backend);
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

TEST_P(LowPrecision, gives_the_same_bits_twice_and_with_activations_recomputed) {
  const ModelConfig model = odd_model(3);
  const Batch batch = make_batch(model, 4, 16, 3);
  BackendOptions options = options_for(model, 4, 16, 1);
  const auto gradients = [&] {
    const auto backend = make(options);
    backend->zero_gradients();
    backend->forward_backward(batch, 1.0, true, 3, {});
    return copy(backend->gradients());
  };
  const auto once = gradients();
  EXPECT_EQ(gradients(), once);
  options.activation_checkpointing = true;
  EXPECT_EQ(gradients(), once);
}

TEST_P(LowPrecision, agrees_with_itself_for_1_2_and_5_threads) {
  const ModelConfig model = odd_model();
  const Batch batch = make_batch(model, 5, 20, 4);
  const auto gradients = [&](int threads) {
    const auto backend = make(options_for(model, 5, 20, threads));
    backend->zero_gradients();
    backend->forward_backward(batch, 1.0, true, 3, {});
    return copy(backend->gradients());
  };
  const auto one = gradients(1);
  for (const int threads : {2, 5}) {
    const auto many = gradients(threads);
    const auto worst =
        testing::worst_error(ParameterLayout(model).parameters, many.data(), one.data());
    // A sum in another order may round an operand of the next product the other way.
    EXPECT_LE(worst.error, 1e-3) << threads << " threads, " << worst.name;
  }
}

TEST_P(LowPrecision, accumulates_over_micro_steps) {
  const ModelConfig model = odd_model();
  const auto whole = make(options_for(model, 6, 20));
  whole->zero_gradients();
  whole->forward_backward(make_batch(model, 6, 20, 4), 1.0, true, 3, {});
  const auto parts = make(options_for(model, 2, 20));
  parts->zero_gradients();
  for (std::int64_t i = 0; i < 3; ++i) {
    parts->forward_backward(make_batch(model, 2, 20, 4, 2 * i), 1.0 / 3, true, 3, {});
  }
  const auto worst = testing::worst_error(whole->parameters(), parts->gradients().data(),
                                          whole->gradients().data());
  EXPECT_LE(worst.error, GetParam().gradient) << worst.name;
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
