// Model shapes as JSON files, configs/models/*.json.
#pragma once

#include <string>

#include "reports/stats/flops.h"

namespace bertbench {

/// The text of a shape as kept in configs/models; reading it back gives the same shape.
[[nodiscard]] std::string model_file_text(const ModelShape& shape);

}  // namespace bertbench
