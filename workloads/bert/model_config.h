// ModelConfig: the shapes of a BERT encoder, and the named models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bert {

/// The activation of the FFN: x * Phi(x), or its tanh approximation (GPT-2, "gelu_new").
enum class Gelu { erf, tanh };

/// Post-LN encoder as in Devlin et al. 2018. Shapes in elements; all > 0, heads divides hidden.
struct ModelConfig {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t intermediate = 0;  ///< FFN width, 4 * hidden in every named model
  std::int64_t vocabulary = 30522;
  std::int64_t max_positions = 512;
  std::int64_t segment_types = 2;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double layer_norm_epsilon = 1e-12;
  double initializer_range = 0.02;
  Gelu gelu = Gelu::erf;

  [[nodiscard]] std::int64_t head_size() const { return hidden / heads; }
};

/// bert-tiny 2/128, bert-mini 4/256, bert-small 4/512, bert-medium 8/512 (Turc et al. 2019),
/// bert-base 12/768, bert-large 24/1024 (Devlin et al. 2018); heads = hidden / 64.
[[nodiscard]] std::optional<ModelConfig> named_model(std::string_view name);
[[nodiscard]] std::vector<std::string> model_names();

/// Masked positions per sequence: ceil(20/128 * s), so 20 at 128 and 80 at 512 as in NVIDIA's
/// DeepLearningExamples. This is the 15 % of the BERT paper, rounded up.
[[nodiscard]] std::int64_t masked_positions(std::int64_t sequence_length);

}  // namespace bert
