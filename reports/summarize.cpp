// Trials -> the numbers of a cell, and what follows from other cells.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "parsers/core/topology.h"
#include "reports/assume.h"
#include "reports/measure.h"
#include "reports/stats/hardware.h"
#include "reports/stats/scaling.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::string_view kSequences = "sequences/s";
constexpr std::string_view kIterations = "iterations/s";

void make_keys_unique(ResultSet& results) {
  std::map<std::string, int> seen;
  for (Cell& cell : results.cells) {
    cell.key = cell.identity.key();
    const int n = ++seen[cell.key];
    if (n > 1) cell.key += "#" + std::to_string(n);
  }
}

void summarize_cell(Cell& cell, const SummaryOptions& options) {
  std::vector<double> sequences;
  std::vector<double> iterations;
  std::set<std::string> estimators;
  for (const Trial& trial : cell.trials) {
    if (trial.counts()) {
      sequences.push_back(*trial.sequences_per_second);
      estimators.insert(trial.estimator);
    } else if (trial.window.covered && trial.iterations_per_second) {
      iterations.push_back(*trial.iterations_per_second);
      estimators.insert(trial.estimator);
    }
  }
  const bool known = !sequences.empty() || iterations.empty();
  auto& sample = known ? sequences : iterations;
  if (options.compat_dlperf) {
    for (double& x : sample) x = round_dlperf(x);
  }
  cell.throughput = summarize_sample(sample, options.compat_dlperf);
  cell.throughput.unit = known ? kSequences : kIterations;

  cell.warnings.clear();
  const auto warn = [&](std::string text) { cell.warnings.push_back(std::move(text)); };
  if (sample.size() < cell.trials.size()) {
    std::map<std::string_view, int> outcomes;
    for (const Trial& trial : cell.trials) {
      if (!trial.counts()) ++outcomes[name(trial.outcome.status)];
    }
    std::string why;
    for (const auto& [status, n] : outcomes) {
      why += fmt::format("{}{} x{}", why.empty() ? "" : ", ", status, n);
    }
    warn(fmt::format("{} of {} trials give no number ({})", cell.trials.size() - sample.size(),
                     cell.trials.size(), why));
  }
  if (estimators.size() > 1) {
    std::string names;
    for (const auto& estimator : estimators) names += (names.empty() ? "" : ", ") + estimator;
    warn("trials were measured by different estimators: " + names);
  }
}

// A trial has an energy of a sequence where its GPUs were watched; its power follows.
void summarize_energy(Cell& cell) {
  std::vector<double> energy, power;
  for (const Trial& trial : cell.trials) {
    if (!trial.counts() || !trial.energy_per_sequence_j) continue;
    energy.push_back(*trial.energy_per_sequence_j);
    power.push_back(*trial.energy_per_sequence_j * *trial.sequences_per_second);
  }
  cell.energy_per_sequence_j = cell.power_w = std::nullopt;
  if (energy.empty()) return;
  cell.energy_per_sequence_j = median(energy);
  cell.power_w = median(power);
}

bool has_rate(const Cell& cell) {
  return cell.throughput.unit == kSequences && cell.throughput.median &&
         *cell.throughput.median > 0;
}

// Identity without what scaling changes: cells of one family differ in their GPUs and, for strong
// scaling, in how a batch is cut. "fw|model|..." is never parsed, only compared.
std::string family_of(const Cell& cell) {
  Identity family = cell.identity;
  family.nodes = family.gpus_per_node = family.micro_batch_size =
      family.gradient_accumulation_steps = std::nullopt;
  return family.framework.value_or("") + '\n' + family.key() + '\n' + std::string(name(cell.kind));
}

std::optional<ScalingPoint> point_of(const Cell& cell) {
  const auto world = cell.world_size();
  const Identity& id = cell.identity;
  if (!world || !id.micro_batch_size) return std::nullopt;
  return ScalingPoint{*world, *id.micro_batch_size, id.gradient_accumulation_steps.value_or(1)};
}

bool same_but_world(const Identity& a, const Identity& b) {
  Identity x = a;
  Identity y = b;
  x.nodes = x.gpus_per_node = y.nodes = y.gpus_per_node = std::nullopt;
  return x == y;
}

void apply_base(Cell& cell, const Cell& base, const SummaryOptions& options) {
  const auto world = cell.world_size();
  const auto base_world = base.world_size();
  const double value = *cell.throughput.median / *base.throughput.median;
  cell.speedup = Ratio{options.compat_dlperf ? round_dlperf(value) : value, base.key};
  if (world && base_world) {
    cell.scaling_efficiency = scaling_efficiency(cell.speedup->value, *base_world, *world);
  }
  const auto a = point_of(base);
  const auto b = point_of(cell);
  if (a && b) cell.scaling = scaling_kind(*a, *b);
}

// The base of a cell within its family: the same identity at the base's topology (weak scaling),
// else a cell of that topology with the same global batch (strong scaling).
const Cell* base_of(const Cell& cell, const std::vector<Cell*>& family, auto&& is_base_world) {
  const Cell* strong = nullptr;
  for (const Cell* other : family) {
    if (!has_rate(*other) || !is_base_world(*other)) continue;
    if (same_but_world(cell.identity, other->identity)) return other;
    const auto batch = cell.global_batch_size();
    if (batch && other->global_batch_size() == batch) strong = other;
  }
  return strong;
}

