// ScoreRules: what a log states of the model's quality after an evaluation: exact match, F1 and
// accuracy, as SQuAD's and GLUE's scripts, the Trainer of Hugging Face and the rest print them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"

namespace bertbench {

class ScoreRules {
 public:
  [[nodiscard]] static std::span<const std::string_view> anchors();

  void see(const Line& line);

  /// The last value of each score that lines [begin_line, end_line) state, in percent by the names
  /// "exact_match", "f1" and "accuracy". Scores that are all at most 1 are fractions there.
  [[nodiscard]] std::map<std::string, double> last(std::int64_t begin_line,
                                                   std::int64_t end_line) const;

 private:
  struct Statement {
    std::int64_t line = 0;
    std::string_view score;
    double value = 0;
  };
  std::vector<Statement> statements_;  ///< bounded: of very many the newest ones stay
};

}  // namespace bertbench
