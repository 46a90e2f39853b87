// Which communicator a job gets, and those of memory (shm.cpp) and sockets (tcp.cpp).
#pragma once

#include <chrono>
#include <memory>

#include "workloads/bert/comm/rendezvous.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/failure.h"
#include "workloads/bert/core/launch_environment.h"
#include "workloads/bert/core/train_options.h"

namespace bert {

/// That of --comm; auto = self at world 1, nccl for cuda, else tcp. sim wraps what auto would be.
[[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
    const TrainOptions& options, const LaunchEnvironment& environment);

/// Ranks of one machine: collectives through one block of memory that every rank maps. The block is
/// of bounded size whatever is summed, and has no name in any file system: the kernel frees it with
/// the last rank that maps it, however that rank ends. Sums are taken in the order of ranks, so
/// every rank gets the same bits.
///
/// Null, on every rank alike, when a rank cannot map it (another machine, another container):
/// `ranks` is then as before, for another communicator.
[[nodiscard]] std::unique_ptr<Communicator> make_shm_communicator(
    const LaunchEnvironment& environment, std::unique_ptr<Rendezvous>& ranks);

/// Gloo over sockets, rendezvous through our own TcpStore. Blocks until every rank has come or
/// `timeout` has passed. Throws std::runtime_error naming what is missing. `timeout` also bounds
/// every collective. GLOO_SOCKET_IFNAME names the network interface; without it, the one that
/// reaches rank 0.
[[nodiscard]] std::unique_ptr<Communicator> make_tcp_communicator(
    const LaunchEnvironment& environment, std::chrono::milliseconds timeout);
/// The same for ranks that have met.
[[nodiscard]] std::unique_ptr<Communicator> make_tcp_communicator(
    const LaunchEnvironment& environment, std::unique_ptr<Rendezvous> ranks);

}  // namespace bert
