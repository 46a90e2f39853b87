// Pseudo terminals for trainers that keep their output back when it goes to a file: what they write
// is copied into the log as it is.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// The terminals of one group of processes, and the thread that copies from them.
class Terminals {
 public:
  Terminals() = default;
  Terminals(const Terminals&) = delete;
  Terminals& operator=(const Terminals&) = delete;
  ~Terminals() { finish(); }

  /// A new terminal, raw and 200 columns wide, whose output goes to the end of `log_fd`. Gives the
  /// descriptor for the process, which the caller closes once that was started.
  Result<int> add(int log_fd);
  /// Waits until all that the processes wrote is in the logs. None of them may live any more.
  void finish();

 private:
  struct Terminal {
    int master = -1, log = -1;  ///< both its own
    std::string held;           ///< the beginning of a line
  };
  void copy();
  static bool read_from(Terminal& terminal);

  std::vector<Terminal> terminals_;
  std::mutex mutex_;  // of terminals_ while the thread runs
  std::thread thread_;
  int wake_[2] = {-1, -1};
  bool ending_ = false;
};

}  // namespace bertbench
