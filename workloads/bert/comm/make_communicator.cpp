#include "workloads/bert/comm/make_communicator.h"

#include <fmt/format.h>

#include "workloads/bert/comm/sim.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/module.h"

namespace bert {

Result<std::unique_ptr<Communicator>> make_communicator(const TrainOptions& options,
                                                        const LaunchEnvironment& environment) {
  std::string name = options.comm;
  const bool simulated = name == "sim";
  if (name == "auto" || simulated) {
    const bool together = environment.local_world_size == environment.world_size;
    name = environment.world_size == 1 ? "self"
           : options.backend == "cuda" ? "nccl"
           : together                  ? "shm"
                                       : "tcp";
  }
  const std::chrono::milliseconds timeout(static_cast<long>(options.comm_timeout_s * 1000));
  std::unique_ptr<Communicator> result;
  try {
    if (name == "self") {
      if (environment.world_size != 1) {
        return usage_error(fmt::format(
            "--comm self is for a world of one, but the launcher ({}) started {} ranks: "
            "use --comm tcp",
            environment.source, environment.world_size));
      }
      result = std::make_unique<SelfCommunicator>();
    } else if (name == "shm" || name == "tcp") {
      auto ranks = std::make_unique<Rendezvous>(environment, timeout);
      // The launcher's variables may differ between ranks, and ranks that meet in different ways
      // would wait for each other: the choice of rank 0 holds for all.
      if (environment.rank == 0) ranks->store().set("communicator", name);
      name = ranks->store().get("communicator");
      if (name == "shm") result = make_shm_communicator(environment, ranks);
      if (name == "shm" && result == nullptr && options.comm == "shm") {
        return run_error(
            "--comm shm: a rank cannot map the memory of rank 0: it runs on another machine or in "
            "another container; use --comm tcp");
      }
      if (result == nullptr) result = make_tcp_communicator(environment, std::move(ranks));
    } else {
      auto module = load_module(name);
      if (!module) return tl::unexpected(module.error());
      if ((*module)->make_communicator == nullptr) {
        return no_device(fmt::format("module {} has no communicator", name));
      }
      result = (*module)->make_communicator(environment, timeout);
    }
  } catch (const NoDevice& error) {
    return no_device(error.what());
  } catch (const std::exception& error) {
    return run_error(fmt::format("--comm {}: {}", name, error.what()));
  }
  if (simulated) result = make_sim_communicator(options.cluster, std::move(result));
  return result;
}

}  // namespace bert
