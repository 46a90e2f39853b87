// --comm nccl: the real module and the real bert_train over stand-ins for libcuda and libnccl
// (tests/workloads/fakes), so without a GPU. What is shown here is this side of the border: order,
// buffers, streams, errors. NCCL itself is run by tests/gpu/run.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>

#include "tests/workloads/driver/process.h"
#include "tests/workloads/driver/state.h"
#include "workloads/bert/comm/nccl/library.h"
#include "workloads/bert/core/device_communicator.h"
#include "workloads/bert/core/module.h"

namespace bert::testing {
namespace {

using ::testing::HasSubstr;

Variables fakes(Variables more = {}) {
  more.insert({{"BERT_CUDA_DRIVER", FAKE_CUDA}, {"BERT_NCCL_LIBRARY", FAKE_NCCL}});
  return more;
}

struct Job {
  Job(int ranks, const Words& words, const std::vector<Variables>& more = {}) {
    const int port = free_port();
    for (int rank = 0; rank < ranks; ++rank) {
      Variables variables = fakes(rank_variables(rank, ranks, port));
      for (const auto& [name, value] :
           more.empty() ? Variables{} : more.at(static_cast<std::size_t>(rank))) {
        variables[name] = value;
      }
      processes.push_back(std::make_unique<Process>(words, variables));
    }
  }
  std::vector<Finished> wait() {
    std::vector<Finished> result;
    for (auto& process : processes) result.push_back(process->wait());
    return result;
  }
  std::vector<std::unique_ptr<Process>> processes;
};

class NcclWorlds : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, NcclWorlds, ::testing::Values(1, 2, 4));

TEST_P(NcclWorlds, TrainToTheSameWeightsAsOverTcp) {
  const int ranks = GetParam();
  const std::string nccl = temporary_folder("nccl"), tcp = temporary_folder("tcp");
  const auto words = [&](const std::string& comm, const std::string& folder) {
    return small({"--steps", "3", "--bucket-mb", "0.7", "--comm", comm, "--checkpoint", folder});
  };
  for (const Finished& one : Job(ranks, words("nccl", nccl)).wait()) {
    ASSERT_EQ(one.status, 0) << one.err;
  }
  for (const Finished& one : Job(ranks, words(ranks == 1 ? "self" : "tcp", tcp)).wait()) {
    ASSERT_EQ(one.status, 0) << one.err;
  }
  const State a = newest_state(nccl), b = newest_state(tcp);
  ASSERT_EQ(a.values.size(), b.values.size());
  if (ranks <= 2) {
    EXPECT_TRUE(a.values == b.values) << "a sum of two does not depend on their order";
  }
  EXPECT_LE(whole_difference(b, a, 0), 1e-6) << "weights";
  EXPECT_LE(whole_difference(b, a, 1), 1e-5) << "first moments";
}

// ---- collectives on device memory, one process per rank -----------------------------------------

/// What one rank has: the communicator, device memory, a stream.
struct Rank {
  Communicator& communicator;
  DeviceCommunicator& device;
  const nccl::Driver& driver;
  nccl::CuStream stream;
  int rank, world;

