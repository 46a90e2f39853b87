// The tcp communicator: Gloo over sockets, rendezvous through our own TcpStore.
#pragma once

#include <chrono>
#include <memory>

#include "workloads/bert/comm/rendezvous.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/launch_environment.h"

namespace bert {

/// Blocks until every rank has come or `timeout` has passed. Throws std::runtime_error naming
/// what is missing. `timeout` also bounds every collective. GLOO_SOCKET_IFNAME names the network
/// interface; without it, the one that reaches rank 0.
[[nodiscard]] std::unique_ptr<Communicator> make_tcp_communicator(
    const LaunchEnvironment& environment, std::chrono::milliseconds timeout);
/// The same for ranks that have met.
[[nodiscard]] std::unique_ptr<Communicator> make_tcp_communicator(
    const LaunchEnvironment& environment, std::unique_ptr<Rendezvous> ranks);

}  // namespace bert