void speedups(ResultSet& results, const SummaryOptions& options, std::vector<Notice>& notices) {
  const auto topology = parse_topology(options.base);
  if (!options.base.empty() && !topology) {
    const auto base = std::ranges::find(results.cells, options.base, &Cell::key);
    if (base == results.cells.end() || !has_rate(*base)) {
      notices.push_back({0, "the base " + options.base +
                                (base == results.cells.end() ? " is no cell's key or topology"
                                                             : " has no sequences/s") +
                                "; no speedup is given"});
      return;
    }
    for (Cell& cell : results.cells) {
      if (has_rate(cell) && cell.kind == base->kind) apply_base(cell, *base, options);
    }
    return;
  }
  const auto is_base_world = [&](const Cell& cell) {
    if (!topology) return cell.world_size() == 1;
    return cell.identity.nodes == topology->nodes &&
           cell.identity.gpus_per_node == topology->gpus_per_node;
  };
  std::map<std::string, std::vector<Cell*>> families;
  for (Cell& cell : results.cells) families[family_of(cell)].push_back(&cell);
  bool found = false;
  for (auto& [family, cells] : families) {
    for (Cell* cell : cells) {
      if (!has_rate(*cell)) continue;
      if (const Cell* base = base_of(*cell, cells, is_base_world)) {
        apply_base(*cell, *base, options);
        found = true;
      }
    }
  }
  // A base that nothing is compared with says nothing: 1.0 over itself is no speedup.
  std::set<std::string> used;
  for (const Cell& cell : results.cells) {
    if (cell.speedup && cell.speedup->base != cell.key) used.insert(cell.speedup->base);
  }
  for (Cell& cell : results.cells) {
    if (!cell.speedup || cell.speedup->base != cell.key || used.contains(cell.key)) continue;
    cell.speedup.reset();
    cell.scaling_efficiency.reset();
  }
  if (topology && !found) {
    notices.push_back(
        {0, "no cell of topology " + options.base + " gives a rate; no speedup is given"});
  }
}

int precision_rank(const std::optional<std::string>& precision) {
  if (precision == "fp32") return 1;
  if (precision == "tf32") return 2;
  if (precision == "bf16" || precision == "fp16") return 3;
  if (precision == "fp8") return 4;
  return 0;
}

// Mixed precision over TF32, else over FP32; TF32 over FP32.
void precision_speedups(ResultSet& results) {
  std::map<std::string, std::vector<const Cell*>> groups;
  const auto group_of = [](const Cell& cell) {
    Identity identity = cell.identity;
    identity.precision.reset();
    return identity.framework.value_or("") + '\n' + identity.key() + '\n' +
           std::string(name(cell.kind));
  };
  for (const Cell& cell : results.cells) {
    const int rank = precision_rank(cell.identity.precision);
    if (has_rate(cell) && (rank == 1 || rank == 2)) groups[group_of(cell)].push_back(&cell);
  }
  for (Cell& cell : results.cells) {
    const int rank = precision_rank(cell.identity.precision);
    if (!has_rate(cell) || rank < 2) continue;
    const Cell* base = nullptr;
    for (const Cell* other : groups[group_of(cell)]) {
      const int other_rank = precision_rank(other->identity.precision);
      if (other_rank >= rank) continue;
      if (base == nullptr || other_rank > precision_rank(base->identity.precision)) base = other;
    }
    if (base != nullptr) {
      cell.precision_speedup = Ratio{*cell.throughput.median / *base->throughput.median, base->key};
    }
  }
}

bool says_yes(const std::map<std::string, std::string>& axes, const char* axis) {
  const auto it = axes.find(axis);
  return it != axes.end() && it->second != "false" && it->second != "0" && it->second != "off" &&
         it->second != "no";
}

void count_flops(Cell& cell) {
  const Identity& id = cell.identity;
  if (cell.kind != WorkKind::training || !cell.sequences_per_second_per_gpu || !id.model ||
      !id.sequence_length || id.model->find_first_of("/.") != std::string::npos) {
    return;  // a model named by a log is never taken for a path
  }
  const auto shape = model_shape(*id.model);
  if (!shape) return;
  const auto peak =
      cell.gpu.empty() || !id.precision ? std::nullopt : peak_of(cell.gpu, *id.precision);
  const Utilization used =
      utilization(*shape, *id.sequence_length, says_yes(id.axes, "activation_checkpointing"),
                  *cell.sequences_per_second_per_gpu, peak);
  cell.tflops_per_gpu = used.tflops_per_gpu;
  cell.mfu = used.mfu;
  cell.hfu = used.hfu;
  cell.flops_formula = used.formula;
  cell.peak = used.peak ? used.peak->str() : std::string();
  cell.warnings.insert(cell.warnings.end(), used.warnings.begin(), used.warnings.end());
}

}  // namespace

std::vector<Notice> summarize(ResultSet& results, const SummaryOptions& options) {
  std::vector<Notice> notices;
  make_keys_unique(results);
  for (Cell& cell : results.cells) {
    summarize_cell(cell, options);
    summarize_energy(cell);
    cell.sequences_per_second_per_gpu = std::nullopt;
    cell.speedup = cell.precision_speedup = cell.time_to_train_speedup = std::nullopt;
    cell.scaling_efficiency = cell.tflops_per_gpu = cell.mfu = cell.hfu = std::nullopt;
    cell.scaling.clear();
    cell.flops_formula.clear();
    cell.peak.clear();
    const auto world = cell.world_size();
    if (has_rate(cell) && world) {
      cell.sequences_per_second_per_gpu = *cell.throughput.median / static_cast<double>(*world);
    }
  }
  speedups(results, options, notices);
  precision_speedups(results);
  for (Cell& cell : results.cells) count_flops(cell);
  warn_of_varying_lengths(results);
  return notices;
}

}  // namespace bertbench
