#include "workloads/bert/cuda/device/runtime.h"

#include <cuda_runtime_api.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "workloads/bert/core/launch_environment.h"
#include "workloads/bert/core/module.h"
#include "workloads/bert/model/arena.h"

namespace bert::cuda {
namespace {

cudaStream_t as_stream(Stream stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

/// A C++ name as it stands in the source.
std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return text != nullptr ? text.get() : name;
}

void check(cudaError_t status, const char* call) { check_status(static_cast<int>(status), call); }

}  // namespace

void check_status(int status, const char* call) {
  const auto error = static_cast<cudaError_t>(status);
  if (error == cudaSuccess) return;
  const std::string text =
      std::string(call) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  if (error == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw std::runtime_error(text);
}

bool waits_for_each_call() {
  static const bool waits = [] {
    const char* value = std::getenv("BERT_CUDA_SYNC");
    return value != nullptr && std::string(value) == "1";
  }();
  return waits;
}

void check_launch(int status, const void* kernel, Stream stream) {
  if (status == cudaSuccess && waits_for_each_call()) {
    status = cudaStreamSynchronize(as_stream(stream));
  }
  if (status == cudaSuccess) return;
  const char* name = nullptr;
#if CUDART_VERSION >= 12030
  if (cudaFuncGetName(&name, kernel) != cudaSuccess) name = nullptr;
#else
  static_cast<void>(kernel);
#endif
  check_status(status, name == nullptr ? "a kernel" : ("kernel " + readable(name)).c_str());
}

DeviceFacts open_device(int local_rank) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess || count == 0) {
    throw NoDevice(std::string("--backend cuda: no CUDA device can be used here: ") +
                   (found != cudaSuccess ? cudaGetErrorString(found) : "the driver lists none"));
  }
  const auto own = device_of(local_rank, count);
  if (!own) {
    throw NoDevice("--backend cuda: local rank " + std::to_string(local_rank) +
                   " has no device of its own, the machine shows " + std::to_string(count) +
                   ": start one rank per GPU (see also CUDA_VISIBLE_DEVICES)");
  }
  const int index = *own;
  check(cudaSetDevice(index), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  if (properties.major < 8) {
    throw NoDevice(std::string("--backend cuda: ") + properties.name + " has compute capability " +
                   std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                   ", 8.0 (A100) or later is needed");
  }
  DeviceFacts facts;
  facts.name = properties.name;
  facts.devices = count;
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.processors = properties.multiProcessorCount;
  facts.l2_bytes = properties.l2CacheSize;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  facts.memory_bytes = static_cast<std::int64_t>(total);
  facts.free_bytes = static_cast<std::int64_t>(free_bytes);
  check(cudaDriverGetVersion(&facts.driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&facts.runtime), "cudaRuntimeGetVersion");
  return facts;
}

std::int64_t used_device_bytes() {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(total - free_bytes);
}

Memory::Memory(Place place, std::int64_t bytes) : place_(place) {
  if (bytes == 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  void* memory = nullptr;
  const cudaError_t status =
      place == Place::device ? cudaMalloc(&memory, size) : cudaMallocHost(&memory, size);
  if (status != cudaSuccess) {
    cudaGetLastError();  // an allocation that failed must not haunt the next launch
    const char* what = place == Place::device ? " MiB of device memory" : " MiB of pinned memory";
    check_status(static_cast<int>(status), (std::to_string(bytes >> 20) + what).c_str());
  }
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  if (place == Place::device) {
    check(cudaMemset(memory, 0, size), "cudaMemset");
    // Zeroing may still run when a stream that does not wait for the default one starts.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  } else {
    std::fill_n(data_, size, std::byte{0});
  }
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (place_ == Place::device) {
    cudaFree(data_);
  } else {
    cudaFreeHost(data_);
  }
}

OwnedStream::OwnedStream(bool high_priority) {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     high_priority ? greatest : least),
        "cudaStreamCreateWithPriority");
  stream_ = stream;
}
OwnedStream::~OwnedStream() { cudaStreamDestroy(as_stream(stream_)); }

Event::Event(bool timing) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
  event_ = event;
}
Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(as_event(event_));
}
void Event::record(Stream stream) {
  check(cudaEventRecord(as_event(event_), as_stream(stream)), "cudaEventRecord");
}
bool Event::reached() const {
  const cudaError_t status = cudaEventQuery(as_event(event_));
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}
void Event::wait_on_host() const {
  check(cudaEventSynchronize(as_event(event_)), "cudaEventSynchronize");
}
void Event::wait_on(Stream stream) const {
  check(cudaStreamWaitEvent(as_stream(stream), as_event(event_), 0), "cudaStreamWaitEvent");
}
double Event::seconds_since(const Event& start) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, as_event(start.event_), as_event(event_)),
        "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / 1000;
}

Graph::~Graph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_));
}
void Graph::launch(Stream stream) const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), as_stream(stream)),
        "cudaGraphLaunch");
}

Recording::Recording(Stream stream) : stream_(stream) {
  // What other threads ask of the device, as those of NCCL do, is no part of it.
  check(cudaStreamBeginCapture(as_stream(stream), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
}
Recording::~Recording() {
  if (stream_ == nullptr) return;
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(as_stream(stream_), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();  // why it was dropped is reported already
}
Graph Recording::end() {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(as_stream(std::exchange(stream_, nullptr)), &graph),
        "cudaStreamEndCapture");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t status = cudaGraphInstantiateWithFlags(&ready, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  return Graph(ready);
}

void copy_on_device(void* to, const void* from, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                        as_stream(stream)),
        "copy on the device");
}
void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice,
                        as_stream(stream)),
        "copy to the device");
}
void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost,
                        as_stream(stream)),
        "copy to the host");
}
void fill_zero(void* device, std::int64_t bytes, Stream stream) {
  check(cudaMemsetAsync(device, 0, static_cast<std::size_t>(bytes), as_stream(stream)),
        "cudaMemsetAsync");
}
void synchronize(Stream stream) {
  check(cudaStreamSynchronize(as_stream(stream)), "cudaStreamSynchronize");
}

}  // namespace bert::cuda
