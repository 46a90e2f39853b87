// The command line of bert_train.
#pragma once

#include <string>
#include <variant>

#include "workloads/bert/core/failure.h"
#include "workloads/bert/core/train_options.h"

namespace bert {

/// Help, version or the list of options that was asked for: print to stdout, end with status 0.
struct TextAnswer {
  std::string text;
};

/// Every value is checked for range and name here; what a backend lacks is found when it is made.
[[nodiscard]] Result<std::variant<TrainOptions, TextAnswer>> parse_options(int argc,
                                                                           const char* const* argv);

}  // namespace bert
