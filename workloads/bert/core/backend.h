// Backend: where a training step runs. The CPU backend is linked in; CUDA joins as a module
// loaded at run time (design: one bert_train starts on any machine).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/core/model_config.h"

namespace bert {

class Communicator;

/// One parameter tensor inside the flat parameter and gradient buffers.
struct Parameter {
  enum class Initial { zeros, ones, normal, truncated_normal };

  /// As in the state dict of Hugging Face's BertForPreTraining or GPT2LMHeadModel. Matrices are
  /// [outputs, inputs] in either; the latter's file has the transpose (Conv1D).
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< elements from the start of the flat buffer
  std::int64_t size = 0;    ///< elements
  bool decay = true;        ///< weight decay and LAMB trust ratio apply (not biases, not LayerNorm)
  Initial initial = Initial::zeros;
  double deviation = 0;  ///< of the normal distributions; truncated: at two of them
};

/// Loss of a micro-step on this rank: means over its predicted positions / its sequences.
struct Loss {
  double masked_lm = 0;      ///< of the words: masked ones, or the next ones of a next_word model
  double next_sentence = 0;  ///< of a sequence: also that of spans and classes
  bool pending = false;      ///< not known yet: the device still computes it, see pending_losses()
  [[nodiscard]] double total() const { return masked_lm + next_sentence; }
};

/// What a fine-tuned model answers for a sequence: the first and last token of the answer, counted
/// in the sequence, or the class in `first`.
struct Prediction {
  std::int32_t first = 0, last = 0;
  bool operator==(const Prediction&) const = default;
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

/// How gradients are summed over ranks by a backend that does it itself.
struct ReductionOptions {
  std::int64_t bucket_bytes = 0;  ///< of gradients per collective
  /// 1 = ZeRO-1: gradients are reduce-scattered, each rank updates and keeps the moments (and fp32
  /// masters) of its share only, updated weights are all-gathered. 0 = all-reduce.
  int zero_stage = 0;
};

/// One optimizer update as the trainer asks for it.
struct UpdateRequest {
  OptimizerOptions optimizer;
  double learning_rate = 0;
  double gradient_clipping = 0;  ///< bound of the global L2 norm, 0 = none
  std::int64_t update = 1;       ///< number of the update (bias correction); skipped ones are not
                                 ///< counted, so it may be asked for again
};

struct UpdateResult {
  double gradient_norm = 0;  ///< global, before clipping, loss scale divided out; inf or NaN when
                             ///< a gradient overflowed
  bool skipped = false;   ///< fp16: a gradient was not finite, so weights, moments and the number
                          ///< of updates are as before and the loss scale was lowered
  double loss_scale = 0;  ///< that this step's gradients were computed with; 0 = none is used
  /// Of this step, seconds by the device's clock: from the first work queued after
  /// zero_gradients() to the end of the update; and of its collectives, all and the part during
  /// which nothing else ran. Below 0: not measured.
  double device_seconds = -1;
  double communication_s = -1, exposed_communication_s = -1;
};

/// What parts of a step took by the clock that computes, in seconds; below 0: not measured.
struct PartSeconds {
  double forward = -1, backward = -1;  ///< of all micro-steps together; backward with its recompute
  double optimizer = -1;               ///< norm, clipping and update, without waiting for ranks
};

/// torch.optim.clip_grad_norm_'s factor, whose divisor has 1e-6 added.
[[nodiscard]] inline double clipping_factor(double bound, double norm) {
  return bound > 0 ? std::min(1.0, bound / (norm + 1e-6)) : 1.0;
}

/// State of training that checkpoints and ranks exchange: flat fp32 in the layout of parameters().
enum class StateArray { weights, first_moments, second_moments, gradients };

/// State that is not an array.
struct ScalarState {
  double loss_scale = 0;        ///< fp16: the current one; 0 = none
  std::int64_t good_steps = 0;  ///< fp16: since the scale last changed
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

  /// Names the batch of the next forward_backward(), which gets it unchanged, as the same object. A
  /// device backend copies it while the step before it runs. Must not wait for the device; need not
  /// be followed by that call.
  virtual void prefetch(const Batch& /*batch*/) {}

  /// Flat fp32 buffers of this rank in host memory; empty where a device holds them.
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

  // What follows has defaults that serve a backend in host memory. A device backend overrides
  // update(), pending_losses() and the state functions, and may override the rest; its weights(),
  // gradients(), first_moments() and second_moments() are empty spans.

  /// Called once before the first step when ranks have to be summed over. True: this backend sums
  /// gradients itself, with communicator.device(); the trainer then announces the last micro-step
  /// by begin_reduction() and does not touch gradients. False: the trainer sums gradients() through
  /// host memory, or StateArray::gradients when that span is empty. Throws std::invalid_argument
  /// for options that it cannot serve (a zero_stage; status 2).
  virtual bool reduce_with(Communicator& /*communicator*/, const ReductionOptions& options) {
    if (options.zero_stage != 0) {
      throw std::invalid_argument("--zero 1: this backend does not share its optimizer state");
    }
    return false;
  }
  /// The next forward_backward is the last of this optimizer step: sum each bucket over ranks when
  /// its gradients are final, while backward goes on. Must not block the host.
  virtual void begin_reduction() {}

