// Stand-in for the CUDA runtime in tests: device memory is host memory, and every stream runs its
// work at once, but what is recorded: that runs when its graph is launched.
#include <chrono>
#include <cstdlib>
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

}  // namespace

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

void Graph::launch(Stream stream) const {
  emulated::submit(stream, [work = *static_cast<emulated::Work*>(graph_)] {
    for (const auto& one : work) one();
  });
}

void synchronize(Stream) { count_wait("cudaStreamSynchronize"); }

}  // namespace bert::cuda
