#include "workloads/bert/comm/pair_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "workloads/bert/comm/make_communicator.h"
#include "workloads/bert/comm/socket.h"

namespace bert {
namespace {

using PairClock = std::chrono::steady_clock;

constexpr std::size_t kPairFloats = std::size_t{1} << 20;  // 4 MiB: bandwidth counts, not latency
constexpr std::size_t kPairReadings = 8;
constexpr std::chrono::duration<double> kLongestRest(0.25);

struct Pair {
  int low = 0, high = 0;
  int turn = 0;  ///< pairs of one turn share no rank
};

std::vector<Pair> pairs_of(int world) {
  std::vector<Pair> out;
  for (int rank = 0; rank + 1 < world; ++rank) out.push_back({rank, rank + 1, rank % 2});
  if (world > 2) out.push_back({world - 1, 0, world % 2 == 0 ? 1 : 2});
  std::ranges::stable_sort(out, {}, &Pair::turn);
  return out;
}

std::string address_key(const Pair& pair) { return fmt::format("pair/{}", pair.low); }

double pair_gb_s(Communicator& communicator, double rest) {
  std::vector<float> values(kPairFloats, 1.0F);
  std::array<double, 1 + kPairReadings> seconds{};
  for (double& reading : seconds) {
    const auto begin = PairClock::now();
    communicator.all_reduce_sum(std::span(values));
    const std::chrono::duration<double> took = PairClock::now() - begin;
    if (rest > 0) std::this_thread::sleep_for(std::min(rest * took, kLongestRest));
    reading = std::chrono::duration<double>(PairClock::now() - begin).count();
  }
  std::sort(seconds.begin() + 1, seconds.end());
  const double median = (seconds[kPairReadings / 2] + seconds[kPairReadings / 2 + 1]) / 2;
  return kPairFloats * sizeof(float) / median / 1e9;
}

}  // namespace

void probe_pairs(const LaunchEnvironment& environment, std::chrono::milliseconds timeout,
                 const PairHandicap& handicap, std::ostream& out) {
  if (environment.world_size < 2) {
    throw std::invalid_argument("--probe-pairs needs two ranks or more: start one on each node");
  }
  struct Own {
    Pair pair;
    LaunchEnvironment place;
  };
  std::vector<Own> own;
  std::vector<Socket> held;  // ranks of one host must not be given the same port
  {
    Rendezvous all(environment, timeout);
    for (const Pair& pair : pairs_of(environment.world_size)) {
      if (pair.low != environment.rank && pair.high != environment.rank) continue;
      LaunchEnvironment place;
      place.rank = pair.low == environment.rank ? 0 : 1;
      place.world_size = 2;
      place.source = environment.source;
      if (place.rank == 0) {
        // Others reach rank 0 under the address that was given to all of them.
        const std::string address =
            environment.rank == 0 ? environment.master_address : all.store().address();
        held.push_back(hold_port(address));
        all.store().set(address_key(pair), fmt::format("{} {}", local_port(held.back()), address));
      }
      own.push_back({pair, place});
    }
    for (Own& one : own) {
      const std::string where = all.store().get(address_key(one.pair));
      const std::size_t blank = where.find(' ');
      one.place.master_port = std::stoi(where.substr(0, blank));
      one.place.master_address = where.substr(blank + 1);
    }
    all.leave();
  }
  for (const auto& [pair, place] : own) {
    nlohmann::ordered_json line{{"pair_probe", 1}, {"nodes", {pair.low, pair.high}}};
    try {
      const auto communicator = make_tcp_communicator(place, timeout);
      line["gb_s"] =
          pair_gb_s(*communicator, environment.rank == handicap.rank ? handicap.share : 0);
      communicator->finish();
      if (place.rank != 0) continue;
    } catch (const std::exception& error) {
      line.erase("gb_s");
      line["problem"] = error.what();
    }
    // One write a line: those of several ranks must not mix.
    out << line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n" << std::flush;
  }
}

}  // namespace bert
