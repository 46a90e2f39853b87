// Backend: where a training step runs. The CPU backend is linked in; CUDA joins as a module
// loaded at run time (design: one bert_train starts on any machine).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/bert/batch.h"
#include "workloads/bert/model_config.h"

namespace bert {

/// One parameter tensor inside the flat parameter and gradient buffers.
struct Parameter {
  std::string name;  ///< as in Hugging Face's BertForPreTraining state dict
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< elements from the start of the flat buffer
  std::int64_t size = 0;    ///< elements
  bool decay = true;        ///< weight decay and LAMB trust ratio apply (not biases, not LayerNorm)
};

/// Loss of a micro-step on this rank: means over its masked positions / its sequences.
struct Loss {
  double masked_lm = 0;
  double next_sentence = 0;
  [[nodiscard]] double total() const { return masked_lm + next_sentence; }
};

struct OptimizerOptions {
  enum class Kind { adamw, lamb };
  Kind kind = Kind::adamw;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0.01;
  bool bias_correction = true;
  // LAMB: the options in which published versions differ.
  bool grad_pre_normalization = false;  ///< divide by the global norm first (NVIDIA apex)
  bool trust_ratio_without_decay =
      false;                            ///< trust ratio also where decay is off (apex use_nvlamb)
  double min_trust = 0, max_trust = 0;  ///< clip of the trust ratio, 0 = none (DeepSpeed 0.08..0.5)
};

/// Called when the gradient range [offset, offset+size) of the last micro-step is final, from the
/// thread that computes, in descending order of offset; ranges join without gaps. Must return at
/// once.
using GradientReady = std::function<void(std::int64_t offset, std::int64_t size)>;

class Backend {
 public:
  virtual ~Backend() = default;

  /// In order of offsets: first what forward uses first, so backward finishes gradients from the
  /// end of the buffer to its start.
  [[nodiscard]] virtual std::span<const Parameter> parameters() const = 0;

  /// Forward and backward of one micro-step. Adds `gradient_scale` times the gradient of
  /// (masked_lm + next_sentence) to the gradient buffer. `training` switches dropout on, keyed by
  /// (seed, optimizer_step, layer, sequence index, element). `ready` may be empty.
  virtual Loss forward_backward(const Batch& batch, double gradient_scale, bool training,
                                std::int64_t optimizer_step, const GradientReady& ready) = 0;

  /// Flat fp32 buffers of this rank in host memory (nullptr-sized for device backends).
  virtual std::span<float> weights() = 0;
  virtual std::span<float> gradients() = 0;
  virtual void zero_gradients() = 0;

  /// Global L2 norm of the gradient buffer.
  virtual double gradient_norm() = 0;

  /// One update at `learning_rate`, gradients scaled by `gradient_factor` (clipping). `update` is
  /// 1 for the first update (bias correction). `norm` is the global gradient norm (LAMB
  /// pre-normalization).
  virtual void optimizer_step(const OptimizerOptions& options, double learning_rate,
                              double gradient_factor, double norm, std::int64_t update) = 0;

  /// Optimizer state for checkpoints: first and second moments, flat, same layout.
  virtual std::span<float> first_moments() = 0;
  virtual std::span<float> second_moments() = 0;

  [[nodiscard]] virtual std::string description() const = 0;  ///< "cpu, oneDNN 2.6.3, 2 threads"
  [[nodiscard]] virtual std::int64_t peak_bytes() const = 0;  ///< planned + measured peak, bytes
};

struct BackendOptions {
  ModelConfig model;
  std::int64_t micro_batch_size = 0;
  std::int64_t sequence_length = 0;
  std::uint64_t seed = 1;
  int threads = 1;
  bool deterministic = false;
  bool activation_checkpointing = false;
  std::int64_t memory_limit_bytes = 0;  ///< that the plan may take; 0 = what there is
};

/// Weights are initialised from the seed (truncated normal, initializer_range). Throws
/// std::bad_alloc when the memory it plans cannot be had.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);

}  // namespace bert
