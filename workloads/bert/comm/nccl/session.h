// Session: one NCCL communicator of this process, from the first meeting of the ranks to its end.
// It never blocks for ever: every wait looks for asynchronous errors, dead peers and the time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "workloads/bert/comm/nccl/library.h"
#include "workloads/bert/comm/rendezvous.h"
#include "workloads/bert/core/launch_environment.h"

namespace bert::nccl {

class Session {
 public:
  /// Binds the process to its device, meets the other ranks, makes sure that all have the same
  /// NCCL, and joins. Throws NoDevice or std::runtime_error with the remedy.
  Session(const LaunchEnvironment& environment, std::chrono::milliseconds timeout);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Calls `start` with the communicator; `what` names it in errors. Returns once it is queued.
  void call(const char* what, const std::function<Status(Comm)>& start);
  /// Throws when NCCL reports an error or a rank is known to have gone.
  void check(const char* what);
  /// Polls `done`, with check(), until it is true. Throws after the timeout.
  void wait(const char* what, const std::function<bool()>& done);
  /// After the last collective of every rank: frees the communicator without giving anything up.
  void finish();
  /// Gives up what is queued; streams drain. Later calls throw.
  void abort() noexcept;

  /// Makes the device's context current on the calling thread, which need not be the one that
  /// made this.
  void enter() const;
  [[nodiscard]] std::string description() const;

 private:
  struct Device {
    CuDevice device = 0;
    CuContext context = nullptr;
    int index = 0;
    std::string name;
  };
  static Device bind(const LaunchEnvironment& environment);
  void agree_on_version();
  UniqueId shared_id();
  void settle(const char* what);
  void check_status(const char* what);
  [[noreturn]] void fail(const char* what, const std::string& detail);
  [[nodiscard]] std::string word_of(Status status) const;

  LaunchEnvironment environment_;
  std::chrono::milliseconds timeout_;
  Device device_;
  std::optional<Rendezvous> ranks_;  ///< none in a world of one
  Comm comm_ = nullptr;
  std::string failure_;  ///< of the first call that failed
};

}  // namespace bert::nccl
