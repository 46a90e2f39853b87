#include "workloads/bert/comm/tcp.h"

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <stdexcept>

#include "workloads/bert/comm/rendezvous.h"

namespace bert {
namespace {

// Gloo asks for keys through its own interface.
class GlooStore : public gloo::rendezvous::Store {
 public:
  explicit GlooStore(TcpStore& store) : store_(store) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set("gloo/" + key, std::string_view(data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.get("gloo/" + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      (void)store_.get("gloo/" + key);
    }
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) {
      (void)store_.get("gloo/" + key, timeout);
    }
  }

 private:
  TcpStore& store_;
};

class TcpCommunicator : public Communicator {
 public:
  TcpCommunicator(const LaunchEnvironment& env, std::chrono::milliseconds timeout)
      : env_(env), timeout_(timeout), ranks_(env, timeout) {
    gloo::transport::tcp::attr attributes;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (interface != nullptr && *interface != '\0') {
      attributes.iface = interface;
    } else {
      attributes.hostname = ranks_.store().address();  // the interface that reaches rank 0
    }
    guarded("connecting", [&] {
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      auto context = std::make_shared<gloo::rendezvous::Context>(env.rank, env.world_size);
      context->setTimeout(timeout);
      GlooStore store(ranks_.store());
      context->connectFullMesh(store, device);
      context_ = context;
    });
  }

  void finish() override {
    barrier();
    ranks_.leave();
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
                       GLOO_VERSION_PATCH, ranks_.place());
  }

 private:
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
      throw std::runtime_error(ranks_.blame(what, fmt::format("gloo: {}", error.what())));
    }
  }

  LaunchEnvironment env_;
  std::chrono::milliseconds timeout_;
  Rendezvous ranks_;
  std::shared_ptr<gloo::Context> context_;  // goes before the ranks do
};

}  // namespace

std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment& environment,
                                                    std::chrono::milliseconds timeout) {
  return std::make_unique<TcpCommunicator>(environment, timeout);
}

}  // namespace bert
