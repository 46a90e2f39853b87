#include "harness/sweep/process/terminals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "harness/sweep/process/folder.h"

namespace bertbench {
namespace {

// Ranks share a log: a line is written as one piece where it comes within this time, and no longer
// held where it is longer than this.
constexpr int kLineComesWithin_ms = 100;
constexpr std::size_t kLongestHeld = 4096;  // bytes; what a terminal takes at once
constexpr unsigned short kColumns = 200;    // bars fill the width

}  // namespace

Result<int> Terminals::add(int log_fd) {
  Terminal terminal;
  terminal.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char name[64];
  const bool made = terminal.master >= 0 && grantpt(terminal.master) == 0 &&
                    unlockpt(terminal.master) == 0 &&
                    ptsname_r(terminal.master, name, sizeof name) == 0;
  const int slave = made ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
  terminal.log = fcntl(log_fd, F_DUPFD_CLOEXEC, 3);
  termios settings{};
  const bool good = slave >= 0 && terminal.log >= 0 && tcgetattr(slave, &settings) == 0;
  if (good) {
    cfmakeraw(&settings);  // no line feed becomes two characters, nothing is echoed
    tcsetattr(slave, TCSANOW, &settings);
    winsize size{};
    size.ws_row = 50;
    size.ws_col = kColumns;
    ioctl(slave, TIOCSWINSZ, &size);
  }
  if (!good || (wake_[0] < 0 && pipe2(wake_, O_CLOEXEC) < 0)) {
    const int error_number = errno;
    for (const int fd : {terminal.master, terminal.log, slave}) {
      if (fd >= 0) close(fd);
    }
    return tl::unexpected(file_error("/dev/ptmx", "gives no terminal", error_number));
  }
  {
    const std::lock_guard lock(mutex_);
    terminals_.push_back(std::move(terminal));
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { copy(); });
  } else {
    (void)!write(wake_[1], "", 1);
  }
  return slave;
}

/// False at the end: every process has closed the terminal.
bool Terminals::read_from(Terminal& terminal) {
  char block[1 << 14];
  const ssize_t got = read(terminal.master, block, sizeof block);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) terminal.held.append(block, static_cast<std::size_t>(got));
  auto whole = terminal.held.find_last_of("\r\n") + 1;  // 0 where there is none
  if (got <= 0 || terminal.held.size() - whole > kLongestHeld) whole = terminal.held.size();
  // On a full disk the trainer runs on, and the log lacks the rest, as it would without a terminal.
  (void)write_all(terminal.log, std::string_view(terminal.held).substr(0, whole));
  terminal.held.erase(0, whole);
  return got > 0;
}

void Terminals::copy() {
  for (int ready = 1;;) {
    std::vector<pollfd> watched{{wake_[0], POLLIN, 0}};
    bool waits = false;  // for the rest of a line, or for the last that there is
    {
      const std::lock_guard lock(mutex_);
      // What dead processes wrote is there to be read at once.
      if (ending_ && ready == 0) return;
      waits = ending_;
      for (const auto& one : terminals_) {
        watched.push_back({one.master, POLLIN, 0});
        waits = waits || !one.held.empty();
      }
      const auto closed = [](const Terminal& one) { return one.master < 0; };
      if (ending_ && std::ranges::all_of(terminals_, closed)) return;
    }
    ready =
        poll(watched.data(), static_cast<nfds_t>(watched.size()), waits ? kLineComesWithin_ms : -1);
    if (watched[0].revents != 0) {
      char bytes[64];
      (void)!read(wake_[0], bytes, sizeof bytes);
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i + 1 < watched.size(); ++i) {
      auto& one = terminals_[i];
      if (ready == 0 && !one.held.empty()) {
        (void)write_all(one.log, one.held);
        one.held.clear();
      }
      if (watched[i + 1].revents == 0 || read_from(one)) continue;
      close(std::exchange(one.master, -1));
      close(std::exchange(one.log, -1));
    }
  }
}

void Terminals::finish() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    (void)!write(wake_[1], "", 1);
    thread_.join();
  }
  for (int& fd : wake_) {
    if (fd >= 0) close(std::exchange(fd, -1));
  }
  for (const auto& one : terminals_) {
    for (const int fd : {one.master, one.log}) {
      if (fd >= 0) close(fd);
    }
  }
  terminals_.clear();
  ending_ = false;
}

}  // namespace bertbench
