// --unpadded on the CPU: the same gradients and losses without the rows of padding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/workloads/support.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/cpu_backend.h"
#include "workloads/bert/reference/reference.h"

namespace bert {
namespace {

using testing::copy;
using testing::make_batch;
using testing::odd_model;
using testing::options_for;
using testing::worst_error;

struct Precision {
  CpuPrecision precision;
  double exact, padded;  ///< bounds of the worst tensor: against the reference, against padded
};

/// A batch of these lengths; masked positions are tokens.
Batch ragged(const ModelConfig& model, std::int64_t padded, const std::vector<int>& lengths) {
  Batch batch = make_batch(model, static_cast<std::int64_t>(lengths.size()), padded, 1);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    batch.lengths[b] = lengths[b];
    const auto row = static_cast<std::int32_t>(static_cast<std::int64_t>(b) * padded);
    if (!batch.masked.empty()) batch.masked[b] = row + lengths[b] / 2;
    if (!batch.spans.empty()) {
      batch.spans[2 * b] = lengths[b] / 3;
      batch.spans[2 * b + 1] = lengths[b] / 2;
    }
    for (std::int64_t i = lengths[b]; i < padded; ++i) {
      batch.tokens[static_cast<std::size_t>(row + i)] = 0;
    }
  }
  return batch;
}

std::vector<float> gradients_of(Backend& backend, const Batch& batch, double* loss = nullptr) {
  backend.zero_gradients();
  const Loss got = backend.forward_backward(batch, 1.0, true, 3, {});
  if (loss != nullptr) *loss = got.total();
  return copy(backend.gradients());
}

TEST(CpuUnpadded, gradients_and_losses_are_those_of_the_padded_batch_and_of_the_reference) {
  for (const Precision& one :
       {Precision{CpuPrecision::fp32, 1e-5, 5e-6}, Precision{CpuPrecision::bf16, 3e-2, 2e-2},
        Precision{CpuPrecision::fp16, 5e-3, 5e-3}}) {
    if (one.precision == CpuPrecision::bf16 && !Bf16Products::is_native()) continue;
    for (const bool checkpointing : {false, true}) {
      const ModelConfig model = odd_model();
      BackendOptions options = options_for(model, 4, 20);
      options.activation_checkpointing = checkpointing;
      const Batch batch = ragged(model, 20, {20, 3, 13, 7});
      const auto padded = make_cpu_backend(options, one.precision);
      options.unpadded = true;
      const auto packed = make_cpu_backend(options, one.precision);
      double loss = 0, packed_loss = 0;
      const auto wanted = gradients_of(*padded, batch, &loss);
      const auto got = gradients_of(*packed, batch, &packed_loss);
      const auto apart = worst_error(packed->parameters(), got.data(), wanted.data());
      EXPECT_LE(apart.error, one.padded) << apart.name;
      EXPECT_NEAR(packed_loss, loss, one.padded * loss);
      EXPECT_NEAR(packed->forward(batch).total(), padded->forward(batch).total(),
                  one.padded * loss);
      const double scale =
          packed->scalar_state().loss_scale > 0 ? packed->scalar_state().loss_scale : 1;
      const auto unscaled = [&](const std::vector<float>& gradients) {
        std::vector<double> out(gradients.begin(), gradients.end());
        for (double& value : out) value /= scale;
        return out;
      };
      const auto weights = copy(packed->weights());
      const std::vector<double> exact(weights.begin(), weights.end());
      const auto truth =
          reference_step<double>(model, batch, exact, {true, options.seed, 3}).gradients;
      // The rounding of a precision is the padded batch's, too.
      const double own =
          worst_error(padded->parameters(), unscaled(wanted).data(), truth.data()).error;
      const auto worst = worst_error(packed->parameters(), unscaled(got).data(), truth.data());
      EXPECT_LE(worst.error, std::max(one.exact, 1.1 * own)) << worst.name;
    }
  }
}

TEST(CpuUnpadded, answers_and_classes_are_those_of_the_padded_batch) {
  for (const Objective objective : {Objective::spans, Objective::classes}) {
    ModelConfig model = odd_model();
    model.objective = objective;
    BackendOptions options = options_for(model, 4, 20);
    const Batch batch = ragged(model, 20, {20, 9, 13, 17});
    const auto padded = make_cpu_backend(options);
    options.unpadded = true;
    const auto packed = make_cpu_backend(options);
    const auto wanted = gradients_of(*padded, batch);
    const auto got = gradients_of(*packed, batch);
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

TEST(CpuUnpadded, what_a_longer_batch_left_behind_is_never_read) {
  const ModelConfig model = odd_model();
  BackendOptions options = options_for(model, 4, 20);
  options.unpadded = true;
  const Batch batch = ragged(model, 20, {20, 3, 13, 7});
  const auto fresh = make_cpu_backend(options);
  const auto used = make_cpu_backend(options);
  static_cast<void>(gradients_of(*used, ragged(model, 20, {20, 20, 20, 20})));
  EXPECT_EQ(gradients_of(*used, batch), gradients_of(*fresh, batch));
}

TEST(CpuUnpadded, a_full_batch_has_the_bits_of_a_padded_one) {
  const ModelConfig model = odd_model();
  BackendOptions options = options_for(model, 2, 20);
  const Batch batch = ragged(model, 20, {20, 20});
  const auto padded = gradients_of(*make_cpu_backend(options), batch);
  options.unpadded = true;
  EXPECT_EQ(gradients_of(*make_cpu_backend(options), batch), padded);
}

TEST(CpuUnpadded, refuses_a_masked_position_that_is_padding) {
  const ModelConfig model = odd_model();
  BackendOptions options = options_for(model, 2, 16);
  options.unpadded = true;
  const auto backend = make_cpu_backend(options);
  Batch batch = ragged(model, 16, {16, 9});
  batch.masked[1] = 16 + 9;
  try {
    backend->forward(batch);
    FAIL() << "it was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("masked position is padding"));
  }
}

}  // namespace
}  // namespace bert
