// CpuBackend: the training step on the cores of this machine.
#pragma once

#include <memory>

#include "workloads/bert/core/backend.h"

namespace bert {

/// Weights are initialised from the seed, as Parameter::initial says. Throws std::bad_alloc when
/// the memory it plans cannot be had; in a build without oneDNN NoDevice.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);

}  // namespace bert
