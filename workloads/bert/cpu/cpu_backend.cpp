#include "workloads/bert/cpu/cpu_backend.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/module.h"
#include "workloads/bert/cpu/attention.h"
#include "workloads/bert/cpu/bf16_decoder.h"
#include "workloads/bert/cpu/bf16_linears.h"
#include "workloads/bert/cpu/optimizer.h"
#include "workloads/bert/cpu/step.h"
#include "workloads/bert/model/checks.h"
#include "workloads/bert/model/initialize.h"
#include "workloads/bert/model/loss_scaler.h"

namespace bert {
namespace {

/// Allowance for what is not planned here: oneDNN's packed copies inside a product, the libraries.
/// It only guards the start; peak_bytes() reports what a run really took.
constexpr std::int64_t kUnplanned = 64LL << 20;

/// Of predicted_peak_bytes(), bytes as they were measured: the code that oneDNN makes, and in fp32
/// the copies of operands that its products pack, which go with the largest matrix of a layer.
std::int64_t library_bytes(const ModelConfig& model, CpuPrecision precision) {
  if (precision == CpuPrecision::bf16) return 11LL << 19;
  return (35LL << 18) + 6 * model.hidden * model.intermediate;
}

/// Rows of logits that a next_word head has at a time, where BackendOptions::logit_rows leaves it
/// to the backend.
constexpr std::int64_t kLogitRows = 1024;

/// The same, and of masked words, in a training in bf16, where only an evaluation has whole rows.
constexpr std::int64_t kEvaluatedLogitRows = 32;

std::int64_t partials_width(const ModelConfig& model) {
  return std::max(model.intermediate, 3 * model.hidden);
}

std::int64_t thread_scratch_size(const BackendOptions& options) {
  const std::int64_t wanted =
      std::max(2 * options.model.hidden + 256, attention_scratch(options.sequence_length));
  return (wanted + 31) / 16 * 16;
}

/// Only what a layer begins with is kept for backward, or nothing at all.
bool shares_layer_memory(const BackendOptions& options) {
  return options.activation_checkpointing || options.inference;
}

/// In bytes; thread_scratch_size() and attention_scratch() count floats.
ActivationSizes activation_sizes(const BackendOptions& options, CpuPrecision precision) {
  const ModelConfig& model = options.model;
  const std::int64_t tokens = options.micro_batch_size * options.sequence_length;
  ActivationSizes sizes;
  sizes.softmax = 4 * tokens * model.heads * options.sequence_length;  // all probabilities
  sizes.attention_scratch = 4 * options.micro_batch_size * 3 * model.hidden;
  sizes.partials = 4 * kRowBlocks * partials_width(model);
  sizes.thread_scratch = 4 * options.threads * thread_scratch_size(options);
  sizes.logit_columns = model.vocabulary;
  sizes.logit_rows = kLogitRows;
  if (precision == CpuPrecision::bf16) {
    const std::int64_t inputs = shares_layer_memory(options) ? 2 : 3;  // see keep_inputs()
    sizes.operands = static_cast<std::int64_t>(sizeof(Bf16)) * inputs * tokens * model.hidden;
    sizes.activated_element = sizeof(Bf16);
    if (!options.inference) sizes.logit_rows = sizes.masked_logit_rows = kEvaluatedLogitRows;
  }
  return sizes;
}

Bf16Linears::Room operand_room(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const std::int64_t rows =
      options.micro_batch_size * std::max(options.sequence_length, masked_per_sequence);
  Bf16Linears::Room room;
  room.input = rows * model.intermediate;
  if (!options.inference) room.gradient = rows * partials_width(model);
  return room;
}

/// Without rows where no decoder is trained.
Bf16Decoder::Size decoder_size(const BackendOptions& options, std::int64_t masked_per_sequence) {
  const ModelConfig& model = options.model;
  const bool next_word = model.objective == Objective::next_word;
  const std::int64_t rows =
      options.micro_batch_size * (next_word ? options.sequence_length : masked_per_sequence);
  if (options.inference || rows == 0) return {};
  const std::int64_t most = options.logit_rows > 0 ? std::min(options.logit_rows, rows) : rows;
  return {Bf16Decoder::rows_at_a_time(most), model.hidden, model.vocabulary};
}

/// Most rows whose losses are summed at a time.
std::int64_t loss_rows(const BackendOptions& options) {
  const std::int64_t masked =
      options.micro_batch_size * options.model.predicted_positions(options.sequence_length);
  const bool next_word = options.model.objective == Objective::next_word;
  return next_word ? std::max(options.logit_rows, kLogitRows) : masked;
}

void check_unpadded(const Batch& batch) {
  for (const std::int32_t place : batch.masked) {
    const std::int64_t sequence = place / batch.sequence_length;
    if (place % batch.sequence_length < batch.lengths[static_cast<std::size_t>(sequence)]) continue;
    throw std::invalid_argument(
        "batch: a masked position is padding, which --unpadded does not compute");
  }
}

/// Elements of the largest operand of an attention head's product.
std::int64_t head_operand(const BackendOptions& options) {
  return options.sequence_length * std::max(options.sequence_length, options.model.head_size());
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const BackendOptions& options, CpuPrecision precision)
      : options_((check_options(options), options)),
        precision_(precision),
        layout_(options.model),
        scaler_(options.loss_scale, precision == CpuPrecision::fp16),
        shares_(options.zero_stage != 0 && !options.inference ? options.world_size : 1),
        optimizer_(layout_.parameters, kernels(), options.threads, shares_ > 1 ? options.rank : 0,
                   shares_),
        scratch_(options.micro_batch_size, options.sequence_length, loss_rows(options),
                 options.model.hidden),
        masked_capacity_(options.model.predicted_positions(options.sequence_length)),
        activations_(make_activations(masked_capacity_)) {
    if (precision == CpuPrecision::bf16 && !Bf16Products::is_native()) {
      throw NoDevice(
          "--precision bf16: this processor multiplies no bf16 (AVX-512 BF16 or AMX does): take "
          "--precision fp32");
    }
    const std::int64_t wanted = planned_bytes();
    require_memory(wanted,
                   options.model.name + " at micro-batch " +
                       std::to_string(options.micro_batch_size) + " and sequence length " +
                       std::to_string(options.sequence_length),
                   options.memory_limit_bytes);
    resident_before_ = resident_bytes();
    omp_set_num_threads(options.threads);
    weights_ = Buffer(layout_.total);
    if (!options.inference) {
      gradients_ = Buffer(layout_.total);
      first_ = Buffer(share().size);
      second_ = Buffer(share().size);
    }
    make_arena();
    if (precision == CpuPrecision::fp16) fp16_weights_ = Buffer(layout_.total);
    if (precision == CpuPrecision::bf16) {
      bf16_.emplace(kernels(), options.threads, layout_.total, head_operand(options));
      reserve_operands();
    }
    initialize_weights(layout_, options_.seed, options_.threads, weights_.data());
  }

