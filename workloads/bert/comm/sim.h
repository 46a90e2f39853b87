// The sim communicator: real collectives of another communicator, plus the time that the scaling
// model gives them on a cluster that is not here. What it measures is labelled simulated.
#pragma once

#include <memory>
#include <string>

#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/failure.h"
#include "workloads/bert/core/train_options.h"

namespace bert {

/// "4n8g" into nodes and gpus_per_node.
[[nodiscard]] Result<SimulatedCluster> parse_simulated_topology(const std::string& text);

/// Seconds of one all-reduce of `bytes`, two-level ring:
///   2(g-1) a_in + 2(g-1)/g S/B_in + 2(N-1) a_x + 2(N-1)/N S/B_node
/// g = GPUs per node, N = nodes, S = bytes, a = latency of a message, B = bandwidth.
[[nodiscard]] double simulated_all_reduce_seconds(const SimulatedCluster& cluster, double bytes);

/// Each all-reduce lasts as long as the inner one or as the model computes, whichever is longer.
[[nodiscard]] std::unique_ptr<Communicator> make_sim_communicator(
    const SimulatedCluster& cluster, std::unique_ptr<Communicator> inner);

}  // namespace bert