  template <typename T>
  T* upload(const std::vector<T>& values) const {
    nccl::CuPointer memory = 0;
    nccl::check_driver(driver.allocate(&memory, values.size() * sizeof(T)), "cuMemAlloc");
    std::memcpy(reinterpret_cast<void*>(memory), values.data(), values.size() * sizeof(T));
    return reinterpret_cast<T*>(memory);
  }
  void wait() const {
    device.wait([this] { return driver.query_stream(stream) == nccl::kCuSuccess; });
  }
};

/// Runs `body` in a process per rank. It throws where something is wrong; the messages come back
/// in order of ranks, empty where all was right.
std::vector<std::string> on_ranks(int world, const std::function<void(const Rank&)>& body,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  const int port = free_port();
  std::vector<std::pair<pid_t, int>> children;
  for (int rank = 0; rank < world; ++rank) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string wrong;
      try {
        setenv("BERT_CUDA_DRIVER", FAKE_CUDA, 1);
        setenv("BERT_NCCL_LIBRARY", FAKE_NCCL, 1);
        LaunchEnvironment environment;
        environment.rank = environment.local_rank = rank;
        environment.world_size = environment.local_world_size = world;
        environment.master_port = port;
        const auto module = load_module_file(BERT_NCCL_MODULE);
        if (!module) throw std::runtime_error(module.error().message);
        const auto communicator = (*module)->make_communicator(environment, timeout);
        nccl::CuStream stream = nullptr;
        nccl::CuContext context = nullptr;
        nccl::driver().retain_primary_context(&context, 0);
        nccl::driver().set_context(context);
        nccl::check_driver(nccl::driver().create_stream(&stream, 1), "cuStreamCreate");
        body({*communicator, *communicator->device(), nccl::driver(), stream, rank, world});
        communicator->finish();
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      if (write(ends[1], wrong.data(), wrong.size()) < 0) _exit(9);
      _exit(0);
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  std::vector<std::string> result;
  for (const auto& [child, end] : children) {
    std::string text(4096, '\0');
    const ssize_t size = read(end, text.data(), text.size());
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    close(end);
    int status = 0;
    waitpid(child, &status, 0);
    result.push_back(status == 0 ? text : "the process of the rank broke");
  }
  return result;
}

void require(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}

std::vector<float> ramp(std::size_t size, float from) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST_P(NcclWorlds, SumScatterAndGatherOnTheDevice) {
  const auto wrong = on_ranks(GetParam(), [](const Rank& r) {
    // Larger than a round of the stand-in, and of no round size. Whole numbers: sums are exact.
    constexpr std::size_t kCount = 70001;
    const auto world = static_cast<std::size_t>(r.world);
    const auto own = static_cast<std::size_t>(r.rank);
    const auto whole = static_cast<float>(r.world);
    require(r.communicator.reduces(), "one rank takes the way of many");
    float* sum = r.upload(ramp(kCount, static_cast<float>(r.rank)));
    r.device.queue_all_reduce_sum(sum, kCount, DeviceType::f32, r.stream);
    float* shares = r.upload(ramp(kCount * world, 0));
    r.device.queue_reduce_scatter_sum(shares, shares + own * kCount, kCount, DeviceType::f32,
                                      r.stream);
    float* share = r.upload(std::vector<float>(kCount));
    float* other = r.upload(ramp(kCount * world, 0));
    r.device.queue_reduce_scatter_sum(other, share, kCount, DeviceType::f32, r.stream);
    r.device.queue_all_gather(shares + own * kCount, shares, kCount, DeviceType::f32, r.stream);
    r.wait();
    const float ranks = whole * (whole - 1) / 2;
    for (std::size_t i = 0; i < kCount; ++i) {
      require(sum[i] == whole * static_cast<float>(i) + ranks, "all-reduce");
      require(share[i] == whole * static_cast<float>(own * kCount + i), "reduce-scatter");
    }
    for (std::size_t i = 0; i < kCount * world; ++i) {
      require(shares[i] == whole * static_cast<float>(i), "all-gather of what was scattered");
    }
  });
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

TEST(NcclTypes, HalfPrecisionsAreSummedAsSuch) {
  const auto wrong = on_ranks(2, [](const Rank& r) {
    std::uint16_t* bf16 = r.upload(std::vector<std::uint16_t>{0x3f80, 0x4000});  // 1, 2
    std::uint16_t* f16 = r.upload(std::vector<std::uint16_t>{0x3c00, 0x7bff});   // 1, 65504
    r.device.queue_all_reduce_sum(bf16, 2, DeviceType::bf16, r.stream);
    r.device.queue_all_reduce_sum(f16, 2, DeviceType::f16, r.stream);
    r.wait();
    require(bf16[0] == 0x4000 && bf16[1] == 0x4080, "bf16");
    require(f16[0] == 0x4000 && f16[1] == 0x7c00, "f16, which overflows to infinity");
  });
  EXPECT_THAT(wrong, ::testing::Each(""));
}

TEST(NcclErrors, MemoryOfTheHostIsRefused) {
  const auto wrong = on_ranks(1, [](const Rank& r) {
    float host[4] = {};
    r.device.queue_all_reduce_sum(host, 4, DeviceType::f32, r.stream);
  });
  EXPECT_THAT(wrong[0], HasSubstr("invalid argument"));
}

TEST(NcclErrors, ARankThatEndsIsNamedAndTheStreamDrains) {
  const auto wrong = on_ranks(2, [](const Rank& r) {
    float* values = r.upload(std::vector<float>(8));
    r.device.queue_all_reduce_sum(values, 8, DeviceType::f32, r.stream);
    if (r.rank == 1) {
      r.wait();
      _exit(0);
    }
    r.device.queue_all_reduce_sum(values, 8, DeviceType::f32, r.stream);  // alone
    std::string first;
    try {
      r.wait();
    } catch (const std::exception& error) {
      first = error.what();
    }
    while (r.driver.query_stream(r.stream) == nccl::kCuNotReady) usleep(1000);
    try {
      r.device.check();
    } catch (const std::exception& error) {
      require(first == error.what(), "later calls report the first failure");
    }
    throw std::runtime_error("drained; " + first);
  });
  EXPECT_THAT(wrong[0], HasSubstr("drained; collective failed: rank 1 died"));
}

TEST(NcclErrors, CallsInAnotherOrderAreTold) {
  const auto wrong = on_ranks(
      2,
      [](const Rank& r) {
        float* values = r.upload(std::vector<float>(8));
        r.device.queue_all_reduce_sum(values, 8 - r.rank, DeviceType::f32, r.stream);
        r.wait();
        for (int i = 0; i < 100; ++i) r.device.check();
      },
      std::chrono::seconds(10));
  EXPECT_THAT(wrong, ::testing::Each(HasSubstr("invalid usage")));
}

// ---- a job that breaks --------------------------------------------------------------------------

const char* const kLong = "1000000";

TEST(NcclErrors, AKilledRankEndsTheJob) {
  Job job(2, small({"--steps", kLong, "--comm", "nccl"}));
  ASSERT_TRUE(job.processes[0]->wait_for_output("\"step\":2"));
  job.processes[1]->signal(SIGKILL);
  const auto ends = job.wait();
  EXPECT_EQ(ends[0].status, 1);
  EXPECT_THAT(ends[0].err, HasSubstr("rank 1 died"));
  EXPECT_THAT(ends[0].err, HasSubstr("--resume"));
}

TEST(NcclErrors, ASilentRankEndsTheJobAfterTheTimeout) {
  Job job(2, small({"--steps", kLong, "--comm", "nccl", "--comm-timeout", "6"}));
  ASSERT_TRUE(job.processes[0]->wait_for_output("\"step\":2"));
  job.processes[1]->signal(SIGSTOP);
  const Finished first = job.processes[0]->wait();
  job.processes[1]->signal(SIGKILL);
  EXPECT_EQ(first.status, 1);
  EXPECT_THAT(first.err, HasSubstr("limit 6 s"));
  EXPECT_THAT(first.err, HasSubstr("no answer in time"));
}

TEST(NcclErrors, AnErrorThatNcclReportsLaterIsTold) {
  const auto ends =
      Job(2, small({"--steps", kLong, "--comm", "nccl"}), {{{"FAKE_NCCL_FAIL", "0:25"}}, {}})
          .wait();
  EXPECT_EQ(ends[0].status, 1);
  EXPECT_THAT(ends[0].err, HasSubstr("nccl: remote process exited"));
  EXPECT_EQ(ends[1].status, 1);
  EXPECT_THAT(ends[1].err, HasSubstr("rank 0 died"));
}

TEST(NcclErrors, VersionsThatDifferAreRefused) {
  const auto ends =
      Job(2, small({"--steps", "2", "--comm", "nccl"}), {{}, {{"FAKE_NCCL_VERSION", "22703"}}})
          .wait();
  EXPECT_EQ(ends[0].status, 1);
  EXPECT_EQ(ends[1].status, 1);
  EXPECT_THAT(ends[0].err + ends[1].err, HasSubstr("2.27.3"));
  EXPECT_THAT(ends[0].err + ends[1].err, HasSubstr("same version on all nodes"));
}

Finished alone(const Variables& variables) {
  return run(small({"--steps", "2", "--comm", "nccl"}), variables);
}

TEST(NcclErrors, WhatTheMachineLacksIsOneLineAndStatus3) {
  const Finished old = alone(fakes({{"FAKE_NCCL_VERSION", "21003"}}));
  EXPECT_EQ(old.status, 3);
  EXPECT_THAT(old.err, HasSubstr("is NCCL 2.10.3, but 2.14.0 is the oldest"));
  const Finished no_device = alone(fakes({{"FAKE_CUDA_DEVICES", "0"}}));
  EXPECT_EQ(no_device.status, 3);
  EXPECT_THAT(no_device.err, HasSubstr("no CUDA-capable device is detected"));
  const Finished no_driver =
      alone({{"BERT_CUDA_DRIVER", "/no/such/libcuda.so"}, {"BERT_NCCL_LIBRARY", FAKE_NCCL}});
  EXPECT_EQ(no_driver.status, 3);
  EXPECT_THAT(no_driver.err, HasSubstr("no NVIDIA driver here"));
  const Finished wrong_file =
      alone({{"BERT_CUDA_DRIVER", FAKE_CUDA}, {"BERT_NCCL_LIBRARY", FAKE_CUDA}});
  EXPECT_EQ(wrong_file.status, 3);
  EXPECT_THAT(wrong_file.err, HasSubstr("has no ncclGetVersion"));
  Variables crowded = fakes(rank_variables(3, 4, 1));
  crowded["LOCAL_RANK"] = "3";
  crowded["FAKE_CUDA_DEVICES"] = "2";
  const Finished too_many = alone(crowded);
  EXPECT_EQ(too_many.status, 3);
  EXPECT_THAT(too_many.err, HasSubstr("local rank 3 has no GPU: this process sees 2"));
  for (const Finished& one : {old, no_device, no_driver, wrong_file, too_many}) {
    EXPECT_EQ(count(one.err, "\n"), 1) << one.err;
  }
}

TEST(Nccl, ARankIsBoundToTheDeviceOfItsLocalRank) {
  EXPECT_EQ(device_of(3, 8), 3);
  EXPECT_EQ(device_of(3, 1), 0) << "the launcher shows each rank its own";
  EXPECT_EQ(device_of(3, 2), std::nullopt);
}

// The names that the module looks up exist in the real library, where it is installed.
TEST(Nccl, TheRealLibraryHasWhatIsLookedUp) {
  unsetenv("BERT_NCCL_LIBRARY");
  try {
    const nccl::Library& real = nccl::library();
    EXPECT_GE(real.version, nccl::kOldestNccl);
    nccl::UniqueId id{};
    EXPECT_EQ(real.get_unique_id(&id), nccl::Status::success) << real.path;
  } catch (const NoDevice& error) {
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace bert::testing
