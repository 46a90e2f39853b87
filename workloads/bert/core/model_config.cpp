#include "workloads/bert/core/model_config.h"

#include <array>

namespace bert {
namespace {

struct NamedShape {
  std::string_view name;
  std::int64_t layers;
  std::int64_t hidden;
  bool gpt2 = false;
};

constexpr std::array<NamedShape, 11> kShapes = {{{"bert-tiny", 2, 128},
                                                 {"bert-mini", 4, 256},
                                                 {"bert-small", 4, 512},
                                                 {"bert-medium", 8, 512},
                                                 {"bert-base", 12, 768},
                                                 {"bert-large", 24, 1024},
                                                 {"gpt2-tiny", 2, 128, true},
                                                 {"gpt2", 12, 768, true},
                                                 {"gpt2-medium", 24, 1024, true},
                                                 {"gpt2-large", 36, 1280, true},
                                                 {"gpt2-xl", 48, 1600, true}}};
constexpr std::int64_t kHeadSize = 64;

/// What Radford et al. 2019 do otherwise than BERT, with the constants of their code.
void become_gpt2(ModelConfig& config) {
  config.norm = NormPlace::before;
  config.mask = Mask::causal;
  config.objective = Objective::next_word;
  config.gelu = Gelu::tanh;
  config.vocabulary = 50257;
  config.max_positions = 1024;
  config.segment_types = 0;
  config.layer_norm_epsilon = 1e-5;
}

}  // namespace

std::optional<ModelConfig> named_model(std::string_view name) {
  for (const NamedShape& shape : kShapes) {
    if (shape.name != name) continue;
    ModelConfig config;
    config.name = std::string(shape.name);
    config.layers = shape.layers;
    config.hidden = shape.hidden;
    config.heads = shape.hidden / kHeadSize;
    config.intermediate = 4 * shape.hidden;
    if (shape.gpt2) become_gpt2(config);
    return config;
  }
  return std::nullopt;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const NamedShape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

std::int64_t ModelConfig::predicted_positions(std::int64_t sequence_length) const {
  switch (objective) {
    case Objective::next_word:
      return sequence_length;
    case Objective::masked_words:
      return head_everywhere ? sequence_length : masked_positions(sequence_length);
    case Objective::spans:
    case Objective::classes:
      return 0;
  }
  return 0;
}

std::int64_t masked_positions(std::int64_t sequence_length) {
  return (20 * sequence_length + 127) / 128;
}

}  // namespace bert
