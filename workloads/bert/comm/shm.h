// ShmCommunicator: ranks of one machine exchange through shared memory.
#pragma once

#include <chrono>
#include <memory>

#include "workloads/bert/comm/rendezvous.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/launch_environment.h"

namespace bert {

/// Collectives through one block of memory that every rank maps. The block is of bounded size
/// whatever is summed, and has no name in any file system: the kernel frees it with the last rank
/// that maps it, however that rank ends. Sums are taken in the order of ranks, so every rank gets
/// the same bits.
///
/// Null, on every rank alike, when a rank cannot map it (another machine, another container):
/// `ranks` is then as before, for another communicator.
[[nodiscard]] std::unique_ptr<Communicator> make_shm_communicator(
    const LaunchEnvironment& environment, std::unique_ptr<Rendezvous>& ranks);

}  // namespace bert
