// Checkpoints: weights and optimizer state, written whole or not at all.
//
// File step_NNNNNNNN.ckpt, little endian:
//   8 bytes   "BERTCKP1"
//   u64       size J of the header
//   J bytes   JSON: step, next_sequence, the facts that must match on resume, and `parameters`
//             (name, shape, offset and size in elements)
//   f32 x P   weights, then first moments, then second moments; P = elements of the model
//   u64       hash64 of the three arrays together
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/bert/backend.h"
#include "workloads/bert/failure.h"

namespace bert {

/// What a run must share with the one that it continues.
struct CheckpointFacts {
  std::string model;
  std::string optimizer;
  std::int64_t sequence_length = 0;
  std::int64_t global_batch_size = 0;
  std::uint64_t seed = 0;
  std::int64_t step = 0;  ///< optimizer steps done
};

/// Writes DIR/step_NNNNNNNN.ckpt through a temporary file, fsync and rename; makes DIR. Returns
/// the path. A full disk leaves earlier checkpoints as they are.
[[nodiscard]] Result<std::string> write_checkpoint(const std::string& folder,
                                                   const CheckpointFacts& facts, Backend& backend);

/// Loads the checkpoint with the highest step of `folder` into the backend and returns its step.
/// `expected.step` is ignored; any other difference is an error that names both values.
[[nodiscard]] Result<std::int64_t> read_newest_checkpoint(const std::string& folder,
                                                          const CheckpointFacts& expected,
                                                          Backend& backend);

/// Path of the newest checkpoint; empty when there is none.
[[nodiscard]] std::string newest_checkpoint(const std::string& folder);

/// 64-bit hash of the bit patterns, for "are these the same weights"; not for security.
class Hash64 {
 public:
  void add(std::span<const float> values);
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace bert
