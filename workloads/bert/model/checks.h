// What every backend refuses before it becomes an address.
#pragma once

#include "workloads/bert/core/backend.h"

namespace bert {

/// std::invalid_argument naming the rule.
void check_options(const BackendOptions& options);
void check_batch(const Batch& batch, const BackendOptions& options);

}  // namespace bert
