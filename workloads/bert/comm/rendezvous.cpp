#include "workloads/bert/comm/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <thread>

namespace bert {

enum class TcpStore::Operation : std::uint8_t { hello, set, get, lost, bye };

namespace {

constexpr std::size_t kMaxMessage = 1U << 20;   // bytes; an address or a unique id is far smaller
constexpr std::uint32_t kNobody = 0xffffffffU;  // the rank that `lost` answers where none left
constexpr std::uint32_t kLostReply = 0xfffffffeU;  // in place of a reply's length: none will come

std::string number(std::size_t value) {
  std::string bytes(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

std::uint32_t number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

// ---- server: one thread, poll(2), no blocking call but poll itself -----------------------------

TcpStoreServer::TcpStoreServer(const std::string& host, int port)
    : listener_(listen_on(host, port)), port_(local_port(listener_)), first_lost_(kNobody) {
  if (pipe2(wake_, O_CLOEXEC) != 0) {
    throw std::runtime_error("no file descriptors left for the store of rank 0: raise ulimit -n");
  }
  thread_ = std::thread([this] { serve(); });
}

TcpStoreServer::~TcpStoreServer() {
  ::close(wake_[1]);  // its readable end reports end of file, which wakes the loop
  thread_.join();
  ::close(wake_[0]);
}

void TcpStoreServer::reply(Client& client, std::string_view value) {
  client.output += number(value.size());
  client.output += value;
}

void TcpStoreServer::reply_lost(Client& client) {
  client.waiting = false;
  client.output += number(kLostReply);
}

void TcpStoreServer::handle(Client& client, std::string_view request) {
  using Operation = TcpStore::Operation;
  if (request.size() < 5) return;
  const auto operation = static_cast<Operation>(request[0]);
  const std::size_t key_size = number(request.substr(1, 4));
  if (key_size > request.size() - 5) return;
  const std::string_view key = request.substr(5, key_size);
  const std::string_view value = request.substr(5 + key_size);
  switch (operation) {
    case Operation::hello:
      client.rank = number(value);
      ++connected_;
      break;
    case Operation::set:
      values_[std::string(key)] = value;
      reply(client, "");
      for (Client& other : clients_) {
        if (other.waiting && other.waits_for == key) {
          other.waiting = false;
          reply(other, value);
          flush(other);  // a failure shows at its next poll
        }
      }
      break;
    case Operation::get:
      if (const auto found = values_.find(key); found != values_.end()) {
        reply(client, found->second);
      } else if (first_lost_ != kNobody) {
        reply_lost(client);
      } else {
        client.waiting = true;
        client.waits_for = key;
      }
      break;
    case Operation::lost:
      reply(client, number(first_lost_));
      break;
    case Operation::bye:
      client.said_bye = true;
      reply(client, "");
      break;
  }
}

void TcpStoreServer::drop(Client& client) {
  if (client.rank) {
    --connected_;
    if (!client.said_bye && first_lost_ == kNobody) first_lost_ = *client.rank;
  }
  client.socket.close();
  if (first_lost_ == kNobody) return;
  // What the others wait for may never be set: they need not wait until their timeout.
  for (Client& other : clients_) {
    if (!other.waiting || !other.socket.valid()) continue;
    reply_lost(other);
    flush(other);  // a failure shows at its next poll
  }
}

void TcpStoreServer::accept_client() {
  Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid()) clients_.emplace_back().socket = std::move(socket);
}

bool TcpStoreServer::flush(Client& client) {
  while (!client.output.empty()) {
    const ssize_t sent =
        send(client.socket.fd(), client.output.data(), client.output.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    client.output.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool TcpStoreServer::read_from(Client& client) {
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(client.socket.fd(), buffer, sizeof buffer, 0);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EAGAIN) return flush(client);
      if (errno != EINTR) return false;
      continue;
    }
    client.input.append(buffer, static_cast<std::size_t>(got));
    while (client.input.size() >= 4) {
      const std::size_t size = number(client.input);
      if (size > kMaxMessage) return false;  // a port scan, or another program's client
      if (client.input.size() < 4 + size) break;
      handle(client, std::string_view(client.input).substr(4, size));
      client.input.erase(0, 4 + size);
    }
  }
}

void TcpStoreServer::serve() {
  std::vector<pollfd> entries;
  while (true) {
    entries.assign({{wake_[0], POLLIN, 0}, {listener_.fd(), POLLIN, 0}});
    for (const Client& client : clients_) {
      const int events = POLLIN | (client.output.empty() ? 0 : POLLOUT);
      entries.push_back({client.socket.fd(), static_cast<short>(events), 0});
    }
    if (poll(entries.data(), entries.size(), -1) < 0) continue;
    if (entries[0].revents != 0) return;
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
    if (entries[1].revents != 0) accept_client();
  }
}

// ---- client -------------------------------------------------------------------------------------

TcpStore::TcpStore(const std::string& host, int port, int rank, std::chrono::milliseconds timeout)
    : where_(fmt::format("{}:{}", host, port)),
      rank_(rank),
      timeout_(timeout),
      socket_(connect_to(host, port, std::chrono::steady_clock::now() + timeout)) {
  if (!send_request(Operation::hello, "", number(static_cast<std::size_t>(rank)))) {
    throw std::runtime_error(
        fmt::format("rank 0 at {} closed the connection: see its error", where_));
  }
}

bool TcpStore::send_request(Operation operation, std::string_view key, std::string_view value) {
  std::string message = number(5 + key.size() + value.size());
  message += static_cast<char>(operation);
  message += number(key.size());
  message += key;
  message += value;
  return send_all(socket_, message.data(), message.size(),
                  std::chrono::steady_clock::now() + timeout_);
}

std::optional<std::string> TcpStore::request(Operation operation, std::string_view key,
                                             std::string_view value,
                                             std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::string size(4, '\0');
  broken_ = broken_ || !send_request(operation, key, value) ||
            !receive_all(socket_, size.data(), size.size(), deadline);
  if (!broken_ && number(size) == kLostReply) return std::nullopt;
  broken_ = broken_ || number(size) > kMaxMessage;
  if (broken_) return std::nullopt;
  std::string reply(number(size), '\0');
  broken_ = !receive_all(socket_, reply.data(), reply.size(), deadline);
  return broken_ ? std::nullopt : std::optional(reply);
}

void TcpStore::fail(std::string_view key, std::chrono::milliseconds timeout) const {
  throw std::runtime_error(
      fmt::format("no answer for \"{}\" from the store of rank 0 at {} within {:.1f} s: a rank was "
                  "not started or has ended, see the other ranks' errors",
                  key, where_, std::chrono::duration<double>(timeout).count()));
}

void TcpStore::set(std::string_view key, std::string_view value) {
  if (!request(Operation::set, key, value, timeout_)) fail(key, timeout_);
}

std::string TcpStore::get(std::string_view key) { return get(key, timeout_); }

std::string TcpStore::get(std::string_view key, std::chrono::milliseconds timeout) {
  auto value = request(Operation::get, key, "", timeout);
  if (!value) fail(key, timeout);
  return std::move(*value);
}

std::optional<int> TcpStore::lost_rank(std::chrono::milliseconds limit) {
  const auto reply = request(Operation::lost, "", "", limit);
  if (!reply) return rank_ == 0 ? std::nullopt : std::optional<int>(0);
  const std::uint32_t rank = number(*reply);
  return rank == kNobody ? std::nullopt : std::optional<int>(static_cast<int>(rank));
}

void TcpStore::leave() {
  if (left_) return;
  left_ = true;
  request(Operation::bye, "", "", std::chrono::seconds(2));
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Rendezvous::Rendezvous(const LaunchEnvironment& environment, std::chrono::milliseconds timeout)
    : environment_(environment), timeout_(timeout) {
  if (environment.rank == 0) {
    server_ = std::make_unique<TcpStoreServer>(environment.master_address, environment.master_port);
  }
  store_ = std::make_unique<TcpStore>(environment.master_address, environment.master_port,
                                      environment.rank, timeout);
  wait_for_all_ranks();
}

Rendezvous::~Rendezvous() {
  store_.reset();
  if (server_ != nullptr) {
    const auto end = Clock::now() + std::chrono::seconds(3);
    while (server_->connected() > 0 && Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

std::string Rendezvous::place() const {
  return fmt::format("{}:{}", environment_.master_address, environment_.master_port);
}

// Every rank writes its name and waits for the others', so that what is missing can be named.
void Rendezvous::wait_for_all_ranks() {
  const int world_size = environment_.world_size;
  const auto deadline = Clock::now() + timeout_;
  store_->set(fmt::format("rank/{}", environment_.rank), fmt::format("{}", world_size));
  for (int other = 0; other < world_size; ++other) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    std::string world;
    try {
      world =
          store_->get(fmt::format("rank/{}", other), std::max(left, std::chrono::milliseconds(1)));
    } catch (const std::runtime_error& error) {
      if (store_->lost_rank()) {
        throw std::runtime_error(blame("meeting the other ranks", error.what()));
      }
      throw std::runtime_error(
          fmt::format("rank {} of {} did not come to {} within {:.0f} s: start {} ranks, or "
                      "raise --comm-timeout",
                      other, world_size, place(), seconds(timeout_), world_size));
    }
    if (world != fmt::format("{}", world_size)) {
      throw std::runtime_error(fmt::format(
          "rank {} was started for a world of {}, this rank for {}: two jobs share {}, or "
          "the launcher's variables differ",
          other, world, world_size, place()));
    }
  }
}

std::optional<int> Rendezvous::lost_rank_now_and_then() {
  const auto now = Clock::now();
  if (now - last_look_ < std::chrono::milliseconds(100)) {
    return std::nullopt;
  }
  last_look_ = now;
  // A store that is slow to answer is no death; one that is gone answers at once.
  return store_->lost_rank(timeout_);
}

std::string Rendezvous::blame(const std::string& what, const std::string& detail) {
  std::string who = "a peer";
  // The kernel may report the closed connection a moment before the store knows.
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (const auto lost = store_->lost_rank()) {
      who = fmt::format("rank {}", *lost);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return fmt::format(
      "{} failed: {} died or does not answer (limit {:.0f} s); see its error, then start the job "
      "again, with --resume to go on from a checkpoint [{}]",
      what, who, seconds(timeout_), detail);
}

}  // namespace bert
