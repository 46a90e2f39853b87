#include "harness/sweep/process/stop_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace bertbench {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> requests{0};
std::atomic<int> pipe_read{-1}, pipe_write{-1};

void on_signal(int) {
  const int saved = errno;
  requests.fetch_add(1, std::memory_order_relaxed);
  const char byte = 1;
  // A full pipe wakes the reader as well as a new byte.
  [[maybe_unused]] const ssize_t done = write(pipe_write.load(), &byte, 1);
  errno = saved;
}

}  // namespace

StopSignals::StopSignals(bool install) {
  requests = 0;
  if (!install) return;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return;
  pipe_read = ends[0];
  pipe_write = ends[1];
  installed_ = true;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 3; ++i) {
    sigaction(kSignals[i], &action, &old_[i]);
    // nohup asked for SIGHUP to be ignored: that stays.
    if (kSignals[i] == SIGHUP && old_[i].sa_handler == SIG_IGN) {
      sigaction(kSignals[i], &old_[i], nullptr);
    }
  }
}

StopSignals::~StopSignals() {
  if (!installed_) return;
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &old_[i], nullptr);
  close(pipe_write.exchange(-1));
  close(pipe_read.exchange(-1));
}

int StopSignals::count() const { return requests.load(); }

int StopSignals::wake_fd() const { return installed_ ? pipe_read.load() : -1; }

void StopSignals::drain() const {
  char bytes[64];
  while (installed_ && read(pipe_read.load(), bytes, sizeof bytes) > 0) {
  }
}

}  // namespace bertbench
