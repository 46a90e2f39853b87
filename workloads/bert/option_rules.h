// Options that exist, but not for this model or this backend: each is refused with what to do
// instead.
#pragma once

#include "workloads/bert/failure.h"
#include "workloads/bert/options.h"

namespace bert {

/// What the named model has no use for, or no room.
[[nodiscard]] Result<void> check_model_options(const TrainOptions& options);

/// What only a device backend can serve.
[[nodiscard]] Result<void> check_cpu_options(const TrainOptions& options);

}  // namespace bert
