// Properties of the CPU backend that hold for any weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/workloads/support.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/model/parameters.h"

namespace bert {
namespace {

using testing::copy;
using testing::make_batch;
using testing::odd_gpt2;
using testing::odd_model;
using testing::options_for;
using testing::within;

std::vector<float> gradients_of(const BackendOptions& options, const Batch& batch,
                                std::int64_t step = 3) {
  const auto backend = make_cpu_backend(options);
  backend->zero_gradients();
  backend->forward_backward(batch, 1.0, true, step, {});
  return copy(backend->gradients());
}

/// What holds for any model: "bert" or "gpt2".
class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  static ModelConfig odd(std::int64_t layers = 2) {
    return GetParam() == "gpt2" ? odd_gpt2(layers) : odd_model(layers);
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::Values("bert", "gpt2"),
                         [](const auto& one) { return one.param; });

TEST_P(EveryModel, dropout_depends_on_step_seed_and_sequence) {
  const ModelConfig model = odd();
  const BackendOptions options = options_for(model, 2, 16);
  const auto base = gradients_of(options, make_batch(model, 2, 16, 3));
  EXPECT_NE(gradients_of(options, make_batch(model, 2, 16, 3), 4), base);
  Batch later = make_batch(model, 2, 16, 3);
  later.first_sequence = 4;
  EXPECT_NE(gradients_of(options, later), base);
  const auto backend = make_cpu_backend(options);
  backend->zero_gradients();
  backend->forward_backward(make_batch(model, 2, 16, 3), 1.0, false, 3, {});
  EXPECT_NE(copy(backend->gradients()), base);  // no dropout outside training
}

TEST(CpuBackend, has_the_parameters_of_the_published_models) {
  const auto total = [](const char* name) { return ParameterLayout(*named_model(name)).total; };
  EXPECT_EQ(total("bert-tiny"), 4433468);
  EXPECT_EQ(total("bert-mini"), 11267900);
  EXPECT_EQ(total("bert-base"), 110106428);
  EXPECT_EQ(total("bert-large"), 336226108);
  EXPECT_EQ(total("gpt2"), 124439808);
  EXPECT_EQ(total("gpt2-medium"), 354823168);
  EXPECT_EQ(total("gpt2-large"), 774030080);
  EXPECT_EQ(total("gpt2-xl"), 1557611200);
  EXPECT_EQ(total("gpt2-tiny"), 6960768);
  EXPECT_FALSE(named_model("bert-huge").has_value());
  for (const std::string& name : model_names()) EXPECT_TRUE(named_model(name).has_value());
}

TEST(CpuBackend, masks_20_of_128_and_80_of_512) {
  EXPECT_EQ(masked_positions(128), 20);
  EXPECT_EQ(masked_positions(512), 80);
  EXPECT_EQ(masked_positions(64), 10);
  EXPECT_EQ(masked_positions(1), 1);
}

TEST(CpuBackend, initial_weights_follow_the_truncated_normal_distribution) {
  ModelConfig model = odd_model();
  model.vocabulary = 4000;
  const auto backend = make_cpu_backend(options_for(model, 1, 8));
  const Parameter& words = backend->parameters()[0];
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < words.size; ++i) {
    const auto w = static_cast<double>(backend->weights()[static_cast<std::size_t>(i)]);
    ASSERT_LE(std::abs(w), 2 * model.initializer_range * 1.000001);
    sum += w;
    squares += w * w;
  }
  const auto n = static_cast<double>(words.size);
  // A normal distribution cut at 2 deviations keeps 0.7737 of its variance.
  EXPECT_NEAR(sum / n, 0, 5 * 0.0176 / std::sqrt(n));
  EXPECT_NEAR(squares / n / 4e-4, 0.7737, 0.01);
}

TEST(CpuBackend, refuses_memory_that_the_machine_does_not_have) {
  BackendOptions options = options_for(*named_model("bert-large"), 1'000'000, 512);
  EXPECT_THAT(
      [&] { static_cast<void>(make_cpu_backend(options)); },
      ::testing::ThrowsMessage<std::bad_alloc>(::testing::AllOf(
          ::testing::HasSubstr("needs"), ::testing::HasSubstr("smaller model or micro-batch"))));
}

TEST(CpuBackend, names_the_rule_that_a_batch_breaks) {
  const auto backend = make_cpu_backend(options_for(odd_model(), 2, 16));
  const Batch good = make_batch(odd_model(), 2, 16, 3);
  const auto message = [&](auto&& spoil) { return testing::refusal_of(*backend, good, spoil); };
  EXPECT_EQ(message([](Batch&) {}), "");
  EXPECT_EQ(message([](Batch& b) { b.tokens[3] = 101; }),
            "batch: a token is outside the vocabulary");
  EXPECT_EQ(message([](Batch& b) { b.lengths[1] = 0; }), "batch: a length is not 1 to s");
  EXPECT_EQ(message([](Batch& b) { b.masked[0] = -1; }),
            "batch: a masked position is outside the batch");
  EXPECT_EQ(message([](Batch& b) { b.labels.pop_back(); }),
            "batch: the size of an array is not that of its shape");
}

TEST(CpuBackend, a_head_at_every_position_learns_what_one_at_the_masked_ones_does) {
  ModelConfig model = odd_model();
  const Batch masked = make_batch(model, 4, 20, 4);
  const auto backend = make_cpu_backend(options_for(model, 4, 20));
  backend->zero_gradients();
  const Loss loss = backend->forward_backward(masked, 1.0, true, 3, {});
  model.head_everywhere = true;
  const Batch everywhere = testing::predicted_everywhere(masked);
  EXPECT_THAT(testing::refusal_of(*backend, everywhere, [](Batch&) {}),
              ::testing::HasSubstr("a label is outside"))
      << "without head_everywhere";
  const auto wide = make_cpu_backend(options_for(model, 4, 20));
  wide->zero_gradients();
  const Loss same = wide->forward_backward(everywhere, 1.0, true, 3, {});
  EXPECT_NEAR(same.masked_lm, loss.masked_lm, 1e-6 * loss.masked_lm);
  EXPECT_TRUE(within(1e-5, wide->parameters(), wide->gradients(), backend->gradients()));
}

TEST(CpuBackend, answers_and_classes_without_padding_are_those_of_the_padded_batch) {
  for (const Objective objective : {Objective::spans, Objective::classes}) {
    ModelConfig model = odd_model();
    model.objective = objective;
    BackendOptions options = options_for(model, 4, 20);
    const Batch batch = testing::ragged(model, 20, {20, 9, 13, 17});
    const auto padded = make_cpu_backend(options);
    options.unpadded = true;
    const auto packed = make_cpu_backend(options);
    const auto wanted = testing::gradients_of(*padded, batch);
    const auto got = testing::gradients_of(*packed, batch);
    // All tensors together: some have no gradient but for rounding, where a row's sum to zero.
    double apart = 0, norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double difference = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
      apart += difference * difference;
      norm += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    }
    EXPECT_LE(apart, 5e-6 * 5e-6 * norm);
    EXPECT_EQ(packed->predict(batch), padded->predict(batch));
  }
}

