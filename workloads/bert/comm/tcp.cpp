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

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "workloads/bert/comm/tcp_store.h"

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
      : env_(env), timeout_(timeout) {
    if (env.rank == 0) {
      server_ = std::make_unique<TcpStoreServer>(env.master_address, env.master_port);
    }
    store_ = std::make_unique<TcpStore>(env.master_address, env.master_port, env.rank, timeout);
    wait_for_all_ranks();
    gloo::transport::tcp::attr attributes;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (interface != nullptr && *interface != '\0') {
      attributes.iface = interface;
    } else {
      attributes.hostname = store_->address();  // the interface that reaches rank 0
    }
    guarded("connecting", [&] {
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      auto context = std::make_shared<gloo::rendezvous::Context>(env.rank, env.world_size);
      context->setTimeout(timeout);
      GlooStore store(*store_);
      context->connectFullMesh(store, device);
      context_ = context;
    });
  }

  ~TcpCommunicator() override {
    context_.reset();
    store_.reset();
    // Ranks that still run must be able to ask rank 0 who was lost: it stays until they have left,
    // at most a moment.
    if (server_ != nullptr) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
      while (server_->connected() > 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }

  void finish() override {
    barrier();
    store_->leave();
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
    return fmt::format("tcp, gloo {}.{}.{}, {}:{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR,
                       GLOO_VERSION_PATCH, env_.master_address, env_.master_port);
  }

 private:
  // Every rank writes its name and waits for the others', so that what is missing can be named.
  void wait_for_all_ranks() {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    store_->set(fmt::format("rank/{}", env_.rank), fmt::format("{}", env_.world_size));
    for (int other = 0; other < env_.world_size; ++other) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      std::string world;
      try {
        world = store_->get(fmt::format("rank/{}", other),
                            std::max(left, std::chrono::milliseconds(1)));
      } catch (const std::runtime_error&) {
        throw std::runtime_error(
            fmt::format("rank {} of {} did not come to {}:{} within {:.0f} s: start {} ranks, or "
                        "raise --comm-timeout",
                        other, env_.world_size, env_.master_address, env_.master_port,
                        std::chrono::duration<double>(timeout_).count(), env_.world_size));
      }
      if (world != fmt::format("{}", env_.world_size)) {
        throw std::runtime_error(fmt::format(
            "rank {} was started for a world of {}, this rank for {}: two jobs share {}:{}, or "
            "the launcher's variables differ",
            other, world, env_.world_size, env_.master_address, env_.master_port));
      }
    }
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
      std::string who = "a peer";
      // The kernel may tell us of the closed connection a moment before the store knows.
      for (int attempt = 0; attempt < 20; ++attempt) {
        if (const auto lost = store_->lost_rank()) {
          who = fmt::format("rank {}", *lost);
          break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
      }
      throw std::runtime_error(
          fmt::format("{} failed: {} died or does not answer (limit {:.0f} s); see its error, then "
                      "start the job again, with --resume to go on from a checkpoint [gloo: {}]",
                      what, who, std::chrono::duration<double>(timeout_).count(), error.what()));
    }
  }

  LaunchEnvironment env_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<TcpStoreServer> server_;
  std::unique_ptr<TcpStore> store_;
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment& environment,
                                                    std::chrono::milliseconds timeout) {
  return std::make_unique<TcpCommunicator>(environment, timeout);
}

}  // namespace bert
