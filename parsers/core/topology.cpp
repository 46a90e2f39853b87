#include "parsers/core/topology.h"

#include "parsers/core/text.h"

namespace bertbench {

std::string Topology::str() const {
  return std::to_string(nodes) + "n" + std::to_string(gpus_per_node) + "g";
}

std::optional<Topology> parse_topology(std::string_view text) {
  const auto n = text.find('n');
  if (n == std::string_view::npos || text.back() != 'g') return std::nullopt;
  const std::string_view nodes = text.substr(0, n);
  const std::string_view gpus = text.substr(n + 1, text.size() - n - 2);
  if (nodes.size() > 6 || gpus.size() > 6) return std::nullopt;
  const auto a = to_int(nodes);
  const auto b = to_int(gpus);
  if (!a || !b || *a < 1 || *b < 1) return std::nullopt;
  return Topology{*a, *b};
}

}  // namespace bertbench
