#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include "workloads/bert/comm/bucket_planner.h"
#include "workloads/bert/comm/gradient_reducer.h"
#include "workloads/bert/comm/make_communicator.h"
#include "workloads/bert/comm/pair_probe.h"
#include "workloads/bert/comm/rendezvous.h"
#include "workloads/bert/comm/sim.h"
#include "workloads/bert/core/communicator.h"
#include "workloads/bert/core/module.h"

namespace bert {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kPatience{20000};

TEST(BucketPlanner, EveryBucketButTheLastHasTheSameSize) {
  BucketPlanner planner(100, 30);
  EXPECT_TRUE(planner.add(90, 10).empty());
  EXPECT_THAT(planner.add(65, 25), ElementsAre(GradientRange{70, 30}));
  EXPECT_THAT(planner.add(5, 60), ElementsAre(GradientRange{40, 30}, GradientRange{10, 30}));
  EXPECT_FALSE(planner.finished());
  EXPECT_THAT(planner.add(0, 5), ElementsAre(GradientRange{0, 10}));
  EXPECT_TRUE(planner.finished());
}

TEST(BucketPlanner, BucketsDoNotDependOnTheGrainOfBackward) {
  for (const std::int64_t grain : {1, 7, 50, 1000}) {
    BucketPlanner planner(1000, 64);
    std::vector<GradientRange> all;
    for (std::int64_t at = 1000; at > 0;) {
      const std::int64_t next = std::max<std::int64_t>(0, at - grain);
      const auto some = planner.add(next, at - next);
      all.insert(all.end(), some.begin(), some.end());
      at = next;
    }
    ASSERT_EQ(all.size(), 16u) << grain;
    EXPECT_EQ(all[0], (GradientRange{936, 64}));
    EXPECT_EQ(all[15], (GradientRange{0, 40}));
  }
}

TEST(BucketPlanner, AGapOrAnOverlapIsAnError) {
  BucketPlanner gap(10, 4);
  EXPECT_THROW((void)gap.add(3, 4), std::logic_error);
  BucketPlanner overlap(10, 4);
  (void)overlap.add(6, 4);
  EXPECT_THROW((void)overlap.add(4, 4), std::logic_error);
}

// Counts what goes through, and can fail.
class CountingCommunicator : public SelfCommunicator {
 public:
  using SelfCommunicator::all_reduce_sum;
  void all_reduce_sum(std::span<float> values) override {
    if (fail) {
      throw std::runtime_error("peer is gone");
    }
    for (float& value : values) {
      value *= 2;
    }
    sizes.push_back(values.size());
  }
  std::vector<std::size_t> sizes;
  bool fail = false;
};

TEST(GradientReducer, SumsEveryElementOnceInBuckets) {
  CountingCommunicator communicator;
  GradientReducer reducer(communicator, 40);  // ten floats
  for (int step = 0; step < 3; ++step) {
    communicator.sizes.clear();
    std::vector<float> gradients(25);
    std::iota(gradients.begin(), gradients.end(), 1.0F);
    reducer.begin(gradients);
    reducer.ready(12, 13);
    reducer.ready(0, 12);
    reducer.wait();
    EXPECT_THAT(communicator.sizes, ElementsAre(10u, 10u, 5u));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_EQ(gradients[i], 2.0F * static_cast<float>(i + 1));
    }
  }
}

TEST(GradientReducer, WaitReportsWhatTheCommunicatorThrew) {
  CountingCommunicator communicator;
  communicator.fail = true;
  GradientReducer reducer(communicator, 4);
  std::vector<float> gradients(3);
  reducer.begin(gradients);
  reducer.ready(0, 3);
  EXPECT_THROW(reducer.wait(), std::runtime_error);
}

TEST(GradientReducer, ABackwardThatSkippedGradientsIsAnError) {
  CountingCommunicator communicator;
  GradientReducer reducer(communicator, 4);
  std::vector<float> gradients(3);
  reducer.begin(gradients);
  reducer.ready(1, 2);
  EXPECT_THROW(reducer.wait(), std::logic_error);
}

TEST(TcpStore, ValuesOfAnySizeReachEveryClient) {
  TcpStoreServer server("127.0.0.1", 0);
  TcpStore a("127.0.0.1", server.port(), 0, kPatience);
  TcpStore b("127.0.0.1", server.port(), 1, kPatience);
  const std::string big(200000, 'x');
  const std::string binary("a\0b\n", 4);
  a.set("big", big);
  a.set("binary", binary);
  a.set("empty", "");
  EXPECT_EQ(b.get("big"), big);
  EXPECT_EQ(b.get("binary"), binary);
  EXPECT_EQ(b.get("empty"), "");
  b.set("binary", "new");
  EXPECT_EQ(a.get("binary"), "new");
}

