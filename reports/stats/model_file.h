// Model shapes as JSON files, configs/models/*.json.
#pragma once

#include <string>

#include "reports/stats/flops.h"

namespace bertbench {

/// Reads one configs/models file. Unknown keys, missing keys and numbers <= 0 are errors.
[[nodiscard]] Result<ModelShape> read_model_file(const std::string& path);

}  // namespace bertbench
