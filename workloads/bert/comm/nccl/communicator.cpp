// bert_nccl.so, the nccl communicator: NCCL's collectives on device memory, and the same for spans
// of host memory by way of a staging buffer.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "workloads/bert/comm/nccl/library.h"
#include "workloads/bert/comm/rendezvous.h"
#include "workloads/bert/core/device_communicator.h"
#include "workloads/bert/core/launch_environment.h"
#include "workloads/bert/core/module.h"

extern char** environ;

namespace bert::nccl {
namespace {

/// Session: one NCCL communicator of this process, from the first meeting of the ranks to its end.
/// It never blocks for ever: every wait looks for asynchronous errors, dead peers and the time.
class Session {
 public:
  /// Binds the process to its device, meets the other ranks, makes sure that all have the same
  /// NCCL, and joins. Throws NoDevice or std::runtime_error with the remedy.
  Session(const LaunchEnvironment& environment, std::chrono::milliseconds timeout);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Calls `start` with the communicator; `what` names it in errors. Returns once it is queued.
  void call(const char* what, const std::function<Status(Comm)>& start);
  /// Throws when NCCL reports an error or a rank is known to have gone.
  void check(const char* what);
  /// Polls `done`, with check(), until it is true. Throws after the timeout.
  void wait(const char* what, const std::function<bool()>& done);
  /// After the last collective of every rank: frees the communicator without giving anything up.
  void finish();
  /// Gives up what is queued; streams drain. Later calls throw.
  void abort() noexcept;

  /// Makes the device's context current on the calling thread, which need not be the one that
  /// made this.
  void enter() const;
  [[nodiscard]] std::string description() const;

 private:
  struct Device {
    CuDevice device = 0;
    CuContext context = nullptr;
    int index = 0;
    std::string name;
  };
  static Device bind(const LaunchEnvironment& environment);
  void agree_on_version();
  UniqueId shared_id();
  void settle(const char* what);
  void check_status(const char* what);
  [[noreturn]] void fail(const char* what, const std::string& detail);
  [[nodiscard]] std::string word_of(Status status) const;

  LaunchEnvironment environment_;
  std::chrono::milliseconds timeout_;
  Device device_;
  std::optional<Rendezvous> ranks_;  ///< none in a world of one
  Comm comm_ = nullptr;
  std::string failure_;  ///< of the first call that failed
};

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

// Different versions have different protocols: they hang, or worse.
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
    check(what);  // a collective that failed before explains more than "not now"
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

constexpr std::size_t kMostStaged = std::size_t{32} << 20;

Type nccl_type(DeviceType type) {
  switch (type) {
    case DeviceType::f32:
      return Type::f32;
    case DeviceType::bf16:
      return Type::bf16;
    case DeviceType::f16:
      return Type::f16;
    case DeviceType::f64:
      return Type::f64;
    case DeviceType::i64:
      return Type::i64;
  }
  throw std::logic_error("unknown DeviceType");
}

template <typename T>
constexpr Type kTypeOf = std::is_same_v<T, float>    ? Type::f32
                         : std::is_same_v<T, double> ? Type::f64
                                                     : Type::i64;

// Pinned host memory and device memory of the same size, and the stream between them.
class Staging {
 public:
  Staging() {
    check_driver(driver().create_stream(&stream_, kCuStreamNonBlocking), "cuStreamCreate");
  }
  // After an abort the stream drains in a moment; until then it still uses the memory.
  ~Staging() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (driver().query_stream(stream_) == kCuNotReady &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    release();
    driver().destroy_stream(stream_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) {
      return;
    }
    release();
    check_driver(driver().allocate_host(&host_, bytes, 0), "cuMemHostAlloc");
    check_driver(driver().allocate(&device_, bytes), "cuMemAlloc");
    bytes_ = bytes;
  }
  void upload(const void* from, std::size_t bytes) {
    std::memcpy(host_, from, bytes);
    check_driver(driver().copy_to_device(device_, host_, bytes, stream_), "cuMemcpyHtoDAsync");
  }
  void download(std::size_t bytes) {
    check_driver(driver().copy_to_host(host_, device_, bytes, stream_), "cuMemcpyDtoHAsync");
  }
  [[nodiscard]] bool idle() const {
    const CuResult result = driver().query_stream(stream_);
    if (result == kCuNotReady) {
      return false;
    }
    check_driver(result, "cuStreamQuery");
    return true;
  }
  [[nodiscard]] const void* host() const { return host_; }
  [[nodiscard]] void* device() const { return reinterpret_cast<void*>(device_); }
  [[nodiscard]] CuStream stream() const { return stream_; }

 private:
  void release() {
    if (bytes_ > 0) {
      driver().free_host(host_);
      driver().free(device_);
    }
    bytes_ = 0;
  }

