// CUDA's execution model on one CPU thread, for tests: every thread of a block is a fiber, barriers
// and warp collectives are where fibers change. It runs the kernels' own source. It is no backend:
// no program links it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define BERT_DYNAMIC_SHARED(type, name) \
  type* name = reinterpret_cast<type*>(bert::emulated::dynamic_shared())

struct dim3 {
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  unsigned x, y, z;
};

inline thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace bert::emulated {

/// In which order the threads of a block get their turn. What is right under CUDA gives the same
/// bits under each; a missing barrier does not. The first two are fair: each thread in turn. In the
/// others the lowest or highest that can run does, so one warp is as far ahead of the rest as
/// barriers let it be.
enum class Order { ascending, descending, lowest_first, highest_first };
void set_order(Order order);

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body);

/// Work of a stream: done at once, or when the runtime that a test is linked with has its turn.
void submit(void* stream, std::function<void()> work);

/// Recording of a stream of this thread, for runtimes. Until end_recording() record() keeps what is
/// queued on it.
using Work = std::vector<std::function<void()>>;
void begin_recording(void* stream);
[[nodiscard]] Work end_recording(void* stream);
/// False: the stream is not recorded, and `work` as it was.
[[nodiscard]] bool record(void* stream, std::function<void()>& work);
/// CUDA refuses `call` while a stream is recorded: throws std::logic_error then.
void forbid_while_recording(const char* call);

/// What the host has asked of the runtime so far, for tests.
struct HostCalls {
  std::int64_t allocations = 0, waits = 0;
  std::int64_t queued = 0;  ///< kernels, products, copies and graphs
};
HostCalls& host_calls();

void sync_block();
[[nodiscard]] void* dynamic_shared();
inline thread_local int current_lane = 0;  ///< of the thread that has its turn
[[nodiscard]] inline int lane() { return current_lane; }

/// Every lane of the warp gives `size` (at most 64) bytes; the result is [32][64] bytes and stays
/// as it is until the next but one collective of the warp.
[[nodiscard]] const unsigned char* gather(const void* value, std::size_t size, unsigned mask);

template <typename T>
T from_lane(const unsigned char* gathered, int source) {
  T value;
  std::memcpy(&value, gathered + 64 * source, sizeof value);
  return value;
}

/// Kernels run so far, for tests that count launches.
[[nodiscard]] std::int64_t launches();

/// Memory of the device, aligned as cudaMalloc aligns it: `bytes` zeros (more than 0), for
/// std::free. Throws std::bad_alloc.
[[nodiscard]] std::byte* zeroed(std::int64_t bytes);

}  // namespace bert::emulated

inline void __syncthreads() { bert::emulated::sync_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  static_cast<void>(bert::emulated::gather(nullptr, 0, mask));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  const auto* all = bert::emulated::gather(&value, sizeof value, mask);
  return bert::emulated::from_lane<T>(all, bert::emulated::lane() ^ lanes);
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int source) {
  const auto* all = bert::emulated::gather(&value, sizeof value, mask);
  return bert::emulated::from_lane<T>(all, source & 31);
}
inline unsigned atomicMax(unsigned* at, unsigned value) {
  const unsigned old = *at;
  if (value > old) *at = value;
  return old;
}
inline unsigned __ballot_sync(unsigned mask, bool predicate) {
  const auto* all = bert::emulated::gather(&predicate, sizeof predicate, mask);
  unsigned bits = 0;
  for (int i = 0; i < 32; ++i) bits |= bert::emulated::from_lane<bool>(all, i) ? 1U << i : 0U;
  return bits;
}