TEST(TcpStore, GetWaitsUntilTheKeyIsSet) {
  TcpStoreServer server("127.0.0.1", 0);
  TcpStore reader("127.0.0.1", server.port(), 1, kPatience);
  std::thread writer([&] {
    TcpStore store("127.0.0.1", server.port(), 0, kPatience);
    std::this_thread::sleep_for(milliseconds(50));
    store.set("late", "value");
    store.leave();
  });
  EXPECT_EQ(reader.get("late"), "value");
  writer.join();
}

TEST(TcpStore, AMissingKeyIsAnErrorThatNamesIt) {
  TcpStoreServer server("127.0.0.1", 0);
  TcpStore store("127.0.0.1", server.port(), 0, kPatience);
  EXPECT_THAT([&] { (void)store.get("never", milliseconds(30)); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("never")));
}

// Seen: a rank that died while the ranks met was noticed after the full timeout.
TEST(TcpStore, AGetThatWaitsFailsWhenARankIsLost) {
  TcpStoreServer server("127.0.0.1", 0);
  TcpStore reader("127.0.0.1", server.port(), 0, std::chrono::hours(1));
  auto dying = std::make_unique<TcpStore>("127.0.0.1", server.port(), 1, kPatience);
  dying->set("there", "1");
  std::thread end([&] {
    std::this_thread::sleep_for(milliseconds(50));
    dying.reset();
  });
  EXPECT_THROW((void)reader.get("never"), std::runtime_error);
  end.join();
  EXPECT_THROW((void)reader.get("never either"), std::runtime_error);
  EXPECT_EQ(reader.lost_rank(), 1) << "the connection is good as before";
  EXPECT_EQ(reader.get("there"), "1");
}

TEST(TcpStore, KnowsWhoLeftFirstWithoutGoodbye) {
  TcpStoreServer server("127.0.0.1", 0);
  TcpStore watcher("127.0.0.1", server.port(), 0, kPatience);
  auto polite = std::make_unique<TcpStore>("127.0.0.1", server.port(), 1, kPatience);
  auto dying = std::make_unique<TcpStore>("127.0.0.1", server.port(), 2, kPatience);
  polite->leave();
  polite.reset();
  EXPECT_EQ(watcher.lost_rank(), std::nullopt);
  dying.reset();
  std::optional<int> lost;
  for (int i = 0; i < 2000 && !lost; ++i) {
    lost = watcher.lost_rank();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(lost, 2);
}

TEST(TcpStore, StrangersOnThePortDoNoHarm) {
  TcpStoreServer server("127.0.0.1", 0);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const Socket stranger = connect_to("127.0.0.1", server.port(), deadline);
  ASSERT_TRUE(send_all(stranger, "GET / HTTP/1.1\r\n\r\n", 18, deadline));
  TcpStore store("127.0.0.1", server.port(), 0, kPatience);
  store.set("key", "value");
  EXPECT_EQ(store.get("key"), "value");
}

TEST(TcpStore, AServerThatIsNotThereIsAnErrorThatNamesTheAddress) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  EXPECT_THAT([&] { TcpStore store("127.0.0.1", port, 1, milliseconds(50)); },
              ::testing::ThrowsMessage<std::runtime_error>(
                  ::testing::AllOf(HasSubstr(std::to_string(port)), HasSubstr("MASTER_PORT"))));
}

TEST(TcpStore, APortInUseIsAnErrorThatSaysSo) {
  const Socket taken = listen_on("127.0.0.1", 0);
  EXPECT_THROW(TcpStoreServer("127.0.0.1", local_port(taken)), std::runtime_error);
}

LaunchEnvironment environment(int rank, int world, int port) {
  LaunchEnvironment env;
  env.rank = env.local_rank = rank;
  env.world_size = env.local_world_size = world;
  env.master_port = port;
  return env;
}

std::unique_ptr<Communicator> communicator_of(const std::string& kind,
                                              const LaunchEnvironment& env) {
  if (kind == "tcp") return make_tcp_communicator(env, kPatience);
  auto ranks = std::make_unique<Rendezvous>(env, kPatience);
  return make_shm_communicator(env, ranks);
}

