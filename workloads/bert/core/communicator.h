// Communicator: what data-parallel training needs from other ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bert {

class DeviceCommunicator;

/// Collectives over all ranks, blocking, called by every rank in the same order. One thread at a
/// time may call. A dead peer is a std::runtime_error that names the peer and the remedy, after
/// at most the communicator's timeout; never an endless wait.
class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  /// Maximum over ranks; how "stop at this step" is agreed on.
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
  virtual void broadcast(std::span<float> values, int root) = 0;
  virtual void barrier() = 0;
  /// False when a sum over ranks is this rank's own value and costs nothing (a world of one).
  [[nodiscard]] virtual bool reduces() const { return world_size() > 1; }
  /// Called by every rank at the good end of a job. A communicator that is destroyed without it
  /// informs the other ranks that this one failed.
  virtual void finish() {}
  /// After an error of this rank: gives up collectives that stand on the device, so that its memory
  /// can be freed without waiting for ranks that will not come.
  virtual void abort() noexcept {}
  [[nodiscard]] virtual std::string description()
      const = 0;  ///< "tcp, gloo 0.5.0, 127.0.0.1:29500"
  /// Collectives on device memory (nccl); null where there are none. Same order rules; lives as
  /// long as this.
  [[nodiscard]] virtual DeviceCommunicator* device() { return nullptr; }
  /// Facts for the log: versions, settings of the environment ("NCCL_ALGO=Ring").
  [[nodiscard]] virtual std::vector<std::string> settings() const { return {}; }
};

/// A world of one.
class SelfCommunicator : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 1; }
  void all_reduce_sum(std::span<float>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void all_reduce_max(std::span<std::int64_t>) override {}
  void broadcast(std::span<float>, int) override {}
  void barrier() override {}
  [[nodiscard]] std::string description() const override { return "self"; }
};

}  // namespace bert
