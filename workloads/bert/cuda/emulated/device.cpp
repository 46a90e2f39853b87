#include "workloads/bert/cuda/emulated/device.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bert::emulated {
namespace {

constexpr std::size_t kStack = 256 * 1024;
constexpr std::size_t kPayload = 64;
constexpr std::size_t kSharedLimit = 227 * 1024;

/// A suspended flow of control. swapcontext() makes two system calls, so once a flow has begun it
/// is left and entered by _setjmp and _longjmp, but for AddressSanitizer, which must see the
/// switch.
struct Context {
  ucontext_t full{};
  jmp_buf jump{};
  bool begun = true;
};

void switch_context(Context& from, Context& to) {
#ifdef __SANITIZE_ADDRESS__
  swapcontext(&from.full, &to.full);
#else
  if (_setjmp(from.jump) != 0) return;
  if (to.begun) _longjmp(to.jump, 1);
  to.begun = true;
  setcontext(&to.full);
#endif
}

struct Fiber {
  Context context;
  std::unique_ptr<unsigned char[]> stack;
  dim3 index;
};

/// What decides whether a fiber can run, apart from the fiber: who is next looks at many of these.
struct Turn {
  bool done = true;
  unsigned awaited = 0;
  const unsigned* counter = nullptr;  ///< waits while *counter == awaited; null: runnable

  [[nodiscard]] bool can_run() const {
    return !done && (counter == nullptr || *counter != awaited);
  }
};

struct Warp {
  unsigned char slots[2][32 * kPayload];
  unsigned generation = 0;
  int arrived = 0;
  int lanes = 0;
};

struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;  // contexts point into themselves: they cannot move
  std::vector<Turn> turns;                     // one a fiber
  std::vector<Warp> warps;
  std::vector<unsigned char> shared;
  Context main;
  const std::function<void()>* body = nullptr;
  std::size_t threads = 0;
  std::size_t current = 0;
  std::size_t live = 0;
  std::size_t arrived = 0;
  unsigned generation = 0;
  Order order = Order::ascending;
  std::int64_t launches = 0;
};

thread_local Block block_state;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "emulated kernel: %s (block %u, thread %zu)\n", what, blockIdx.x,
               block_state.current);
  std::abort();
}

void give_turn(std::size_t next) {
  block_state.current = next;
  current_lane = static_cast<int>(next % 32);
  threadIdx = block_state.fibers[next]->index;
}

/// Gives the turn to the next fiber that can run; to the main context when all are done.
void switch_away() {
  Block& b = block_state;
  Context& from = b.fibers[b.current]->context;
  if (b.live == 0) {
    switch_context(from, b.main);
    return;
  }
  const bool up = b.order == Order::ascending || b.order == Order::lowest_first;
  const bool fair = b.order == Order::ascending || b.order == Order::descending;
  std::size_t next = fair ? b.current : up ? b.threads - 1 : 0;
  for (std::size_t tried = 0; tried < b.threads; ++tried) {
    if (up) {
      next = next + 1 == b.threads ? 0 : next + 1;
    } else {
      next = (next == 0 ? b.threads : next) - 1;
    }
    if (!b.turns[next].can_run()) continue;
    b.turns[next].counter = nullptr;
    if (next == b.current) return;
    give_turn(next);
    switch_context(from, b.fibers[next]->context);
    return;
  }
  fail("every thread waits: a barrier or warp collective is not reached by all");
}

/// Waits until `counter`, another fiber's to change, has another value than now.
void wait_for(const unsigned& counter) {
  Block& b = block_state;
  b.turns[b.current].counter = &counter;
  b.turns[b.current].awaited = counter;
  switch_away();
}

void release_block_barrier() {
  Block& b = block_state;
  b.arrived = 0;
  ++b.generation;
}

/// One fiber runs one thread of block after block.
void fiber_main() {
  while (true) {
    (*block_state.body)();
    Block& b = block_state;
    Warp& warp = b.warps[b.current / 32];
    if (warp.arrived != 0) fail("a thread ended while its warp waits in a collective");
    --warp.lanes;
    b.turns[b.current].done = true;
    --b.live;
    if (b.live > 0 && b.arrived == b.live) release_block_barrier();
    switch_away();
  }
}