/// What the ranks print together.
std::string probed_pairs(int world, const PairHandicap& handicap) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  std::vector<std::ostringstream> printed(static_cast<std::size_t>(world));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      probe_pairs(environment(rank, world, port), kPatience, handicap,
                  printed[static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  std::string out;
  for (const std::ostringstream& one : printed) out += one.str();
  return out;
}

TEST(PairProbe, EveryRankIsMeasuredWithBothNeighbours) {
  for (const auto& [world, lines] : {std::pair{2, 1}, std::pair{3, 3}, std::pair{4, 4}}) {
    const std::string printed = probed_pairs(world, {});
    EXPECT_EQ(std::ranges::count(printed, '\n'), lines) << printed;
    EXPECT_THAT(printed, ::testing::Not(HasSubstr("problem")));
    EXPECT_THAT(printed, HasSubstr(R"({"pair_probe":1,"nodes":[0,1],"gb_s":)"));
    if (world > 2) {
      EXPECT_THAT(printed, HasSubstr(fmt::format("\"nodes\":[{},0]", world - 1)));
    }
  }
}

TEST(PairProbe, AWorldOfOneIsRefused) {
  std::ostringstream out;
  EXPECT_THROW(probe_pairs(environment(0, 1, 1), kPatience, {}, out), std::invalid_argument);
}

TEST(PairProbe, ARankThatDoesNotComeIsNamed) {
  std::ostringstream out;
  const int port = local_port(listen_on("127.0.0.1", 0));
  EXPECT_THAT([&] { probe_pairs(environment(0, 2, port), milliseconds(100), {}, out); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("rank 1 of 2 did not come")));
}

class EveryCommunicator : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, EveryCommunicator, ::testing::Values("tcp", "shm"),
                         [](const auto& one) { return std::string(one.param); });

constexpr int kThreeRanks = 3;

/// How many of three ranks got the right answer. `body`: bool(Communicator&, int rank).
template <typename Body>
int right_ranks_of_three(const std::string& kind, Body body) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  std::atomic<int> right{0};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kThreeRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto comm = communicator_of(kind, environment(rank, kThreeRanks, port));
      right += body(*comm, rank) ? 1 : 0;
      comm->finish();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return right;
}

TEST_P(EveryCommunicator, CollectivesOfThreeRanks) {
  const auto body = [](Communicator& comm, int rank) {
    std::vector<float> values(700003);  // more than shared memory takes at a time
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 100) * static_cast<float>(rank + 1);
    }
    comm.all_reduce_sum(std::span<float>(values));
    bool ok = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ok = ok && values[i] == static_cast<float>(i % 100) * 6;
    }
    double sum[2] = {0.5, static_cast<double>(rank)};
    comm.all_reduce_sum(std::span<double>(sum));
    std::int64_t most[2] = {rank, -rank};
    comm.all_reduce_max(most);
    std::vector<float> shared(5, static_cast<float>(rank));
    comm.broadcast(shared, 1);
    std::vector<float> large(700003, static_cast<float>(rank));
    comm.broadcast(large, 2);
    ok = ok && std::all_of(large.begin(), large.end(), [](float x) { return x == 2; });
    std::vector<float> none;
    comm.all_reduce_sum(std::span<float>(none));
    comm.barrier();
    ok = ok && sum[0] == 1.5 && sum[1] == 3 && most[0] == 2 && most[1] == 0 && shared[4] == 1;
    return ok;
  };
  EXPECT_EQ(right_ranks_of_three(GetParam(), body), kThreeRanks);
}

/// Ports on which this process listens.
std::set<int> own_ports() {
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto link = std::filesystem::read_symlink(entry, gone).string();
    if (link.starts_with("socket:[")) sockets.insert(link.substr(8, link.size() - 9));
  }
  std::set<int> ports;
  std::ifstream table("/proc/self/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> inode;
    const bool listens = state == "0A" && sockets.contains(inode);
    if (listens) ports.insert(std::stoi(local.substr(local.find(':') + 1), nullptr, 16));
  }
  return ports;
}

