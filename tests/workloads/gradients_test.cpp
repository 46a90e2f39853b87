// Gradients against PyTorch float64, and against the scalar reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tests/workloads/oracle/oracle.h"
#include "tests/workloads/support.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/reference/reference.h"

namespace bert {
namespace {

const std::string kFolder = std::string(BB_SOURCE_DIR) + "/tests/data/oracle/";

bool is_key_bias(const std::string& name) { return name.ends_with("self.key.bias"); }

/// Every tensor within `bound`; key biases, whose gradient is zero in theory, within `zero`.
template <typename Real>
void expect_gradients(const oracle::Golden& golden, const ParameterLayout& layout,
                      const Real* gradients, double bound, double zero) {
  const std::size_t count = layout.parameters.size();  // of GPT-2, weights after training follow
  ASSERT_EQ(golden.tensors.size(), golden.is_gpt2() ? 2 * count : count);
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = layout.parameters[i];
    ASSERT_EQ(golden.tensors[i].name, parameter.name);
    if (is_key_bias(parameter.name)) {
      for (std::int64_t j = 0; j < parameter.size; ++j) {
        EXPECT_NEAR(static_cast<double>(gradients[parameter.offset + j]), 0, zero)
            << parameter.name;
      }
      continue;
    }
    const double error = oracle::error(golden.tensors[i], parameter, gradients);
    EXPECT_LE(error, bound) << parameter.name;
    worst = std::max(worst, error);
  }
  std::ostringstream text;
  text << std::scientific << worst;
  ::testing::Test::RecordProperty("worst_error", text.str());
}

void expect_losses(const oracle::Golden& golden, double masked_lm, double next_sentence,
                   double relative) {
  const double mlm = std::stod(golden.fields.at("loss").at(0));
  const double nsp = golden.is_gpt2() ? 0 : std::stod(golden.fields.at("loss").at(1));
  EXPECT_NEAR(masked_lm, mlm, relative * mlm);
  EXPECT_NEAR(next_sentence, nsp, relative * nsp);
}

void reference_equals_pytorch(const std::string& file) {
  const oracle::Golden golden = oracle::read(kFolder + file);
  const ModelConfig model = golden.model();
  const ParameterLayout layout(model);
  const std::vector<double> weights = oracle::weights(layout);
  const auto step = reference_step<double>(model, golden.batch(), weights, {});
  expect_losses(golden, step.masked_lm, step.next_sentence, 1e-12);
  expect_gradients(golden, layout, step.gradients.data(), 1e-10, 1e-14);
}

void backend_equals_pytorch(const std::string& file, double bound, bool checkpointing) {
  const oracle::Golden golden = oracle::read(kFolder + file);
  const Batch batch = golden.batch();
  BackendOptions options =
      testing::options_for(golden.model(), batch.sequences, batch.sequence_length);
  options.activation_checkpointing = checkpointing;
  const auto backend = make_cpu_backend(options);
  const ParameterLayout layout(options.model);
  const std::vector<double> weights = oracle::weights(layout);
  std::copy(weights.begin(), weights.end(), backend->weights().begin());
  backend->zero_gradients();
  const Loss loss = backend->forward_backward(batch, 1.0, true, 1, {});
  expect_losses(golden, loss.masked_lm, loss.next_sentence, 1e-6);
  expect_gradients(golden, layout, backend->gradients().data(), bound, 1e-7);
  // The projections see a part of the deep case's middle layers; this sees all of it.
  const auto reference = reference_step<double>(options.model, batch, weights, {});
  EXPECT_TRUE(testing::within(bound, layout.parameters, backend->gradients(), reference.gradients));
}

TEST(ReferenceInDouble, has_the_gradients_of_pytorch_for_2_layers) {
  reference_equals_pytorch("gradients_2x32.bin");
}
TEST(ReferenceInDouble, has_the_gradients_of_pytorch_for_24_layers) {
  reference_equals_pytorch("gradients_24x64.bin");
}
TEST(ReferenceInDouble, has_the_gradients_of_pytorch_for_gpt2) {
  reference_equals_pytorch("gpt2_2x32.bin");
  reference_equals_pytorch("gpt2_12x64.bin");
}
TEST(CpuBackend, has_the_gradients_of_pytorch_for_2_layers) {
  backend_equals_pytorch("gradients_2x32.bin", 1e-5, false);
}
TEST(CpuBackend, has_the_gradients_of_pytorch_for_24_layers) {
  backend_equals_pytorch("gradients_24x64.bin", 1e-4, false);
}
TEST(CpuBackend, has_the_gradients_of_pytorch_when_it_recomputes_activations) {
  backend_equals_pytorch("gradients_24x64.bin", 1e-4, true);
}

TEST(CpuBackend, has_the_gradients_of_pytorch_for_gpt2) {
  backend_equals_pytorch("gpt2_2x32.bin", 1e-5, false);
  backend_equals_pytorch("gpt2_12x64.bin", 1e-4, true);
}

void expect_finite_differences(const ModelConfig& model) {
  const ParameterLayout layout(model);
  const Batch batch = testing::make_batch(model, 3, 12, 3);
  std::vector<double> weights = oracle::weights(layout);
  const ReferenceDropout dropout{true, 5, 3};
  const auto step = reference_step<double>(model, batch, weights, dropout);
  for (std::int64_t i = 0; i < 50; ++i) {
    const auto at = testing::random(9, i) % static_cast<std::uint32_t>(layout.total);
    const double kept = weights[at];
    const double delta = 1e-4;
    const auto loss_at = [&](double value) {
      weights[at] = value;
      const double loss = reference_loss<double>(model, batch, weights, dropout);
      weights[at] = kept;
      return loss;
    };
    // Five-point stencil: truncation error of order delta^4.
    const double slope = (loss_at(kept - 2 * delta) - 8 * loss_at(kept - delta) +
                          8 * loss_at(kept + delta) - loss_at(kept + 2 * delta)) /
                         (12 * delta);
    EXPECT_NEAR(step.gradients[at], slope, 1e-9 + 1e-7 * std::abs(slope)) << "weight " << at;
  }
}
ModelConfig tuned(Objective objective) {
  ModelConfig model = testing::odd_model();
  model.objective = objective;
  return model;
}

TEST(ReferenceInDouble, agrees_with_finite_differences_of_50_weights) {
  expect_finite_differences(testing::odd_model());
  expect_finite_differences(tuned(Objective::spans));
  expect_finite_differences(tuned(Objective::classes));
  expect_finite_differences(testing::odd_gpt2());
}

void backend_equals_reference(const ModelConfig& model, std::int64_t step) {
  const Batch batch = testing::make_batch(model, 5, 21, 4, (1LL << 33) + 6);
  const auto backend = make_cpu_backend(testing::options_for(model, 5, 21));
  const std::vector<double> weights(backend->weights().begin(), backend->weights().end());
  const auto reference = reference_step<double>(model, batch, weights, {true, 42, step});
  backend->zero_gradients();
  const Loss loss = backend->forward_backward(batch, 1.0, true, step, {});
  EXPECT_NEAR(loss.masked_lm, reference.masked_lm, 1e-6 * reference.masked_lm);
  EXPECT_NEAR(loss.next_sentence, reference.next_sentence, 1e-6 * reference.next_sentence);
  EXPECT_TRUE(
      testing::within(1e-5, backend->parameters(), backend->gradients(), reference.gradients));
}

TEST(CpuBackend, equals_the_reference_with_dropout_on_and_odd_shapes) {
  backend_equals_reference(testing::odd_model(), 17);
  backend_equals_reference(testing::odd_gpt2(), 17);
}
TEST(CpuBackend, equals_the_reference_in_fine_tuning) {
  backend_equals_reference(tuned(Objective::spans), 17);
  backend_equals_reference(tuned(Objective::classes), 17);
}
TEST(CpuBackend, answers_with_the_likeliest_span_and_class) {
  for (const Objective objective : {Objective::spans, Objective::classes}) {
    const ModelConfig model = tuned(objective);
    const auto backend = make_cpu_backend(testing::options_for(model, 3, 12));
    Batch batch = testing::make_batch(model, 3, 12, 3);
    const auto answers = backend->predict(batch);
    ASSERT_EQ(answers.size(), 3u);
    // The answers have no greater loss than any other label.
    const auto loss_with = [&](std::size_t b, const Prediction& label) {
      Batch other = batch;
      if (objective == Objective::spans) {
        other.spans[2 * b] = label.first;
        other.spans[2 * b + 1] = label.last;
      } else {
        other.next_sentence[b] = label.first;
      }
      return backend->forward(other).next_sentence;
    };
    for (std::size_t b = 0; b < 3; ++b) {
      const double least = loss_with(b, answers[b]);
      const std::int32_t length = batch.lengths[b];
      const std::int32_t begin = objective == Objective::spans ? length / 2 : 0;
      const std::int32_t end = objective == Objective::spans ? length - 1 : 2;
      for (std::int32_t first = begin; first < end; ++first) {
        for (std::int32_t last = first; last < end; ++last) {
          EXPECT_GE(loss_with(b, {first, last}), least - 1e-9) << first << ' ' << last;
        }
      }
    }
  }
}
TEST(CpuBackend, equals_the_reference_when_only_attention_drops) {
  for (ModelConfig model : {testing::odd_model(4), testing::odd_gpt2(4)}) {
    model.hidden_dropout = 0;
    model.attention_dropout = 0.5;
    backend_equals_reference(model, 2);
  }
}
TEST(CpuBackend, equals_the_reference_when_only_hidden_states_drop) {
  for (ModelConfig model : {testing::odd_model(1), testing::odd_gpt2(1)}) {
    model.attention_dropout = 0;
    backend_equals_reference(model, 1);
  }
}

TEST(ReferenceInFloat, agrees_with_double) {
  const ModelConfig model = testing::odd_model();
  const ParameterLayout layout(model);
  const Batch batch = testing::make_batch(model, 2, 10, 2);
  const std::vector<double> weights = oracle::weights(layout);
  const std::vector<float> narrow(weights.begin(), weights.end());
  const auto a = reference_step<float>(model, batch, narrow, {});
  const auto b = reference_step<double>(model, batch, weights, {});
  EXPECT_TRUE(testing::within(1e-5, layout.parameters, a.gradients, b.gradients));
}

}  // namespace
}  // namespace bert
