// Modules: backends and communicators that bert_train does not link but loads at run time, so that
// one bert_train starts on every machine. This header is all that a module needs to include.
//
// A module is a shared object next to the program: bert_cuda.so (backend cuda), bert_nccl.so and
// bert_mpi.so (communicators). It exports one function with C linkage:
//
//   extern "C" const bert::Module* bert_module();
//
// and is built from the same sources and with the same compiler as bert_train, which `abi` guards.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/failure.h"
#include "workloads/bert/core/launch_environment.h"

namespace bert {

/// Raised when a type that crosses the border changes: backend.h, batch.h, model_config.h,
/// communicator.h, device_communicator.h, this file.
inline constexpr std::uint32_t kModuleAbi = 6;

/// Thrown by a factory when the machine lacks the device; ends bert_train with status 3.
struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct BackendRequest {
  BackendOptions options;
  std::string precision;  ///< "fp32", "tf32", "bf16", "fp16" or "fp8"
  int local_rank = 0;     ///< its device: device_of() of launch_environment.h
};

struct Module {
  std::uint32_t abi = kModuleAbi;
  const char* name = "";  ///< "cuda 12.4, cuDNN 9.19": for the log
  /// Either may be null. They throw NoDevice, std::bad_alloc, std::invalid_argument (a request
  /// that this backend cannot serve: status 2) or std::runtime_error.
  std::unique_ptr<Backend> (*make_backend)(const BackendRequest& request) = nullptr;
  std::unique_ptr<Communicator> (*make_communicator)(const LaunchEnvironment& environment,
                                                     std::chrono::milliseconds timeout) = nullptr;
};

/// Loads FOLDER/bert_NAME.so, FOLDER being the program's own. The module stays loaded. The message
/// of a failure names the file that was looked for and how to get it.
[[nodiscard]] Result<const Module*> load_module(const std::string& name);
[[nodiscard]] Result<const Module*> load_module_file(const std::string& path);

}  // namespace bert
