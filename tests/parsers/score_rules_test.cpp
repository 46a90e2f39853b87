// Scores that a log states after an evaluation: see parsers/rules/fact_rules.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "parsers/rules/fact_rules.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

using Scores = std::map<std::string, double>;

Scores scores_of(std::string_view text) {
  ScoreRules rules;
  Line line;
  line.number = 1;
  line.text = text;
  rules.see(line);
  return rules.last(1, 2);
}

TEST(Scores, OfSquadAreInPercent) {
  EXPECT_EQ(scores_of(R"({"exact_match": 84.47492904446547, "f1": 90.96846445339581})"),
            (Scores{{"exact_match", 84.47492904446547}, {"f1", 90.96846445339581}}));
  EXPECT_EQ(scores_of("DLL 2021-11-10 09:24:11.1 -  exact_match : 83.64 F1 : 90.6 "),
            (Scores{{"exact_match", 83.64}, {"f1", 90.6}}));
}

TEST(Scores, BetweenZeroAndOneAreFractions) {
  EXPECT_EQ(scores_of("{'eval_accuracy': 0.875, 'eval_f1': 0.9, 'eval_runtime': 3.2}"),
            (Scores{{"accuracy", 87.5}, {"f1", 90}}));
  EXPECT_EQ(scores_of("  acc = 0.75"), (Scores{{"accuracy", 75}}));
}

TEST(Scores, OfATrainingBatchAreNone) {
  EXPECT_EQ(scores_of("Epoch 3 step 120 loss 0.41 accuracy: 0.91"), Scores{});
  EXPECT_EQ(scores_of("step=10, mlm_acc=12.5, nsp_acc=60.1"), Scores{});
  EXPECT_EQ(scores_of("eval_accuracy: not measured"), Scores{});
  EXPECT_EQ(scores_of("eval_accuracy: 187.5"), Scores{});  // no share of anything
}

}  // namespace
}  // namespace bertbench
