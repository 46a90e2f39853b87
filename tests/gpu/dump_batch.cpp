// Prints the batches that bert_train reads, as one JSON object a line, for comparisons with
// PyTorch:
//   bert_dump_batch MODEL SEQUENCE_LENGTH SEQUENCES SEED full|uniform|wikipedia [BATCHES [DATA]]
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "workloads/bert/core/model_config.h"
#include "workloads/bert/data/batches.h"

namespace {

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() ? value : -1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bert;
  const auto model = argc >= 6 && argc <= 8 ? named_model(argv[1]) : std::nullopt;
  DataOptions data;
  const std::int64_t length = model ? number(argv[2]) : 0, sequences = model ? number(argv[3]) : 0;
  const std::int64_t seed = model ? number(argv[4]) : -1;
  const std::int64_t batches = argc > 6 ? number(argv[6]) : 1;
  const auto lengths = model ? lengths_named(argv[5]) : std::nullopt;
  if (!lengths || length < 8 || length > model->max_positions || sequences < 1 || seed < 0 ||
      batches < 1) {
    std::cerr << "usage: bert_dump_batch MODEL SEQUENCE_LENGTH SEQUENCES SEED "
                 "full|uniform|wikipedia [BATCHES [DATA]]\n";
    return 2;
  }
  data.seed = static_cast<std::uint64_t>(seed);
  data.vocabulary = model->vocabulary;
  data.sequence_length = length;
  data.masked_per_sequence = model->predicted_positions(length);
  data.next_word = model->objective == Objective::next_word;
  data.lengths = *lengths;
  if (argc > 7) data.source = argv[7];
  const auto source = open_source(data);
  if (!source) {
    std::cerr << source.error().message << '\n';
    return 1;
  }
  Batch batch;
  for (std::int64_t i = 0; i < batches; ++i) {
    fill_batch(**source, data, i * sequences, sequences, batch);
    std::cout << nlohmann::json{{"layers", model->layers},
                                {"hidden", model->hidden},
                                {"heads", model->heads},
                                {"intermediate", model->intermediate},
                                {"vocabulary", model->vocabulary},
                                {"positions", model->max_positions},
                                {"next_word", data.next_word},
                                {"gelu", model->gelu == Gelu::tanh ? "tanh" : "erf"},
                                {"tokens", batch.tokens},
                                {"segments", batch.segments},
                                {"lengths", batch.lengths},
                                {"masked", batch.masked},
                                {"labels", batch.labels},
                                {"next_sentence", batch.next_sentence}}
                     .dump()
              << '\n';
  }
  return std::cout.flush() ? 0 : 1;
}
