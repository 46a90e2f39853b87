// DeviceCommunicator: collectives on device memory, queued on the device's streams.
//
// How the pieces work together (backend and communicator are separate modules that share one
// process and one device):
//   1. run() makes the communicator, which binds this process to device `local_rank` and makes the
//      device's primary context current on the calling thread. The backend uses the same context.
//   2. The trainer calls Backend::reduce_with(communicator, options) once, before the first step.
//      A device backend looks at communicator.device(); when it is there it keeps the pointer and
//      answers true.
//   3. In the last micro-step the backend records an event after each gradient bucket, makes its
//      communication stream wait for it, and queues the bucket's all-reduce there.
//   4. The update waits (on the device) for the communication stream.
//   5. Whenever the HOST waits for work that stands after a collective it does so through wait().
//
// Streams and ordering
//   - `stream` is a CUstream / cudaStream_t of the bound device; null is not allowed.
//   - A queue_ function orders the collective after everything queued on `stream` before, and
//     before everything queued after. Buffers belong to the collective in between.
//   - All collectives of one communicator, host-span ones included, must be queued in the same
//     order on every rank. Two streams may be used, but the collectives run one after the other.
//   - They may be queued while `stream` is captured into a CUDA graph; each launch of the graph is
//     then one use, in the same order on every rank.
//   - None blocks the host, except for the first call after creation, which may finish setting up.
//   - One thread at a time. `values` need only be aligned for its type; buckets of 16-byte aligned
//     begin are faster.
#pragma once

#include <cstdint>
#include <functional>

namespace bert {

enum class DeviceType { f32, bf16, f16, f64, i64 };

[[nodiscard]] constexpr std::int64_t size_of(DeviceType type) {
  switch (type) {
    case DeviceType::f32:
      return 4;
    case DeviceType::bf16:
    case DeviceType::f16:
      return 2;
    case DeviceType::f64:
    case DeviceType::i64:
      return 8;
  }
  return 0;
}

/// Counts are elements, pointers are device memory. A failure that is known when a function is
/// called is thrown as std::runtime_error with the remedy; one that comes later, by check() and
/// wait(). After an exception the communicator is aborted: collectives that stand on a stream end
/// (with wrong sums), so that streams drain and memory can be freed; every later call throws again.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;

  /// values[count] becomes the sum over ranks, in place. Not divided: the trainer's gradient_scale
  /// already holds 1 / (accumulation steps * world size).
  virtual void queue_all_reduce_sum(void* values, std::int64_t count, DeviceType type,
                                    void* stream) = 0;
  /// input[world * count]; output[count] becomes the sum over ranks of elements
  /// [rank * count, (rank + 1) * count). In place when output == input + rank * count.
  virtual void queue_reduce_scatter_sum(const void* input, void* output, std::int64_t count,
                                        DeviceType type, void* stream) = 0;
  /// input[count] of rank r becomes output[r * count ...] everywhere; output[world * count]. In
  /// place when input == output + rank * count.
  virtual void queue_all_gather(const void* input, void* output, std::int64_t count,
                                DeviceType type, void* stream) = 0;

  /// Throws when the library reports an asynchronous error or a peer is known to have died. Costs
  /// about a microsecond, so it may be called in every turn of a polling loop.
  virtual void check() = 0;
  /// Returns once `done` answers true (for example: cudaEventQuery(event) == cudaSuccess; it may
  /// throw). Polls it together with check(). Throws, after aborting, when the communicator's
  /// timeout passes. Never cudaStreamSynchronize after a collective: with a dead peer it would
  /// not return.
  virtual void wait(const std::function<bool()>& done) = 0;
};

}  // namespace bert
