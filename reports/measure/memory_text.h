// Memory in the words of a trainer that ran out of it.
#pragma once

#include <optional>
#include <string_view>

#include "reports/model/result_set.h"

namespace bertbench {

/// What was wanted and what there was, as the line of an out-of-memory failure says:
///   bert_train  "... needs 4096 MiB of memory, 1024 MiB are available"
///   PyTorch     "Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 13.40 GiB already
///               allocated ..." and "... GPU 0 has a total capacity of 79.15 GiB ... this process
///               has 77.90 GiB memory in use"; the peak is what was held plus what was asked for
/// None when the text holds no such numbers.
[[nodiscard]] std::optional<MemoryRecord> memory_of_failure(std::string_view text);

}  // namespace bertbench
