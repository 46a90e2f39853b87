// Socket: the little TCP that the key-value store needs. IPv4 and IPv6, close-on-exec.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bert {

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

using Deadline = std::chrono::steady_clock::time_point;

/// Listens on host:port (port 0: any free one). Throws std::runtime_error with the remedy.
[[nodiscard]] Socket listen_on(const std::string& host, int port);
/// A free port of `host` that nobody else is given while the socket lives, and on which listen_on
/// may listen meanwhile: it does not listen itself, so that nobody reaches it before.
[[nodiscard]] Socket hold_port(const std::string& host);
/// Retries until `deadline` while nobody listens there yet. Throws std::runtime_error.
[[nodiscard]] Socket connect_to(const std::string& host, int port, Deadline deadline);
/// Numeric address and port of this end, such as "127.0.0.1", 29500.
[[nodiscard]] std::string local_address(const Socket& socket);
[[nodiscard]] int local_port(const Socket& socket);

/// Both return false when the peer has closed or the deadline has passed.
[[nodiscard]] bool send_all(const Socket& socket, const void* data, std::size_t size,
                            Deadline deadline);
[[nodiscard]] bool receive_all(const Socket& socket, void* data, std::size_t size,
                               Deadline deadline);

}  // namespace bert
