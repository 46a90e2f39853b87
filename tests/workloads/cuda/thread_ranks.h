// Ranks that are threads of the test: collectives on emulated device memory. One rank computes at a
// time, as the emulated device is one; the others wait for it in a collective.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/device_communicator.h"

namespace bert::testing {

class ThreadRank;

/// Where ranks meet.
struct MeetingPoint {
  explicit MeetingPoint(int world) : buffers(static_cast<std::size_t>(world)) {}
  struct Buffers {
    const void* in = nullptr;
    void* out = nullptr;
  };
  std::mutex baton;
  std::condition_variable everybody;
  std::vector<Buffers> buffers;
  std::size_t arrived = 0;
  long meetings = 0;
};

class ThreadRank : public Communicator, public DeviceCommunicator {
 public:
  ThreadRank(MeetingPoint& point, int rank) : point_(point), rank_(rank), lock_(point.baton) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return static_cast<int>(point_.buffers.size()); }
  void all_reduce_sum(std::span<float>) override { not_here(); }
  void all_reduce_sum(std::span<double>) override { not_here(); }
  void all_reduce_max(std::span<std::int64_t>) override { not_here(); }
  void broadcast(std::span<float>, int) override { not_here(); }
  void barrier() override { not_here(); }
  [[nodiscard]] std::string description() const override { return "threads"; }
  [[nodiscard]] DeviceCommunicator* device() override { return this; }

  void queue_all_reduce_sum(void* values, std::int64_t count, DeviceType type, void*) override {
    if (type == DeviceType::f64) return reduce<double>(values, values, count, false);
    reduce<float>(values, values, count, false);
  }
  void queue_reduce_scatter_sum(const void* in, void* out, std::int64_t count, DeviceType,
                                void*) override {
    reduce<float>(in, out, count, true);
  }
  void queue_all_gather(const void* in, void* out, std::int64_t count, DeviceType, void*) override {
    meet(in, out, [&] {
      std::vector<float> all;
      for (const auto& one : point_.buffers) {
        const auto* from = static_cast<const float*>(one.in);
        all.insert(all.end(), from, from + count);
      }
      for (const auto& one : point_.buffers) {
        std::copy(all.begin(), all.end(), static_cast<float*>(one.out));
      }
    });
  }
  void check() override {}
  void wait(const std::function<bool()>& done) override {
    if (!done()) throw std::logic_error("emulated work is done when it is queued");
  }

 private:
  [[noreturn]] static void not_here() { throw std::logic_error("no such collective here"); }

  /// The last to come does the work for all.
  void meet(const void* in, void* out, const std::function<void()>& work) {
    point_.buffers[static_cast<std::size_t>(rank_)] = {in, out};
    const long meeting = point_.meetings;
    if (++point_.arrived < point_.buffers.size()) {
      point_.everybody.wait(lock_, [&] { return point_.meetings != meeting; });
      return;
    }
    work();
    point_.arrived = 0;
    ++point_.meetings;
    point_.everybody.notify_all();
  }

  /// Sums in the order of ranks. `scatter`: rank r gets part r of `count`.
  template <typename T>
  void reduce(const void* in, void* out, std::int64_t count, bool scatter) {
    meet(in, out, [&] {
      const auto n = static_cast<std::size_t>(count);
      std::vector<T> sums(n * (scatter ? point_.buffers.size() : 1));
      for (const auto& one : point_.buffers) {
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<const T*>(one.in)[i];
      }
      for (std::size_t r = 0; r < point_.buffers.size(); ++r) {
        const auto from = sums.begin() + static_cast<std::ptrdiff_t>(scatter ? r * n : 0);
        std::copy_n(from, n, static_cast<T*>(point_.buffers[r].out));
      }
    });
  }

  MeetingPoint& point_;
  int rank_;
  std::unique_lock<std::mutex> lock_;
};

/// Runs body(communicator) on every rank. It must not throw and leave the others waiting.
inline void on_ranks(int world, const std::function<void(ThreadRank&)>& body) {
  MeetingPoint point(world);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank communicator(point, rank);
      body(communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace bert::testing