  [[nodiscard]] std::span<const Parameter> parameters() const override {
    return layout_.parameters;
  }

  Loss forward_backward(const Batch& batch, double gradient_scale, bool training,
                        std::int64_t optimizer_step, const GradientReady& ready) override;

  Loss forward(const Batch& batch) override;
  std::vector<Prediction> predict(const Batch& batch) override;

  void write_state(StateArray array, std::int64_t offset, std::span<const float> in) override {
    if (options_.inference && array != StateArray::weights) return;
    if (!is_shared(array)) return Backend::write_state(array, offset, in);
    const auto [begin, size] = overlap(share(), offset, in.size());
    const auto from = in.subspan(static_cast<std::size_t>(begin - offset), size);
    std::ranges::copy(from, moments(array).data() + (begin - share().begin));
  }
  /// Of moments that ranks share: each sends its part to the others.
  void read_state(StateArray array, std::int64_t offset, std::span<float> out) override {
    if (!is_shared(array)) return Backend::read_state(array, offset, out);
    for (int rank = 0; rank < shares_; ++rank) {
      const auto [begin, size] = overlap(optimizer_.share(rank), offset, out.size());
      if (size == 0) continue;
      const auto part = out.subspan(static_cast<std::size_t>(begin - offset), size);
      if (rank == options_.rank) {
        std::copy_n(moments(array).data() + (begin - share().begin), size, part.begin());
      }
      communicator().broadcast(part, rank);
    }
  }
  /// Gradients lie in host memory, where the trainer sums them.
  bool reduce_with(Communicator& communicator, const ReductionOptions& options) override {
    if (options.zero_stage != 0) communicator_ = &communicator;
    return false;
  }

  std::span<float> weights() override {
    weights_changed_ = true;
    return whole(weights_);
  }
  std::span<float> gradients() override {
    materialize_zeros();
    return whole(gradients_);
  }
  /// The zeros are written by the next forward_backward, together with the first sums: most of the
  /// buffer is then written once instead of cleared, read and written.
  void zero_gradients() override {
    zeros_pending_ = true;
    parts_ = {.forward = 0, .backward = 0};
  }
  [[nodiscard]] PartSeconds part_seconds() override { return parts_; }

