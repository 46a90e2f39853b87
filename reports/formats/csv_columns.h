// What the two CSV reports share.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace bertbench {

/// A cell of the JSON without its trials, and of its identity only the further axes.
[[nodiscard]] nlohmann::ordered_json csv_identity(const nlohmann::ordered_json& cell);

}  // namespace bertbench
