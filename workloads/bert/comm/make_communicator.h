// Which communicator a job gets.
#pragma once

#include <memory>

#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/failure.h"
#include "workloads/bert/core/launch_environment.h"
#include "workloads/bert/core/train_options.h"

namespace bert {

/// That of --comm; auto = self at world 1, nccl for cuda, else tcp. sim wraps what auto would be.
[[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
    const TrainOptions& options, const LaunchEnvironment& environment);

}  // namespace bert
