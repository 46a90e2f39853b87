// Which communicator a job gets.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "workloads/bert/comm/communicator.h"
#include "workloads/bert/comm/sim.h"
#include "workloads/bert/failure.h"
#include "workloads/bert/launch_environment.h"

namespace bert {

struct CommunicatorRequest {
  std::string name = "auto";  ///< auto self tcp mpi nccl sim
  std::string backend = "cpu";
  std::chrono::milliseconds timeout{120000};
  SimulatedCluster cluster;  ///< for sim
};

/// auto = self at world 1, nccl for cuda, else tcp. sim wraps what auto would be.
[[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
    const CommunicatorRequest& request, const LaunchEnvironment& environment);

}  // namespace bert
