#include "workloads/bert/cuda/batch_upload.h"

#include <algorithm>
#include <stdexcept>

namespace bert::cuda {
namespace {

/// Packs int32 arrays one after the other and returns where each will lie on the device.
class Packer {
 public:
  Packer(std::int32_t* host, const std::int32_t* device) : host_(host), device_(device) {}
  const std::int32_t* add(std::span<const std::int32_t> values) {
    std::copy(values.begin(), values.end(), host_ + used_);
    const std::int32_t* at = device_ + used_;
    used_ += static_cast<std::int64_t>(values.size());
    return at;
  }
  DeviceRuns add(const RowRuns& runs) {
    return {add(runs.targets), add(runs.starts), add(runs.sources),
            static_cast<std::int64_t>(runs.targets.size())};
  }
  [[nodiscard]] std::int64_t bytes() const { return 4 * used_; }

 private:
  std::int32_t* host_;
  const std::int32_t* device_;
  std::int64_t used_ = 0;
};

/// Tokens and segments, two lists of at most three times their rows (and one end), the rest.
std::int64_t slot_bytes(std::int64_t tokens, std::int64_t masked, std::int64_t sequences,
                        std::int64_t more) {
  const std::int64_t bytes = 4 * (5 * tokens + 5 * masked + 3 * sequences + 2 + more);
  return (bytes + 255) / 256 * 256;
}

}  // namespace

RowRuns runs_by_key(std::span<const std::int32_t> keys, std::int64_t keys_end,
                    std::int64_t wanted) {
  std::vector<std::int32_t> next(static_cast<std::size_t>(keys_end) + 1);
  for (const std::int32_t key : keys) ++next[static_cast<std::size_t>(key) + 1];
  std::int64_t spare =
      wanted - std::ranges::count_if(next, [](std::int32_t rows) { return rows > 0; });
  RowRuns runs;
  for (std::size_t key = 0; key + 1 < next.size(); ++key) {
    const bool empty = next[key + 1] == 0;
    if (!empty || spare > 0) {
      runs.targets.push_back(static_cast<std::int32_t>(key));
      runs.starts.push_back(next[key]);
      if (empty) --spare;
    }
    next[key + 1] += next[key];
  }
  runs.starts.push_back(static_cast<std::int32_t>(keys.size()));
  runs.sources.resize(keys.size());
  for (std::size_t row = 0; row < keys.size(); ++row) {
    auto& at = next[static_cast<std::size_t>(keys[row])];
    runs.sources[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(row);
  }
  return runs;
}

std::int64_t BatchUpload::bytes(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  const std::int64_t masked = options.micro_batch_size * masked_per_sequence;
  // Unpadded also the places, and a list of positions.
  const std::int64_t more = options.unpadded ? 2 * tokens + 2 * options.sequence_length + 1 : 0;
  return 2 * slot_bytes(tokens, masked, options.micro_batch_size, more);
}

std::int64_t unpadded_rows(std::int64_t tokens, std::int64_t capacity) {
  const auto up = [](std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; };
  const std::int64_t step = up((capacity + 15) / 16, capacity >= 1024 ? 64 : 8);
  return std::min(capacity, up(tokens, step));
}

BatchUpload::BatchUpload(const BackendOptions& options, std::int64_t masked_per_sequence,
                         bool one_shape)
    : unpadded_(options.unpadded),
      one_shape_(one_shape),
      capacity_(options.micro_batch_size * options.sequence_length) {
  const std::int64_t each = bytes(options, masked_per_sequence) / 2;
  for (Slot& slot : slots_) {
    slot.host = Memory(Memory::Place::host, each);
    slot.device = Memory(Memory::Place::device, each);
  }
}

BatchUpload::~BatchUpload() {
  try {
    for (const Slot& slot : slots_) {
      if (slot.used) slot.copied.wait_on_host();
    }
  } catch (const std::exception&) {  // a broken device has been reported already
  }
}

const Batch& BatchUpload::without_padding(const Batch& batch, DeviceBatch& out) {
  const std::int64_t s = batch.sequence_length;
  places_.clear();
  packed_.tokens.clear();
  packed_.segments.clear();
  packed_.masked = batch.masked;
  std::size_t mask = 0;
  for (std::int64_t b = 0; b < batch.sequences; ++b) {
    const std::int32_t length = batch.lengths[static_cast<std::size_t>(b)];
    const auto shift = static_cast<std::int32_t>(b * s) - static_cast<std::int32_t>(places_.size());
    for (const std::size_t end = mask + static_cast<std::size_t>(batch.masked_per_sequence);
         mask < end; ++mask) {
      std::int32_t& row = packed_.masked[mask];
      if (row < b * s || row >= b * s + length) {
        throw std::invalid_argument("batch: a masked position is padding, or of another sequence");
      }
      row -= shift;
    }
    for (std::int64_t place = b * s; place < b * s + length; ++place) {
      places_.push_back(static_cast<std::int32_t>(place));
      packed_.tokens.push_back(batch.tokens[static_cast<std::size_t>(place)]);
      packed_.segments.push_back(batch.segments[static_cast<std::size_t>(place)]);
    }
  }
  out.token_count = static_cast<std::int64_t>(places_.size());
  out.row_count = unpadded_rows(out.token_count, capacity_);
  const auto rows = static_cast<std::size_t>(out.row_count);
  for (auto* list : {&places_, &packed_.tokens, &packed_.segments}) list->resize(rows);
  return packed_;
}

void BatchUpload::prefetch(const Batch& batch, const ModelConfig& model) {
  prefetched_ = nullptr;
  Slot& slot = slots_[next_];
  if (slot.used) slot.copied.wait_on_host();  // before the host writes to it again
  const std::int64_t size = pack(batch, model, slot);
  if (slot.lent) slot.released.wait_on(copies_.get());
  copy_to_device(slot.device.data(), slot.host.data(), size, copies_.get());
  slot.copied.record(copies_.get());
  slot.used = true;
  prefetched_ = &batch;
}

DeviceBatch BatchUpload::upload(const Batch& batch, const ModelConfig& model, Stream stream) {
  if (prefetched_ != &batch || slots_[next_].batch.first_sequence != batch.first_sequence) {
    prefetch(batch, model);
  }
  prefetched_ = nullptr;
  const Slot& slot = slots_[next_];
  next_ = 1 - next_;
  Slot& last = slots_[next_];  // all work on it is in the stream by now
  last.released.record(stream);
  last.lent = true;
  slot.copied.wait_on(stream);
  return slot.batch;
}

std::int64_t BatchUpload::pack(const Batch& batch, const ModelConfig& model, Slot& slot) {
  DeviceBatch& out = slot.batch;
  out = {};
  out.sequences = batch.sequences;
  out.length = batch.sequence_length;
  out.masked_rows = batch.sequences * batch.masked_per_sequence;
  out.first_sequence = batch.first_sequence;
  out.row_count = out.token_count = batch.sequences * batch.sequence_length;
  out.unpadded = unpadded_;
  const Batch& rows = unpadded_ ? without_padding(batch, out) : batch;
  std::vector<std::int32_t> first_rows;
  std::int64_t next_row = 0;
  for (const std::int32_t length : batch.lengths) {
    first_rows.push_back(static_cast<std::int32_t>(next_row));
    next_row += unpadded_ ? length : batch.sequence_length;
  }
  out.padded = std::ranges::any_of(
      batch.lengths, [&](std::int32_t length) { return length < batch.sequence_length; });
  const auto tokens = std::span(rows.tokens).first(static_cast<std::size_t>(out.token_count));

  Packer pack(slot.host.as<std::int32_t>(), slot.device.as<std::int32_t>());
  out.tokens = pack.add(rows.tokens);
  out.segments = pack.add(rows.segments);
  out.lengths = pack.add(batch.lengths);
  out.first_rows = pack.add(first_rows);
  out.masked = pack.add(rows.masked);
  out.labels = pack.add(batch.labels);
  out.next_sentence = pack.add(batch.next_sentence);
  const auto add_runs = [&](std::span<const std::int32_t> keys, std::int64_t end) {
    const auto most = std::min(static_cast<std::int64_t>(keys.size()), end);
    return pack.add(runs_by_key(keys, end, one_shape_ ? most : 0));
  };
  out.words = add_runs(tokens, model.vocabulary);
  out.masked_positions = add_runs(rows.masked, out.row_count);
  if (unpadded_) {
    std::vector<std::int32_t> positions(places_.begin(), places_.begin() + out.token_count);
    for (std::int32_t& place : positions) place %= static_cast<std::int32_t>(out.length);
    out.places = pack.add(places_);
    out.positions = pack.add(runs_by_key(positions, out.length));
  }
  return pack.bytes();
}

}  // namespace bert::cuda
