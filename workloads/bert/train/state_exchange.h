// What ranks have in common: the state of their backends, wherever it lives, and their options.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/communicator.h"

namespace bert {

/// Elements of the flat arrays.
[[nodiscard]] std::int64_t state_elements(const Backend& backend);

/// Calls `body` with offset and a buffer of every part of an array, in order. The buffer is reused.
void for_each_part(const Backend& backend,
                   const std::function<void(std::int64_t offset, std::span<float> part)>& body);

/// Whether all ranks have the same number (of which the two lowest bits do not count).
[[nodiscard]] bool same_everywhere(Communicator& communicator, std::uint64_t number);

/// Of a command line without the options that ranks may differ in: --timings, --threads, --log-*.
[[nodiscard]] std::uint64_t command_fingerprint(const std::vector<std::string>& command);

/// All ranks get rank 0's array.
void broadcast_state(Backend& backend, Communicator& communicator, StateArray array);

/// Gradients of all ranks are summed through host memory: for a device backend whose communicator
/// has no collectives on device memory. Not overlapped with backward. Returns the seconds it took.
[[nodiscard]] double all_reduce_through_host(Backend& backend, Communicator& communicator);

}  // namespace bert
