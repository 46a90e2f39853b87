// The parts of CUDA's stand-in that do not depend on when a stream does its work: memory, copies,
// and the recording of streams. emulated_runtime.cpp has the rest, and so has a test with streams
// that run late.
#include <cstring>
#include <utility>

#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/emulated/device.h"

namespace bert::cuda {

void check_status(int, const char*) {}

std::int64_t used_device_bytes() { return 0; }

Memory::Memory(Place place, std::int64_t bytes) : bytes_(bytes), place_(place) {
  emulated::forbid_while_recording("cudaMalloc");
  ++emulated::host_calls().allocations;
  if (bytes > 0) data_ = emulated::zeroed(bytes);
}

Graph::~Graph() { delete static_cast<emulated::Work*>(graph_); }

Recording::Recording(Stream stream) : stream_(stream) { emulated::begin_recording(stream); }
Recording::~Recording() {
  if (stream_ != nullptr) static_cast<void>(emulated::end_recording(stream_));
}
Graph Recording::end() {
  return Graph(new emulated::Work(emulated::end_recording(std::exchange(stream_, nullptr))));
}

void copy_on_device(void* to, const void* from, std::int64_t bytes, Stream stream) {
  emulated::submit(stream, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}
void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream) {
  copy_on_device(device, host, bytes, stream);
}
void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream) {
  copy_on_device(host, device, bytes, stream);
}
void fill_zero(void* device, std::int64_t bytes, Stream stream) {
  emulated::submit(stream, [=] { std::memset(device, 0, static_cast<std::size_t>(bytes)); });
}

}  // namespace bert::cuda
