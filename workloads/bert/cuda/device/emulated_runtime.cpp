// Stand-in for the CUDA runtime in tests: device memory is host memory, and every stream runs its
// work at once, but what is recorded: that runs when its graph is launched.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/emulated/device.h"

void bert::emulated::submit(void* stream, std::function<void()> work) {
  ++host_calls().queued;
  if (!record(stream, work)) work();
}

namespace bert::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using emulated::forbid_while_recording;

void count_wait(const char* call) {
  forbid_while_recording(call);
  ++emulated::host_calls().waits;
}

void copy(void* to, const void* from, std::int64_t bytes, Stream stream) {
  emulated::submit(stream, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}

}  // namespace

void check_status(int, const char*) {}

bool waits_for_each_call() {
  const char* value = std::getenv("BERT_CUDA_SYNC");
  return value != nullptr && std::string(value) == "1";
}

DeviceFacts open_device(int) {
  DeviceFacts facts;
  facts.name = "emulated device";
  facts.major = 9;
  facts.processors = 1;
  facts.memory_bytes = facts.free_bytes = 1LL << 32;
  return facts;
}

std::int64_t used_device_bytes() { return 0; }

Memory::Memory(Place place, std::int64_t bytes) : bytes_(bytes), place_(place) {
  forbid_while_recording("cudaMalloc");
  ++emulated::host_calls().allocations;
  if (bytes > 0) data_ = emulated::zeroed(bytes);
}
Memory::~Memory() { std::free(data_); }

OwnedStream::OwnedStream(bool) : stream_(this) {}
OwnedStream::~OwnedStream() = default;

Event::Event(bool) : event_(new Clock::time_point) {}
Event::~Event() { delete static_cast<Clock::time_point*>(event_); }
void Event::record(Stream) {
  forbid_while_recording("cudaEventRecord");
  *static_cast<Clock::time_point*>(event_) = Clock::now();
}
bool Event::reached() const {
  count_wait("cudaEventQuery");
  return true;
}
void Event::wait_on_host() const { count_wait("cudaEventSynchronize"); }
void Event::wait_on(Stream) const { forbid_while_recording("cudaStreamWaitEvent"); }
double Event::seconds_since(const Event& start) const {
  return std::chrono::duration<double>(*static_cast<Clock::time_point*>(event_) -
                                       *static_cast<Clock::time_point*>(start.event_))
      .count();
}

Graph::~Graph() { delete static_cast<emulated::Work*>(graph_); }
void Graph::launch(Stream stream) const {
  emulated::submit(stream, [work = *static_cast<emulated::Work*>(graph_)] {
    for (const auto& one : work) one();
  });
}

Recording::Recording(Stream stream) : stream_(stream) { emulated::begin_recording(stream); }
Recording::~Recording() {
  if (stream_ != nullptr) static_cast<void>(emulated::end_recording(stream_));
}
Graph Recording::end() {
  return Graph(new emulated::Work(emulated::end_recording(std::exchange(stream_, nullptr))));
}

void copy_on_device(void* to, const void* from, std::int64_t bytes, Stream stream) {
  copy(to, from, bytes, stream);
}
void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream) {
  copy(device, host, bytes, stream);
}
void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream) {
  copy(host, device, bytes, stream);
}
void fill_zero(void* device, std::int64_t bytes, Stream stream) {
  emulated::submit(stream, [=] { std::memset(device, 0, static_cast<std::size_t>(bytes)); });
}
void synchronize(Stream) { count_wait("cudaStreamSynchronize"); }

}  // namespace bert::cuda
