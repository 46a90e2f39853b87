#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include "workloads/bert/comm/make_communicator.h"

namespace bert {
namespace {

using Clock = std::chrono::steady_clock;

// Gloo asks for keys through its own interface. Each attempt to connect has keys of its own.
class GlooStore : public gloo::rendezvous::Store {
 public:
  GlooStore(TcpStore& store, int attempt)
      : store_(store), prefix_(fmt::format("gloo/{}/", attempt)) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(prefix_ + key, std::string_view(data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.get(prefix_ + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      (void)store_.get(prefix_ + key);
    }
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) {
      (void)store_.get(prefix_ + key, timeout);
    }
  }

 private:
  TcpStore& store_;
  std::string prefix_;
};

class TcpCommunicator : public Communicator {
 public:
  TcpCommunicator(const LaunchEnvironment& env, std::unique_ptr<Rendezvous> ranks)
      : env_(env), timeout_(ranks->timeout()), ranks_(std::move(ranks)) {
    gloo::transport::tcp::attr attributes;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (interface != nullptr && *interface != '\0') {
      attributes.iface = interface;
    } else {
      attributes.hostname = ranks_->store().address();  // the interface that reaches rank 0
    }
    const auto device = make_device(attributes);
    guarded("connecting", [&] { connect(device); });
  }

  void finish() override {
    barrier();
    ranks_->leave();
  }

  [[nodiscard]] int rank() const override { return env_.rank; }
  [[nodiscard]] int world_size() const override { return env_.world_size; }
  void all_reduce_sum(std::span<float> values) override { reduce(values, gloo::sum<float>); }
  void all_reduce_sum(std::span<double> values) override { reduce(values, gloo::sum<double>); }
  void all_reduce_max(std::span<std::int64_t> values) override {
    reduce(values, gloo::max<std::int64_t>);
  }

  void broadcast(std::span<float> values, int root) override {
    if (values.empty()) {
      return;
    }
    guarded("broadcast", [&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(values.data(), values.size());
      options.setRoot(root);
      options.setTimeout(timeout_);
      gloo::broadcast(options);
    });
  }

  void barrier() override {
    guarded("barrier", [&] {
      gloo::BarrierOptions options(context_);
      options.setTimeout(timeout_);
      gloo::barrier(options);
    });
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("tcp, gloo {}.{}.{}, {}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR,
                       GLOO_VERSION_PATCH, ranks_->place());
  }

 private:
  using Device = std::shared_ptr<gloo::transport::Device>;

  /// What fails here fails in every attempt: an interface that does not exist or has no address.
  static Device make_device(const gloo::transport::tcp::attr& attributes) {
    try {
      gloo::transport::tcp::attr own = attributes;
      return gloo::transport::tcp::CreateDevice(own);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format(
          "no network device for {}: {}; set GLOO_SOCKET_IFNAME to an interface with an address",
          attributes.iface.empty() ? attributes.hostname : "interface " + attributes.iface,
          error.what()));
    }
  }

  // Whoever connects to a port of Gloo's first is taken for the rank that is expected there, be it
  // a port scan. So the ranks try the connections out and vote; after any failure all of them
  // connect anew, on other ports.
  void connect(const Device& device) {
    // Gloo waits five times as long for a connection.
    constexpr std::chrono::milliseconds kFirstPatience{500};
    // An attempt that fails at once must not keep a core busy until the timeout.
    constexpr std::chrono::milliseconds kPause{100};
    const auto end = Clock::now() + timeout_;
    auto patience = std::min(timeout_, kFirstPatience);
    for (int attempt = 0;; ++attempt, patience = std::min(timeout_, 2 * patience)) {
      const std::string problem = try_to_connect(device, attempt, patience);
      if (all_are_connected(attempt, problem.empty())) return;
      context_.reset();
      if (Clock::now() >= end) {
        throw std::runtime_error(problem.empty() ? "other ranks could not connect" : problem);
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  /// What went wrong, or nothing.
  std::string try_to_connect(const Device& device, int attempt,
                             std::chrono::milliseconds patience) {
    try {
      auto context = std::make_shared<gloo::rendezvous::Context>(env_.rank, env_.world_size);
      context->setTimeout(patience);
      GlooStore store(ranks_->store(), attempt);
      Device same = device;
      context->connectFullMesh(store, same);
      gloo::BarrierOptions options(context);
      options.setTimeout(patience);
      gloo::barrier(options);
      context->setTimeout(timeout_);
      context_ = context;
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  bool all_are_connected(int attempt, bool connected) {
    auto& store = ranks_->store();
    const auto key = [&](int rank) { return fmt::format("connected/{}/{}", attempt, rank); };
    store.set(key(env_.rank), connected ? "yes" : "no");
    bool all = true;
    for (int rank = 0; rank < env_.world_size; ++rank) all = store.get(key(rank)) == "yes" && all;
    return all;
  }

  template <typename T>
  void reduce(std::span<T> values,
              void (*operation)(void*, const void*, const void*, std::size_t)) {
    if (values.empty()) {
      return;
    }
    guarded("all-reduce", [&] {
      gloo::AllreduceOptions options(context_);
      options.setOutput(values.data(), values.size());
      options.setReduceFunction(operation);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setTimeout(timeout_);
      gloo::allreduce(options);
    });
  }

  // Gloo's errors name sockets; a person needs the rank and what to do.
  template <typename Body>
  void guarded(const char* what, Body&& body) {
    try {
      body();
    } catch (const std::exception& error) {
      throw std::runtime_error(ranks_->blame(what, fmt::format("gloo: {}", error.what())));
    }
  }

  LaunchEnvironment env_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<Rendezvous> ranks_;
  std::shared_ptr<gloo::Context> context_;  // goes before the ranks do
};

}  // namespace

std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment& environment,
                                                    std::chrono::milliseconds timeout) {
  return make_tcp_communicator(environment, std::make_unique<Rendezvous>(environment, timeout));
}
std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment& environment,
                                                    std::unique_ptr<Rendezvous> ranks) {
  return std::make_unique<TcpCommunicator>(environment, std::move(ranks));
}

}  // namespace bert
