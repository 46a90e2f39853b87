// Stand-in for the CUDA runtime in tests: device memory is host memory, and every stream runs its
// work at once.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/emulated/device.h"

void bert::emulated::submit(void*, std::function<void()> work) { work(); }

namespace bert::cuda {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

void check_status(int, const char*) {}

bool waits_for_each_call() { return false; }

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
  if (bytes > 0) data_ = emulated::zeroed(bytes);
}
Memory::~Memory() { std::free(data_); }

OwnedStream::OwnedStream(bool) : stream_(this) {}
OwnedStream::~OwnedStream() = default;

Event::Event(bool) : event_(new Clock::time_point) {}
Event::~Event() { delete static_cast<Clock::time_point*>(event_); }
void Event::record(Stream) { *static_cast<Clock::time_point*>(event_) = Clock::now(); }
bool Event::reached() const { return true; }
void Event::wait_on_host() const {}
void Event::wait_on(Stream) const {}
double Event::seconds_since(const Event& start) const {
  return std::chrono::duration<double>(*static_cast<Clock::time_point*>(event_) -
                                       *static_cast<Clock::time_point*>(start.event_))
      .count();
}

void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream) {
  std::memcpy(device, host, static_cast<std::size_t>(bytes));
}
void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream) {
  std::memcpy(host, device, static_cast<std::size_t>(bytes));
}
void fill_zero(void* device, std::int64_t bytes, Stream) {
  std::memset(device, 0, static_cast<std::size_t>(bytes));
}
void synchronize(Stream) {}

}  // namespace bert::cuda
