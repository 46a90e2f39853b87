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
using testing::worst_error;

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

TEST_P(EveryModel, accumulation_over_k_micro_steps_equals_one_batch_k_times_as_large) {
  const ModelConfig model = odd();
  const auto whole = gradients_of(options_for(model, 6, 20), make_batch(model, 6, 20, 4));
  const auto parts = make_cpu_backend(options_for(model, 2, 20));
  parts->zero_gradients();
  for (std::int64_t i = 0; i < 3; ++i) {
    parts->forward_backward(make_batch(model, 2, 20, 4, 2 * i), 1.0 / 3, true, 3, {});
  }
  const auto worst = worst_error(parts->parameters(), parts->gradients().data(), whole.data());
  EXPECT_LE(worst.error, 1e-6) << worst.name;
}

TEST_P(EveryModel, checkpointing_changes_memory_and_not_a_bit_of_the_gradient) {
  const ModelConfig model = odd(4);
  BackendOptions options = options_for(model, 3, 20);
  const auto kept = gradients_of(options, make_batch(model, 3, 20, 3));
  options.activation_checkpointing = true;
  EXPECT_EQ(gradients_of(options, make_batch(model, 3, 20, 3)), kept);
  const std::int64_t recomputed = make_cpu_backend(options)->peak_bytes();  // as planned
  options.activation_checkpointing = false;
  EXPECT_LT(recomputed, make_cpu_backend(options)->peak_bytes());
}

TEST_P(EveryModel, agrees_with_itself_for_1_2_and_5_threads) {
  const ModelConfig model = odd();
  const Batch batch = make_batch(model, 5, 20, 4);
  const auto one = gradients_of(options_for(model, 5, 20, 1), batch);
  const ParameterLayout layout(model);
  for (const int threads : {2, 5}) {
    const auto many = gradients_of(options_for(model, 5, 20, threads), batch);
    const auto worst = worst_error(layout.parameters, many.data(), one.data());
    EXPECT_LE(worst.error, 1e-6) << threads << " threads, " << worst.name;
  }
}

TEST_P(EveryModel, gives_the_same_bits_twice) {
  const ModelConfig model = odd();
  const Batch batch = make_batch(model, 4, 16, 3);
  EXPECT_EQ(gradients_of(options_for(model, 4, 16), batch),
            gradients_of(options_for(model, 4, 16), batch));
}

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

TEST_P(EveryModel, tells_gradient_ranges_from_the_end_without_gaps) {
  const ModelConfig model = odd(3);
  const auto backend = make_cpu_backend(options_for(model, 2, 16));
  const ParameterLayout layout(model);
  std::int64_t end = layout.total;
  std::vector<float> when_told(static_cast<std::size_t>(layout.total));
  int calls = 0;
  backend->zero_gradients();
  const auto buffer = backend->gradients();
  backend->forward_backward(
      make_batch(model, 2, 16, 3), 1.0, true, 1, [&](std::int64_t offset, std::int64_t size) {
        EXPECT_EQ(offset + size, end);
        end = offset;
        ++calls;
        std::copy_n(buffer.begin() + offset, size, when_told.begin() + offset);
      });
  EXPECT_EQ(end, 0);
  // Heads, if they have parameters, three layers, embeddings.
  EXPECT_EQ(calls, GetParam() == "gpt2" ? 4 : 5);
  EXPECT_EQ(when_told, copy(backend->gradients())) << "a range changed after it was called final";
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
  try {
    const auto granted = make_cpu_backend(options);
    FAIL() << "a petabyte was granted to " << granted->description();
  } catch (const std::bad_alloc& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("needs"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("smaller model or micro-batch"));
  }
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

TEST(CpuBackend, takes_more_masked_positions_than_planned_and_none) {
  const ModelConfig model = odd_model();
  const Batch many = make_batch(model, 2, 16, 11);
  const auto backend = make_cpu_backend(options_for(model, 2, 16));
  backend->zero_gradients();
  const Loss loss = backend->forward_backward(many, 1.0, true, 1, {});
  EXPECT_GT(loss.masked_lm, 0);
  backend->zero_gradients();
  EXPECT_EQ(backend->forward_backward(make_batch(model, 2, 16, 0), 1.0, true, 1, {}).masked_lm, 0);
  const auto decoder = ParameterLayout(model).decoder.bias;
  EXPECT_EQ(backend->gradients()[static_cast<std::size_t>(decoder)], 0);
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
  const auto worst =
      worst_error(wide->parameters(), wide->gradients().data(), backend->gradients().data());
  EXPECT_LE(worst.error, 1e-5) << worst.name;
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
  const auto worst = worst_error(backend->parameters(), held.data(), plain.data());
  EXPECT_LE(worst.error, 1e-6) << worst.name;
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