  /// Norm (over all ranks' summed gradients), clipping, overflow test and update. Waits until the
  /// step is done. A device backend does it all without a look of the host in between.
  virtual UpdateResult update(const UpdateRequest& request) {
    UpdateResult result;
    result.gradient_norm = gradient_norm();
    optimizer_step(request.optimizer, request.learning_rate,
                   clipping_factor(request.gradient_clipping, result.gradient_norm),
                   result.gradient_norm, request.update);
    return result;
  }

  /// Of the work since zero_gradients(); called after update(). Of a next_word model and of spans
  /// the head's forward counts as backward, as parts of its rows go through both in turn.
  [[nodiscard]] virtual PartSeconds part_seconds() { return {}; }

  /// Losses of the calls since zero_gradients() that answered `pending`, in their order; blocks
  /// until they are known. Called at most once per optimizer step, after update().
  virtual std::vector<Loss> pending_losses() { return {}; }

  /// Forward only (inference): no gradients, no dropout; waits until it is done. Loss as in
  /// forward_backward. Throws std::invalid_argument where it is not served.
  virtual Loss forward(const Batch& /*batch*/) {
    throw std::invalid_argument("this backend has no inference mode");
  }

  /// Forward only: an answer for each sequence of a batch of spans or classes, whose labels are not
  /// looked at. Throws std::invalid_argument where it is not served.
  virtual std::vector<Prediction> predict(const Batch& /*batch*/) {
    throw std::invalid_argument("this backend does not fine-tune");
  }

  /// Copies elements [offset, offset + size) of `array` between the backend and host memory.
  /// Under ZeRO every rank must make the same calls, which are collective: `out` is filled on all.
  virtual void read_state(StateArray array, std::int64_t offset, std::span<float> out) {
    const auto from = state(array).subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(from.begin(), from.end(), out.begin());
  }
  virtual void write_state(StateArray array, std::int64_t offset, std::span<const float> in) {
    const auto to = state(array).subspan(static_cast<std::size_t>(offset), in.size());
    std::copy(in.begin(), in.end(), to.begin());
  }
  [[nodiscard]] virtual ScalarState scalar_state() { return {}; }
  virtual void set_scalar_state(const ScalarState& /*state*/) {}

  /// Bytes that a run takes at its peak by the plan (device memory for a device backend), and
  /// what was measured so far; 0 = unknown.
  [[nodiscard]] virtual std::int64_t predicted_peak_bytes() const { return 0; }
  [[nodiscard]] virtual std::int64_t measured_peak_bytes() const { return 0; }
  /// The GPU's name as the driver has it ("NVIDIA H200"); empty: it computes on the CPU.
  [[nodiscard]] virtual std::string gpu() const { return {}; }
  /// Facts for the log: device, versions of libraries, chosen algorithms ("cuDNN 9.19.0").
  [[nodiscard]] virtual std::vector<std::string> settings() const { return {}; }
  /// The precision is one of values alone: another computes in its place, so that times and rates
  /// are that one's. Its name; empty: none does.
  [[nodiscard]] virtual std::string emulated_by() const { return {}; }

 private:
  std::span<float> state(StateArray array) {
    switch (array) {
      case StateArray::weights:
        return weights();
      case StateArray::first_moments:
        return first_moments();
      case StateArray::second_moments:
        return second_moments();
      case StateArray::gradients:
        return gradients();
    }
    return {};
  }
};

/// Dynamic loss scaling of fp16, as torch.amp.GradScaler does it: a step with a gradient that is
/// not finite is skipped and the scale is multiplied by `backoff`; after `growth_interval` good
/// steps in a row it is multiplied by `growth`. growth_interval 0: the scale is constant.
struct LossScaleOptions {
  double initial = 65536;
  double growth = 2;
  double backoff = 0.5;
  double minimum = 1;
  std::int64_t growth_interval = 2000;
};

/// Where biases, GELU and their gradients are computed: automatic by what is faster (timed where
/// there is an algorithm_cache, else as it was on an H100), inside matrix products wherever the
/// library can, or by kernels next to them.
enum class Epilogues { automatic, inside, kernels };

/// What computes attention with the cuda backend: its own kernels, or cuDNN, whose dropout keeps
/// other elements.
enum class AttentionBy { kernels, cudnn };

/// Whether the cuda backend records a micro-step's work once and has it replayed as CUDA graphs:
/// automatic for small micro-batches, whose kernels take the device no longer than the host takes
/// to queue them.
enum class CudaGraphs { off, on, automatic };

struct BackendOptions {
  ModelConfig model;
  std::int64_t micro_batch_size = 0;
  std::int64_t sequence_length = 0;
  std::uint64_t seed = 1;
  int threads = 1;
  bool deterministic = false;
  bool activation_checkpointing = false;
  std::int64_t memory_limit_bytes = 0;  ///< that the plan may take; 0 = what there is
  /// Most rows of logits that a next_word head has at a time, and one of masked words where the
  /// backend has them in parts; 0 = the backend's own choice.
  std::int64_t logit_rows = 0;
  bool unpadded = false;   ///< compute only on tokens that are not padding
  bool inference = false;  ///< forward() only: no gradients and no optimizer state are planned
  int rank = 0, world_size = 1;  ///< for the plan of a sharded optimizer
  int zero_stage = 0;            ///< as ReductionOptions
  LossScaleOptions loss_scale;   ///< fp16
  Epilogues matmul_epilogues = Epilogues::automatic;
  AttentionBy attention = AttentionBy::kernels;
  CudaGraphs cuda_graph = CudaGraphs::off;
  std::string algorithm_cache;  ///< file that keeps searched algorithms; empty = do not keep
};

}  // namespace bert
