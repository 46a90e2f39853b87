// A communicator of two ranks without the other one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/device_communicator.h"

namespace bert::testing {

/// A world of two ranks that hold the same: every sum doubles.
class TwinCommunicator : public Communicator, public DeviceCommunicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 2; }
  void all_reduce_sum(std::span<float>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void all_reduce_max(std::span<std::int64_t>) override {}
  void broadcast(std::span<float>, int) override {}
  void barrier() override {}
  [[nodiscard]] std::string description() const override { return "twin"; }
  [[nodiscard]] DeviceCommunicator* device() override { return this; }

  void queue_all_reduce_sum(void* values, std::int64_t count, DeviceType type,
                            void* stream) override {
    ASSERT_EQ(type, DeviceType::f32);
    sizes.push_back(count);
    submit(stream, [=] {
      for (std::int64_t i = 0; i < count; ++i) static_cast<float*>(values)[i] *= 2;
    });
  }
  void queue_reduce_scatter_sum(const void*, void*, std::int64_t, DeviceType, void*) override {}
  void queue_all_gather(const void*, void*, std::int64_t, DeviceType, void*) override {}
  void check() override {}
  void wait(const std::function<bool()>& done) override {
    while (!done()) std::this_thread::yield();
  }
  std::vector<std::int64_t> sizes;

 protected:
  /// Where a device's stream would get to later.
  virtual void submit(void* /*stream*/, std::function<void()> work) { work(); }
};

}  // namespace bert::testing
