// StopSignals: SIGINT, SIGTERM and SIGHUP as a request to end the sweep, not the process.
#pragma once

#include <csignal>

namespace bertbench {

/// One at a time; the earlier handlers come back with the destructor.
class StopSignals {
 public:
  explicit StopSignals(bool install);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  [[nodiscard]] int count() const;  ///< requests so far: the second one asks for haste
  /// Readable as soon as a signal came; for poll. -1 when not installed.
  [[nodiscard]] int wake_fd() const;
  void drain() const;  ///< empties the descriptor, keeps the count

 private:
  bool installed_ = false;
  struct sigaction old_[3]{};
};

}  // namespace bertbench
