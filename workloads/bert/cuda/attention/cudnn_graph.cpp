#include "workloads/bert/cuda/attention/cudnn_graph.h"

// Calls go through dlsym(), so no program links cuDNN.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
// Graphs are not written to files.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "workloads/bert/cuda/device/shared_library.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // NOLINT: declared by the headers
}

namespace bert::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using TensorPointer = std::shared_ptr<Tensor_attributes>;

void load() {
  static void* const library =
      open_library("libcudnn.so." + std::to_string(CUDNN_MAJOR), "--attention cudnn", "cuDNN");
  fe::cudnn_dlhandle = library;
}

void check(fe::error_t error, const char* call) {
  if (error.is_good()) return;
  throw std::runtime_error(std::string("cuDNN: ") + call + ": " + error.get_message());
}

constexpr std::int64_t id_of(CudnnTensor tensor) { return static_cast<std::int64_t>(tensor) + 1; }

/// The tensors of one graph.
class Builder {
 public:
  Builder(fe::graph::Graph& graph, const CudnnAttentionShape& shape)
      : graph_(graph), s_(shape), hidden_(shape.heads * shape.size) {}

  void forward() {
    auto attributes = fe::graph::SDPA_attributes()
                          .set_name("attention")
                          .set_generate_stats(true)
                          .set_causal_mask(s_.causal)
                          .set_attn_scale(scale());
    mask(attributes);
    auto [output, stats] = graph_.sdpa(part(CudnnTensor::query), part(CudnnTensor::key),
                                       part(CudnnTensor::value), attributes);
    as_rows(output, CudnnTensor::output, hidden_);
    as_log_sums(stats);
  }

  void backward() {
    auto attributes = fe::graph::SDPA_backward_attributes()
                          .set_name("attention_backward")
                          .set_causal_mask(s_.causal)
                          .set_attn_scale(scale())
                          .set_deterministic_algorithm(s_.deterministic);
    mask(attributes);
    const auto query = part(CudnnTensor::query);
    const auto key = part(CudnnTensor::key);
    const auto value = part(CudnnTensor::value);
    const auto stats = graph_.tensor(Tensor_attributes().set_data_type(fe::DataType_t::FLOAT));
    as_log_sums(stats, false);
    auto [d_query, d_key, d_value] =
        graph_.sdpa_backward(query, key, value, rows(CudnnTensor::output),
                             rows(CudnnTensor::d_output), stats, attributes);
    as_rows(d_query, CudnnTensor::d_query, 3 * hidden_);
    as_rows(d_key, CudnnTensor::d_key, 3 * hidden_);
    as_rows(d_value, CudnnTensor::d_value, 3 * hidden_);
  }

 private:
  [[nodiscard]] float scale() const { return 1.0F / std::sqrt(static_cast<float>(s_.size)); }