/// Two ranks that become a job while strangers are connected to Gloo's ports of rank 0. Whether a
/// stranger came through: on a busy machine rank 0 may have ceased to listen before.
bool strangers_came(const std::string& said) {
  constexpr std::chrono::minutes kLongPatience{2};
  const int port = local_port(listen_on("127.0.0.1", 0));
  std::atomic<int> good{0};
  const auto run = [&](int rank) {
    try {
      const auto comm = make_tcp_communicator(environment(rank, 2, port), kLongPatience);
      float value = 1;
      comm->all_reduce_sum(std::span<float>(&value, 1));
      comm->finish();
      good += value == 2 ? 1 : 0;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
  };
  std::thread first(run, 0);
  std::vector<Socket> strangers;
  try {
    // Announces rank 1, so that rank 0 begins to listen, and lets nobody connect yet.
    TcpStore early("127.0.0.1", port, 1, kLongPatience);
    early.set("rank/1", "2");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (strangers.empty() && std::chrono::steady_clock::now() < deadline) {
      for (const int other : own_ports()) {
        if (other == port) continue;
        Socket stranger = connect_to("127.0.0.1", other, deadline);
        if (send_all(stranger, said.data(), said.size(), deadline)) {
          strangers.push_back(std::move(stranger));
        }
      }
    }
    early.leave();
  } catch (const std::exception&) {  // the port was closed meanwhile
  }
  std::thread second(run, 1);
  first.join();
  second.join();
  EXPECT_EQ(good, 2) << said;
  return !strangers.empty();
}

// Seen: the first that came was taken for the rank, and the job ended.
TEST(TcpCommunicator, StrangersOnGloosPortsDoNoHarm) {
  for (const std::string said :
       {"", "GET / HTTP/1.1\r\nHost: example\r\nUser-Agent: scan\r\n\r\n"}) {
    bool came = false;
    for (int round = 0; round < 20 && !came && !HasFailure(); ++round) came = strangers_came(said);
    EXPECT_TRUE(came) << said;
  }
}

// Seen: it was tried again and again, without a pause, until the limit had passed.
TEST(TcpCommunicator, AnInterfaceThatDoesNotExistIsAnErrorThatNamesItsVariable) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  std::thread second([&] {
    TcpStore store("127.0.0.1", port, 1, kPatience);
    store.set("rank/1", "2");
    store.leave();
  });
  setenv("GLOO_SOCKET_IFNAME", "no_such0", 1);
  EXPECT_THAT([&] { (void)make_tcp_communicator(environment(0, 2, port), kPatience); },
              ::testing::ThrowsMessage<std::runtime_error>(
                  ::testing::AllOf(HasSubstr("no_such0"), HasSubstr("GLOO_SOCKET_IFNAME"))));
  unsetenv("GLOO_SOCKET_IFNAME");
  second.join();
}

// Seen: one rank waited for shared memory and the other for TCP.
TEST(MakeCommunicator, RanksWithOtherVariablesTakeTheChoiceOfRank0) {
  for (const int together : {0, 1}) {  // the rank whose launcher puts all on one machine
    const int port = local_port(listen_on("127.0.0.1", 0));
    const auto description = [&](int rank) {
      LaunchEnvironment env = environment(rank, 2, port);
      if (rank != together) env.local_world_size = 1;
      TrainOptions options;
      options.comm = "auto";
      options.comm_timeout_s = 20;
      const auto made = make_communicator(options, env);
      if (!made) return made.error().message;
      (*made)->finish();
      return (*made)->description();
    };
    std::string second;
    std::thread other([&] { second = description(1); });
    const std::string first = description(0);
    other.join();
    EXPECT_THAT(first, HasSubstr(together == 0 ? "shared memory" : "tcp"));
    EXPECT_EQ(first, second);
  }
}

// On another machine the number is that of another process's file.
TEST(ShmCommunicator, AFileThatIsNoMemoryOfBertTrainIsLeftAlone) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  TcpStoreServer server("127.0.0.1", port);
  TcpStore rank0("127.0.0.1", port, 0, kPatience);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  // As large as the block of two ranks, with the secret at its start.
  const std::uint64_t secret = 5;
  ASSERT_EQ(std::fwrite(&secret, sizeof secret, 1, file), 1u);
  ASSERT_EQ(std::fflush(file), 0);
  ASSERT_EQ(ftruncate(fileno(file), 4096 + 2 * 3 * (1 << 20)), 0);
  rank0.set("rank/0", "2");
  rank0.set("shm/place", std::to_string(getpid()) + " " + std::to_string(fileno(file)));
  rank0.set("shm/secret", "5");
  rank0.set("shm/mapped/0", "yes");
  rank0.set("shm/ready", "yes");
  auto ranks = std::make_unique<Rendezvous>(environment(1, 2, port), kPatience);
  EXPECT_EQ(make_shm_communicator(environment(1, 2, port), ranks), nullptr);
  EXPECT_EQ(rank0.get("shm/mapped/1"), "no");
  std::fclose(file);
}

TEST(TcpCommunicator, ARankThatDiesWhileTheRanksMeetIsNamedAtOnce) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  std::thread dying([&] { TcpStore store("127.0.0.1", port, 1, kPatience); });
  EXPECT_THAT([&] { (void)make_tcp_communicator(environment(0, 3, port), std::chrono::hours(1)); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("rank 1 died")));
  dying.join();
}

