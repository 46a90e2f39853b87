#include "workloads/bert/comm/nccl/session.h"

#include <fmt/format.h>
#include <sched.h>

#include <stdexcept>
#include <thread>

#include "workloads/bert/core/module.h"

namespace bert::nccl {
namespace {

using Clock = std::chrono::steady_clock;

// A loop that polls: first it only offers the core to others, later it sleeps.
class Pause {
 public:
  void operator()() {
    sched_yield();
    if (++looks_ > 20000) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  std::int64_t looks_ = 0;
};

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

Session::Device Session::bind(const LaunchEnvironment& environment) {
  Device result;
  int devices = 0;
  check_driver(driver().device_count(&devices), "cuDeviceGetCount");
  const auto index = device_of(environment.local_rank, devices);
  if (!index) {
    throw NoDevice(fmt::format(
        "local rank {} has no GPU: this process sees {}; start as many ranks per node as GPUs, "
        "and look at CUDA_VISIBLE_DEVICES",
        environment.local_rank, devices));
  }
  result.index = *index;
  check_driver(driver().device(&result.device, *index), "cuDeviceGet");
  char name[256] = "";
  check_driver(driver().device_name(name, sizeof name - 1, result.device), "cuDeviceGetName");
  result.name = name;
  // The primary context is the one that the CUDA runtime of the backend uses.
  check_driver(driver().retain_primary_context(&result.context, result.device),
               "cuDevicePrimaryCtxRetain");
  check_driver(driver().set_context(result.context), "cuCtxSetCurrent");
  return result;
}

Session::Session(const LaunchEnvironment& environment, std::chrono::milliseconds timeout)
    : environment_(environment), timeout_(timeout) {
  (void)library();  // what is missing here is reported before the others are waited for
  device_ = bind(environment);
  if (environment.world_size > 1) {
    ranks_.emplace(environment, timeout);
    agree_on_version();
  }
  const UniqueId id = shared_id();
  Config config;
  const Status status =
      library().init_rank(&comm_, environment.world_size, id, environment.rank, &config);
  if (status != Status::success && status != Status::in_progress) {
    fail("ncclCommInitRankConfig", word_of(status));
  }
  settle("ncclCommInitRankConfig");
}

Session::~Session() {
  abort();  // unless finished
  driver().release_primary_context(device_.device);
}

// Different versions speak different protocols: they hang, or worse.
void Session::agree_on_version() {
  TcpStore& store = ranks_->store();
  store.set(fmt::format("nccl/version/{}", environment_.rank),
            fmt::format("{}", library().version));
  for (int other = 0; other < environment_.world_size; ++other) {
    const std::string version = store.get(fmt::format("nccl/version/{}", other));
    if (version != fmt::format("{}", library().version)) {
      throw std::runtime_error(
          fmt::format("rank {} has NCCL {}, rank {} has NCCL {} ({}): install the same version on "
                      "all nodes, or name it by BERT_NCCL_LIBRARY",
                      other, version_text(std::atoi(version.c_str())), environment_.rank,
                      version_text(library().version), library().path));
    }
  }
}

UniqueId Session::shared_id() {
  UniqueId id{};
  if (environment_.rank == 0) {
    if (const Status status = library().get_unique_id(&id); status != Status::success) {
      fail("ncclGetUniqueId", word_of(status));
    }
    if (ranks_) {
      ranks_->store().set("nccl/id", std::string_view(id.bytes, sizeof id.bytes));
    }
    return id;
  }
  const std::string shared = ranks_->store().get("nccl/id");
  if (shared.size() != sizeof id.bytes) {
    throw std::runtime_error("rank 0 sent an NCCL id of a wrong size: two versions of bert_train");
  }
  shared.copy(id.bytes, sizeof id.bytes);
  return id;
}

void Session::enter() const {
  check_driver(driver().set_context(device_.context), "cuCtxSetCurrent");
}

void Session::call(const char* what, const std::function<Status(Comm)>& start) {
  if (comm_ == nullptr) {
    throw std::runtime_error(failure_.empty() ? fmt::format("{}: NCCL was shut down", what)
                                              : failure_);
  }
  const Status status = start(comm_);
  if (status == Status::in_progress) {
    settle(what);
  } else if (status != Status::success) {
    check(what);  // a collective that failed before says more than "not now"
    fail(what, word_of(status));
  }
}

void Session::check_status(const char* what) {
  if (comm_ == nullptr) {
    throw std::runtime_error(failure_.empty() ? fmt::format("{}: NCCL was shut down", what)
                                              : failure_);
  }
  Status state = Status::success;
  const Status asked = library().async_error(comm_, &state);
  if (asked != Status::success) {
    state = asked;
  }
  if (state != Status::success && state != Status::in_progress) {
    fail(what, word_of(state));
  }
}

void Session::check(const char* what) {
  check_status(what);
  if (ranks_ && ranks_->lost_rank_now_and_then()) {
    fail(what, "the connection to it was closed");
  }
}

void Session::wait(const char* what, const std::function<bool()>& done) {
  const auto end = Clock::now() + timeout_;
  for (Pause pause; !done(); pause()) {
    check(what);
    if (Clock::now() > end) {
      fail(what, "no answer in time; raise --comm-timeout if the ranks are only slow");
    }
  }
  check_status(what);  // a collective that broke has ended as well
}

// A communicator that does not block must come to rest before its next use.
void Session::settle(const char* what) {
  wait(what, [&] {
    Status state = Status::success;
    return library().async_error(comm_, &state) == Status::success && state == Status::success;
  });
}

void Session::finish() {
  if (comm_ == nullptr) {
    return;
  }
  call("ncclCommFinalize", [](Comm comm) { return library().finalize(comm); });
  settle("ncclCommFinalize");
  library().destroy(comm_);
  comm_ = nullptr;
  if (ranks_) {
    ranks_->leave();
  }
}

void Session::abort() noexcept {
  if (comm_ == nullptr) {
    return;
  }
  driver().set_context(device_.context);
  library().abort(comm_);
  comm_ = nullptr;
}

void Session::fail(const char* what, const std::string& detail) {
  abort();  // before the search for the guilty: streams drain meanwhile
  const std::string text = fmt::format("nccl: {}", detail);
  if (detail.find("Duplicate GPU") != std::string::npos) {
    failure_ =
        fmt::format("{} failed: two ranks share a GPU: start one rank per GPU [{}]", what, text);
  } else {
    failure_ = ranks_ ? ranks_->blame(what, text) : fmt::format("{} failed [{}]", what, text);
  }
  throw std::runtime_error(failure_);
}

std::string Session::word_of(Status status) const {
  const char* last = library().last_error(comm_);
  const std::string text = library().error_text(status);
  return last == nullptr || *last == '\0' ? text : fmt::format("{}: {}", text, last);
}

std::string Session::description() const {
  int version = 0;
  driver().driver_version(&version);
  return fmt::format("nccl {}, GPU {} {}, driver for CUDA {}{}", version_text(library().version),
                     device_.index, device_.name, cuda_version(version),
                     ranks_ ? ", " + ranks_->place() : "");
}

}  // namespace bert::nccl
