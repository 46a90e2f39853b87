// Checkpoints: weights and optimizer state, written whole or not at all.
//
// File step_NNNNNNNN.ckpt, little endian:
//   8 bytes   "BERTCKP1"
//   u64       size J of the header
//   J bytes   JSON: step, next_sequence, the facts that must match on resume, `parameters` (name,
//             shape, offset and size in elements) and `settings`, which older files lack; with fp16
//             also skipped_steps, loss_scale and good_steps; after a change of phase also
//             phase_start
//   f32 x P   weights, then first moments, then second moments; P = elements of the model
//   u64       hash64 of the three arrays together
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/bert/core/backend.h"
#include "workloads/bert/core/failure.h"

namespace bert {

/// 64-bit hash of the bit patterns, for "are these the same weights"; not for security.
class Hash64 {
 public:
  void add(std::span<const float> values);
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

/// Values of options by their names, which a run that goes on may change.
using Settings = std::map<std::string, std::string>;

/// What a run must share with the one that it continues, but for its settings.
struct CheckpointFacts {
  std::string model;
  std::string optimizer;
  std::int64_t sequence_length = 0;
  std::int64_t global_batch_size = 0;
  std::uint64_t seed = 0;
  std::int64_t step = 0;         ///< optimizer steps done
  std::int64_t skipped = 0;      ///< of them without an update (fp16)
  std::int64_t phase_start = 0;  ///< of them before this phase
  Settings settings = {};
};

/// Where a run goes on.
struct ResumePoint {
  std::int64_t step = 0;
  std::int64_t skipped = 0;
  std::int64_t phase_start = 0;
  ScalarState scalars;
  Settings settings;  ///< as they were
};

/// Makes DIR of --checkpoint and tries a file there: else that it cannot be written would be found
/// out after the training, which is lost then.
[[nodiscard]] Result<void> make_checkpoint_folder(const std::string& folder);

/// Writes DIR/step_NNNNNNNN.ckpt through a temporary file, fsync and rename; makes DIR. Returns
/// the path. A full disk leaves earlier checkpoints as they are. The state is read by
/// for_each_part(), all of it whatever happens to the file.
[[nodiscard]] Result<std::string> write_checkpoint(const std::string& folder,
                                                   const CheckpointFacts& facts, Backend& backend);

/// What the other ranks do while rank 0 writes, when reading the state is collective (ZeRO).
void take_part_in_checkpoint(Backend& backend);

/// What a run takes of a checkpoint, and so how far the two must agree.
enum class TakeUp {
  same_run,   ///< all of it: another fact is an error
  new_phase,  ///< all of it; sequence length and global batch size may differ
  weights,    ///< only of the same model
};

/// The checkpoint with the highest step of a folder.
class CheckpointReader {
 public:
  /// `expected.step`, `.skipped` and `.phase_start` are ignored; any other difference is an error
  /// that names both values, but for what `take_up` allows. With new_phase point().phase_start is
  /// the checkpoint's last step.
  [[nodiscard]] static Result<CheckpointReader> open(const std::string& folder,
                                                     const CheckpointFacts& expected,
                                                     Backend& backend,
                                                     TakeUp take_up = TakeUp::same_run);
  [[nodiscard]] const ResumePoint& point() const { return point_; }
  /// The next part of the file's three arrays. What a cut-off file lacks reads as zeros.
  void read(std::span<float> part);
  /// After the last part: were all of them whole?
  [[nodiscard]] Result<void> finish();

 private:
  [[nodiscard]] tl::unexpected<Failure> refuse(const std::string& why) const;

  std::string name_;  ///< option and path, for messages
  std::ifstream in_;
  ResumePoint point_;
  Hash64 hash_;
};

/// Loads it into a backend of this process alone and returns its step.
[[nodiscard]] Result<std::int64_t> read_newest_checkpoint(const std::string& folder,
                                                          const CheckpointFacts& expected,
                                                          Backend& backend);

/// Path of the newest checkpoint; empty when there is none.
[[nodiscard]] std::string newest_checkpoint(const std::string& folder);

}  // namespace bert