void ensure_fibers(std::size_t threads) {
  Block& b = block_state;
  while (b.fibers.size() < threads) {
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = std::make_unique_for_overwrite<unsigned char[]>(kStack);
    ucontext_t& full = fiber->context.full;
    getcontext(&full);
    full.uc_stack.ss_sp = fiber->stack.get();
    full.uc_stack.ss_size = kStack;
    full.uc_link = nullptr;
    makecontext(&full, fiber_main, 0);
    fiber->context.begun = false;
    b.fibers.push_back(std::move(fiber));
    b.turns.emplace_back();
  }
}

void run_block(std::size_t shared_bytes) {
  Block& b = block_state;
  b.live = b.threads;
  b.arrived = 0;
  b.shared.assign(shared_bytes + 16, 0xff);  // NaN where a kernel reads what it never wrote
  b.warps.assign((b.threads + 31) / 32, Warp{});
  for (std::size_t i = 0; i < b.threads; ++i) {
    b.turns[i] = {.done = false};
    ++b.warps[i / 32].lanes;
  }
  const bool up = b.order == Order::ascending || b.order == Order::lowest_first;
  give_turn(up ? 0 : b.threads - 1);
  switch_context(b.main, b.fibers[b.current]->context);
}

}  // namespace

void set_order(Order order) { block_state.order = order; }
std::int64_t launches() { return block_state.launches; }

void* dynamic_shared() {
  const auto address = reinterpret_cast<std::uintptr_t>(block_state.shared.data());
  return reinterpret_cast<void*>((address + 15) / 16 * 16);
}

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
  Block& b = block_state;
  b.threads = std::size_t{block.x} * block.y * block.z;
  // What cudaLaunchKernel refuses.
  if (b.threads == 0 || b.threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > 65535 || grid.z > 65535 || shared_bytes > kSharedLimit) {
    fail("invalid launch configuration");
  }
  ensure_fibers(b.threads);
  b.body = &body;
  ++b.launches;
  gridDim = grid;
  blockDim = block;
  for (unsigned i = 0; i < b.threads; ++i) {
    b.fibers[i]->index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
  }
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        run_block(shared_bytes);
      }
    }
  }
}

void sync_block() {
  Block& b = block_state;
  if (++b.arrived == b.live) {
    release_block_barrier();
  } else {
    wait_for(b.generation);
  }
}

const unsigned char* gather(const void* value, std::size_t size, unsigned mask) {
  Block& b = block_state;
  Warp& warp = b.warps[b.current / 32];
  if (mask != 0xffffffffU || warp.lanes != 32) fail("a warp collective without all 32 lanes");
  if (size > kPayload) fail("a warp collective of more than 64 bytes");
  unsigned char* slots = warp.slots[warp.generation % 2];
  if (size > 0) std::memcpy(slots + kPayload * (b.current % 32), value, size);
  if (++warp.arrived == 32) {
    warp.arrived = 0;
    ++warp.generation;
  } else {
    wait_for(warp.generation);
  }
  return slots;
}

namespace {

struct Recorder {
  void* stream = nullptr;  ///< null: none is recorded
  Work work;
};
thread_local Recorder recorder;

}  // namespace

void begin_recording(void* stream) {
  if (stream == nullptr) throw std::logic_error("the default stream cannot be recorded");
  forbid_while_recording("cudaStreamBeginCapture");
  recorder.stream = stream;
}
Work end_recording(void* stream) {
  if (recorder.stream != stream) throw std::logic_error("this stream is not recorded");
  recorder.stream = nullptr;
  return std::exchange(recorder.work, {});
}
bool record(void* stream, std::function<void()>& work) {
  if (recorder.stream == nullptr) return false;
  // On CUDA it would be done at once, next to what is recorded.
  if (stream != recorder.stream) throw std::logic_error("work for a stream that is not recorded");
  recorder.work.push_back(std::move(work));
  return true;
}
void forbid_while_recording(const char* call) {
  if (recorder.stream == nullptr) return;
  throw std::logic_error(std::string(call) + " while a stream is recorded");
}

HostCalls& host_calls() {
  static thread_local HostCalls calls;
  return calls;
}

std::byte* zeroed(std::int64_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const auto rounded = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (data == nullptr) throw std::bad_alloc();
  std::memset(data, 0, rounded);
  return data;
}

}  // namespace bert::emulated
