#include "workloads/bert/cpu/cpu_backend.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_version.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "workloads/bert/cpu/activations.h"
#include "workloads/bert/cpu/optimizer.h"
#include "workloads/bert/model/checks.h"
#include "workloads/bert/model/initialize.h"

namespace bert {
namespace {

/// Allowance for what is not planned here: oneDNN's packed copies inside a product, the libraries.
/// It only guards the start; peak_bytes() tells what a run really took.
constexpr std::int64_t kUnplanned = 64LL << 20;

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const BackendOptions& options)
      : options_((check_options(options), options)),
        layout_(options.model),
        optimizer_(layout_.parameters, kernels(), options.threads),
        masked_capacity_(options.model.predicted_positions(options.sequence_length)),
        activations_(std::make_unique<Activations>(options_, masked_capacity_)) {
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
    arena_ = Buffer(activations_->elements());
    activations_->bind(arena_.data());
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
    return 4 * (4 * layout_.total + activations_->elements()) + kUnplanned;
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
  std::unique_ptr<Activations> activations_;  // holds pointers to itself, so it cannot move
  Buffer weights_, gradients_, first_, second_, arena_;
  bool zeros_pending_ = false;
  bool stepped_ = false;
};

/// Zeroes what backward adds to; the products write their matrices whole.
void CpuBackend::clear_summed_gradients() {
  const auto is_product = [&](const Parameter& parameter) {
    return parameter.decay && parameter.offset != layout_.position_embeddings &&
           parameter.offset != layout_.segment_embeddings &&
           parameter.offset != layout_.next_sentence_weight;
  };
  for (const Parameter& parameter : layout_.parameters) {
    if (is_product(parameter)) continue;
    std::fill_n(gradients_.data() + parameter.offset, parameter.size, 0.0F);
  }
}

void CpuBackend::ensure_masked_capacity(std::int64_t masked) {
  if (masked <= masked_capacity_) return;
  auto larger = std::make_unique<Activations>(options_, masked);
  require_memory(4 * larger->elements(),
                 "a batch of " + std::to_string(masked) + " masked positions per sequence");
  arena_ = Buffer(larger->elements());
  activations_ = std::move(larger);
  activations_->bind(arena_.data());
  masked_capacity_ = masked;
}

Loss CpuBackend::forward_backward(const Batch& batch, double gradient_scale, bool training,
                                  std::int64_t optimizer_step, const GradientReady& ready) {
  enter();
  check_batch(batch, options_);
  ensure_masked_capacity(batch.masked_per_sequence);
  Context context{options_.model, layout_, kernels(), gemm_, options_.threads};
  context.weights = weights_.data();
  context.gradients = gradients_.data();
  context.partials = activations_->partials;
  context.partials_width = activations_->partials_width;
  context.scratch = activations_->thread_scratch;
  context.scratch_size = activations_->thread_scratch_size;
  context.shape = {batch.sequences, batch.sequence_length, batch.masked_per_sequence};
  context.training = training;
  context.accumulate = !zeros_pending_;
  context.seed = options_.seed;
  context.optimizer_step = optimizer_step;
  context.first_sequence = batch.first_sequence;
  if (zeros_pending_) clear_summed_gradients();
  zeros_pending_ = false;

  auto& layers = activations_->layers;
  const std::size_t count = layers.size();
  const std::int32_t* lengths = batch.lengths.data();
  const auto output_of = [&](std::size_t i) {
    return i + 1 < count ? layers[i + 1].input : activations_->hidden;
  };
  embeddings_forward(context, batch, activations_->embedding, layers[0].input);
  for (std::size_t i = 0; i < count; ++i) {
    layer_forward(context, static_cast<std::int64_t>(i), lengths, layers[i], output_of(i));
  }

  const GradientFlow& d = activations_->d;
  const Loss loss = heads_step(context, batch, gradient_scale, activations_->heads,
                               activations_->hidden, d.output);
  if (context.stream_of_sums()) {  // which ends with the LayerNorm before the head
    fill_zero({d.sum, static_cast<std::size_t>(context.shape.tokens() * options_.model.hidden)});
  }
  if (ready && layout_.heads < layout_.total) ready(layout_.heads, layout_.total - layout_.heads);
  for (std::size_t i = count; i-- > 0;) {
    const auto index = static_cast<std::int64_t>(i);
    // Checkpointing: all layers share one set of activations, and the last layer's are still there.
    if (options_.activation_checkpointing && i + 1 < count) {
      if (context.stream_of_sums()) layer_input_again(context, index, layers[i]);
      layer_forward(context, index, lengths, layers[i], output_of(i));
    }
    layer_backward(context, index, lengths, layers[i], activations_->scratch, d);
    const LayerOffsets& at = layout_.layers[i];
    if (ready) ready(at.begin, at.end - at.begin);
  }
  embeddings_backward(context, batch, activations_->embedding, d);
  if (ready) ready(0, layout_.layers.front().begin);
  stepped_ = true;
  return loss;
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace bert
