// Counts that a line states for the whole run: sequences of the training set, steps of an epoch,
// GPUs. 0: it states none.
#pragma once

#include <string_view>

namespace bertbench {

/// The sequences of the training set: "Train dataset size: 67349", "[train] 23560 samples".
[[nodiscard]] double training_set_of(std::string_view line);
/// The iterations of an epoch: "391 iters per epoch", "312 batches of 256 rows", "steps per epoch:
/// 391".
[[nodiscard]] double epoch_steps_of(std::string_view line);
/// The GPUs of the job: "Using 4 GPUs", "DDP on 4 processes".
[[nodiscard]] double gpus_of(std::string_view line);

}  // namespace bertbench
