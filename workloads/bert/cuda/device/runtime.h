// The few runtime calls that the backend makes: runtime.cpp by CUDA, emulated_runtime.cpp in its
// place in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace bert::cuda {

/// A cudaStream_t.
using Stream = void*;

/// Type of activations and of the weights that products read.
enum class DType : std::uint8_t { f32, bf16, f16 };
constexpr std::int64_t size_of(DType type) { return type == DType::f32 ? 4 : 2; }

/// 8-bit floating-point numbers, see fp8.h; none: of the activations' type.
enum class Fp8 : std::uint8_t { none, e4m3, e5m2 };

/// Throws std::runtime_error naming the call when `status` (a cudaError_t) is not success;
/// OutOfMemory when there was not enough memory.
void check_status(int status, const char* call);

/// After a kernel's launch: throws as check_status() with the kernel's name. BERT_CUDA_SYNC=1 in
/// the environment: waits until the kernel has ended, so that a fault of its own is named here and
/// not at some later call.
void check_launch(int status, const void* kernel, Stream stream);
/// Whether BERT_CUDA_SYNC asks for that.
[[nodiscard]] bool waits_for_each_call();

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int processors = 0;        ///< multiprocessors
  int devices = 1;           ///< that this process sees
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;
  int driver = 0, runtime = 0;  ///< 13000 = 13.0
  std::int64_t l2_bytes = 0;
};

/// Of the current device: total less free, so what other programs hold counts too.
[[nodiscard]] std::int64_t used_device_bytes();

/// Makes the device of a local rank (device_of() of launch_environment.h, as bert_nccl.so does it)
/// current for this thread. NoDevice, in one line, when there is none.
[[nodiscard]] DeviceFacts open_device(int local_rank);

/// Memory of the device, or pinned memory of the host. Zeroed, aligned to 256 bytes. Throws
/// OutOfMemory (model/arena.h) naming what was wanted.
class Memory {
 public:
  enum class Place : std::uint8_t { device, host };
  Memory() = default;
  Memory(Place place, std::int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        place_(other.place_) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(place_, other.place_);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Place place_ = Place::device;
};

/// Work queued on one stream runs in order. `high_priority` is for communication.
class OwnedStream {
 public:
  explicit OwnedStream(bool high_priority = false);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  [[nodiscard]] Stream get() const { return stream_; }

 private:
  Stream stream_ = nullptr;
};

class Event {
 public:
  explicit Event(bool timing = false);
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream);
  [[nodiscard]] bool reached() const;
  void wait_on_host() const;
  void wait_on(Stream stream) const;  ///< the stream's later work waits, the host does not
  [[nodiscard]] double seconds_since(const Event& start) const;  ///< both with timing, both reached
  [[nodiscard]] void* get() const { return event_; }

 private:
  void* event_ = nullptr;
};

/// What was queued on a stream while it was recorded. launch() queues all of it again in one call,
/// with the arguments that it had. To be done on the device before this goes away.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(Stream stream) const;

 private:
  friend class Recording;
  explicit Graph(void* graph) : graph_(graph) {}
  void* graph_ = nullptr;  ///< a cudaGraphExec_t
};

/// From here to end() what this thread queues on `stream` is recorded and not done. Until then the
/// thread may not ask for memory, wait, or record or ask an event: that throws, or end() does.
class Recording {
 public:
  explicit Recording(Stream stream);
  ~Recording();  ///< without end(): what was recorded is dropped
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] Graph end();

 private:
  Stream stream_;  ///< null after end()
};

void copy_on_device(void* to, const void* from, std::int64_t bytes, Stream stream);
void copy_to_device(void* device, const void* pinned_host, std::int64_t bytes, Stream stream);
void copy_to_host(void* pinned_host, const void* device, std::int64_t bytes, Stream stream);
void fill_zero(void* device, std::int64_t bytes, Stream stream);
void synchronize(Stream stream);

}  // namespace bert::cuda
