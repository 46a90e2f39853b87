// What only a GPT-2 has, on the CPU backend: logits and training steps of PyTorch, its initial
// weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/workloads/oracle/oracle.h"
#include "tests/workloads/support.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/reference/reference.h"

namespace bert {
namespace {

using testing::make_batch;
using testing::odd_gpt2;
using testing::options_for;

oracle::Golden golden(const std::string& name) {
  return oracle::read(std::string(BB_SOURCE_DIR) + "/tests/data/oracle/" + name);
}

/// A backend with the weights of the oracle.
std::unique_ptr<Backend> backend_of(const oracle::Golden& wanted) {
  const Batch batch = wanted.batch();
  auto backend =
      make_cpu_backend(options_for(wanted.model(), batch.sequences, batch.sequence_length, 1));
  const std::vector<double> weights = oracle::weights(ParameterLayout(wanted.model()));
  std::copy(weights.begin(), weights.end(), backend->weights().begin());
  return backend;
}

TEST(Gpt2, has_the_logits_of_pytorch) {
  for (const char* name : {"gpt2_2x32.bin", "gpt2_12x64.bin"}) {
    const oracle::Golden wanted = golden(name);
    const auto backend = backend_of(wanted);
    Batch first = wanted.batch();
    const auto length = static_cast<std::size_t>(first.sequence_length);
    first.sequences = 1;
    first.lengths.resize(1);
    first.tokens.resize(length);
    first.labels.resize(length);
    // The loss is the mean over positions of -log softmax[label]: it moves with the last label as
    // that position's log softmax does, from what the other labels gave.
    const auto loss_with = [&](std::size_t label) {
      first.labels.back() = static_cast<std::int32_t>(label);
      backend->zero_gradients();
      return backend->forward_backward(first, 1.0, true, 1, {}).masked_lm *
             static_cast<double>(length);
    };
    const auto& logits = wanted.fields.at("logits");
    const std::size_t stride = length > 100 ? 24 : 4;  // the deep one takes its time
    const double base = loss_with(0) + std::stod(logits[0]);
    for (std::size_t label = 0; label < logits.size(); label += stride) {
      EXPECT_NEAR(base - loss_with(label), std::stod(logits[label]), 1e-4) << name << " " << label;
    }
  }
}

TEST(Gpt2, trains_as_pytorch_does) {
  for (const char* name : {"gpt2_2x32.bin", "gpt2_12x64.bin"}) {
    const oracle::Golden wanted = golden(name);
    const Batch batch = wanted.batch();
    const auto backend = backend_of(wanted);
    const auto& adamw = wanted.fields.at("adamw");
    UpdateRequest request;
    request.learning_rate = std::stod(adamw[0]);
    request.optimizer.weight_decay = std::stod(adamw[1]);
    request.optimizer.beta1 = std::stod(adamw[2]);
    request.optimizer.beta2 = std::stod(adamw[3]);
    request.optimizer.epsilon = std::stod(adamw[4]);
    for (const std::string& text : wanted.fields.at("step-losses")) {
      backend->zero_gradients();
      const double loss = backend->forward_backward(batch, 1.0, true, request.update, {}).masked_lm;
      EXPECT_NEAR(loss, std::stod(text), 2e-5 * std::stod(text)) << name << " " << request.update;
      backend->update(request);
      ++request.update;
    }
    const ParameterLayout layout(wanted.model());
    const std::size_t count = layout.parameters.size();
    for (std::size_t i = 0; i < count; ++i) {
      const oracle::Tensor& after = wanted.tensors.at(count + i);
      const Parameter& parameter = layout.parameters[i];
      ASSERT_EQ(after.name, "after:" + parameter.name);
      // A key's bias has no gradient but rounding, which Adam makes as large as any other.
      const double bound = parameter.name.ends_with("c_attn.bias") ? 1e-2 : 1e-4;
      EXPECT_LE(oracle::error(after, parameter, backend->weights().data()), bound)
          << name << " " << after.name;
    }
  }
}

TEST(Gpt2, initial_weights_are_normal_and_smaller_where_they_add_to_the_stream) {
  ModelConfig model = odd_gpt2(8);
  model.hidden = 96;
  model.intermediate = 384;
  const auto backend = make_cpu_backend(options_for(model, 1, 8));
  for (const Parameter& parameter : backend->parameters()) {
    double squares = 0, most = 0;
    for (std::int64_t i = 0; i < parameter.size; ++i) {
      const auto w =
          static_cast<double>(backend->weights()[static_cast<std::size_t>(parameter.offset + i)]);
      squares += w * w;
      most = std::max(most, std::abs(w));
    }
    const double deviation = std::sqrt(squares / static_cast<double>(parameter.size));
    if (parameter.name.ends_with(".bias")) {
      EXPECT_EQ(most, 0) << parameter.name;
    } else if (parameter.name.find(".ln_") != std::string::npos) {
      EXPECT_EQ(deviation, 1) << parameter.name;
    } else {
      const double wanted = parameter.name.ends_with("c_proj.weight") ? 0.02 / 4 : 0.02;
      EXPECT_NEAR(deviation, wanted, 0.05 * wanted) << parameter.name;
      EXPECT_GT(most, 2.5 * wanted) << parameter.name << " is not truncated";
    }
  }
}

TEST(Gpt2, names_the_rule_that_a_batch_breaks) {
  const auto backend = make_cpu_backend(options_for(odd_gpt2(), 2, 16));
  const Batch good = make_batch(odd_gpt2(), 2, 16, 0);
  const auto message = [&](auto&& spoil) { return testing::refusal_of(*backend, good, spoil); };
  EXPECT_EQ(message([](Batch&) {}), "");
  EXPECT_EQ(message([](Batch& b) { b.labels[3] = 101; }),
            "batch: a label is outside the vocabulary");
  EXPECT_EQ(message([](Batch& b) { b.lengths[1] = 15; }),
            "batch: the sequences of a next-word model are full");
  EXPECT_EQ(message([](Batch& b) { b.segments.push_back(0); }),
            "batch: a next-word model has no segments, masks and next sentences");
}

}  // namespace
}  // namespace bert
