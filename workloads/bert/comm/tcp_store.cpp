#include "workloads/bert/comm/tcp_store.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace bert {

enum class TcpStore::Operation : std::uint8_t { hello, set, get, lost, bye };

namespace {

constexpr std::uint32_t kMaxMessage = 1U << 20;  // an address or a unique id is far smaller

std::string number(std::uint32_t value) {
  std::string bytes(4, '\0');
  for (int i = 0; i < 4; ++i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  }
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

// ---- server -----------------------------------------------------------------------------------

void TcpStoreServer::reply(Client& client, std::string_view value) {
  client.output += number(static_cast<std::uint32_t>(value.size()));
  client.output += value;
}

void TcpStoreServer::handle(Client& client, std::string_view request) {
  using Operation = TcpStore::Operation;
  if (request.size() < 5) {
    return;
  }
  const auto operation = static_cast<Operation>(request[0]);
  const std::size_t key_size = number(request.substr(1, 4));
  if (key_size > request.size() - 5) {
    return;
  }
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
    if (!client.said_bye && first_lost_ == 0xffffffffU) {
      first_lost_ = *client.rank;
    }
  }
  client.socket.close();
}

// ---- client -----------------------------------------------------------------------------------

TcpStore::TcpStore(const std::string& host, int port, int rank, std::chrono::milliseconds timeout)
    : where_(fmt::format("{}:{}", host, port)),
      rank_(rank),
      timeout_(timeout),
      socket_(connect_to(host, port, std::chrono::steady_clock::now() + timeout)) {
  if (!send_request(Operation::hello, "", number(static_cast<std::uint32_t>(rank)))) {
    throw std::runtime_error(
        fmt::format("rank 0 at {} closed the connection: see its error", where_));
  }
}

TcpStore::~TcpStore() = default;

bool TcpStore::send_request(Operation operation, std::string_view key, std::string_view value) {
  std::string message = number(static_cast<std::uint32_t>(5 + key.size() + value.size()));
  message += static_cast<char>(operation);
  message += number(static_cast<std::uint32_t>(key.size()));
  message += key;
  message += value;
  return send_all(socket_, message.data(), message.size(),
                  std::chrono::steady_clock::now() + timeout_);
}

std::optional<std::string> TcpStore::ask(Operation operation, std::string_view key,
                                         std::string_view value,
                                         std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  char head[4];
  if (broken_ || !send_request(operation, key, value) ||
      !receive_all(socket_, head, sizeof head, deadline)) {
    broken_ = true;
    return std::nullopt;
  }
  const std::uint32_t size = number(std::string_view(head, sizeof head));
  std::string reply(std::min(size, kMaxMessage), '\0');
  if (size > kMaxMessage || !receive_all(socket_, reply.data(), reply.size(), deadline)) {
    broken_ = true;
    return std::nullopt;
  }
  return reply;
}

void TcpStore::fail(std::string_view key, std::chrono::milliseconds timeout) const {
  throw std::runtime_error(
      fmt::format("no answer for \"{}\" from the store of rank 0 at {} within {:.1f} s: a rank was "
                  "not started or has ended, see the other ranks' errors",
                  key, where_, std::chrono::duration<double>(timeout).count()));
}

void TcpStore::set(std::string_view key, std::string_view value) {
  if (!ask(Operation::set, key, value, timeout_)) {
    fail(key, timeout_);
  }
}

std::string TcpStore::get(std::string_view key) { return get(key, timeout_); }

std::string TcpStore::get(std::string_view key, std::chrono::milliseconds timeout) {
  auto value = ask(Operation::get, key, "", timeout);
  if (!value) {
    fail(key, timeout);
  }
  return std::move(*value);
}

std::optional<int> TcpStore::lost_rank(std::chrono::milliseconds limit) {
  const auto reply = ask(Operation::lost, "", "", limit);
  if (!reply) {
    return rank_ == 0 ? std::nullopt : std::optional<int>(0);
  }
  const std::uint32_t rank = number(*reply);
  return rank == 0xffffffffU ? std::nullopt : std::optional<int>(static_cast<int>(rank));
}

void TcpStore::leave() {
  if (!left_) {
    left_ = true;
    ask(Operation::bye, "", "", std::chrono::seconds(2));
  }
}

}  // namespace bert
