// Work on many things by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bertbench {

/// Of many equal things: calls work(i) for every i < count, on several threads where each gets
/// `least` of them or more. work() does not throw.
template <class Work>
void for_each_index(std::size_t count, std::size_t least, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t most = std::min<std::size_t>(std::thread::hardware_concurrency(), 16);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(most, count / least); ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // no thread to be had: this one does it all
    }
  }
  run();
  for (auto& thread : others) thread.join();
}

/// Memory that items may take together, from the begin of their work until they are consumed. An
/// item that takes more than that by itself goes alone.
struct ItemMemory {
  std::function<std::size_t(std::size_t)> of = [](std::size_t) { return std::size_t{0}; };
  std::size_t budget = 0;
};

/// Calls `work(i)` for i in [0, n) on `threads` threads and `consume(i, result)` on this thread, in
/// order of i. At most 2 x threads results wait, and no more than `memory` allows, so a slow first
/// item holds the others back instead of filling memory. `idle()` is called about ten times a
/// second while waiting. `work` must not throw.
template <class T>
void in_order(std::size_t n, std::size_t threads, const std::function<T(std::size_t)>& work,
              const std::function<void(std::size_t, T)>& consume, const std::function<void()>& idle,
              const ItemMemory& memory = {}) {
  std::mutex mutex;
  std::condition_variable ready, room;
  std::map<std::size_t, T> results;
  std::size_t next = 0, consumed = 0, held = 0;

  const auto worker = [&] {
    std::unique_lock lock(mutex);
    while (next < n) {
      const std::size_t more = memory.of(next);
      if (next >= consumed + 2 * threads || (held > 0 && held + more > memory.budget)) {
        room.wait(lock);
        continue;
      }
      const std::size_t i = next++;
      held += more;
      lock.unlock();
      T result = work(i);
      lock.lock();
      results.emplace(i, std::move(result));
      ready.notify_one();
    }
  };

  std::vector<std::jthread> pool;
  for (std::size_t t = 0; t < threads && t < n; ++t) pool.emplace_back(worker);

  // Should `consume` throw, the threads must not wait for room that never comes.
  struct Release {
    std::function<void()> action;
    ~Release() { action(); }
  } const release{[&] {
    const std::lock_guard guard(mutex);
    next = n;
    room.notify_all();
  }};

  std::unique_lock lock(mutex);
  while (consumed < n) {
    const auto at = results.find(consumed);
    if (at == results.end()) {
      ready.wait_for(lock, std::chrono::milliseconds(100));
      lock.unlock();
      idle();
      lock.lock();
      continue;
    }
    T result = std::move(at->second);
    results.erase(at);
    lock.unlock();
    consume(consumed, std::move(result));
    idle();
    lock.lock();
    held -= memory.of(consumed);
    ++consumed;
    room.notify_all();
  }
}

}  // namespace bertbench
