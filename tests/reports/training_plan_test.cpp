// The two-phase plan of the DGX-2 note: every number its author derived, from the raw inputs.
#include <gtest/gtest.h>

#include "reports/studies/reconcile/reconcile.h"

namespace bertbench {
namespace {

std::vector<PlanPhase> published_plan() {
  return *read_plan(BB_SOURCE_DIR "/configs/plans/dgx2-two-phase.json");
}

TEST(TrainingPlan, CalculatesThePublishedTimesOfBothPhases) {
  const PlanReckoning plan = reckon(published_plan());
  ASSERT_EQ(plan.phases.size(), 2U);
  EXPECT_NEAR(plan.phases[0].calculated_s, 143449.7, 0.05);
  EXPECT_NEAR(plan.phases[1].calculated_s, 83308.47, 0.005);
}

TEST(TrainingPlan, CorrectsThePhaseWithoutAClockByTheOverheadOfTheOther) {
  const PlanReckoning plan = reckon(published_plan());
  EXPECT_FALSE(plan.phases[0].corrected);
  EXPECT_TRUE(plan.phases[1].corrected);
  // From unrounded seconds: 143449.7 would give 86132.95.
  EXPECT_NEAR(plan.phases[1].expected_s, 86132.97, 0.005);
  EXPECT_NEAR(*plan.overhead, 0.0339, 0.00005);
  EXPECT_NEAR(*plan.overhead_of_measured, 0.03279, 0.000005);
}

TEST(TrainingPlan, CountsThePublishedSequencesHoursAndShares) {
  const PlanReckoning plan = reckon(published_plan());
  EXPECT_EQ(plan.phases[0].sequences, 461242368);
  EXPECT_EQ(plan.phases[1].sequences, 50331648);
  EXPECT_EQ(plan.phases[0].global_batch_size, 65536);
  EXPECT_EQ(plan.phases[1].global_batch_size, 32768);
  EXPECT_NEAR(*plan.phases[0].share_of_sequences, 0.9016, 0.00005);
  EXPECT_NEAR(plan.phases[0].expected_s / 3600, 41.2, 0.05);
  EXPECT_NEAR(plan.phases[1].expected_s / 3600, 23.9, 0.05);
  EXPECT_NEAR(plan.expected_s / 3600, 65.1, 0.05);
}

TEST(TrainingPlan, WithoutAnyClockExpectsWhatItCalculates) {
  auto phases = published_plan();
  phases[0].measured_s.reset();
  phases[0].world_size.reset();
  const PlanReckoning plan = reckon(phases);
  EXPECT_FALSE(plan.overhead);
  EXPECT_EQ(plan.expected_s, plan.calculated_s);
  EXPECT_FALSE(plan.sequences);
  EXPECT_FALSE(plan.phases[1].share_of_sequences);
  EXPECT_EQ(plan.phases[1].sequences, 50331648);
}

TEST(TrainingPlan, NamesWhatIsWrongInAFile) {
  const auto message = [](std::string_view text) {
    const auto plan = plan_from_json(text, "p.json");
    return plan ? std::string() : plan.error().message();
  };
  const auto has = [&](std::string_view text, std::string_view what) {
    EXPECT_NE(message(text).find(what), std::string::npos) << message(text);
  };
  has("{", "is not JSON");
  has("[]", "a plan is a JSON object");
  has(R"({"phases": []})", "at least one phase");
  has(R"({"phases": [{"steps": 0}]})", "phases[0].steps");
  has(R"({"phases": [{"steps": 1.5}]})", "whole number");
  has(R"({"phases": [{"stepz": 1}]})", "phases[0].stepz");
  has(R"({"phases": [{"steps": 1}]})", "lacks gradient_accumulation_steps");
  has(R"({"phases": [{"steps": 1, "gradient_accumulation_steps": 1}]})", "iterations_per_second");
  has(R"({"phases": [{"iterations_per_second": -1}]})", "above 0");
  EXPECT_FALSE(read_plan("/no/such/plan.json"));
}

}  // namespace
}  // namespace bertbench