  double gradient_norm() override {
    enter();
    materialize_zeros();
    return optimizer_.norm(gradients_.data()) / scaler_.scale();
  }

  void optimizer_step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
                      double norm, std::int64_t update) override {
    enter();
    materialize_zeros();
    const double scale = scaler_.scale();
    const bool rounds = bf16_ && shares_ == 1;  // else other ranks send the rest
    optimizer_.step(
        options, learning_rate, gradient_factor / scale, norm * scale, update, gradients_.data(),
        weights_.data(), first_.data(), second_.data(), rounds ? bf16_->weights() : nullptr,
        [&](std::span<double> sums) { exchange([&] { communicator().all_reduce_sum(sums); }); });
    weights_changed_ = !rounds;
    gather_weights();
  }

  UpdateResult update(const UpdateRequest& request) override;
  [[nodiscard]] ScalarState scalar_state() override { return scaler_.state(); }
  void set_scalar_state(const ScalarState& state) override { scaler_.restore(state); }

  /// Where ranks share them, those of this rank's share.
  std::span<float> first_moments() override { return whole(first_); }
  std::span<float> second_moments() override { return whole(second_); }

  [[nodiscard]] std::string description() const override {
    return "cpu, oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + "." +
           std::to_string(DNNL_VERSION_MINOR) + "." + std::to_string(DNNL_VERSION_PATCH) + ", " +
           kernels().name + " kernels, " + std::to_string(options_.threads) +
           (options_.threads == 1 ? " thread" : " threads");
  }
  [[nodiscard]] std::vector<std::string> settings() const override {
    if (precision_ != CpuPrecision::fp16) return {};
    return {"fp16 emulated by fp32: its values and overflows are real, its times are not"};
  }

  [[nodiscard]] std::string emulated_by() const override {
    return precision_ == CpuPrecision::fp16 ? "fp32" : "";
  }

  /// What the process had before, the plan, and what oneDNN keeps: it met the measured peaks of
  /// bert-tiny to bert-base within 3 % (docs/cpu.md).
  [[nodiscard]] std::int64_t predicted_peak_bytes() const override {
    if (resident_before_ == 0) return 0;
    return resident_before_ + planned_bytes() - kUnplanned +
           library_bytes(options_.model, precision_);
  }
  [[nodiscard]] std::int64_t measured_peak_bytes() const override {
    return stepped_ ? resident_peak_bytes() : 0;
  }
  [[nodiscard]] std::int64_t peak_bytes() const override {
    // After a step every page has been touched, so the system's figure is the whole truth.
    const std::int64_t measured = measured_peak_bytes();
    return measured > 0 ? measured : planned_bytes();
  }

