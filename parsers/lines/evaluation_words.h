// The words, in small letters, by which lines and names of values show that they are of an
// evaluation and not of the training: "val_loss", "Testing [3/10]", "eval/step_ms".
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace bertbench {

inline constexpr auto kEvaluationWords = std::to_array<std::string_view>(
    {"cv",       "val",        "valid",      "validation", "eval",      "evaluation", "evaluating",
     "validate", "evaluate",   "test",       "testing",    "inference", "predict",    "prediction",
     "dev",      "validating", "predicting", "tests",      "tester",    "evaluator",  "validator",
     "验证",     "測試",       "测试",       "評価",       "検証",      "검증",       "테스트"});

[[nodiscard]] inline bool is_evaluation_word(std::string_view word) {
  return std::ranges::find(kEvaluationWords, word) != kEvaluationWords.end();
}

}  // namespace bertbench
