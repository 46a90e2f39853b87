#include "workloads/bert/model/parameters.h"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace bert {
namespace {

using Initial = Parameter::Initial;

class Builder {
 public:
  Builder(std::vector<Parameter>& out, const ModelConfig& config)
      : out_(out),
        start_(config.objective == Objective::next_word ? Initial::normal
                                                        : Initial::truncated_normal),
        deviation_(config.initializer_range) {}

  /// `divisor` makes the deviation of the initial values smaller.
  std::int64_t matrix(std::string name, std::int64_t rows, std::int64_t columns,
                      double divisor = 1) {
    add(std::move(name), {rows, columns}, start_);
    out_.back().decay = true;
    out_.back().deviation = deviation_ / divisor;
    return out_.back().offset;
  }
  std::int64_t zeros(std::string name, std::int64_t size) {
    return add(std::move(name), {size}, Initial::zeros);
  }
  LinearOffsets linear(const std::string& name, std::int64_t outputs, std::int64_t inputs,
                       double divisor = 1) {
    const std::int64_t weight = matrix(name + ".weight", outputs, inputs, divisor);
    return {weight, zeros(name + ".bias", outputs), outputs, inputs};
  }
  NormOffsets norm(const std::string& name, std::int64_t size) {
    const std::int64_t weight = add(name + ".weight", {size}, Initial::ones);
    return {weight, zeros(name + ".bias", size)};
  }
  [[nodiscard]] std::int64_t next() const { return next_; }

 private:
  /// Weight decay is off for biases and LayerNorm (Devlin et al. 2018, optimization.py).
  std::int64_t add(std::string name, std::vector<std::int64_t> shape, Initial initial) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                     [](std::int64_t a, std::int64_t b) { return a * b; });
    parameter.shape = std::move(shape);
    parameter.offset = next_;
    parameter.decay = false;
    parameter.initial = initial;
    next_ += parameter.size;
    out_.push_back(std::move(parameter));
    return out_.back().offset;
  }

  std::vector<Parameter>& out_;
  Initial start_;
  double deviation_;
  std::int64_t next_ = 0;
};

/// What a layer's tensors are called, in the order of their use.
struct LayerNames {
  std::vector<std::string> qkv;  ///< the tensors that share one product
  std::string attention_output, attention_norm, intermediate, output, output_norm;
};

LayerNames bert_names(std::int64_t index) {
  const std::string prefix = "bert.encoder.layer." + std::to_string(index) + ".";
  const std::string self = prefix + "attention.self.";
  return {{self + "query", self + "key", self + "value"},
          prefix + "attention.output.dense",
          prefix + "attention.output.LayerNorm",
          prefix + "intermediate.dense",
          prefix + "output.dense",
          prefix + "output.LayerNorm"};
}

/// The LayerNorm at a layer's end is the first of the next layer there, or the last of all.
LayerNames gpt2_names(std::int64_t index, std::int64_t layers) {
  const auto prefix = [](std::int64_t i) { return "transformer.h." + std::to_string(i) + "."; };
  const std::string own = prefix(index);
  return {
      {own + "attn.c_attn"}, own + "attn.c_proj",
      own + "ln_2",          own + "mlp.c_fc",
      own + "mlp.c_proj",    index + 1 < layers ? prefix(index + 1) + "ln_1" : "transformer.ln_f"};
}

LayerOffsets add_layer(Builder& add, const ModelConfig& config, const LayerNames& names) {
  const std::int64_t h = config.hidden;
  const std::int64_t wide = config.intermediate;
  const std::int64_t part = 3 * h / static_cast<std::int64_t>(names.qkv.size());
  // Each layer adds twice to the stream; scaled so, its variance does not grow with the depth.
  const double divisor =
      config.norm == NormPlace::before ? std::sqrt(2 * static_cast<double>(config.layers)) : 1;
  LayerOffsets at;
  at.begin = add.next();
  at.qkv = {add.next(), add.next() + 3 * h * h, 3 * h, h};
  for (const std::string& name : names.qkv) add.matrix(name + ".weight", part, h);
  for (const std::string& name : names.qkv) add.zeros(name + ".bias", part);
  at.attention_output = add.linear(names.attention_output, h, h, divisor);
  at.attention_norm = add.norm(names.attention_norm, h);
  at.intermediate = add.linear(names.intermediate, wide, h);
  at.output = add.linear(names.output, h, wide, divisor);
  at.output_norm = add.norm(names.output_norm, h);
  at.end = add.next();
  return at;
}

void add_bert(ParameterLayout& at, Builder& add, const ModelConfig& config) {
  const std::int64_t h = config.hidden;
  const std::string tables = "bert.embeddings.";
  at.word_embeddings = add.matrix(tables + "word_embeddings.weight", config.vocabulary, h);
  at.position_embeddings =
      add.matrix(tables + "position_embeddings.weight", config.max_positions, h);
  at.segment_embeddings =
      add.matrix(tables + "token_type_embeddings.weight", config.segment_types, h);
  at.embedding_norm = add.norm(tables + "LayerNorm", h);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    at.layers.push_back(add_layer(add, config, bert_names(i)));
  }
  at.heads = add.next();
  at.pooler = add.linear("bert.pooler.dense", h, h);
  at.transform = add.linear("cls.predictions.transform.dense", h, h);
  at.transform_norm = add.norm("cls.predictions.transform.LayerNorm", h);
  at.next_sentence = add.linear("cls.seq_relationship", 2, h);
  at.decoder = {at.word_embeddings, add.zeros("cls.predictions.bias", config.vocabulary),
                config.vocabulary, h};
}

void add_gpt2(ParameterLayout& at, Builder& add, const ModelConfig& config) {
  const std::int64_t h = config.hidden;
  at.word_embeddings = add.matrix("transformer.wte.weight", config.vocabulary, h);
  at.position_embeddings = add.matrix("transformer.wpe.weight", config.max_positions, h);
  at.embedding_norm = add.norm("transformer.h.0.ln_1", h);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    at.layers.push_back(add_layer(add, config, gpt2_names(i, config.layers)));
  }
  at.heads = add.next();
  at.decoder = {at.word_embeddings, kAbsent, config.vocabulary, h};
}

}  // namespace

void check_config(const ModelConfig& config) {
  const auto require = [&](bool good, const char* rule) {
    if (!good) throw std::invalid_argument("model " + config.name + ": " + rule);
  };
  require(config.layers > 0 && config.hidden > 0 && config.heads > 0 && config.intermediate > 0 &&
              config.vocabulary > 0 && config.max_positions > 0,
          "every shape must be greater than 0");
  const bool next_word = config.objective == Objective::next_word;
  require(next_word == (config.norm == NormPlace::before) &&
              next_word == (config.mask == Mask::causal) &&
              next_word == (config.segment_types == 0) && config.segment_types >= 0,
          "a next-word head goes with LayerNorm before blocks, a causal mask and no segments");
  require(config.hidden % config.heads == 0, "heads must divide hidden");
  const auto probability = [](double p) { return p >= 0 && p < 1; };
  require(probability(config.hidden_dropout) && probability(config.attention_dropout),
          "dropout must be in [0, 1)");
}

ParameterLayout::ParameterLayout(const ModelConfig& config) {
  check_config(config);
  Builder add(parameters, config);
  if (config.objective == Objective::next_word) {
    add_gpt2(*this, add, config);
  } else {
    add_bert(*this, add, config);
  }
  total = add.next();
}

}  // namespace bert
