#include "workloads/bert/comm/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

namespace bert {
namespace {

using std::chrono::milliseconds;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses look_up(const std::string& host, int port, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const std::string service = fmt::format("{}", port);
  const int error =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &list);
  if (error != 0) {
    throw std::runtime_error(
        fmt::format("host {} cannot be resolved ({}): set MASTER_ADDR to a "
                    "name or address that every rank knows",
                    host, gai_strerror(error)));
  }
  return Addresses(list);
}

int milliseconds_left(Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

bool wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    pollfd entry = {fd, events, 0};
    const int ready = poll(&entry, 1, milliseconds_left(deadline));
    if (ready > 0) {
      return true;
    }
    if (ready == 0 || errno != EINTR) {
      return false;
    }
  }
}

void no_delay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

sockaddr_storage own_name(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

void Socket::close() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

namespace {

Socket bound_to(const std::string& host, int port, bool listens) {
  std::string reason = "no address";
  // With address translation (NAT) MASTER_ADDR is not an address of this host: then any address.
  for (const std::string& name : {host, std::string()}) {
    const Addresses list = look_up(name, port, AI_PASSIVE);
    bool foreign = false;
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
      Socket socket(::socket(entry->ai_family, entry->ai_socktype | SOCK_CLOEXEC, 0));
      const int one = 1;
      if (!socket.valid()) {
        continue;
      }
      setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      if (bind(socket.fd(), entry->ai_addr, entry->ai_addrlen) == 0 &&
          (!listens || listen(socket.fd(), SOMAXCONN) == 0)) {
        return socket;
      }
      foreign = foreign || errno == EADDRNOTAVAIL;
      reason = std::strerror(errno);
    }
    if (!foreign) {
      break;
    }
  }
  throw std::runtime_error(
      fmt::format("rank 0 cannot listen on {}:{} ({}): another job may use the port, set "
                  "MASTER_PORT to a free one",
                  host, port, reason));
}

}  // namespace

Socket listen_on(const std::string& host, int port) { return bound_to(host, port, true); }

Socket hold_port(const std::string& host) { return bound_to(host, 0, false); }

Socket connect_to(const std::string& host, int port, Deadline deadline) {
  std::string reason;
  while (true) {
    const Addresses list = look_up(host, port, 0);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
      Socket socket(
          ::socket(entry->ai_family, entry->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket.valid()) {
        continue;
      }
      int error = connect(socket.fd(), entry->ai_addr, entry->ai_addrlen) == 0 ? 0 : errno;
      if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        if (wait_for(socket.fd(), POLLOUT, deadline)) {
          socklen_t size = sizeof error;
          getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
        }
      }
      if (error == 0) {
        fcntl(socket.fd(), F_SETFL, fcntl(socket.fd(), F_GETFL) & ~O_NONBLOCK);
        no_delay(socket.fd());
        return socket;
      }
      reason = std::strerror(error);
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      throw std::runtime_error(
          fmt::format("rank 0 does not answer at {}:{} ({}): check that it was started and that "
                      "MASTER_ADDR and MASTER_PORT are the same on every rank",
                      host, port, reason));
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

std::string local_address(const Socket& socket) {
  const sockaddr_storage address = own_name(socket);
  char host[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host,
              nullptr, 0, NI_NUMERICHOST);
  return host;
}

int local_port(const Socket& socket) {
  const sockaddr_storage address = own_name(socket);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

bool send_all(const Socket& socket, const void* data, std::size_t size, Deadline deadline) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket.fd(), at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      at += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket.fd(), POLLOUT, deadline)) {
        return false;
      }
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool receive_all(const Socket& socket, void* data, std::size_t size, Deadline deadline) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    if (!wait_for(socket.fd(), POLLIN, deadline)) {
      return false;
    }
    const ssize_t got = recv(socket.fd(), at, size, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      size -= static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return false;
    }
  }
  return true;
}

}  // namespace bert