TEST(TcpCommunicator, AMissingRankIsNamed) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  EXPECT_THAT([&] { (void)make_tcp_communicator(environment(0, 2, port), milliseconds(100)); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("rank 1 of 2")));
}

// Many small sums in a row: no rank may overwrite what another still reads.
TEST_P(EveryCommunicator, RanksThatComeAtAnyTimeGetTheSameSums) {
  const auto body = [](Communicator& comm, int rank) {
    bool ok = true;
    for (int i = 0; i < 300; ++i) {
      if (i % kThreeRanks == rank) std::this_thread::yield();
      std::vector<float> values(static_cast<std::size_t>(1 + i % 7), static_cast<float>(i + rank));
      comm.all_reduce_sum(std::span<float>(values));
      ok = ok && values.back() == static_cast<float>(3 * i + 3);
    }
    return ok;
  };
  EXPECT_EQ(right_ranks_of_three(GetParam(), body), kThreeRanks);
}

// A rank that has what it came for may be gone before the others have looked.
TEST(ShmCommunicator, ARankThatLeavesAfterASumIsNoLossToIt) {
  for (int round = 0; round < 20; ++round) {
    const int port = local_port(listen_on("127.0.0.1", 0));
    const auto sum = [&](int rank) {
      const auto comm = communicator_of("shm", environment(rank, 2, port));
      if (rank == 0) std::this_thread::yield();
      std::vector<float> values(3, 1.0F);
      comm->all_reduce_sum(std::span<float>(values));
      EXPECT_EQ(values[2], 2);
    };  // neither closes its connections
    std::thread second([&] { sum(1); });
    EXPECT_NO_THROW(sum(0));
    second.join();
  }
}

TEST(ShmCommunicator, ARankThatGoesAwayIsNamed) {
  const int port = local_port(listen_on("127.0.0.1", 0));
  std::thread second([&] { (void)communicator_of("shm", environment(1, 2, port)); });
  const auto comm = communicator_of("shm", environment(0, 2, port));
  second.join();  // it left without finish()
  EXPECT_THAT([&] { comm->barrier(); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("rank 1 died")));
}

TEST(SimCommunicator, AddsTheTimeOfTheScalingModel) {
  SimulatedCluster cluster;
  cluster.nodes = 4;
  cluster.gpus_per_node = 8;
  cluster.latency_in_node_s = 1e-6;
  cluster.latency_across_s = 1e-5;
  cluster.bandwidth_in_node = 100e9;
  cluster.bandwidth_per_node = 10e9;
  // 14 us + 1.75 * 1e8/1e11 + 60 us + 1.5 * 1e8/1e10
  EXPECT_NEAR(simulated_all_reduce_seconds(cluster, 1e8), 14e-6 + 1.75e-3 + 60e-6 + 15e-3, 1e-12);
  cluster.nodes = cluster.gpus_per_node = 1;
  EXPECT_EQ(simulated_all_reduce_seconds(cluster, 1e8), 0);
}

TEST(SimCommunicator, WaitsAndIsLabelledSimulated) {
  SimulatedCluster cluster;
  cluster.nodes = 2;
  cluster.bandwidth_per_node = 1e6;
  const auto comm = make_sim_communicator(cluster, std::make_unique<SelfCommunicator>());
  EXPECT_TRUE(comm->reduces());
  EXPECT_EQ(comm->description(), "simulated 2n1g, over self");
  std::vector<float> values(5000);  // 20 kB at 1 MB/s: 20 ms
  const auto start = std::chrono::steady_clock::now();
  comm->all_reduce_sum(std::span<float>(values));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(20));
}

TEST(SimCommunicator, TopologiesAreParsedOrRefused) {
  EXPECT_EQ(parse_simulated_topology("4n8g")->label(), "4n8g");
  for (const char* bad : {"", "4n", "n8g", "0n8g", "4n0g", "4n8", "4n8gg", "-1n2g", "4x8"}) {
    EXPECT_FALSE(parse_simulated_topology(bad)) << bad;
  }
}

TEST(Modules, AMissingModuleIsNamedWithItsPath) {
  const auto module = load_module("nccl");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().status, ExitStatus::no_device);
  EXPECT_THAT(module.error().message, HasSubstr("bert_nccl.so"));
}

TEST(Modules, ALibraryThatIsNoModuleIsRefused) {
  const auto module = load_module_file("libm.so.6");
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message, HasSubstr("bert_module()"));
}

}  // namespace
}  // namespace bert
