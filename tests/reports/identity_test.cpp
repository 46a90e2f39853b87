#include "reports/model/identity.h"

#include <gtest/gtest.h>

#include "tests/reports/samples.h"

namespace bertbench {
namespace {

TEST(Identity, KeyNamesModelPrecisionLengthBatchAccumulationAndTopology) {
  Facts facts = samples::facts(64, 1, 2, 8);
  facts.model.set("bert-large", FactSource::log);
  facts.precision.set("bf16", FactSource::log);
  Identity identity = identity_of(facts);
  EXPECT_EQ(identity.key(), "bert-large.bf16.s128.b64.a1.2n8g");
  identity.axes = {{"xla", "true"}, {"env.NCCL_P2P_DISABLE", "1"}, {"optimizer", "lamb"}};
  EXPECT_EQ(identity.key(),
            "bert-large.bf16.s128.b64.a1.2n8g+env.NCCL_P2P_DISABLE=1+optimizer=lamb+xla=true");
  EXPECT_EQ(identity.world_size(), 16);
  EXPECT_EQ(identity.global_batch_size(), 1024);
}

TEST(Identity, UnknownFactsAreQuestionMarksAndMakeItIncomplete) {
  EXPECT_EQ(Identity{}.key(), "?.?.s?.b?.a?.?n?g");
  Identity identity = samples::identity(1, 2);
  EXPECT_TRUE(identity.complete());
  for (const auto text : {&Identity::framework, &Identity::model, &Identity::precision}) {
    Identity less = identity;
    (less.*text).reset();
    EXPECT_FALSE(less.complete()) << "the framework is one of the eight though not in the key";
  }
  for (const auto count :
       {&Identity::sequence_length, &Identity::micro_batch_size,
        &Identity::gradient_accumulation_steps, &Identity::nodes, &Identity::gpus_per_node}) {
    Identity less = identity;
    (less.*count).reset();
    EXPECT_FALSE(less.complete());
    EXPECT_EQ(less.global_batch_size().has_value(), count == &Identity::sequence_length);
  }
  identity.gradient_accumulation_steps.reset();
  EXPECT_EQ(identity.key(), "bert-base.fp32.s128.b32.a?.1n2g");
}

TEST(Identity, IsSimulatedWhereItsAxisSaysSo) {
  Identity identity;
  for (const auto& [value, simulated] : {std::pair("true", true), {"false", false}}) {
    identity.axes["simulated"] = value;
    EXPECT_EQ(identity.simulated(), simulated) << value;
  }
}

}  // namespace
}  // namespace bertbench
