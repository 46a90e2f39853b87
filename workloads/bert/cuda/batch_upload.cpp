#include "workloads/bert/cuda/batch_upload.h"

#include <algorithm>
#include <span>

#include "workloads/bert/cuda/batch_lists.h"

namespace bert::cuda {
namespace {

/// Packs int32 arrays behind each other and says where each will lie on the device.
class Packer {
 public:
  Packer(std::int32_t* host, const std::int32_t* device) : host_(host), device_(device) {}
  const std::int32_t* add(std::span<const std::int32_t> values) {
    std::copy(values.begin(), values.end(), host_ + used_);
    const std::int32_t* at = device_ + used_;
    used_ += static_cast<std::int64_t>(values.size());
    return at;
  }
  [[nodiscard]] std::int64_t bytes() const { return 4 * used_; }

 private:
  std::int32_t* host_;
  const std::int32_t* device_;
  std::int64_t used_ = 0;
};

}  // namespace

std::int64_t BatchUpload::bytes(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  const std::int64_t masked = options.micro_batch_size * masked_per_sequence;
  // Tokens and segments, two lists of at most three times their rows (and one end), the rest.
  return 4 * (5 * tokens + 5 * masked + 2 * options.micro_batch_size + 2);
}

BatchUpload::BatchUpload(const BackendOptions& options, std::int64_t masked_per_sequence)
    : device_(Memory::Place::device, bytes(options, masked_per_sequence)) {
  for (Slot& slot : slots_) slot.host = Memory(Memory::Place::host, device_.bytes());
}

DeviceBatch BatchUpload::upload(const Batch& batch, const ModelConfig& model, Stream stream) {
  Slot& slot = slots_[next_];
  next_ = 1 - next_;
  if (slot.used) slot.copied.wait_on_host();
  const std::int64_t rows = batch.sequences * batch.sequence_length;
  const RowRuns words = runs_by_key(batch.tokens, model.vocabulary);
  const RowRuns masked = runs_by_key(batch.masked, rows);
  Packer pack(slot.host.as<std::int32_t>(), device_.as<std::int32_t>());
  DeviceBatch out;
  out.sequences = batch.sequences;
  out.length = batch.sequence_length;
  out.masked_rows = batch.sequences * batch.masked_per_sequence;
  out.first_sequence = batch.first_sequence;
  out.tokens = pack.add(batch.tokens);
  out.segments = pack.add(batch.segments);
  out.lengths = pack.add(batch.lengths);
  out.masked = pack.add(batch.masked);
  out.labels = pack.add(batch.labels);
  out.next_sentence = pack.add(batch.next_sentence);
  out.word_targets = pack.add(words.targets);
  out.word_starts = pack.add(words.starts);
  out.word_sources = pack.add(words.sources);
  out.word_runs = static_cast<std::int64_t>(words.targets.size());
  out.masked_targets = pack.add(masked.targets);
  out.masked_starts = pack.add(masked.starts);
  out.masked_sources = pack.add(masked.sources);
  out.masked_runs = static_cast<std::int64_t>(masked.targets.size());
  copy_to_device(device_.data(), slot.host.data(), pack.bytes(), stream);
  slot.copied.record(stream);
  slot.used = true;
  return out;
}

}  // namespace bert::cuda
