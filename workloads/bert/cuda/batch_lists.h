// Lists that let the device add up rows without atomics: which rows share a target.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bert::cuda {

/// Run i adds the rows sources[starts[i]] .. sources[starts[i + 1] - 1] to row targets[i]. Targets
/// ascend; sources of one run ascend.
struct RowRuns {
  std::vector<std::int32_t> targets, starts, sources;
};

/// Row r goes to target keys[r], 0 <= key < keys_end. Linear time (counting sort).
[[nodiscard]] RowRuns runs_by_key(std::span<const std::int32_t> keys, std::int64_t keys_end);

}  // namespace bert::cuda
