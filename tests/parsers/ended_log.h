// A log of two steps that went well, and what came after them.
#pragma once

#include <string>

#include "tests/parsers/run_log_text.h"

namespace bertbench {

inline const std::string kSteps =
    "Iteration:  10%| | 1/10 [00:01<00:09,  1.00it/s]\rIteration:  20%| | 2/10 [00:02<00:08,  "
    "1.00it/s]\n";

inline Outcome after_steps(const std::string& tail) {
  return read_text(kSteps + tail).at(0).outcome;
}

}  // namespace bertbench
