// Rendezvous: the ranks of a job find each other at MASTER_ADDR:MASTER_PORT and know when one of
// them goes away. What tcp and nccl have in common.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "workloads/bert/comm/socket.h"
#include "workloads/bert/core/launch_environment.h"

namespace bert {

// TcpStore: a small key-value store that rank 0 serves over TCP. Ranks exchange addresses through
// it (Gloo's, NCCL's unique id), and it knows which rank left first.

/// Serves until destroyed. Wire format, little endian, a request and its reply both framed as
/// u32 length, then the bytes: request = u8 operation, u32 key size, key, value.
///   hello (value = u32 rank)  no reply          get (key)   value, sent once the key is set; where
///                                                           a rank was lost, kLostReply as length
///   set (key, value)          empty reply       lost        u32 rank that left first, or ~0
///   bye                       empty reply: closing after this is not a loss
class TcpStoreServer {
 public:
  /// Throws std::runtime_error when the address cannot be had. Port 0: any free one.
  TcpStoreServer(const std::string& host, int port);
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// Ranks that have met, minus those that have gone.
  [[nodiscard]] int connected() const { return connected_.load(); }

 private:
  struct Client {
    Socket socket;
    std::string input;
    std::string output;
    std::string waits_for;  ///< key of a pending get
    bool waiting = false;
    bool said_bye = false;
    std::optional<std::uint32_t> rank;
  };
  void serve();
  void accept_client();
  bool read_from(Client& client);
  bool flush(Client& client);
  void handle(Client& client, std::string_view request);
  void drop(Client& client);
  static void reply(Client& client, std::string_view value);
  static void reply_lost(Client& client);

  Socket listener_;
  int port_ = 0;
  int wake_[2] = {-1, -1};
  std::deque<Client> clients_;
  std::map<std::string, std::string, std::less<>> values_;
  std::uint32_t first_lost_;
  std::atomic<int> connected_{0};
  std::thread thread_;
};

/// One rank's connection to the store. Not for use by several threads at once.
class TcpStore {
 public:
  /// Waits up to `timeout` for rank 0. Throws std::runtime_error that names what to check.
  TcpStore(const std::string& host, int port, int rank, std::chrono::milliseconds timeout);
  TcpStore(const TcpStore&) = delete;
  TcpStore& operator=(const TcpStore&) = delete;

  void set(std::string_view key, std::string_view value);
  /// Blocks until the key is set, until a rank was lost, at most the timeout; then
  /// std::runtime_error naming the key.
  [[nodiscard]] std::string get(std::string_view key);
  [[nodiscard]] std::string get(std::string_view key, std::chrono::milliseconds timeout);
  /// The rank that left first without leave(); rank 0 when the server itself is gone;
  /// nothing when every rank is there. A store that does not answer within `limit` counts as gone.
  [[nodiscard]] std::optional<int> lost_rank(
      std::chrono::milliseconds limit = std::chrono::seconds(2));
  /// Announces the end, so that closing the connection is not taken for a death.
  void leave();
  [[nodiscard]] std::string address() const { return local_address(socket_); }

 private:
  enum class Operation : std::uint8_t;
  friend class TcpStoreServer;
  std::optional<std::string> request(Operation operation, std::string_view key,
                                     std::string_view value, std::chrono::milliseconds timeout);
  bool send_request(Operation operation, std::string_view key, std::string_view value);
  [[noreturn]] void fail(std::string_view key, std::chrono::milliseconds timeout) const;

  std::string where_;
  int rank_;
  std::chrono::milliseconds timeout_;
  Socket socket_;
  bool broken_ = false;  ///< a reply did not come in time: what is read next may be of it
  bool left_ = false;
};

class Rendezvous {
 public:
  /// Blocks until every rank has come or `timeout` has passed; rank 0 serves. Throws
  /// std::runtime_error naming the rank that is missing or was started for another world.
  Rendezvous(const LaunchEnvironment& environment, std::chrono::milliseconds timeout);
  /// Rank 0 stays until the others have left, at most a moment: they may ask it who was lost.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  [[nodiscard]] TcpStore& store() { return *store_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }
  /// "127.0.0.1:29500"
  [[nodiscard]] std::string place() const;

  /// Looks, at most about ten times a second, whether a rank went away without leave().
  [[nodiscard]] std::optional<int> lost_rank_now_and_then();
  /// Message of a collective that failed: names the rank that died when it is known within half a
  /// second, and names what to do. `detail` is the library's own word.
  [[nodiscard]] std::string blame(const std::string& what, const std::string& detail);
  /// Before a good end: closing the connection is then no death.
  void leave() { store_->leave(); }

 private:
  void wait_for_all_ranks();

  LaunchEnvironment environment_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<TcpStoreServer> server_;
  std::unique_ptr<TcpStore> store_;
  std::chrono::steady_clock::time_point last_look_;
};

}  // namespace bert
