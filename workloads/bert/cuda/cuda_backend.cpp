#include "workloads/bert/cuda/cuda_backend.h"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "workloads/bert/core/communicator.h"
#include "workloads/bert/cuda/batch_upload.h"
#include "workloads/bert/cuda/products/fp8_linears.h"
#include "workloads/bert/cuda/reduction.h"
#include "workloads/bert/cuda/step.h"
#include "workloads/bert/cuda/step_graphs.h"
#include "workloads/bert/cuda/training_state.h"
#include "workloads/bert/model/checks.h"
#include "workloads/bert/model/initialize.h"
#include "workloads/bert/model/loss_scaler.h"

namespace bert::cuda {
namespace {

constexpr std::int64_t kLossSlots = 256;  ///< micro-steps after which the host reads the losses

/// Sequences of a micro-batch up to which `--cuda-graph auto` takes graphs. A step of bert-large at
/// 16 x 128 takes an H200 12.6 ms, and the host about 3 ms to queue: more sequences hide it anyway.
constexpr std::int64_t kLargestGraphedBatch = 16;

/// Why micro-steps cannot come as graphs; empty: they can.
std::string obstacle_to_graphs(const BackendOptions& options) {
  if (options.inference) return "--inference has no training step";
  if (options.unpadded) return "--unpadded gives each batch other shapes";
  if (waits_for_each_call()) return "BERT_CUDA_SYNC=1 waits after each call";
  return {};
}

/// Of activations and of the weights that products read.
DType type_of(const std::string& precision) {
  if (precision == "fp32" || precision == "tf32") return DType::f32;
  if (precision == "bf16" || precision == "fp8") return DType::bf16;
  if (precision == "fp16") return DType::f16;
  throw std::invalid_argument("--precision " + precision +
                              ": the cuda backend computes in fp32, tf32, bf16, fp16 and fp8");
}

/// Throws std::invalid_argument, with the remedy, for what the backend cannot do.
void check_request(const BackendRequest& request) {
  const BackendOptions& options = request.options;
  check_options(options);
  if (options.model.objective == Objective::next_word && options.unpadded) {
    throw std::invalid_argument("model " + options.model.name +
                                ": --unpadded has no use where all sequences are full");
  }
  if (options.model.hidden > kWidestNorm) {
    throw std::invalid_argument("model " + options.model.name +
                                ": the cuda backend takes hidden sizes up to " +
                                std::to_string(kWidestNorm));
  }
  if (options.micro_batch_size > kMostSequences) {
    throw std::invalid_argument("the cuda backend takes micro-batches of up to " +
                                std::to_string(kMostSequences) +
                                " sequences; more by --gradient-accumulation-steps");
  }
  const bool whole_h = options.model.hidden % 8 == 0;
  const bool whole_i = options.model.intermediate % 8 == 0;
  if (whole_h != whole_i || (!whole_h && type_of(request.precision) != DType::f32)) {
    // Vector loads and tensor cores want every row and every tensor at a multiple of 8 elements.
    throw std::invalid_argument("model " + options.model.name +
                                ": the cuda backend takes hidden and intermediate sizes that are "
                                "multiples of 8 (in fp32 and tf32 also both not)");
  }
  if (const std::string obstacle = obstacle_to_graphs(options);
      options.cuda_graph == CudaGraphs::on && !obstacle.empty()) {
    throw std::invalid_argument("--cuda-graph on: " + obstacle + ": leave one of them out");
  }
  if (options.attention == AttentionBy::cudnn && type_of(request.precision) == DType::f32) {
    throw std::invalid_argument("--attention cudnn takes --precision bf16, fp16 or fp8");
  }
  if (request.precision == "fp8" &&
      (options.model.hidden % 16 != 0 || options.model.intermediate % 16 != 0)) {
    throw std::invalid_argument("model " + options.model.name +
                                ": --precision fp8 takes hidden and intermediate sizes that are "
                                "multiples of 16");
  }
}

DeviceFacts device_for(const BackendRequest& request) {
  DeviceFacts facts = open_device(request.local_rank);
  if (request.precision == "fp8" && 10 * facts.major + facts.minor < 89) {
    throw std::invalid_argument("--precision fp8: " + facts.name +
                                " has no products of 8-bit numbers (compute capability " +
                                std::to_string(facts.major) + "." + std::to_string(facts.minor) +
                                ", 8.9 or later has them); use bf16");
  }
  return facts;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const BackendRequest& request, bool plain_attention)
      : options_((check_request(request), request.options)),
        precision_(request.precision),
        type_(type_of(request.precision)),
        plain_attention_(plain_attention),
        layout_(options_.model),
        facts_(device_for(request)),
        matmul_(
            make_matmul({precision_ == "tf32", options_.deterministic, options_.matmul_epilogues,
                         options_.algorithm_cache, facts_.name, facts_.l2_bytes})),
        masked_capacity_(options_.model.predicted_positions(options_.sequence_length)),
        scaler_(options_.loss_scale, type_ == DType::f16 && !options_.inference),
        shares_(options_.zero_stage != 0 && !options_.inference ? options_.world_size : 1) {
    graphed_ = options_.cuda_graph != CudaGraphs::off && obstacle_to_graphs(options_).empty() &&
               (options_.cuda_graph == CudaGraphs::on ||
                options_.micro_batch_size <= kLargestGraphedBatch);
    if (options_.attention == AttentionBy::cudnn) {
      attention_library_ = make_library_attention(options_, type_, facts_);
    }
    planned_ = TrainingState::bytes(layout_, type_, options_.inference, shares_) + arena_bytes() +
               BatchUpload::bytes(options_, masked_capacity_) + matmul_->workspace_bytes() +
               (in_fp8() ? Fp8Linears::bytes(layout_) : 0) +
               (attention_library_ ? attention_library_->bytes() : 0);
    require_device_memory();
    state_.emplace(layout_, type_, options_.inference, shares_);
    if (in_fp8()) fp8_.emplace(layout_, options_.model.hidden, has_tensor_core_attention());
    upload_.emplace(options_, masked_capacity_, graphed_);
    if (graphed_) {
      step_values_ = Memory(Memory::Place::device, sizeof(StepValues));
      graph_losses_ = Memory(Memory::Place::device, 16);
    }
    losses_ = Memory(Memory::Place::device, kLossSlots * 16);
    losses_on_host_ = Memory(Memory::Place::host, kLossSlots * 16);
    make_arena();
    std::vector<float> initial(static_cast<std::size_t>(layout_.total));
    initialize_weights(layout_, options_.seed, options_.threads, initial.data());
    state_->write(StateArray::weights, 0, initial, stream());
    synchronize(stream());
    Step step{options_, layout_, *activations_, *matmul_};
    point_to_state(step);
    epilogues_ = step.epilogue_settings();
  }

