#include "workloads/bert/cpu/cpu_backend.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_version.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "workloads/bert/cpu/attention.h"
#include "workloads/bert/cpu/optimizer.h"
#include "workloads/bert/cpu/step.h"
#include "workloads/bert/model/checks.h"
#include "workloads/bert/model/initialize.h"

namespace bert {
namespace {

/// Allowance for what is not planned here: oneDNN's packed copies inside a product, the libraries.
/// It only guards the start; peak_bytes() reports what a run really took.
constexpr std::int64_t kUnplanned = 64LL << 20;

/// Rows of logits that a next_word head has at a time, where BackendOptions::logit_rows leaves it
/// to the backend.
constexpr std::int64_t kLogitRows = 1024;

std::int64_t partials_width(const ModelConfig& model) {
  return std::max(model.intermediate, 3 * model.hidden);
}

std::int64_t thread_scratch_size(const BackendOptions& options) {
  const std::int64_t wanted =
      std::max(2 * options.model.hidden + 256, attention_scratch(options.sequence_length));
  return (wanted + 31) / 16 * 16;
}

/// In bytes; thread_scratch_size() and attention_scratch() count floats.
ActivationSizes activation_sizes(const BackendOptions& options) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  ActivationSizes sizes;
  sizes.softmax = 4 * tokens * model.heads * options.sequence_length;  // all probabilities
  sizes.attention_scratch = 4 * options.micro_batch_size * 3 * model.hidden;
  sizes.partials = 4 * kRowBlocks * partials_width(model);
  sizes.thread_scratch = 4 * options.threads * thread_scratch_size(options);
  sizes.logit_columns = model.vocabulary;
  sizes.logit_rows = kLogitRows;
  return sizes;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const BackendOptions& options)
      : options_((check_options(options), options)),
        layout_(options.model),
        optimizer_(layout_.parameters, kernels(), options.threads),
        masked_capacity_(options.model.predicted_positions(options.sequence_length)),
        activations_(make_activations(masked_capacity_)) {
    const std::int64_t wanted = planned_bytes();
    require_memory(wanted,
                   options.model.name + " at micro-batch " +
                       std::to_string(options.micro_batch_size) + " and sequence length " +
                       std::to_string(options.sequence_length),
                   options.memory_limit_bytes);
    omp_set_num_threads(options.threads);
    weights_ = Buffer(layout_.total);
    gradients_ = Buffer(layout_.total);
    first_ = Buffer(layout_.total);
    second_ = Buffer(layout_.total);
    make_arena();
    initialize_weights(layout_, options_.seed, options_.threads, weights_.data());
  }

  [[nodiscard]] std::span<const Parameter> parameters() const override {
    return layout_.parameters;
  }

  Loss forward_backward(const Batch& batch, double gradient_scale, bool training,
                        std::int64_t optimizer_step, const GradientReady& ready) override;

  std::span<float> weights() override { return whole(weights_); }
  std::span<float> gradients() override {
    materialize_zeros();
    return whole(gradients_);
  }
  /// The zeros are written by the next forward_backward, together with the first sums: most of the
  /// buffer is then written once instead of cleared, read and written.
  void zero_gradients() override { zeros_pending_ = true; }

  double gradient_norm() override {
    enter();
    materialize_zeros();
    return optimizer_.norm(gradients_.data());
  }

