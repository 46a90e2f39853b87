#include "workloads/bert/parameters.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace bert {
namespace {

class Builder {
 public:
  explicit Builder(std::vector<Parameter>& out) : out_(out) {}

  /// Weight decay is off for biases and LayerNorm (Devlin et al. 2018, optimization.py).
  std::int64_t add(std::string name, std::vector<std::int64_t> shape, bool decay) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                     [](std::int64_t a, std::int64_t b) { return a * b; });
    parameter.shape = std::move(shape);
    parameter.offset = next_;
    parameter.decay = decay;
    next_ += parameter.size;
    out_.push_back(std::move(parameter));
    return out_.back().offset;
  }
  [[nodiscard]] std::int64_t next() const { return next_; }

 private:
  std::vector<Parameter>& out_;
  std::int64_t next_ = 0;
};

LayerOffsets add_layer(Builder& add, const ModelConfig& config, std::int64_t index) {
  const std::int64_t h = config.hidden;
  const std::int64_t wide = config.intermediate;
  const std::string prefix = "bert.encoder.layer." + std::to_string(index) + ".";
  LayerOffsets at;
  at.begin = add.next();
  at.qkv_weight = add.add(prefix + "attention.self.query.weight", {h, h}, true);
  add.add(prefix + "attention.self.key.weight", {h, h}, true);
  add.add(prefix + "attention.self.value.weight", {h, h}, true);
  at.qkv_bias = add.add(prefix + "attention.self.query.bias", {h}, false);
  add.add(prefix + "attention.self.key.bias", {h}, false);
  add.add(prefix + "attention.self.value.bias", {h}, false);
  at.attention_output_weight = add.add(prefix + "attention.output.dense.weight", {h, h}, true);
  at.attention_output_bias = add.add(prefix + "attention.output.dense.bias", {h}, false);
  at.attention_norm_weight = add.add(prefix + "attention.output.LayerNorm.weight", {h}, false);
  at.attention_norm_bias = add.add(prefix + "attention.output.LayerNorm.bias", {h}, false);
  at.intermediate_weight = add.add(prefix + "intermediate.dense.weight", {wide, h}, true);
  at.intermediate_bias = add.add(prefix + "intermediate.dense.bias", {wide}, false);
  at.output_weight = add.add(prefix + "output.dense.weight", {h, wide}, true);
  at.output_bias = add.add(prefix + "output.dense.bias", {h}, false);
  at.output_norm_weight = add.add(prefix + "output.LayerNorm.weight", {h}, false);
  at.output_norm_bias = add.add(prefix + "output.LayerNorm.bias", {h}, false);
  at.end = add.next();
  return at;
}

}  // namespace

void check_config(const ModelConfig& config) {
  const auto require = [&](bool good, const char* rule) {
    if (!good) throw std::invalid_argument("model " + config.name + ": " + rule);
  };
  require(config.layers > 0 && config.hidden > 0 && config.heads > 0 && config.intermediate > 0 &&
              config.vocabulary > 0 && config.max_positions > 0 && config.segment_types > 0,
          "every shape must be greater than 0");
  require(config.hidden % config.heads == 0, "heads must divide hidden");
  const auto probability = [](double p) { return p >= 0 && p < 1; };
  require(probability(config.hidden_dropout) && probability(config.attention_dropout),
          "dropout must be in [0, 1)");
}

ParameterLayout::ParameterLayout(const ModelConfig& config) {
  check_config(config);
  const std::int64_t h = config.hidden;
  Builder add(parameters);
  word_embeddings = add.add("bert.embeddings.word_embeddings.weight", {config.vocabulary, h}, true);
  position_embeddings =
      add.add("bert.embeddings.position_embeddings.weight", {config.max_positions, h}, true);
  segment_embeddings =
      add.add("bert.embeddings.token_type_embeddings.weight", {config.segment_types, h}, true);
  embedding_norm_weight = add.add("bert.embeddings.LayerNorm.weight", {h}, false);
  embedding_norm_bias = add.add("bert.embeddings.LayerNorm.bias", {h}, false);
  for (std::int64_t i = 0; i < config.layers; ++i) layers.push_back(add_layer(add, config, i));
  heads = add.next();
  pooler_weight = add.add("bert.pooler.dense.weight", {h, h}, true);
  pooler_bias = add.add("bert.pooler.dense.bias", {h}, false);
  transform_weight = add.add("cls.predictions.transform.dense.weight", {h, h}, true);
  transform_bias = add.add("cls.predictions.transform.dense.bias", {h}, false);
  transform_norm_weight = add.add("cls.predictions.transform.LayerNorm.weight", {h}, false);
  transform_norm_bias = add.add("cls.predictions.transform.LayerNorm.bias", {h}, false);
  next_sentence_weight = add.add("cls.seq_relationship.weight", {2, h}, true);
  next_sentence_bias = add.add("cls.seq_relationship.bias", {2}, false);
  decoder_bias = add.add("cls.predictions.bias", {config.vocabulary}, false);
  total = add.next();
}

}  // namespace bert
