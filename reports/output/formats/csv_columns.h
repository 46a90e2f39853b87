// What the CSV reports share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bertbench {

/// The columns that say which cell a row belongs to; every CSV report begins with them.
[[nodiscard]] const std::vector<std::string>& csv_cell_facts();

/// A cell of the JSON without its trials, and of its identity only the further axes.
[[nodiscard]] nlohmann::ordered_json csv_identity(const nlohmann::ordered_json& cell);

}  // namespace bertbench
