#include "workloads/kernels/nccl_ranks.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "workloads/bert/comm/socket.h"
#include "workloads/bert/core/device_communicator.h"
#include "workloads/bert/cuda/device/runtime.h"

namespace bert::bench {
namespace {

/// In which all ranks must come, and each collective end.
constexpr std::chrono::seconds kTimeout{60};
/// All-reduces between two events: how much later the other ranks begin then counts little.
constexpr int kAtOnce = 20;

const Module* nccl_module() {
  const auto module = load_module("nccl");
  if (!module) throw std::runtime_error(module.error().message);
  return *module;
}

}  // namespace

class NcclRanks::Rank {
 public:
  /// On the thread that uses it: the device becomes its current one.
  Rank(const Module& module, const LaunchEnvironment& environment, std::int64_t most_bytes)
      : facts_(cuda::open_device(environment.local_rank)),
        communicator_(module.make_communicator(environment, kTimeout)),
        values_(cuda::Memory::Place::device, most_bytes) {}

  double seconds_of(std::int64_t bytes) {
    DeviceCommunicator& device = *communicator_->device();
    begin_.record(stream_.get());
    for (int i = 0; i < kAtOnce; ++i) {
      device.queue_all_reduce_sum(values_.data(), bytes / 4, DeviceType::f32, stream_.get());
    }
    end_.record(stream_.get());
    device.wait([&] { return end_.reached(); });
    return end_.seconds_since(begin_) / kAtOnce;
  }
  void finish() { communicator_->finish(); }

 private:
  cuda::DeviceFacts facts_;
  std::unique_ptr<Communicator> communicator_;
  cuda::OwnedStream stream_{true};
  cuda::Memory values_;  ///< zeros, which stay so however often they are added up
  cuda::Event begin_{true}, end_{true};
};

NcclRanks::NcclRanks(int count, std::int64_t most_bytes)
    : module_(nccl_module()),
      count_(count),
      most_bytes_(most_bytes),
      port_(local_port(listen_on("127.0.0.1", 0))),
      turn_(count),
      errors_(static_cast<std::size_t>(count)) {
  for (int number = 1; number < count; ++number) {
    others_.emplace_back([this, number] { serve(number); });
  }
  own_ = make(0);
  turn_.arrive_and_wait();
  try {
    rethrow();
  } catch (...) {
    ends_ = true;
    turn_.arrive_and_wait();
    for (std::thread& other : others_) other.join();
    throw;
  }
}

NcclRanks::~NcclRanks() {
  ends_ = true;
  turn_.arrive_and_wait();
  try {
    if (!failed_) own_->finish();
  } catch (const std::exception&) {  // the last of what was asked for is done
  }
  own_.reset();
  for (std::thread& other : others_) other.join();
}

std::unique_ptr<NcclRanks::Rank> NcclRanks::make(int number) {
  LaunchEnvironment environment;
  environment.rank = environment.local_rank = number;
  environment.world_size = environment.local_world_size = count_;
  environment.master_port = port_;
  try {
    return std::make_unique<Rank>(*module_, environment, most_bytes_);
  } catch (...) {
    errors_[static_cast<std::size_t>(number)] = std::current_exception();
    return nullptr;
  }
}

void NcclRanks::serve(int number) {
  const std::unique_ptr<Rank> rank = make(number);
  turn_.arrive_and_wait();
  while (true) {
    turn_.arrive_and_wait();
    try {
      if (ends_ && !failed_) rank->finish();
      if (ends_) return;
      static_cast<void>(rank->seconds_of(bytes_));
    } catch (...) {
      errors_[static_cast<std::size_t>(number)] = std::current_exception();
      if (ends_) return;
    }
    turn_.arrive_and_wait();
  }
}

void NcclRanks::rethrow() {
  for (std::size_t i = errors_.size(); i-- > 0;) {
    if (!errors_[i]) continue;
    failed_ = true;
    std::rethrow_exception(std::exchange(errors_[i], nullptr));
  }
}

double NcclRanks::seconds_of(std::int64_t bytes) {
  bytes_ = bytes;
  turn_.arrive_and_wait();
  double seconds = 0;
  try {
    seconds = own_->seconds_of(bytes);
  } catch (...) {
    errors_[0] = std::current_exception();
  }
  turn_.arrive_and_wait();
  rethrow();
  return seconds;
}

}  // namespace bert::bench