  void optimizer_step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
                      double norm, std::int64_t update) override {
    enter();
    materialize_zeros();
    optimizer_.step(options, learning_rate, gradient_factor, norm, update, gradients_.data(),
                    weights_.data(), first_.data(), second_.data());
  }

  std::span<float> first_moments() override { return whole(first_); }
  std::span<float> second_moments() override { return whole(second_); }

  [[nodiscard]] std::string description() const override {
    return "cpu, oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + "." +
           std::to_string(DNNL_VERSION_MINOR) + "." + std::to_string(DNNL_VERSION_PATCH) + ", " +
           kernels().name + " kernels, " + std::to_string(options_.threads) +
           (options_.threads == 1 ? " thread" : " threads");
  }

  [[nodiscard]] std::int64_t peak_bytes() const override {
    // After a step every page has been touched, so the system's figure is the whole truth.
    const std::int64_t measured = stepped_ ? resident_peak_bytes() : 0;
    return measured > 0 ? measured : planned_bytes();
  }

 private:
  static std::span<float> whole(Buffer& buffer) {
    return {buffer.data(), static_cast<std::size_t>(buffer.size())};
  }
  [[nodiscard]] std::int64_t planned_bytes() const {
    return 16 * layout_.total + activations_->bytes() + kUnplanned;
  }
  [[nodiscard]] std::unique_ptr<Activations<float>> make_activations(std::int64_t masked) const {
    return std::make_unique<Activations<float>>(options_, activation_sizes(options_), masked);
  }
  void make_arena() {
    arena_ = Buffer(activations_->bytes() / 4);
    activations_->bind(arena_.data());
  }
  /// oneDNN takes its number of threads from the calling thread's OpenMP setting.
  void enter() const { omp_set_num_threads(options_.threads); }

  void materialize_zeros() {
    if (!zeros_pending_) return;
    fill_zero({gradients_.data(), static_cast<std::size_t>(gradients_.size())});
    zeros_pending_ = false;
  }
  void fill_zero(std::span<float> values) const {
    constexpr std::size_t kPart = 1 << 18;
    const std::size_t parts = (values.size() + kPart - 1) / kPart;
#pragma omp parallel for num_threads(options_.threads) schedule(static)
    for (std::size_t part = 0; part < parts; ++part) {
      const auto own = values.subspan(part * kPart, std::min(kPart, values.size() - part * kPart));
      std::fill(own.begin(), own.end(), 0.0F);
    }
  }
  void clear_summed_gradients();
  void ensure_masked_capacity(std::int64_t masked);

  BackendOptions options_;
  ParameterLayout layout_;
  Gemm gemm_;
  Optimizer optimizer_;
  std::int64_t masked_capacity_;
  std::unique_ptr<Activations<float>> activations_;  // holds pointers to itself, so it cannot move
  Buffer weights_, gradients_, first_, second_, arena_;
  bool zeros_pending_ = false;
  bool stepped_ = false;
};

/// Zeroes what backward adds to; the products write their matrices whole.
void CpuBackend::clear_summed_gradients() {
  const auto is_product = [&](const Parameter& parameter) {
    return parameter.decay && parameter.offset != layout_.position_embeddings &&
           parameter.offset != layout_.segment_embeddings &&
           parameter.offset != layout_.next_sentence.weight;
  };
  for (const Parameter& parameter : layout_.parameters) {
    if (is_product(parameter)) continue;
    std::fill_n(gradients_.data() + parameter.offset, parameter.size, 0.0F);
  }
}

void CpuBackend::ensure_masked_capacity(std::int64_t masked) {
  if (masked <= masked_capacity_) return;
  auto larger = make_activations(masked);
  require_memory(larger->bytes(),
                 "a batch of " + std::to_string(masked) + " masked positions per sequence");
  masked_capacity_ = masked;
  activations_ = std::move(larger);
  make_arena();
}

Loss CpuBackend::forward_backward(const Batch& batch, double gradient_scale, bool training,
                                  std::int64_t optimizer_step, const GradientReady& ready) {
  enter();
  check_batch(batch, options_);
  ensure_masked_capacity(batch.masked_per_sequence);
  CpuStep step{{options_.model, layout_, kernels(), gemm_, options_.threads},
               options_,
               *activations_,
               batch,
               gradient_scale};
  step.weights = weights_.data();
  step.gradients = gradients_.data();
  step.partials = activations_->partials;
  step.partials_width = partials_width(options_.model);
  step.scratch = activations_->thread_scratch;
  step.scratch_size = thread_scratch_size(options_);
  step.shape = {batch.sequences, batch.sequence_length, batch.masked_per_sequence};
  step.training = training;
  step.accumulate = !zeros_pending_;
  step.seed = options_.seed;
  step.optimizer_step = optimizer_step;
  step.first_sequence = batch.first_sequence;
  if (zeros_pending_) clear_summed_gradients();
  zeros_pending_ = false;

  bert::forward(step);
  heads(step, false);
  backward(step, [&](std::int64_t offset, std::int64_t size) {
    if (ready) ready(offset, size);
  });
  stepped_ = true;
  const bool next_word = options_.model.objective == Objective::next_word;
  const std::int64_t words = next_word ? step.rows() : step.masked_rows();
  Loss loss;
  if (words > 0) loss.masked_lm = step.word_losses / static_cast<double>(words);
  loss.next_sentence = step.sentence_losses / static_cast<double>(batch.sequences);
  return loss;
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace bert
