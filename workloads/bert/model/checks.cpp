#include "workloads/bert/model/checks.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "workloads/bert/model/parameters.h"

namespace bert {

void check_options(const BackendOptions& options) {
  check_config(options.model);
  if (options.micro_batch_size <= 0 || options.sequence_length <= 0 || options.threads <= 0) {
    throw std::invalid_argument(
        "micro-batch size, sequence length and threads must be greater than 0");
  }
  if (options.sequence_length > options.model.max_positions) {
    throw std::invalid_argument("sequence length " + std::to_string(options.sequence_length) +
                                " exceeds the model's " +
                                std::to_string(options.model.max_positions) + " positions");
  }
}

void check_batch(const Batch& batch, const BackendOptions& options) {
  const auto require = [](bool good, const char* rule) {
    if (!good) throw std::invalid_argument(std::string("batch: ") + rule);
  };
  const ModelConfig& model = options.model;
  const std::int64_t tokens = batch.sequences * batch.sequence_length;
  const auto has = [](const std::vector<std::int32_t>& values, std::int64_t size) {
    return static_cast<std::int64_t>(values.size()) == size;
  };
  const auto within = [](const std::vector<std::int32_t>& values, std::int64_t low,
                         std::int64_t high) {
    return std::all_of(values.begin(), values.end(),
                       [&](std::int32_t v) { return v >= low && v < high; });
  };
  require(batch.sequences > 0 && batch.sequences <= options.micro_batch_size,
          "sequences must be 1 to the micro-batch size");
  require(batch.sequence_length > 0 && batch.sequence_length <= options.sequence_length,
          "sequence length must be 1 to the backend's");
  if (model.objective == Objective::next_word) {
    require(has(batch.tokens, tokens) && has(batch.labels, tokens) &&
                has(batch.lengths, batch.sequences) &&
                batch.masked_per_sequence == batch.sequence_length,
            "the size of an array is not that of its shape");
    require(batch.segments.empty() && batch.masked.empty() && batch.next_sentence.empty(),
            "a next-word model has no segments, masks and next sentences");
    require(within(batch.tokens, 0, model.vocabulary), "a token is outside the vocabulary");
    require(within(batch.labels, 0, model.vocabulary), "a label is outside the vocabulary");
    require(within(batch.lengths, batch.sequence_length, batch.sequence_length + 1),
            "the sequences of a next-word model are full");
    return;
  }
  const std::int64_t masked = batch.sequences * batch.masked_per_sequence;
  require(has(batch.tokens, tokens) && has(batch.segments, tokens) &&
              has(batch.lengths, batch.sequences) && has(batch.next_sentence, batch.sequences) &&
              has(batch.masked, masked) && has(batch.labels, masked),
          "the size of an array is not that of its shape");
  require(within(batch.tokens, 0, model.vocabulary), "a token is outside the vocabulary");
  require(within(batch.labels, model.head_everywhere ? -1 : 0, model.vocabulary),
          "a label is outside the vocabulary");
  require(within(batch.segments, 0, model.segment_types), "a segment is unknown to the model");
  require(within(batch.lengths, 1, batch.sequence_length + 1), "a length is not 1 to s");
  require(within(batch.masked, 0, tokens), "a masked position is outside the batch");
  require(within(batch.next_sentence, 0, 2), "next_sentence is not 0 or 1");
  const bool spans = model.objective == Objective::spans;
  require(has(batch.spans, spans ? 2 * batch.sequences : 0),
          "the size of an array is not that of its shape");
  for (std::size_t i = 0; i < batch.spans.size(); i += 2) {
    require(batch.spans[i] >= 0 && batch.spans[i] <= batch.spans[i + 1] &&
                batch.spans[i + 1] < batch.lengths[i / 2],
            "a span is outside its sequence");
  }
}

}  // namespace bert
