#include "workloads/bert/model_config.h"

#include <array>

namespace bert {
namespace {

struct NamedShape {
  std::string_view name;
  std::int64_t layers;
  std::int64_t hidden;
};

constexpr std::array<NamedShape, 6> kShapes = {{{"bert-tiny", 2, 128},
                                                {"bert-mini", 4, 256},
                                                {"bert-small", 4, 512},
                                                {"bert-medium", 8, 512},
                                                {"bert-base", 12, 768},
                                                {"bert-large", 24, 1024}}};
constexpr std::int64_t kHeadSize = 64;

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
    return config;
  }
  return std::nullopt;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const NamedShape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

std::int64_t masked_positions(std::int64_t sequence_length) {
  return (20 * sequence_length + 127) / 128;
}

}  // namespace bert
