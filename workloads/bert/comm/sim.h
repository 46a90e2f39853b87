// The sim communicator: real collectives of another communicator, plus the time that the scaling
// model gives them on a cluster that is not here. What it measures is labelled simulated.
#pragma once

#include <memory>
#include <string>

#include "workloads/bert/comm/communicator.h"
#include "workloads/bert/failure.h"

namespace bert {

/// The cluster that is simulated. Defaults: 8-GPU nodes, NVLink inside, 100 Gbit/s Ethernet.
struct SimulatedCluster {
  int nodes = 1;
  int gpus_per_node = 1;
  double latency_in_node_s = 5e-6;
  double latency_across_s = 20e-6;
  double bandwidth_in_node = 200e9;  ///< bytes/s, bus bandwidth of a ring inside a node
  double bandwidth_per_node = 11e9;  ///< bytes/s between nodes

  [[nodiscard]] std::string label() const;  ///< "4n8g"
  [[nodiscard]] int world_size() const { return nodes * gpus_per_node; }
};

/// "4n8g" into nodes and gpus_per_node.
[[nodiscard]] Result<SimulatedCluster> parse_simulated_topology(const std::string& text);

/// Seconds of one all-reduce of `bytes`, two-level ring:
///   2(g-1) a_in + 2(g-1)/g S/B_in + 2(N-1) a_x + 2(N-1)/N S/B_node
/// g = GPUs per node, N = nodes, S = bytes, a = latency of a message, B = bandwidth.
[[nodiscard]] double simulated_all_reduce_seconds(const SimulatedCluster& cluster, double bytes);

/// Each all-reduce lasts as long as the inner one or as the model says, whichever is longer.
[[nodiscard]] std::unique_ptr<Communicator> make_sim_communicator(
    const SimulatedCluster& cluster, std::unique_ptr<Communicator> inner);

}  // namespace bert