  template <typename Attributes>
  void mask(Attributes& attributes) {
    if (s_.padded) {
      attributes.set_padding_mask(true)
          .set_seq_len_q(integers(CudnnTensor::query_lengths, s_.sequences))
          .set_seq_len_kv(integers(CudnnTensor::key_lengths, s_.sequences));
    }
    if (s_.dropout > 0) {
      attributes.set_dropout(static_cast<float>(s_.dropout), scalar(CudnnTensor::seed),
                             scalar(CudnnTensor::offset));
    }
  }
  TensorPointer integers(CudnnTensor which, std::int64_t count) {
    return graph_.tensor(Tensor_attributes()
                             .set_uid(id_of(which))
                             .set_dim({count, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(fe::DataType_t::INT32));
  }
  TensorPointer scalar(CudnnTensor which) {
    return graph_.tensor(Tensor_attributes()
                             .set_uid(id_of(which))
                             .set_dim({1, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(fe::DataType_t::INT64));
  }
  TensorPointer part(CudnnTensor which) {
    const auto out = graph_.tensor(Tensor_attributes());
    as_rows(out, which, 3 * hidden_, false);
    return out;
  }
  TensorPointer rows(CudnnTensor which) {
    const auto out = graph_.tensor(Tensor_attributes());
    as_rows(out, which, hidden_, false);
    return out;
  }
  /// [B, heads, s, size] whose rows are `stride` elements apart.
  void as_rows(const TensorPointer& tensor, CudnnTensor which, std::int64_t stride,
               bool is_output = true) {
    tensor->set_uid(id_of(which))
        .set_dim({s_.sequences, s_.heads, s_.length, s_.size})
        .set_stride({s_.length * stride, s_.size, stride, 1});
    if (is_output) tensor->set_output(true);
    if (!s_.packed) return;
    const bool narrow = stride == hidden_;
    auto& starts = narrow ? output_starts_ : qkv_starts_;
    if (starts == nullptr) {
      starts =
          integers(narrow ? CudnnTensor::output_starts : CudnnTensor::qkv_starts, s_.sequences + 1);
    }
    tensor->set_ragged_offset(starts);
  }
  void as_log_sums(const TensorPointer& tensor, bool is_output = true) {
    tensor->set_uid(id_of(CudnnTensor::log_sums))
        .set_dim({s_.sequences, s_.heads, s_.length, 1})
        .set_stride({s_.heads * s_.length, s_.length, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
    if (is_output) tensor->set_output(true);
  }

  fe::graph::Graph& graph_;
  const CudnnAttentionShape& s_;
  std::int64_t hidden_;
  TensorPointer qkv_starts_, output_starts_;
};

std::string text_of(const CudnnAttentionShape& s) {
  return std::to_string(s.sequences) + " x " + std::to_string(s.length) + " tokens, " +
         std::to_string(s.heads) + " heads of " + std::to_string(s.size) +
         (s.backward ? ", backward" : ", forward");
}

}  // namespace

// ---- the library -------------------------------------------------------------------------------

CudnnHandle::CudnnHandle() {
  load();
  cudnnHandle_t handle = nullptr;
  if (const auto status = fe::detail::create_handle(&handle); status != CUDNN_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cuDNN: cudnnCreate: ") +
                             fe::detail::get_error_string(status));
  }
  handle_ = handle;
}

CudnnHandle::~CudnnHandle() { fe::detail::destroy_handle(static_cast<cudnnHandle_t>(handle_)); }

std::size_t cudnn_version() {
  load();
  return fe::detail::get_backend_version();
}

// ---- a graph -----------------------------------------------------------------------------------

struct CudnnGraph::Parts {
  fe::graph::Graph graph;
};

CudnnGraph::CudnnGraph(const CudnnAttentionShape& shape, const CudnnHandle& handle)
    : parts_(std::make_unique<Parts>()) {
  fe::graph::Graph& graph = parts_->graph;
  graph.set_sm_version(shape.capability)
      .set_io_data_type(shape.type == DType::f16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  Builder builder(graph, shape);
  if (shape.backward) {
    builder.backward();
  } else {
    builder.forward();
  }
  const auto step = [&](fe::error_t error) {
    if (error.is_good()) return;
    throw std::invalid_argument("--attention cudnn: cuDNN " + std::to_string(cudnn_version()) +
                                " refuses " + text_of(shape) + ": " + error.get_message() +
                                "; use --attention own");
  };
  step(graph.validate());
  step(graph.build_operation_graph(static_cast<cudnnHandle_t>(handle.get())));
  step(graph.create_execution_plans({fe::HeurMode_t::A}));
  step(graph.check_support());
  step(graph.build_plans());
  step(graph.get_workspace_size(workspace_bytes_));
}

CudnnGraph::~CudnnGraph() = default;
CudnnGraph::CudnnGraph(CudnnGraph&&) noexcept = default;
CudnnGraph& CudnnGraph::operator=(CudnnGraph&&) noexcept = default;

void CudnnGraph::run(const CudnnHandle& handle, const CudnnPointers& pointers, void* workspace,
                     Stream stream) const {
  auto* const cudnn = static_cast<cudnnHandle_t>(handle.get());
  fe::detail::set_stream(cudnn, static_cast<cudaStream_t>(stream));
  std::unordered_map<std::int64_t, void*> by_id;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (pointers[i] != nullptr) by_id.emplace(id_of(static_cast<CudnnTensor>(i)), pointers[i]);
  }
  check(parts_->graph.execute(cudnn, by_id, workspace), "attention");
}

}  // namespace bert::cuda
