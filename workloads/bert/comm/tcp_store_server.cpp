// The event loop of the store: one thread, poll(2), no blocking call but poll itself.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "workloads/bert/comm/tcp_store.h"

namespace bert {
namespace {

constexpr std::size_t kMaxRequest = 1U << 20;

std::uint32_t length_of(const std::string& input) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(input[i])) << (8 * i);
  }
  return value;
}

}  // namespace

TcpStoreServer::TcpStoreServer(const std::string& host, int port)
    : listener_(listen_on(host, port)), port_(local_port(listener_)) {
  if (pipe2(wake_, O_CLOEXEC) != 0) {
    throw std::runtime_error("no file descriptors left for the store of rank 0: raise ulimit -n");
  }
  thread_ = std::thread([this] { serve(); });
}

TcpStoreServer::~TcpStoreServer() {
  ::close(wake_[1]);  // readable end of file wakes the loop
  thread_.join();
  ::close(wake_[0]);
}

void TcpStoreServer::accept_client() {
  Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid()) {
    clients_.emplace_back();
    clients_.back().socket = std::move(socket);
  }
}

bool TcpStoreServer::flush(Client& client) {
  while (!client.output.empty()) {
    const ssize_t sent =
        send(client.socket.fd(), client.output.data(), client.output.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    client.output.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool TcpStoreServer::read_from(Client& client) {
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(client.socket.fd(), buffer, sizeof buffer, 0);
    if (got == 0) {
      return false;
    }
    if (got < 0) {
      if (errno == EAGAIN) {
        break;
      }
      if (errno != EINTR) {
        return false;
      }
      continue;
    }
    client.input.append(buffer, static_cast<std::size_t>(got));
    while (client.input.size() >= 4) {
      const std::size_t size = length_of(client.input);
      if (size > kMaxRequest) {
        return false;  // not one of ours: a port scan, or another program's client
      }
      if (client.input.size() < 4 + size) {
        break;
      }
      handle(client, std::string_view(client.input).substr(4, size));
      client.input.erase(0, 4 + size);
    }
  }
  return flush(client);
}

void TcpStoreServer::serve() {
  std::vector<pollfd> entries;
  while (true) {
    entries.assign({{wake_[0], POLLIN, 0}, {listener_.fd(), POLLIN, 0}});
    for (const Client& client : clients_) {
      const int events = POLLIN | (client.output.empty() ? 0 : POLLOUT);
      entries.push_back({client.socket.fd(), static_cast<short>(events), 0});
    }
    if (poll(entries.data(), entries.size(), -1) < 0) {
      continue;
    }
    if (entries[0].revents != 0) {
      return;
    }
    for (std::size_t i = 0; i + 2 < entries.size(); ++i) {
      const short events = entries[i + 2].revents;
      Client& client = clients_[i];
      if (events != 0 && ((events & POLLIN) != 0 ? !read_from(client) : !flush(client))) {
        drop(client);
      } else if ((events & POLLIN) == 0 && (events & (POLLHUP | POLLERR)) != 0) {
        drop(client);
      }
    }
    std::erase_if(clients_, [](const Client& client) { return !client.socket.valid(); });
    if (entries[1].revents != 0) {
      accept_client();
    }
  }
}

}  // namespace bert
