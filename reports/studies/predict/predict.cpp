#include "reports/studies/predict/predict.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "parsers/core/trainer_options.h"

namespace bertbench {
namespace {

using Batch = std::pair<std::int64_t, std::int64_t>;  // micro batch, accumulation

std::string group_of(const Identity& identity) {
  const auto length = identity.sequence_length;
  std::string out =
      fmt::format("{}.{}.s{}", identity.model.value_or("?"), identity.precision.value_or("?"),
                  length ? std::to_string(*length) : "?");
  for (const auto& [key, value] : identity.axes) {
    out += key == kSimulatedAxis ? "+simulated" : fmt::format("+{}={}", key, value);
  }
  return out + " (" + identity.framework.value_or("?") + ")";
}

// What is unknown of all cells alike may stay so; batch and topology may not.
bool can_be_placed(const Identity& identity) {
  return identity.micro_batch_size && identity.gradient_accumulation_steps && identity.nodes &&
         identity.gpus_per_node;
}

double per_gpu(const Identity& identity) {
  return static_cast<double>(*identity.micro_batch_size) *
         static_cast<double>(*identity.gradient_accumulation_steps);
}

class Group {
 public:
  void add(const Cell& cell) { cells_.push_back(&cell); }

  PredictedGroup run(const std::string& name, const std::vector<Topology>& topologies) {
    PredictedGroup out;
    out.name = name;
    out.simulated = cells_.front()->identity.simulated();
    std::vector<ScalingCell> points;
    std::set<std::int64_t> global;
    for (const Cell* cell : cells_) {
      if (*cell->identity.world_size() == 1) {
        bases_[{*cell->identity.micro_batch_size, *cell->identity.gradient_accumulation_steps}] =
            step_of(*cell);
      }
      global.insert(*cell->identity.global_batch_size());
    }
    for (const Cell* cell : cells_) {
      ScalingCell point = point_of(cell->identity);
      point.step_s = step_of(*cell);
      points.push_back(point);
    }
    out.fit = fit_scaling(points);
    if (!out.fit) {
      out.reason = fmt::format("{} cells do not determine a model", points.size());
      return out;
    }
    const bool strong = !out.fit->chosen.form->needs_base && global.size() == 1;
    std::set<Batch> batches;
    for (const Cell* cell : cells_) {
      batches.insert(
          {*cell->identity.micro_batch_size, *cell->identity.gradient_accumulation_steps});
    }
    for (const Topology& topology : topologies) {
      if (strong) {
        predict_strong(out, topology, *global.begin());
        continue;
      }
      for (const Batch& batch : batches) {
        Identity identity = cells_.front()->identity;
        identity.micro_batch_size = batch.first;
        identity.gradient_accumulation_steps = batch.second;
        predict_one(out, identity, topology);
      }
    }
    return out;
  }

 private:
  static double step_of(const Cell& cell) {
    return static_cast<double>(*cell.identity.global_batch_size()) / *cell.throughput.median;
  }

  ScalingCell point_of(const Identity& identity) const {
    ScalingCell point;
    point.topology = {*identity.nodes, *identity.gpus_per_node};
    point.sequences_per_gpu = per_gpu(identity);
    const auto same =
        bases_.find({*identity.micro_batch_size, *identity.gradient_accumulation_steps});
    if (same != bases_.end()) point.base_s = same->second;
    return point;
  }

  // The largest measured micro batch that divides what is left for each GPU.
  void predict_strong(PredictedGroup& out, const Topology& topology, std::int64_t global) {
    const std::int64_t world = topology.world_size();
    if (global % world != 0) return;
    std::int64_t micro = 0;
    for (const Cell* cell : cells_) {
      const std::int64_t size = *cell->identity.micro_batch_size;
      if (global / world % size == 0) micro = std::max(micro, size);
    }
    if (micro == 0) return;
    Identity identity = cells_.front()->identity;
    identity.micro_batch_size = micro;
    identity.gradient_accumulation_steps = global / world / micro;
    predict_one(out, identity, topology);
  }

  void predict_one(PredictedGroup& out, Identity identity, const Topology& topology) {
    identity.nodes = topology.nodes;
    identity.gpus_per_node = topology.gpus_per_node;
    const ScalingCell point = point_of(identity);
    const auto step = predict_step(*out.fit, point);
    if (!step) return;
    PredictedCell& cell = out.cells.emplace_back();
    cell.topology = topology;
    const auto batch = static_cast<double>(*identity.global_batch_size());
    cell.sequences_per_second = batch / step->step_s;
    cell.interval = {batch / step->high_s, batch / step->low_s, 0.95};
    if (point.base_s) cell.scaling_efficiency = *point.base_s / step->step_s;
    for (const Cell* known : cells_) cell.measured = cell.measured || known->identity == identity;
    cell.identity = std::move(identity);
  }

  std::vector<const Cell*> cells_;
  std::map<Batch, double> bases_;
};

}  // namespace

std::vector<PredictedGroup> predict(const ResultSet& results,
                                    const std::vector<Topology>& topologies) {
  std::map<std::string, Group> groups;
  for (const Cell& cell : results.cells) {
    if (cell.kind != WorkKind::training || !can_be_placed(cell.identity)) continue;
    if (!cell.throughput.median || cell.throughput.unit != "sequences/s") continue;
    groups[group_of(cell.identity)].add(cell);
  }
  std::vector<PredictedGroup> out;
  for (auto& [name, group] : groups) out.push_back(group.run(name, topologies));
  return out;
}

}  // namespace bertbench
