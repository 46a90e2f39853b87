// Rendezvous: the ranks of a job find each other at MASTER_ADDR:MASTER_PORT and know when one of
// them goes away. What tcp and nccl have in common.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "workloads/bert/comm/tcp_store.h"
#include "workloads/bert/core/launch_environment.h"

namespace bert {

class Rendezvous {
 public:
  /// Blocks until every rank has come or `timeout` has passed; rank 0 serves. Throws
  /// std::runtime_error naming the rank that is missing or was started for another world.
  Rendezvous(const LaunchEnvironment& environment, std::chrono::milliseconds timeout);
  /// Rank 0 stays until the others have left, at most a moment: they may ask it who was lost.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  [[nodiscard]] TcpStore& store() { return *store_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }
  /// "127.0.0.1:29500"
  [[nodiscard]] std::string place() const;

  /// Looks, at most about ten times a second, whether a rank went away without saying goodbye.
  [[nodiscard]] std::optional<int> lost_rank_now_and_then();
  /// Message of a collective that failed: names the rank that died when it is known within half a
  /// second, and says what to do. `detail` is the library's own word.
  [[nodiscard]] std::string blame(const std::string& what, const std::string& detail);
  /// Before a good end: closing the connection is then no death.
  void leave() { store_->leave(); }

 private:
  void wait_for_all_ranks();

  LaunchEnvironment environment_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<TcpStoreServer> server_;
  std::unique_ptr<TcpStore> store_;
  std::chrono::steady_clock::time_point last_look_;
};

}  // namespace bert
