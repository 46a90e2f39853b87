// What the CUDA backend is asked for, and what of it it can do.
#pragma once

#include <string>

#include "workloads/bert/core/module.h"
#include "workloads/bert/cuda/device/runtime.h"

namespace bert::cuda {

/// Of activations and of the weights that products read. std::invalid_argument for a precision that
/// the backend does not compute in.
[[nodiscard]] DType type_of(const std::string& precision);

/// Throws std::invalid_argument, with the remedy, for what the backend cannot do.
void check_request(const BackendRequest& request);

}  // namespace bert::cuda
