// Descriptor: a file descriptor that is closed with the object.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace bertbench {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  operator int() const { return fd_; }  ///< below 0: none

 private:
  int fd_;
};

/// A pipe, close-on-exec; false (errno) when none can be made.
struct Pipe {
  Descriptor read, write;
  [[nodiscard]] bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return false;
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
    return true;
  }
};

}  // namespace bertbench