TEST_P(EveryModel, a_weight_that_is_no_number_reaches_the_loss) {
  const ModelConfig model = odd();
  const auto backend = make_cpu_backend(options_for(model, 2, 16));
  const auto at = static_cast<std::size_t>(ParameterLayout(model).layers[0].qkv.weight);
  backend->weights()[at] = std::nanf("");
  backend->zero_gradients();
  const Loss loss = backend->forward_backward(make_batch(model, 2, 16, 3), 1.0, true, 1, {});
  EXPECT_TRUE(std::isnan(loss.total()));
  EXPECT_TRUE(std::isnan(backend->gradient_norm()));
}

TEST_P(EveryModel, gradients_read_after_zeroing_are_zero) {
  const ModelConfig model = odd();
  const auto backend = make_cpu_backend(options_for(model, 2, 16));
  backend->forward_backward(make_batch(model, 2, 16, 3), 1.0, true, 1, {});
  backend->zero_gradients();
  EXPECT_THAT(copy(backend->gradients()), ::testing::Each(0.0F));
}

TEST_P(EveryModel, asking_for_the_buffer_before_a_step_changes_nothing) {
  const ModelConfig model = odd();
  const Batch batch = make_batch(model, 2, 16, 3);
  const auto plain = gradients_of(options_for(model, 2, 16), batch);
  const auto backend = make_cpu_backend(options_for(model, 2, 16));
  backend->forward_backward(batch, 1.0, true, 9, {});  // leaves something to clear
  backend->zero_gradients();
  const auto held = backend->gradients();
  backend->forward_backward(batch, 1.0, true, 3, {});
  EXPECT_TRUE(within(1e-6, backend->parameters(), held, plain));
}

TEST_P(EveryModel, loss_falls_over_300_steps) {
  ModelConfig model = odd();
  const auto backend = make_cpu_backend(options_for(model, 4, 16, 1));
  OptimizerOptions optimizer;
  double first = 0;
  double last = 0;
  for (std::int64_t step = 1; step <= 300; ++step) {
    backend->zero_gradients();
    const Loss loss =
        backend->forward_backward(make_batch(model, 4, 16, 3, 4 * (step % 8)), 1.0, true, step, {});
    if (step <= 10) first += loss.total() / 10;
    if (step > 290) last += loss.total() / 10;
    const double norm = backend->gradient_norm();
    backend->optimizer_step(optimizer, 3e-3, std::min(1.0, 1.0 / norm), norm, step);
  }
  EXPECT_LT(last, 0.6 * first) << "from " << first << " to " << last;
}

}  // namespace
}  // namespace bert
