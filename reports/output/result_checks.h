// Checks that show how far the numbers of a result can be trusted.
#pragma once

#include <string>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench {

struct ResultCheck {
  bool good = false;
  std::string text;    ///< "largest spread (cv) 1.5 %"
  bool grave = false;  ///< not good, and enough by itself to distrust the whole result
};

/// Every check, in the order in which a reader wants them; one alone where nothing has a number.
[[nodiscard]] std::vector<ResultCheck> result_checks(const ResultSet& set);

}  // namespace bertbench
