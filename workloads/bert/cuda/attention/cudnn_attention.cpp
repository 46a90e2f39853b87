#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include "workloads/bert/cuda/attention/cudnn_graph.h"
#include "workloads/bert/cuda/attention/library_attention.h"

namespace bert::cuda {
namespace {

class CudnnAttention final : public LibraryAttention {
 public:
  CudnnAttention(const BackendOptions& options, DType type, int capability)
      : options_(options), type_(type), capability_(capability) {
    const std::int64_t elements =
        options.micro_batch_size * options.sequence_length * 3 * options.model.hidden;
    if (options.unpadded && elements > std::numeric_limits<std::int32_t>::max()) {
      throw std::invalid_argument(
          "--attention cudnn --unpadded: the micro-batch has more than 2^31 queries, keys and "
          "values; lower --micro-batch-size");
    }
    // The graphs of steps are built before anything is trained: what cuDNN has no kernel for is
    // refused at once, and their scratch is known. Those of padded batches come when one is there.
    const bool dropout = options.model.attention_dropout > 0 && !options.inference;
    for (const bool backward : {false, true}) {
      if (backward && options.inference) continue;
      CudnnAttentionShape shape =
          shape_of(options.micro_batch_size, options.sequence_length, dropout, backward);
      shape.packed = options.unpadded;
      shape.padded = options.unpadded || needs_lengths(options.sequence_length);
      static_cast<void>(graph_of(shape));
    }
    inputs_ = Memory(Memory::Place::device, library_inputs_bytes(options.micro_batch_size));
  }

  void forward(const Attention& a, Stream stream) override {
    const LibraryInputs inputs = make_inputs(a, stream);
    CudnnPointers pointers = pointers_of(a, inputs);
    run(graph_of(shape_of(a, false)), pointers, stream);
  }

  void backward(const Attention& a, Stream stream) override {
    const LibraryInputs inputs = make_inputs(a, stream);
    CudnnPointers pointers = pointers_of(a, inputs);
    at(pointers, CudnnTensor::d_output) = const_cast<void*>(a.d_output);
    point_to_parts(pointers, CudnnTensor::d_query, a.d_qkv);
    // Keys that are padding have gradient 0; cuDNN does not promise to write it.
    if (a.padded && a.starts == nullptr) {
      fill_zero(a.d_qkv, a.sequences * a.length * 3 * row_bytes(), stream);
    }
    run(graph_of(shape_of(a, true)), pointers, stream);
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return workspace_bytes_ + library_inputs_bytes(options_.micro_batch_size);
  }
  [[nodiscard]] const void* scratch() const override { return workspace_.data(); }
  [[nodiscard]] std::string description() const override {
    const std::size_t version = cudnn_version();
    return "attention: cuDNN " + std::to_string(version / 10000) + "." +
           std::to_string(version % 10000 / 100) + "." + std::to_string(version % 100);
  }

 private:
  static void*& at(CudnnPointers& pointers, CudnnTensor tensor) {
    return pointers[static_cast<std::size_t>(tensor)];
  }
  /// Of one part of a row of qkv, or of the output.
  [[nodiscard]] std::int64_t row_bytes() const { return options_.model.hidden * size_of(type_); }
  /// The three tensors from `first` on are the parts of `qkv`.
  void point_to_parts(CudnnPointers& pointers, CudnnTensor first, void* qkv) const {
    for (std::size_t part = 0; part < 3; ++part) {
      pointers[static_cast<std::size_t>(first) + part] =
          static_cast<std::byte*>(qkv) + static_cast<std::int64_t>(part) * row_bytes();
    }
  }

  /// cuDNN's backward takes whole tiles of 128 keys alone where it is given no lengths.
  [[nodiscard]] static bool needs_lengths(std::int64_t length) { return length % 128 != 0; }
  [[nodiscard]] static bool has_lengths(const Attention& a) {
    return a.padded || a.starts != nullptr || needs_lengths(a.length);
  }
  [[nodiscard]] CudnnAttentionShape shape_of(std::int64_t sequences, std::int64_t length,
                                             bool dropout, bool backward) const {
    CudnnAttentionShape shape;
    shape.capability = capability_;
    shape.type = type_;
    shape.sequences = sequences;
    shape.length = length;
    shape.heads = options_.model.heads;
    shape.size = options_.model.head_size();
    shape.causal = options_.model.mask == Mask::causal;
    shape.deterministic = backward && options_.deterministic;
    shape.dropout = dropout ? options_.model.attention_dropout : 0;
    shape.backward = backward;
    return shape;
  }
  [[nodiscard]] CudnnAttentionShape shape_of(const Attention& a, bool backward) const {
    CudnnAttentionShape shape = shape_of(a.sequences, a.length, a.dropout.on, backward);
    shape.packed = a.starts != nullptr;
    shape.padded = has_lengths(a);
    return shape;
  }
  const CudnnGraph& graph_of(const CudnnAttentionShape& shape) {
    const auto found = graphs_.find(shape);
    if (found != graphs_.end()) return found->second;
    const CudnnGraph& made = graphs_.emplace(shape, CudnnGraph(shape, handle_)).first->second;
    workspace_bytes_ = std::max(workspace_bytes_, made.workspace_bytes());
    return made;
  }

  [[nodiscard]] LibraryInputs make_inputs(const Attention& a, Stream stream) const {
    const LibraryInputs inputs = library_inputs_at(inputs_.data(), a.sequences);
    if (a.dropout.on || has_lengths(a)) library_inputs(a, inputs, stream);
    return inputs;
  }
  [[nodiscard]] CudnnPointers pointers_of(const Attention& a, const LibraryInputs& inputs) const {
    CudnnPointers out{};
    point_to_parts(out, CudnnTensor::query, const_cast<void*>(a.qkv));
    at(out, CudnnTensor::output) = a.output;
    at(out, CudnnTensor::log_sums) = a.log_sums;
    if (has_lengths(a)) {
      at(out, CudnnTensor::query_lengths) = inputs.query_lengths;
      at(out, CudnnTensor::key_lengths) = const_cast<std::int32_t*>(a.lengths);
    }
    if (a.starts != nullptr) {
      at(out, CudnnTensor::qkv_starts) = inputs.qkv_starts;
      at(out, CudnnTensor::output_starts) = inputs.output_starts;
    }
    if (a.dropout.on) {
      at(out, CudnnTensor::seed) = inputs.seed;
      at(out, CudnnTensor::offset) = inputs.seed + 1;
    }
    return out;
  }
  void run(const CudnnGraph& graph, const CudnnPointers& pointers, Stream stream) {
    if (workspace_.bytes() < workspace_bytes_) {
      synchronize(stream);  // work that was queued may still use the smaller one
      workspace_ = Memory();
      workspace_ = Memory(Memory::Place::device, workspace_bytes_);
    }
    graph.run(handle_, pointers, workspace_.data(), stream);
  }

  BackendOptions options_;
  DType type_;
  int capability_;
  CudnnHandle handle_;
  std::map<CudnnAttentionShape, CudnnGraph> graphs_;
  std::int64_t workspace_bytes_ = 0;
  Memory workspace_, inputs_;
};

}  // namespace

std::unique_ptr<LibraryAttention> make_library_attention(const BackendOptions& options, DType type,
                                                         const DeviceFacts& device) {
  return std::make_unique<CudnnAttention>(options, type, 10 * device.major + device.minor);
}

}  // namespace bert::cuda