  CuStream stream_ = nullptr;
  void* host_ = nullptr;
  CuPointer device_ = 0;
  std::size_t bytes_ = 0;
};

class NcclCommunicator final : public Communicator, public DeviceCommunicator {
 public:
  NcclCommunicator(const LaunchEnvironment& environment, std::chrono::milliseconds timeout)
      : rank_(environment.rank), world_(environment.world_size), session_(environment, timeout) {}
  ~NcclCommunicator() override {
    session_.abort();  // unless finished; streams drain before the staging memory goes
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return world_; }
  /// Also in a world of one, which only those ask for who want to try NCCL itself.
  [[nodiscard]] bool reduces() const override { return true; }
  [[nodiscard]] DeviceCommunicator* device() override { return this; }
  [[nodiscard]] std::string description() const override { return session_.description(); }

  [[nodiscard]] std::vector<std::string> settings() const override {
    std::vector<std::string> result = {"NCCL library " + library().path};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      if (text.starts_with("NCCL_") || text.starts_with("BERT_NCCL_")) {
        result.emplace_back(text);
      }
    }
    std::sort(result.begin() + 1, result.end());
    return result;
  }

  void all_reduce_sum(std::span<float> values) override { staged_reduce(values, Operation::sum); }
  void all_reduce_sum(std::span<double> values) override { staged_reduce(values, Operation::sum); }
  void all_reduce_max(std::span<std::int64_t> values) override {
    staged_reduce(values, Operation::max);
  }

  void broadcast(std::span<float> values, int root) override {
    staged("broadcast", values, rank_ == root, rank_ != root, [&](std::size_t count, Comm comm) {
      return library().broadcast(staging_.device(), staging_.device(), count, Type::f32, root, comm,
                                 staging_.stream());
    });
  }

  void barrier() override {
    float nothing[1] = {0};
    staged_reduce(std::span<float>(nothing), Operation::sum, "barrier");
  }

  void finish() override {
    barrier();
    session_.finish();
  }
  void abort() noexcept override { session_.abort(); }

  void queue_all_reduce_sum(void* values, std::int64_t count, DeviceType type,
                            void* stream) override {
    queue("all-reduce", count, stream, [&](std::size_t n, Comm comm, CuStream on) {
      return library().all_reduce(values, values, n, nccl_type(type), Operation::sum, comm, on);
    });
  }

  void queue_reduce_scatter_sum(const void* input, void* output, std::int64_t count,
                                DeviceType type, void* stream) override {
    queue("reduce-scatter", count, stream, [&](std::size_t n, Comm comm, CuStream on) {
      return library().reduce_scatter(input, output, n, nccl_type(type), Operation::sum, comm, on);
    });
  }

  void queue_all_gather(const void* input, void* output, std::int64_t count, DeviceType type,
                        void* stream) override {
    queue("all-gather", count, stream, [&](std::size_t n, Comm comm, CuStream on) {
      return library().all_gather(input, output, n, nccl_type(type), comm, on);
    });
  }

  void check() override { session_.check("collective"); }
  void wait(const std::function<bool()>& done) override { session_.wait("collective", done); }

 private:
  template <typename Start>
  void queue(const char* what, std::int64_t count, void* stream, Start start) {
    if (count < 0 || stream == nullptr) {
      throw std::logic_error(std::string(what) + ": a count below 0, or no stream");
    }
    if (count == 0) {
      return;
    }
    session_.enter();
    session_.call(what, [&](Comm comm) {
      return start(static_cast<std::size_t>(count), comm, static_cast<CuStream>(stream));
    });
  }

  template <typename T>
  void staged_reduce(std::span<T> values, Operation operation, const char* what = "all-reduce") {
    staged(what, values, true, true, [&](std::size_t count, Comm comm) {
      return library().all_reduce(staging_.device(), staging_.device(), count, kTypeOf<T>,
                                  operation, comm, staging_.stream());
    });
  }

  // Part by part through the staging buffer.
  template <typename T, typename Start>
  void staged(const char* what, std::span<T> values, bool upload, bool download, Start start) {
    session_.enter();
    while (!values.empty()) {
      const auto part = values.first(std::min(values.size(), kMostStaged / sizeof(T)));
      staging_.reserve(std::max(part.size_bytes(), std::size_t{1} << 20));
      if (upload) {
        staging_.upload(part.data(), part.size_bytes());
      }
      session_.call(what, [&](Comm comm) { return start(part.size(), comm); });
      if (download) {
        staging_.download(part.size_bytes());
      }
      session_.wait(what, [&] { return staging_.idle(); });
      if (download) {
        std::memcpy(part.data(), staging_.host(), part.size_bytes());
      }
      values = values.subspan(part.size());
    }
  }

  int rank_, world_;
  Session session_;
  Staging staging_;
};

std::unique_ptr<Communicator> make(const LaunchEnvironment& environment,
                                   std::chrono::milliseconds timeout) {
  return std::make_unique<NcclCommunicator>(environment, timeout);
}

}  // namespace
}  // namespace bert::nccl

extern "C" __attribute__((visibility("default"))) const bert::Module* bert_module() {
  static const bert::Module module{bert::kModuleAbi, "nccl", nullptr, bert::nccl::make};
  return &module;
}
