// Topology: nodes x GPUs per node, written NnGg ("4n8g" = 32 GPUs).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bertbench {

struct Topology {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;

  [[nodiscard]] std::int64_t world_size() const { return nodes * gpus_per_node; }
  [[nodiscard]] std::string str() const;
  auto operator<=>(const Topology&) const = default;
};

/// Exactly NnGg with N, G >= 1 and at most 6 digits each; nothing before or after.
[[nodiscard]] std::optional<Topology> parse_topology(std::string_view text);

}  // namespace bertbench
