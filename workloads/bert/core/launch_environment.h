// LaunchEnvironment: who this process is in the job, read from the launcher's variables.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "workloads/bert/core/failure.h"

namespace bert {

struct LaunchEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 29500;
  std::string source = "none";  ///< "torchrun", "openmpi", "pmi", "slurm" or "none"

  /// Nodes of the job when every node runs the same number of ranks, else 0 (unknown).
  [[nodiscard]] int nodes() const {
    return world_size % local_world_size == 0 ? world_size / local_world_size : 0;
  }
};

/// Index of a rank's GPU among the `visible` ones of its process: its local rank; 0 when the
/// launcher shows each process its own GPU alone (Slurm's --gpus-per-task). Nothing: none is left.
[[nodiscard]] inline std::optional<int> device_of(int local_rank, int visible) {
  if (local_rank < visible) {
    return local_rank;
  }
  return visible == 1 ? std::optional<int>(0) : std::nullopt;
}

using GetVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// The first complete set wins, in this order, because a launcher further up in the list is
/// often started by one further down (torchrun inside mpirun or srun, mpirun inside Slurm):
///   1. torchrun   RANK WORLD_SIZE [LOCAL_RANK LOCAL_WORLD_SIZE]
///   2. Open MPI   OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK,LOCAL_SIZE}
///   3. PMI        PMI_RANK PMI_SIZE [MPI_LOCALRANKID MPI_LOCALNRANKS]   (MPICH, Intel MPI)
///   4. Slurm      SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS
///                 [SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE, SLURM_NODEID]
///   5. none of them: a world of one.
/// MASTER_ADDR and MASTER_PORT hold for every set. Without them: 127.0.0.1 when all ranks are on
/// one node, the first host of SLURM_STEP_NODELIST under Slurm, else an error that asks to set
/// MASTER_ADDR; the port is 29500, shifted by the Slurm job number so that jobs do not meet.
/// torchrun's agent may hold MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE=True): port + 1.
/// A half-set or impossible set (RANK without WORLD_SIZE, rank >= world) is an error.
[[nodiscard]] Result<LaunchEnvironment> read_launch_environment(const GetVariable& get);
[[nodiscard]] Result<LaunchEnvironment> read_launch_environment();  ///< from the process

/// First host of a Slurm node list: "gpu[03-05,9],login1" -> "gpu03". Empty when malformed.
[[nodiscard]] std::string first_slurm_host(const std::string& list);
/// Tasks on node `node` of Slurm's "4(x2),3" form; nothing when malformed or out of range.
[[nodiscard]] std::optional<int> slurm_tasks_on_node(const std::string& tasks, int node);

}  // namespace bert
