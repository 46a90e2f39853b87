#include "workloads/bert/comm/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace bert {
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
