// AdamW against torch.optim.AdamW and LAMB against the published formula, both in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/workloads/oracle/oracle.h"
#include "tests/workloads/support.h"
#include "workloads/bert/cpu/cpu_backend.h"

namespace bert {
namespace {

struct Case {
  OptimizerOptions options;
  double rate = 0, factor = 1;
};

Case parse(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t i) { return std::stod(words.at(i)); };
  Case c;
  c.options.kind =
      words.at(0) == "lamb" ? OptimizerOptions::Kind::lamb : OptimizerOptions::Kind::adamw;
  c.rate = number(1);
  c.options.beta1 = number(2);
  c.options.beta2 = number(3);
  c.options.epsilon = number(4);
  c.options.weight_decay = number(5);
  c.factor = number(6);
  c.options.bias_correction = number(7) != 0;
  c.options.grad_pre_normalization = number(8) != 0;
  c.options.trust_ratio_without_decay = number(9) != 0;
  c.options.min_trust = number(10);
  c.options.max_trust = number(11);
  return c;
}

TEST(Optimizer, equals_the_published_formulas_after_three_updates) {
  const oracle::Golden golden =
      oracle::read(std::string(BB_SOURCE_DIR) + "/tests/data/oracle/optimizers.bin");
  const ModelConfig model = golden.model();
  const ParameterLayout layout(model);
  const std::vector<double> start = oracle::weights(layout);
  ASSERT_EQ(golden.data.size(), golden.cases.size() * start.size());
  const std::int64_t updates = golden.number("updates");
  for (std::size_t i = 0; i < golden.cases.size(); ++i) {
    SCOPED_TRACE(golden.cases[i].first);
    const Case c = parse(golden.cases[i].second);
    const auto backend = make_cpu_backend(testing::options_for(model, 1, 4));
    std::copy(start.begin(), start.end(), backend->weights().begin());
    for (std::int64_t t = 1; t <= updates; ++t) {
      const auto gradients = backend->gradients();
      for (std::size_t j = 0; j < gradients.size(); ++j) {
        gradients[j] = static_cast<float>(
            oracle::uniform(oracle::kGradients, static_cast<std::uint64_t>(t) * oracle::kCase + j) /
            10);
      }
      backend->optimizer_step(c.options, c.rate, c.factor, backend->gradient_norm(), t);
    }
    const double* expected = golden.data.data() + i * start.size();
    double moved = 0;
    for (std::size_t j = 0; j < start.size(); ++j) {
      const double scale = std::max(1.0, std::abs(expected[j])) * static_cast<double>(updates);
      ASSERT_NEAR(static_cast<double>(backend->weights()[j]), expected[j], 1e-7 * scale)
          << "element " << j;
      moved = std::max(moved, std::abs(expected[j] - start[j]));
    }
    EXPECT_GT(moved, 1e-4);  // the case is not trivial
  }
}

TEST(Optimizer, gradient_norm_is_that_of_the_whole_buffer) {
  const auto backend = make_cpu_backend(testing::options_for(testing::odd_model(), 1, 4));
  const auto gradients = backend->gradients();
  double sum = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    sum += static_cast<double>(gradients[i]) * static_cast<double>(gradients[i]);
  }
  EXPECT_NEAR(backend->gradient_norm(), std::sqrt(sum), 1e-12 * std::sqrt(sum));
  backend->zero_gradients();
  EXPECT_EQ(backend->gradient_norm(), 0);
}

TEST(Optimizer, decay_spares_biases_and_layer_norm) {
  const auto backend = make_cpu_backend(testing::options_for(testing::odd_model(), 1, 4));
  for (const Parameter& parameter : backend->parameters()) {
    const bool spared =
        parameter.name.ends_with("bias") || parameter.name.find("LayerNorm") != std::string::npos;
    EXPECT_EQ(parameter.decay, !spared) << parameter.name;
  }
}

}  // namespace
}  // namespace bert
