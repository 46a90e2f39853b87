// What holds for any weights of every backend in every precision. A program links the backend that
// it tests (tested_backend.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/workloads/support.h"
#include "tests/workloads/tested_backend.h"
#include "workloads/bert/model/parameters.h"

namespace bert {
namespace {

using testing::gradients_of;
using testing::loss_of;
using testing::make_batch;
using testing::options_for;
using testing::ragged;
using testing::within;

class EveryBackend : public ::testing::TestWithParam<testing::Precision> {
 protected:
  void SetUp() override {
    const std::string reason = testing::reason_without(GetParam().name);
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  static std::unique_ptr<Backend> make(const BackendOptions& options) {
    return testing::tested_backend(options, GetParam().name);
  }
  static std::vector<ModelConfig> models(std::int64_t layers = 2) {
    return testing::tested_models(GetParam().name, layers);
  }
  static std::vector<float> fresh_gradients(const BackendOptions& options, const Batch& batch) {
    return gradients_of(*make(options), batch);
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryBackend, ::testing::ValuesIn(testing::tested_precisions()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(EveryBackend, accumulation_over_k_micro_steps_equals_one_batch_k_times_as_large) {
  for (const ModelConfig& model : models()) {
    const auto whole = fresh_gradients(options_for(model, 6, 20), make_batch(model, 6, 20, 4));
    const auto parts = make(options_for(model, 2, 20));
    parts->zero_gradients();
    for (std::int64_t i = 0; i < 3; ++i) {
      parts->forward_backward(make_batch(model, 2, 20, 4, 2 * i), 1.0 / 3, true, 3, {});
    }
    const auto sum = testing::final_gradients(*parts);
    EXPECT_TRUE(within(GetParam().reordered, parts->parameters(), sum, whole)) << model.name;
  }
}

TEST_P(EveryBackend, the_same_bits_come_twice) {
  for (const ModelConfig& model : models(1)) {
    // Longer than a kernel's block, where the model's positions allow it.
    const std::int64_t length = std::min<std::int64_t>(70, model.max_positions - 4);
    const BackendOptions options = options_for(model, 2, length);
    const Batch batch = make_batch(model, 2, length, 3);
    EXPECT_TRUE(testing::one_step(*make(options), batch) ==
                testing::one_step(*make(options), batch))
        << model.name;
  }
}

TEST_P(EveryBackend, checkpointing_changes_memory_and_not_a_bit_of_the_gradient) {
  for (const ModelConfig& model : models(4)) {
    // fp16 rounds the sum that a GPT-2's layer is computed again from.
    if (model.norm == NormPlace::before && GetParam().name == std::string("fp16")) continue;
    const BackendOptions kept = options_for(model, 3, 20);
    BackendOptions recomputed = kept;
    recomputed.activation_checkpointing = true;
    const Batch batch = make_batch(model, 3, 20, 3);
    EXPECT_EQ(fresh_gradients(recomputed, batch), fresh_gradients(kept, batch)) << model.name;
    // Of backends that have not computed: as planned.
    EXPECT_LT(make(recomputed)->peak_bytes(), make(kept)->peak_bytes()) << model.name;
  }
}

TEST_P(EveryBackend, tells_gradient_ranges_from_the_end_without_gaps) {
  for (const ModelConfig& model : models(3)) {
    const auto backend = make(options_for(model, 2, 16));
    std::int64_t end = ParameterLayout(model).total;
    int calls = 0;
    backend->zero_gradients();
    // A backend in host memory must not change a range after it was called final.
    const auto buffer = backend->gradients();
    std::vector<float> when_told(buffer.size());
    backend->forward_backward(
        make_batch(model, 2, 16, 3), 1.0, true, 1, [&](std::int64_t offset, std::int64_t size) {
          EXPECT_EQ(offset + size, end);
          end = offset;
          ++calls;
          if (!buffer.empty()) {
            std::copy_n(buffer.begin() + offset, size, when_told.begin() + offset);
          }
        });
    EXPECT_EQ(end, 0);
    // Heads, if they have parameters, three layers, embeddings.
    EXPECT_EQ(calls, model.objective == Objective::next_word ? 4 : 5) << model.name;
    EXPECT_EQ(when_told, testing::copy(backend->gradients())) << model.name;
  }
}

TEST_P(EveryBackend, takes_more_masked_positions_than_planned_and_none) {
  const ModelConfig model = models().front();
  const auto backend = make(options_for(model, 2, 16));
  for (const std::int64_t masked : {11, 0}) {
    backend->zero_gradients();
    const Loss loss = backend->forward_backward(make_batch(model, 2, 16, masked), 1.0, true, 1, {});
    EXPECT_EQ(loss_of(*backend, loss).masked_lm > 0, masked > 0);
  }
  const auto decoder = static_cast<std::size_t>(ParameterLayout(model).decoder.bias);
  EXPECT_EQ(testing::final_gradients(*backend)[decoder], 0);
}

// ---- Batches without their padding: the same gradients from fewer rows. ----

/// Once with and once without padding.
class Unpadded : public EveryBackend {
 protected:
  /// Models for masked words and batches of them, one of which is longer than a kernel's block.
  struct Shape {
    ModelConfig model;
    std::int64_t padded;
    std::vector<int> lengths;
  };
  static std::vector<Shape> shapes() {
    std::vector<Shape> out;
    for (const ModelConfig& model : models()) {
      if (model.objective == Objective::next_word) continue;
      out.push_back({model, 20, {20, 1, 13, 7}});
      if (model.max_positions >= 70) out.back() = {model, 70, {70, 1, 65, 33}};
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Unpadded, ::testing::ValuesIn(testing::tested_precisions()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(Unpadded, gradients_and_losses_are_those_of_the_padded_batch_and_of_the_reference) {
  for (const auto& [model, length, lengths] : shapes()) {
    BackendOptions options = options_for(model, 4, length);
    // With other seeds the four sequences' gradients of the next-sentence head nearly cancel, and
    // their rounding is all that is left (0.02 to 7 of the sum in bf16, over 12 seeds).
    options.seed = 9;
    const Batch batch = ragged(model, length, lengths);
    const auto padded = make(options);
    double loss = 0;
    const auto wanted = gradients_of(*padded, batch, &loss);
    const double padded_forward = padded->forward(batch).total();
    const auto weights = testing::state_of(*padded, StateArray::weights);
    const auto exact = testing::reference_gradients(options, batch, weights, 3);
    // The rounding of a precision is the padded batch's, too.
    const double own =
        testing::worst_error(padded->parameters(), wanted.data(), exact.data()).error;
    options.unpadded = true;
    for (const bool checkpointing : {false, true}) {
      options.activation_checkpointing = checkpointing;
      const auto packed = make(options);
      double packed_loss = 0;
      const auto got = gradients_of(*packed, batch, &packed_loss);
      const double bound = GetParam().unpadded;
      EXPECT_TRUE(within(bound, packed->parameters(), got, wanted)) << model.name;
      EXPECT_NEAR(packed_loss, loss, bound * loss);
      EXPECT_NEAR(packed->forward(batch).total(), padded_forward, bound * loss);
      EXPECT_TRUE(
          within(std::max(GetParam().gradient, 1.1 * own), packed->parameters(), got, exact))
          << model.name;
    }
  }
}

TEST_P(Unpadded, what_a_longer_batch_left_is_never_read) {
  for (const bool checkpointing : {false, true}) {
    for (const auto& [model, length, lengths] : shapes()) {
      BackendOptions options = options_for(model, 2, length);
      options.unpadded = true;
      options.activation_checkpointing = checkpointing;
      const Batch batch = ragged(model, length, {lengths[2], 1});
      const auto used = make(options);
      Batch full = batch;
      std::ranges::fill(full.lengths, static_cast<int>(length));
      static_cast<void>(gradients_of(*used, full));
      EXPECT_EQ(gradients_of(*used, batch), fresh_gradients(options, batch)) << model.name;
    }
  }
}

TEST_P(Unpadded, a_full_batch_has_the_bits_of_a_padded_one) {
  const auto [model, length, lengths] = shapes().back();
  BackendOptions options = options_for(model, 2, length);
  const auto full = static_cast<int>(length);
  const Batch batch = ragged(model, length, {full, full});
  const auto padded = fresh_gradients(options, batch);
  options.unpadded = true;
  EXPECT_EQ(fresh_gradients(options, batch), padded);
}

TEST_P(Unpadded, refuses_a_masked_position_that_is_padding) {
  const ModelConfig model = models().front();
  BackendOptions options = options_for(model, 2, 16);
  options.unpadded = true;
  const auto backend = make(options);
  Batch batch = ragged(model, 16, {16, 9});
  batch.masked[4] = 16 + 9;
  EXPECT_THAT([&] { backend->forward(batch); },
              ::testing::ThrowsMessage<std::invalid_argument>(
                  ::testing::HasSubstr("masked position is padding")));
}

}  // namespace
}  // namespace bert
