// Host code of the CUDA backend that needs no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "tests/workloads/support.h"
#include "workloads/bert/cuda/batch_upload.h"
#include "workloads/bert/cuda/step.h"
#include "workloads/bert/model/loss_scaler.h"

namespace bert::cuda {
namespace {

using ::testing::ElementsAre;

TEST(BatchLists, rows_of_one_key_stand_together_in_their_order) {
  const std::vector<std::int32_t> keys = {4, 0, 4, 2, 4, 0};
  const RowRuns runs = runs_by_key(keys, 5);
  EXPECT_THAT(runs.targets, ElementsAre(0, 2, 4));
  EXPECT_THAT(runs.starts, ElementsAre(0, 2, 3, 6));
  EXPECT_THAT(runs.sources, ElementsAre(1, 5, 3, 0, 2, 4));
}

TEST(BatchLists, empty_runs_make_the_number_that_is_wanted) {
  const std::vector<std::int32_t> keys = {4, 0, 4};
  const RowRuns runs = runs_by_key(keys, 6, 4);
  EXPECT_THAT(runs.targets, ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(runs.starts, ElementsAre(0, 1, 1, 1, 3));
  EXPECT_THAT(runs.sources, ElementsAre(1, 0, 2));
  EXPECT_THAT(runs_by_key(keys, 6, 2).targets, ElementsAre(0, 4));
}

TEST(BatchLists, no_rows_are_no_runs) {
  const RowRuns runs = runs_by_key({}, 3);
  EXPECT_TRUE(runs.targets.empty());
  EXPECT_THAT(runs.starts, ElementsAre(0));
}

TEST(LossScaler, halves_on_overflow_and_doubles_after_the_interval) {
  LossScaleOptions options;
  options.initial = 1024;
  options.growth_interval = 3;
  options.minimum = 256;
  LossScaler scaler(options, true);
  scaler.step(true);
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 1024);
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 2048);
  scaler.step(true);
  scaler.step(false);
  EXPECT_EQ(scaler.scale(), 1024);
  EXPECT_EQ(scaler.state().good_steps, 0);
  for (int i = 0; i < 9; ++i) scaler.step(false);
  EXPECT_EQ(scaler.scale(), 256) << "the minimum holds";
}

TEST(LossScaler, interval_0_is_a_constant_scale_and_other_types_have_none) {
  LossScaleOptions options;
  options.growth_interval = 0;
  LossScaler constant(options, true);
  constant.step(false);
  EXPECT_EQ(constant.scale(), options.initial);
  LossScaler none(LossScaleOptions(), false);
  none.step(false);
  EXPECT_EQ(none.scale(), 1);
  EXPECT_EQ(none.state().loss_scale, 0);
}

TEST(LossScaler, goes_on_where_a_checkpoint_left_it) {
  LossScaleOptions options;
  options.growth_interval = 3;
  LossScaler scaler(options, true);
  scaler.restore({512, 2});
  scaler.step(true);
  EXPECT_EQ(scaler.scale(), 1024);
}

BackendOptions large(std::int64_t batch, std::int64_t length, bool checkpointing = false) {
  BackendOptions options = bert::testing::options_for(*named_model("bert-large"), batch, length);
  options.activation_checkpointing = checkpointing;
  return options;
}

Activations<void> activations(const BackendOptions& options, std::int64_t masked) {
  return {options, activation_sizes(options, DType::bf16, masked), masked};
}

TEST(Activations, tensors_are_aligned_and_do_not_overlap_while_both_live) {
  const BackendOptions options = bert::testing::options_for(bert::testing::odd_model(3), 3, 20);
  Activations<void> act = activations(options, 5);
  std::vector<std::byte> memory(static_cast<std::size_t>(act.bytes()) + 256);
  auto base = reinterpret_cast<std::uintptr_t>(memory.data());
  base = (base + 255) / 256 * 256;
  act.bind(reinterpret_cast<std::byte*>(base));
  // T = 60 tokens, h = 36, I = 70: in the order of the plan, each begins where the last one ended.
  const auto at = [&](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) - base;
  };
  EXPECT_EQ(at(act.embedding_sum), 0U);
  for (const auto& layer : act.layers) {
    EXPECT_EQ(at(layer.qkv) % 256, 0U);
    EXPECT_GE(at(layer.attention), at(layer.qkv) + 60 * 3 * 36 * 2);
    EXPECT_GE(at(layer.activated), at(layer.wide) + 60 * 70 * 2);
  }
  EXPECT_GE(at(act.layers[1].qkv), at(act.layers[0].output_rstd) + 60 * 4);
  EXPECT_GE(at(act.d_narrow), at(act.partials) + 4);
  EXPECT_EQ(at(act.heads.gathered), at(act.d_narrow)) << "heads and layer scratch share memory";
  EXPECT_LE(at(act.heads.sequence_losses) + 3 * 4, static_cast<std::size_t>(act.bytes()));
}

TEST(Activations, bert_large_takes_what_the_arithmetic_says) {
  // Per token and layer 32 h bytes of bf16 tensors (x, qkv, o, z1, y1, FFN in and out, z2: 16 h
  // elements), five floats a token and 16 log sums.
  const auto act = activations(large(256, 128), 20);
  const double tokens = 256 * 128;
  const double kept = 24 * tokens * (32 * 1024 + (16 + 4) * 4);
  EXPECT_GT(static_cast<double>(act.bytes()), kept);
  EXPECT_LT(static_cast<double>(act.bytes()), kept + 1.2e9);
}

TEST(Activations, checkpointing_keeps_one_layer) {
  const auto all = activations(large(256, 128), 20).bytes();
  const auto one = activations(large(256, 128, true), 20).bytes();
  EXPECT_LT(one, all / 6);
}

TEST(Activations, decoder_columns_are_a_multiple_of_8_within_the_tables) {
  EXPECT_EQ(decoder_columns(*named_model("bert-base")), 30528);
  ModelConfig tight = bert::testing::odd_model();
  tight.vocabulary = 97;
  tight.max_positions = 6;
  EXPECT_EQ(decoder_columns(tight), 97) << "the rows after the table would not be there";
}

TEST(CudaUnpaddedRows, come_in_about_sixteen_sizes_up_to_the_padded_one) {
  EXPECT_EQ(unpadded_rows(1, 64 * 512), 2048);
  EXPECT_EQ(unpadded_rows(2049, 64 * 512), 4096);
  EXPECT_EQ(unpadded_rows(64 * 512, 64 * 512), 64 * 512);
  EXPECT_EQ(unpadded_rows(41, 80), 48);
  EXPECT_EQ(unpadded_rows(79, 79), 79) << "never more than there is memory for";
  EXPECT_EQ(unpadded_rows(1000, 1030) % 64, 0);
}

}  // namespace
}  // namespace bert::cuda