 private:
  static std::span<float> whole(Buffer& buffer) {
    return {buffer.data(), static_cast<std::size_t>(buffer.size())};
  }
  [[nodiscard]] std::int64_t planned_bytes() const {
    const std::int64_t state =
        options_.inference ? 4 * layout_.total : 8 * layout_.total + 8 * share().size;
    return state + activations_->bytes() + precision_bytes() + kUnplanned;
  }
  [[nodiscard]] Optimizer::Share share() const { return optimizer_.share(); }
  [[nodiscard]] bool is_shared(StateArray array) const {
    return shares_ > 1 &&
           (array == StateArray::first_moments || array == StateArray::second_moments);
  }
  Buffer& moments(StateArray array) {
    return array == StateArray::first_moments ? first_ : second_;
  }
  /// Elements that both have: where they begin, and how many.
  static std::pair<std::int64_t, std::size_t> overlap(const Optimizer::Share& share,
                                                      std::int64_t offset, std::size_t size) {
    const std::int64_t begin = std::max(share.begin, offset);
    const std::int64_t end =
        std::min(share.begin + share.size, offset + static_cast<std::int64_t>(size));
    if (end <= begin) return {offset, 0};
    return {begin, static_cast<std::size_t>(end - begin)};
  }
  [[nodiscard]] Communicator& communicator() const {
    if (communicator_ == nullptr) throw std::logic_error("--zero 1: before reduce_with()");
    return *communicator_;
  }
  /// Work with other ranks, whose time counts as waiting and not as the optimizer's.
  void exchange(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    exchange_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  /// What each rank has updated, to all.
  void gather_weights() {
    if (shares_ == 1) return;
    exchange([&] {
      for (int rank = 0; rank < shares_; ++rank) {
        const auto own = optimizer_.share(rank);
        communicator().broadcast({weights_.data() + own.begin, static_cast<std::size_t>(own.size)},
                                 rank);
      }
    });
  }
  /// What other precisions than fp32 take in addition.
  [[nodiscard]] std::int64_t precision_bytes() const {
    if (precision_ == CpuPrecision::fp16) return 4 * layout_.total;
    if (precision_ != CpuPrecision::bf16) return 0;
    return Bf16Linears::bytes(options_.threads, layout_.total, head_operand(options_),
                              operand_room(options_, masked_capacity_)) +
           Bf16Decoder::bytes(options_.threads, decoder_size(options_, masked_capacity_));
  }
  void reserve_operands() {
    if (!bf16_) return;
    bf16_->reserve(operand_room(options_, masked_capacity_));
    decoder_.reset();
    const auto size = decoder_size(options_, masked_capacity_);
    if (size.rows > 0) decoder_.emplace(kernels(), options_.threads, size);
    keep_inputs();
  }
  /// What products read in forward and again in backward stays as bf16 numbers.
  void keep_inputs();
  /// The copy of the weights that a step computes with, once after each change of theirs.
  void take_weights();
  [[nodiscard]] std::unique_ptr<Activations<float>> make_activations(std::int64_t masked) const {
    BackendOptions planned = options_;
    planned.activation_checkpointing = shares_layer_memory(options_);
    return std::make_unique<Activations<float>>(planned, activation_sizes(planned, precision_),
                                                masked);
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
  CpuStep make_step(const Batch& batch);
  Loss loss_of(const CpuStep& step);
  void clear_summed_gradients();
  void ensure_masked_capacity(std::int64_t masked);

  BackendOptions options_;
  CpuPrecision precision_;
  ParameterLayout layout_;
  LossScaler scaler_;
  int shares_;  ///< ranks that share the moments among them (ZeRO-1)
  Communicator* communicator_ = nullptr;
  std::int64_t resident_before_ = 0;  ///< bytes, before anything was asked for; 0: unknown
  double exchange_s_ = 0;             ///< of the last update, with other ranks
  Gemm gemm_;
  std::optional<Bf16Linears> bf16_;
  std::optional<Bf16Decoder> decoder_;
  Optimizer optimizer_;
  StepScratch scratch_;
  std::int64_t masked_capacity_;
  std::unique_ptr<Activations<float>> activations_;  // holds pointers to itself, so it cannot move
  Buffer weights_, gradients_, first_, second_, arena_;
  Buffer fp16_weights_;
  bool weights_changed_ = true;  ///< since take_weights()
  bool zeros_pending_ = false;
  PartSeconds parts_;  ///< since zero_gradients()
  bool stepped_ = false;
};

void CpuBackend::keep_inputs() {
  bf16_->forget_inputs();
  const std::int64_t narrow = activations_->tokens() * options_.model.hidden;
  const bool shared = shares_layer_memory(options_);
  for (const auto& layer : activations_->layers) {
    auto* const operands = reinterpret_cast<Bf16*>(layer.operands);
    bf16_->keep_input(layer.activated, reinterpret_cast<Bf16*>(layer.activated));
    bf16_->keep_input(layer.attention, operands);
    bf16_->keep_input(layer.middle, operands + narrow);
    // A layer that is computed again writes the next one's input before its own is needed last.
    if (shared) return;
    bf16_->keep_input(layer.input, operands + 2 * narrow);
  }
}

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
  reserve_operands();
}

void CpuBackend::take_weights() {
  if (!weights_changed_) return;
  weights_changed_ = false;
  if (bf16_) bf16_->take_weights(weights_.data());
  if (precision_ != CpuPrecision::fp16) return;
  constexpr std::int64_t kPart = 1 << 16;
#pragma omp parallel for num_threads(options_.threads) schedule(static)
  for (std::int64_t begin = 0; begin < layout_.total; begin += kPart) {
    kernels().round_to_fp16(std::min(kPart, layout_.total - begin), weights_.data() + begin,
                            fp16_weights_.data() + begin);
  }
}

UpdateResult CpuBackend::update(const UpdateRequest& request) {
  UpdateResult result;
  exchange_s_ = 0;
  result.loss_scale = scaler_.on() ? scaler_.scale() : 0;
  result.gradient_norm = gradient_norm();
  result.skipped = scaler_.on() && !std::isfinite(result.gradient_norm);
  if (!result.skipped) {
    optimizer_step(request.optimizer, request.learning_rate,
                   clipping_factor(request.gradient_clipping, result.gradient_norm),
                   result.gradient_norm, request.update);
  }
  scaler_.step(!result.skipped);
  if (shares_ > 1) result.communication_s = result.exposed_communication_s = exchange_s_;
  return result;
}

CpuStep CpuBackend::make_step(const Batch& batch) {
  enter();
  check_batch(batch, options_);
  if (options_.unpadded) check_unpadded(batch);
  ensure_masked_capacity(batch.masked_per_sequence);
  take_weights();
  CpuStep step{{options_.model, layout_, kernels(), gemm_, options_.threads},
               options_,
               *activations_,
               batch};
  scratch_.lay_out(batch, options_.unpadded);
  step.kept = &scratch_;
  step.unpadded = options_.unpadded;
  step.bf16 = bf16_ ? &*bf16_ : nullptr;
  step.decoder = decoder_ ? &*decoder_ : nullptr;
  step.fp16 = precision_ == CpuPrecision::fp16;
  step.weights = step.fp16 ? fp16_weights_.data() : weights_.data();
  step.partials = activations_->partials;
  step.partials_width = partials_width(options_.model);
  step.scratch = activations_->thread_scratch;
  step.scratch_size = thread_scratch_size(options_);
  step.shape = {batch.sequences, batch.sequence_length, batch.masked_per_sequence};
  step.seed = options_.seed;
  step.first_sequence = batch.first_sequence;
  return step;
}

/// Of a step that is done.
Loss CpuBackend::loss_of(const CpuStep& step) {
  stepped_ = true;
  const bool next_word = options_.model.objective == Objective::next_word;
  const std::int64_t words = next_word ? step.rows() : step.labelled();
  Loss loss;
  if (words > 0) loss.masked_lm = step.word_losses / static_cast<double>(words);
  loss.next_sentence = step.sentence_losses / static_cast<double>(step.shape.sequences);
  return loss;
}

Loss CpuBackend::forward_backward(const Batch& batch, double gradient_scale, bool training,
                                  std::int64_t optimizer_step, const GradientReady& ready) {
  if (options_.inference) throw std::invalid_argument("inference was asked for: no gradients");
  // No product writes the gradients of the heads that spans do without.
  if (options_.model.objective == Objective::spans) materialize_zeros();
  CpuStep step = make_step(batch);
  step.gradient_scale = gradient_scale * scaler_.scale();
  step.gradients = gradients_.data();
  step.training = training;
  step.accumulate = !zeros_pending_;
  step.optimizer_step = optimizer_step;
  if (zeros_pending_) clear_summed_gradients();
  zeros_pending_ = false;

  const auto begin = std::chrono::steady_clock::now();
  bert::forward(step);
  heads(step, false);
  backward(step, [&](std::int64_t offset, std::int64_t size) {
    if (ready) ready(offset, size);
  });
  const auto end = std::chrono::steady_clock::now();
  parts_.forward += std::chrono::duration<double>(step.forward_done - begin).count();
  parts_.backward += std::chrono::duration<double>(end - step.forward_done).count();
  return loss_of(step);
}

Loss CpuBackend::forward(const Batch& batch) {
  CpuStep step = make_step(batch);
  bert::forward(step);
  heads(step, true);
  return loss_of(step);
}

/// The likeliest span of a sequence that begins and ends in its second segment, before the [SEP].
Prediction best_span(const Batch& batch, std::int64_t sequence, const double* logits) {
  constexpr std::int64_t kLongestAnswer = 30;  // tokens; max_answer_length of BERT's run_squad.py
  const std::int64_t end = batch.lengths[static_cast<std::size_t>(sequence)] - 1;
  const std::int32_t* segments = batch.segments.data() + sequence * batch.sequence_length;
  Prediction best;
  double most = -HUGE_VAL;
  for (std::int64_t first = 0; first < end; ++first) {
    if (segments[first] != 1) continue;
    for (std::int64_t last = first; last < std::min(end, first + kLongestAnswer); ++last) {
      const double sum = logits[2 * first] + logits[2 * last + 1];
      if (!(sum > most)) continue;
      most = sum;
      best = {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
    }
  }
  return best;
}

std::vector<Prediction> CpuBackend::predict(const Batch& batch) {
  const bool spans = options_.model.objective == Objective::spans;
  if (!spans && options_.model.objective != Objective::classes) {
    throw std::invalid_argument("this model predicts words: it has no answers");
  }
  CpuStep step = make_step(batch);
  bert::forward(step);
  heads(step, true);
  const double* logits = scratch_.answer_logits.data();
  std::vector<Prediction> predictions;
  for (std::int64_t b = 0; b < batch.sequences; ++b) {
    if (spans) {
      predictions.push_back(best_span(batch, b, logits + 2 * b * batch.sequence_length));
    } else {
      predictions.push_back({logits[2 * b + 1] > logits[2 * b] ? 1 : 0, 0});
    }
  }
  return predictions;
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options, CpuPrecision precision) {
  return std::make_unique<CpuBackend>(options, precision);
}

}  // namespace bert