  ~CudaBackend() override {
    try {
      synchronize(stream());
    } catch (const std::exception&) {  // a broken device has been reported already
    }
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  [[nodiscard]] std::span<const Parameter> parameters() const override {
    return layout_.parameters;
  }

  Loss forward_backward(const Batch& batch, double gradient_scale, bool training,
                        std::int64_t optimizer_step, const GradientReady& ready) override;
  Loss forward(const Batch& batch) override;
  void prefetch(const Batch& batch) override {
    check_batch(batch, options_);
    if (batch.masked_per_sequence <= masked_capacity_) upload_->prefetch(batch, options_.model);
  }

  std::span<float> weights() override { return {}; }
  std::span<float> gradients() override { return {}; }
  std::span<float> first_moments() override { return {}; }
  std::span<float> second_moments() override { return {}; }

  void zero_gradients() override {
    zeros_pending_ = true;
    begun_ = false;
    timed_micro_steps_ = 0;
    known_losses_.clear();
    pending_ = 0;
  }

  double gradient_norm() override {
    queue_gradient_norm();
    return wait_for_norm() / scaler_.scale();
  }

  void optimizer_step(const OptimizerOptions& options, double learning_rate, double gradient_factor,
                      double norm, std::int64_t update) override {
    materialize_zeros();
    const double scale = scaler_.scale();
    queue_update(options, learning_rate, gradient_factor / scale, norm * scale, update);
    wait();
  }

  bool reduce_with(Communicator& communicator, const ReductionOptions& options) override {
    if (communicator.device() == nullptr) {
      if (shares_ == 1) return false;
      throw std::invalid_argument("--zero 1 needs --comm nccl: " + communicator.description() +
                                  " has no collectives on the device");
    }
    if (options_.cuda_graph == CudaGraphs::on) {
      throw std::invalid_argument(
          "--cuda-graph on: " + communicator.description() +
          " sums gradients between the kernels of backward, which no graph here has: take auto "
          "(micro-steps before a step's last come as graphs) or off");
    }
    const ShardPlan plan(layout_.total, options.bucket_bytes / 4, communicator.rank(), shares_);
    reduction_.emplace(*communicator.device(), options, plan);
    if (shares_ > 1) state_->take_share(layout_, plan);
    return true;
  }
  void begin_reduction() override { reduce_next_ = true; }

  UpdateResult update(const UpdateRequest& request) override;
  PartSeconds part_seconds() override;
  std::vector<Loss> pending_losses() override {
    collect_losses();
    pending_ = 0;
    return std::exchange(known_losses_, {});
  }

  void read_state(StateArray array, std::int64_t offset, std::span<float> out) override {
    if (array == StateArray::gradients) materialize_zeros();
    wait();
    if (is_shared(array)) {
      return state_->read_shared(*reduction_, array, offset, out, stream(), [this] { wait(); });
    }
    state_->read(array, offset, out, stream());
    if (array == StateArray::gradients) {
      const auto scale = static_cast<float>(1 / scaler_.scale());
      for (float& value : out) value *= scale;
    }
  }
  void write_state(StateArray array, std::int64_t offset, std::span<const float> in) override {
    if (fp8_ && array == StateArray::weights) fp8_->weights_changed();
    if (array != StateArray::gradients || !scaler_.on()) {
      if (array == StateArray::gradients) materialize_zeros();
      wait();
      if (is_shared(array)) {
        return state_->write_shared(reduction_->plan(), array, offset, in, stream());
      }
      return state_->write(array, offset, in, stream());
    }
    std::vector<float> scaled(in.begin(), in.end());
    for (float& value : scaled) value *= static_cast<float>(scaler_.scale());
    materialize_zeros();
    wait();
    state_->write(array, offset, scaled, stream());
  }
  [[nodiscard]] ScalarState scalar_state() override { return scaler_.state(); }
  void set_scalar_state(const ScalarState& state) override { scaler_.restore(state); }

  [[nodiscard]] std::string description() const override {
    return "cuda, " + facts_.name + ", sm_" + std::to_string(facts_.major) +
           std::to_string(facts_.minor) + ", " + precision_;
  }
  [[nodiscard]] std::int64_t peak_bytes() const override { return planned_; }
  [[nodiscard]] std::int64_t predicted_peak_bytes() const override { return planned_; }
  [[nodiscard]] std::int64_t measured_peak_bytes() const override { return used_device_bytes(); }
  [[nodiscard]] std::string gpu() const override { return facts_.name; }
  [[nodiscard]] std::vector<std::string> settings() const override {
    auto out = matmul_->settings();
    out.insert(out.end(), epilogues_.begin(), epilogues_.end());
    if (in_fp8()) {
      out.emplace_back(
          "fp8: the encoder's linear layers, E4M3 forward, E5M2 gradients, a scale of its own for "
          "each matrix; heads in bf16");
    }
    out.emplace_back(attention_library_            ? attention_library_->description()
                     : has_tensor_core_attention() ? "attention: own tensor-core kernel"
                                                   : "attention: plain fp32 kernel");
    if (options_.cuda_graph != CudaGraphs::off) out.push_back(graph_setting());
    if (options_.unpadded) {
      const std::int64_t most = options_.micro_batch_size * options_.sequence_length;
      out.emplace_back("unpadded: products of a multiple of " +
                       std::to_string(unpadded_rows(1, most)) + " tokens");
    }
    out.emplace_back(std::to_string(facts_.processors) + " multiprocessors, driver " +
                     std::to_string(facts_.driver) + ", runtime " + std::to_string(facts_.runtime));
    return out;
  }

 private:
  [[nodiscard]] bool has_tensor_core_attention() const {
    return !plain_attention_ && !attention_library_ &&
           has_flash_attention(type_, static_cast<int>(options_.model.head_size()));
  }
  [[nodiscard]] std::string graph_setting() const {
    if (graphed_) {
      return "CUDA graphs: forward and backward of a micro-step, but where gradients are summed "
             "during it";
    }
    const std::string obstacle = obstacle_to_graphs(options_);
    return "CUDA graphs: none, " + (obstacle.empty()
                                        ? "micro-batches have more than " +
                                              std::to_string(kLargestGraphedBatch) + " sequences"
                                        : obstacle);
  }
  [[nodiscard]] bool in_fp8() const { return precision_ == "fp8"; }
  [[nodiscard]] Stream stream() const { return stream_.get(); }
  [[nodiscard]] std::unique_ptr<Activations<void>> make_activations() const {
    return std::make_unique<Activations<void>>(
        options_, activation_sizes(options_, type_, masked_capacity_, in_fp8()), masked_capacity_);
  }
  [[nodiscard]] std::int64_t arena_bytes() const { return make_activations()->bytes(); }
  void require_device_memory() const {
    const std::int64_t limit = options_.memory_limit_bytes;
    const std::int64_t available =
        limit > 0 && limit < facts_.free_bytes ? limit : facts_.free_bytes;
    if (planned_ <= available) return;
    throw OutOfMemory(options_.model.name + " at micro-batch " +
                      std::to_string(options_.micro_batch_size) + " and sequence length " +
                      std::to_string(options_.sequence_length) + " needs " +
                      std::to_string(planned_ >> 20) + " MiB of device memory, " +
                      std::to_string(available >> 20) +
                      " MiB are available; use a smaller micro-batch or activation checkpointing");
  }
  void make_arena() {
    arena_ = Memory();  // the old one first: both would not fit
    activations_ = make_activations();
    arena_ = Memory(Memory::Place::device, activations_->bytes());
    activations_->bind(arena_.data());
  }
  void ensure_masked_capacity(std::int64_t masked) {
    if (masked <= masked_capacity_) return;
    wait();
    masked_capacity_ = masked;
    make_arena();
    upload_.emplace(options_, masked, graphed_);
    graphs_.clear();
  }
  /// The host waits for all that was queued, collectives included.
  void wait() {
    Event done;
    done.record(stream());
    if (reduction_) {
      reduction_->wait(done);
    } else {
      done.wait_on_host();
    }
  }
  void materialize_zeros() {
    if (!zeros_pending_) return;
    state_->zero_gradients(stream());
    zeros_pending_ = false;
  }
  void queue_gradient_norm() {
    materialize_zeros();
    state_->queue_norm(sum_over_ranks(), stream());
  }
  /// Moments are shared out. The share is known once reduce_with() was called.
  [[nodiscard]] bool is_shared(StateArray array) const {
    const bool moments = array == StateArray::first_moments || array == StateArray::second_moments;
    return moments && shares_ > 1 && reduction_.has_value();
  }
  SumOverRanks sum_over_ranks() {
    if (shares_ == 1) return {};
    if (!reduction_) throw std::logic_error("--zero 1: an update before reduce_with()");
    return [this](double* values, std::int64_t count) { reduction_->sum(values, count, stream()); };
  }
  void queue_update(const OptimizerOptions& options, double learning_rate, double factor,
                    double norm, std::int64_t update) {
    state_->queue_update(options, learning_rate, factor, norm, update, sum_over_ranks(), stream());
    if (fp8_) fp8_->weights_changed();
    if (shares_ == 1) return;
    reduction_->gather_weights(state_->weights(), stream());
    state_->queue_copy(layout_.total, stream());
  }
  double wait_for_norm() {
    wait();
    return state_->norm();
  }
  void point_to_state(Step& step) {
    step.stream = stream();
    step.type = type_;
    step.plain_attention = plain_attention_;
    step.attention_library = attention_library_.get();
    step.weights = state_->weights();
    step.copy = state_->copy();
    step.fp8 = fp8_ ? &*fp8_ : nullptr;
    if (!options_.inference) step.gradients = state_->gradients();
  }
  Step make_step(const Batch& batch);
  void queue_forward(Step& step);
  [[nodiscard]] StepGraphs::Kind kind_of(const Step& step) const;
  void search_before_collectives(const Batch& batch, std::int64_t optimizer_step);
  void collect_losses();

  BackendOptions options_;
  std::string precision_;
  DType type_;
  bool plain_attention_;
  ParameterLayout layout_;
  DeviceFacts facts_;
  OwnedStream stream_;
  std::unique_ptr<Matmul> matmul_;
  std::unique_ptr<LibraryAttention> attention_library_;  ///< null: the kernels
  std::int64_t masked_capacity_;
  LossScaler scaler_;
  int shares_;  ///< ranks that share the moments among them (ZeRO-1)
  std::int64_t planned_ = 0;
  std::optional<TrainingState> state_;
  std::optional<Fp8Linears> fp8_;
  std::optional<BatchUpload> upload_;
  std::unique_ptr<Activations<void>> activations_;  // holds pointers to itself, so it cannot move
  std::vector<std::string> epilogues_;              ///< for the log
  Memory arena_;
  bool graphed_ = false;  ///< micro-steps come as graphs, where nothing is summed during them
  StepGraphs graphs_;
  Memory step_values_, graph_losses_;  ///< StepValues; what graphs write in place of `losses_`
  Memory losses_, losses_on_host_;     ///< doubles, two a micro-step
  struct Means {
    double rows, sequences;
  };
  std::vector<Means> means_;  ///< what the sums of pending losses are divided by
  std::int64_t pending_ = 0;
  std::vector<Loss> known_losses_;
  std::optional<Reduction> reduction_;
  bool reduce_next_ = false;
  bool reduced_ = false;  ///< this step's gradients were summed over ranks
  bool zeros_pending_ = true;
  struct MicroStepTimes {
    Event begun{true}, forward_done{true}, backward_done{true};
  };
  std::vector<MicroStepTimes> micro_steps_;  ///< of which the first are of this step
  std::size_t timed_micro_steps_ = 0;
  Event update_begun_{true};
  bool begun_ = false;
  bool searched_ = false;
  Event step_begun_{true}, step_done_{true};
};

Step CudaBackend::make_step(const Batch& batch) {
  check_batch(batch, options_);
  ensure_masked_capacity(batch.masked_per_sequence);
  if (pending_ == kLossSlots) collect_losses();
  Step step{options_, layout_, *activations_, *matmul_};
  point_to_state(step);
  step.batch = upload_->upload(batch, options_.model, stream());
  step.losses = losses_.as<double>() + 2 * pending_;
  means_.resize(static_cast<std::size_t>(pending_));
  means_.push_back(
      {static_cast<double>(step.batch.masked_rows), static_cast<double>(step.batch.sequences)});
  ++pending_;
  return step;
}

void CudaBackend::queue_forward(Step& step) {
  if (fp8_) fp8_->begin(step.copy, stream());
  bert::forward(step);
}

StepGraphs::Kind CudaBackend::kind_of(const Step& step) const {
  StepGraphs::Kind kind;
  kind.batch = step.batch.tokens;
  kind.sequences = step.batch.sequences;
  kind.length = step.batch.length;
  kind.masked_rows = step.batch.masked_rows;
  kind.training = step.training;
  kind.accumulate = step.accumulate;
  kind.casts_weights = fp8_ && !fp8_->has_weights();
  if (attention_library_) {
    kind.padded = step.batch.padded;
    kind.scratch = attention_library_->scratch();
  }
  return kind;
}

/// With gradients summed over ranks, products find their algorithms in a micro-step of their own,
/// which is computed for nothing: the next one writes over it.
void CudaBackend::search_before_collectives(const Batch& batch, std::int64_t optimizer_step) {
  if (searched_ || !reduction_ || options_.algorithm_cache.empty()) return;
  searched_ = true;
  Step step = make_step(batch);
  step.training = true;
  step.optimizer_step = optimizer_step;
  queue_forward(step);
  heads(step, false);
  backward(step, [](std::int64_t, std::int64_t) {});
  wait();
  --pending_;
  means_.pop_back();
  matmul_->end_search();
}

Loss CudaBackend::forward_backward(const Batch& batch, double gradient_scale, bool training,
                                   std::int64_t optimizer_step, const GradientReady& ready) {
  if (options_.inference) throw std::invalid_argument("inference was asked for: no gradients");
  search_before_collectives(batch, optimizer_step);
  if (!begun_) step_begun_.record(stream());
  begun_ = true;
  Step step = make_step(batch);
  step.gradient_scale = gradient_scale * scaler_.scale();
  step.training = training;
  step.accumulate = !zeros_pending_;
  step.optimizer_step = optimizer_step;
  zeros_pending_ = false;

  reduced_ = std::exchange(reduce_next_, false) && reduction_.has_value();
  if (reduced_) reduction_->begin(step.gradients, layout_.total);
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  if (timed_micro_steps_ == micro_steps_.size()) micro_steps_.emplace_back();
  MicroStepTimes& times = micro_steps_[timed_micro_steps_++];
  const auto queue = [&](const std::function<void()>& forward_done) {
    step.forward_done = forward_done;
    queue_forward(step);
    heads(step, false);
    step.sum_losses();
    backward(step, [&](std::int64_t offset, std::int64_t size) {
      if (reduced_) reduction_->ready(offset, size, stream());
      ranges.emplace_back(offset, size);
    });
  };
  const auto forward_done = [&] { times.forward_done.record(stream()); };
  times.begun.record(stream());
  if (graphed_ && !reduced_ && !ready) {
    double* const losses = std::exchange(step.losses, graph_losses_.as<double>());
    step.step_values = step_values_.as<StepValues>();
    store_step_values(step.own_values(), step_values_.as<StepValues>(), stream());
    if (graphs_.run(kind_of(step), stream(), queue, forward_done) && fp8_) fp8_->begun();
    copy_on_device(losses, step.losses, 16, stream());
  } else {
    queue(forward_done);
  }
  times.backward_done.record(stream());
  if (reduced_) reduction_->end(stream());
  if (ready) {  // called from this thread, so only when the device got there
    wait();
    for (const auto& [offset, size] : ranges) ready(offset, size);
  }
  Loss loss;
  loss.pending = true;
  return loss;
}

Loss CudaBackend::forward(const Batch& batch) {
  Step step = make_step(batch);
  step.gradients = nullptr;
  queue_forward(step);
  heads(step, true);
  step.sum_losses();
  collect_losses();
  const Loss loss = known_losses_.back();
  known_losses_.pop_back();
  return loss;
}

void CudaBackend::collect_losses() {
  if (pending_ == 0) return;
  copy_to_host(losses_on_host_.data(), losses_.data(), pending_ * 16, stream());
  wait();
  const double* sums = losses_on_host_.as<double>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(pending_); ++i) {
    Loss loss;
    loss.masked_lm = means_[i].rows > 0 ? sums[2 * i] / means_[i].rows : 0;
    loss.next_sentence = sums[2 * i + 1] / means_[i].sequences;
    known_losses_.push_back(loss);
  }
  pending_ = 0;
}

UpdateResult CudaBackend::update(const UpdateRequest& request) {
  UpdateResult result;
  const double scale = scaler_.scale();
  result.loss_scale = scaler_.on() ? scale : 0;
  update_begun_.record(stream());
  queue_gradient_norm();
  const double norm = wait_for_norm();
  result.gradient_norm = norm / scale;
  result.skipped = scaler_.on() && !std::isfinite(norm);
  scaler_.step(!result.skipped);
  if (!result.skipped) {
    const double factor = clipping_factor(request.gradient_clipping, result.gradient_norm);
    queue_update(request.optimizer, request.learning_rate, factor / scale, norm, request.update);
  }
  step_done_.record(stream());
  wait();
  if (begun_) result.device_seconds = step_done_.seconds_since(step_begun_);
  if (reduced_) {
    result.communication_s = reduction_->busy_seconds();
    result.exposed_communication_s = reduction_->exposed_seconds();
  }
  return result;
}

/// update() has waited for all that was queued.
PartSeconds CudaBackend::part_seconds() {
  if (!begun_) return {};
  PartSeconds out{
      .forward = 0, .backward = 0, .optimizer = step_done_.seconds_since(update_begun_)};
  for (std::size_t i = 0; i < timed_micro_steps_; ++i) {
    const MicroStepTimes& times = micro_steps_[i];
    out.forward += times.forward_done.seconds_since(times.begun);
    out.backward += times.backward_done.seconds_since(times.forward_done);
  }
  return out;
}

}  // namespace

std::unique_ptr<Backend> make_backend(const BackendRequest& request, bool plain_attention) {
  return std::make_unique<CudaBackend>(request, plain_attention);
}

}  // namespace bert::cuda
