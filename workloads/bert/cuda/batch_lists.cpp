#include "workloads/bert/cuda/batch_lists.h"

namespace bert::cuda {

RowRuns runs_by_key(std::span<const std::int32_t> keys, std::int64_t keys_end) {
  std::vector<std::int32_t> next(static_cast<std::size_t>(keys_end) + 1);
  for (const std::int32_t key : keys) ++next[static_cast<std::size_t>(key) + 1];
  RowRuns runs;
  for (std::size_t key = 0; key + 1 < next.size(); ++key) {
    if (next[key + 1] > 0) {
      runs.targets.push_back(static_cast<std::int32_t>(key));
      runs.starts.push_back(next[key]);
    }
    next[key + 1] += next[key];
  }
  runs.starts.push_back(static_cast<std::int32_t>(keys.size()));
  runs.sources.resize(keys.size());
  for (std::size_t row = 0; row < keys.size(); ++row) {
    auto& at = next[static_cast<std::size_t>(keys[row])];
    runs.sources[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(row);
  }
  return runs;
}

}  // namespace bert::cuda
