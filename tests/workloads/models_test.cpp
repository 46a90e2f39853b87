// The trainer's models are those whose FLOPs and parameters the reports count.
#include <gtest/gtest.h>

#include "reports/stats/flops.h"
#include "workloads/bert/core/model_config.h"
#include "workloads/bert/model/parameters.h"

namespace bert {
namespace {

TEST(Models, OfTheTrainerHaveTheShapesThatReportsCountWith) {
  EXPECT_EQ(model_names(), bertbench::known_models());
  for (const std::string& name : model_names()) {
    SCOPED_TRACE(name);
    const ModelConfig own = *named_model(name);
    const auto counted = bertbench::model_shape(name);
    ASSERT_TRUE(counted) << counted.error().message();
    EXPECT_EQ(own.layers, counted->layers);
    EXPECT_EQ(own.hidden, counted->hidden);
    EXPECT_EQ(own.heads, counted->heads);
    EXPECT_EQ(own.intermediate, counted->intermediate);
    EXPECT_EQ(own.vocabulary, counted->vocabulary);
    EXPECT_EQ(own.max_positions, counted->max_positions);
    EXPECT_EQ(own.segment_types, counted->segment_types);
    EXPECT_EQ(static_cast<double>(ParameterLayout(own).total),
              bertbench::parameter_count(*counted));
    for (const std::int64_t length : {64, 128, 512}) {
      EXPECT_EQ(own.predicted_positions(length),
                bertbench::flops_per_sequence(*counted, length).masked);
    }
  }
}

}  // namespace
}  // namespace bert
