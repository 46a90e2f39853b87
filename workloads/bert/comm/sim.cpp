#include "workloads/bert/comm/sim.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <thread>

namespace bert {
namespace {

class SimCommunicator : public Communicator {
 public:
  SimCommunicator(const SimulatedCluster& cluster, std::unique_ptr<Communicator> inner)
      : cluster_(cluster), inner_(std::move(inner)) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int world_size() const override { return inner_->world_size(); }
  void all_reduce_sum(std::span<float> values) override { timed(values); }
  void all_reduce_sum(std::span<double> values) override { timed(values); }
  // How "stop" is agreed on belongs to this program and not to the training that is simulated.
  void all_reduce_max(std::span<std::int64_t> values) override { inner_->all_reduce_max(values); }
  void broadcast(std::span<float> values, int root) override { inner_->broadcast(values, root); }
  void barrier() override { inner_->barrier(); }
  void finish() override { inner_->finish(); }
  [[nodiscard]] bool reduces() const override { return true; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("simulated {}, over {}", cluster_.label(), inner_->description());
  }

 private:
  template <typename T>
  void timed(std::span<T> values) {
    const auto start = std::chrono::steady_clock::now();
    inner_->all_reduce_sum(values);
    const double modelled =
        simulated_all_reduce_seconds(cluster_, static_cast<double>(values.size_bytes()));
    std::this_thread::sleep_until(start + std::chrono::duration<double>(modelled));
  }

  SimulatedCluster cluster_;
  std::unique_ptr<Communicator> inner_;
};

}  // namespace

Result<SimulatedCluster> parse_simulated_topology(const std::string& text) {
  SimulatedCluster cluster;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto nodes = std::from_chars(at, end, cluster.nodes);
  const bool has_n = nodes.ec == std::errc{} && nodes.ptr != end && *nodes.ptr == 'n';
  const auto gpus = has_n ? std::from_chars(nodes.ptr + 1, end, cluster.gpus_per_node) : nodes;
  if (!has_n || gpus.ec != std::errc{} || end - gpus.ptr != 1 || *gpus.ptr != 'g' ||
      cluster.nodes < 1 || cluster.gpus_per_node < 1) {
    return usage_error(fmt::format(
        "--sim-topology {}: not of the form NnGg, such as 4n8g for 4 nodes of 8 GPUs", text));
  }
  return cluster;
}

double simulated_all_reduce_seconds(const SimulatedCluster& cluster, double bytes) {
  const double g = cluster.gpus_per_node;
  const double n = cluster.nodes;
  return 2 * (g - 1) * cluster.latency_in_node_s +
         2 * (g - 1) / g * bytes / cluster.bandwidth_in_node +
         2 * (n - 1) * cluster.latency_across_s +
         2 * (n - 1) / n * bytes / cluster.bandwidth_per_node;
}

std::unique_ptr<Communicator> make_sim_communicator(const SimulatedCluster& cluster,
                                                    std::unique_ptr<Communicator> inner) {
  return std::make_unique<SimCommunicator>(cluster, std::move(inner));
}

}  // namespace bert
