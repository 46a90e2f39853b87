// CudaBackend: the training step on one GPU.
#pragma once

#include <memory>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/module.h"

namespace bert::cuda {

/// As Module::make_backend. `plain_attention` replaces the tensor-core attention by its oracle.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const BackendRequest& request,
                                                    bool plain_attention);

}  // namespace bert::cuda
