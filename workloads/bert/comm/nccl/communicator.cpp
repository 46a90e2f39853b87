// bert_nccl.so, the nccl communicator: NCCL's collectives on device memory, and the same for spans
// of host memory by way of a staging buffer.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "workloads/bert/comm/nccl/session.h"
#include "workloads/bert/core/device_communicator.h"
#include "workloads/bert/core/module.h"

extern char** environ;

namespace bert::nccl {
namespace {

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
  /// Also in a world of one, which only those ask for who want to see NCCL at work.
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
