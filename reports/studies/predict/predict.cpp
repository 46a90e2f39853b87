#include "reports/studies/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <set>

#include "parsers/core/trainer_options.h"

namespace bertbench {
namespace {

constexpr std::array<ScalingForm, 6> kForms{{
    {"fixed", "T1 + a [n > 1]", true, 1},
    {"line", "T1 + a (n - 1)", true, 1},
    {"flat", "T1 + a [n > 1] + b [N > 1]", true, 2},
    {"ring", "T1 + a [n > 1] + b 2(g-1)/g + c 2(N-1)/N", true, 3},
    {"tree", "T1 + a [n > 1] + b [N > 1] + c log2 n", true, 3},
    {"linear", "a sequences/GPU + b", false, 2},
}};
constexpr double kMustImprove = 0.5;
constexpr double kGoodEnough = 1e-4;  // left-out error: no rate is measured more exactly
constexpr double kRivals = 2;

std::vector<double> terms_of(const ScalingForm& form, const ScalingCell& cell) {
  const auto nodes = static_cast<double>(cell.topology.nodes);
  const auto gpus = static_cast<double>(cell.topology.gpus_per_node);
  const double world = nodes * gpus;
  const double many = world > 1 ? 1 : 0;
  const double across = nodes > 1 ? 1 : 0;
  if (form.name == "fixed") return {many};
  if (form.name == "line") return {world - 1};
  if (form.name == "flat") return {many, across};
  if (form.name == "ring") return {many, 2 * (gpus - 1) / gpus, 2 * (nodes - 1) / nodes};
  if (form.name == "tree") return {many, across, std::log2(world)};
  return {cell.sequences_per_gpu, 1};
}

double known_of(const ScalingForm& form, const ScalingCell& cell) {
  return form.needs_base ? *cell.base_s : 0;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Gauss-Jordan of a sum of squares, which needs no pivoting; p <= 3; empty when singular.
std::vector<double> inverse_of(std::vector<double> m, std::size_t p) {
  std::vector<double> inverse(p * p, 0);
  for (std::size_t i = 0; i < p; ++i) inverse[i * p + i] = 1;
  for (std::size_t column = 0; column < p; ++column) {
    const double scale = m[column * p + column];
    if (!(scale > 1e-12 * m[0] && scale > 0)) return {};
    for (std::size_t k = 0; k < p; ++k) {
      m[column * p + k] /= scale;
      inverse[column * p + k] /= scale;
    }
    for (std::size_t row = 0; row < p; ++row) {
      if (row == column) continue;
      const double factor = m[row * p + column];
      for (std::size_t k = 0; k < p; ++k) {
        m[row * p + k] -= factor * m[column * p + k];
        inverse[row * p + k] -= factor * inverse[column * p + k];
      }
    }
  }
  return inverse;
}

struct Solution {
  std::vector<double> coefficients, inverse;
};

// Both sides over the measured step, so that relative errors are squared. Where a coefficient
// comes out negative, the best solution of fewer terms: the others are zero.
std::optional<Solution> solve(const ScalingForm& form, std::span<const ScalingCell> cells) {
  const std::size_t p = form.terms;
  std::vector<double> normal(p * p, 0);
  std::vector<double> right(p, 0);
  for (const ScalingCell& cell : cells) {
    const auto x = terms_of(form, cell);
    const double weight = 1 / (cell.step_s * cell.step_s);
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t k = 0; k < p; ++k) normal[i * p + k] += weight * x[i] * x[k];
      right[i] += weight * x[i] * (cell.step_s - known_of(form, cell));
    }
  }
  if (inverse_of(normal, p).empty()) return std::nullopt;
  std::optional<Solution> best;
  double most_explained = -1;  // of the sum of squares
  for (std::size_t without = 0; without < (std::size_t{1} << p); ++without) {
    const auto left_out = [&](std::size_t i) { return (without >> i & 1U) != 0; };
    Solution one;
    one.inverse = normal;
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t k = 0; k < p; ++k) {
        if (i != k && (left_out(i) || left_out(k))) one.inverse[i * p + k] = 0;
      }
    }
    one.inverse = inverse_of(std::move(one.inverse), p);
    double explained = 0;
    for (std::size_t i = 0; i < p; ++i) {
      if (left_out(i)) one.inverse[i * p + i] = 0;
      double value = 0;
      for (std::size_t k = 0; k < p; ++k) value += one.inverse[i * p + k] * right[k];
      one.coefficients.push_back(value);
      explained += value * right[i];
    }
    const bool possible = std::ranges::all_of(one.coefficients, [](double c) { return c >= 0; });
    if (!possible || explained <= most_explained) continue;
    most_explained = explained;
    best = std::move(one);
  }
  return best;
}

double step_by(const ScalingForm& form, const std::vector<double>& coefficients,
               const ScalingCell& cell) {
  return known_of(form, cell) + product(coefficients, terms_of(form, cell));
}

std::optional<FittedModel> fit(const ScalingForm& form, std::span<const ScalingCell> all) {
  std::vector<ScalingCell> cells;
  for (const ScalingCell& cell : all) {
    if (form.needs_base && !cell.base_s) return std::nullopt;
    if (form.needs_base && cell.topology.world_size() == 1) continue;  // exact by construction
    cells.push_back(cell);
  }
  if (cells.size() < form.terms + 2) return std::nullopt;
  const auto solution = solve(form, cells);
  if (!solution) return std::nullopt;
  FittedModel model;
  model.form = &form;
  model.coefficients = solution->coefficients;
  model.inverse = solution->inverse;
  model.cells = cells.size();
  double squares = 0;
  double left_out = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double step = step_by(form, model.coefficients, cells[i]);
    const double error = std::abs(cells[i].step_s / step - 1);
    model.mean_error += error / static_cast<double>(cells.size());
    model.max_error = std::max(model.max_error, error);
    squares += std::pow(step / cells[i].step_s - 1, 2);
    std::vector<ScalingCell> rest = cells;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = solve(form, rest);
    if (!without) return std::nullopt;
    left_out += std::pow(cells[i].step_s / step_by(form, without->coefficients, cells[i]) - 1, 2);
  }
  const auto n = static_cast<double>(cells.size());
  model.left_out_error = std::sqrt(left_out / n);
  model.sigma = std::sqrt(squares / (n - static_cast<double>(form.terms)));
  return model;
}

}  // namespace

std::optional<ScalingFit> fit_scaling(std::span<const ScalingCell> cells) {
  std::vector<FittedModel> models;
  for (const ScalingForm& form : kForms) {
    if (auto model = fit(form, cells)) models.push_back(std::move(*model));
  }
  if (models.empty()) return std::nullopt;
  // With one-GPU cells the forms that build on them are about the machine; linear is the fallback.
  if (models.size() > 1 && !models.back().form->needs_base) models.pop_back();
  std::size_t best = 0;
  for (std::size_t i = 1; i < models.size(); ++i) {
    const double error = models[best].left_out_error;
    if (error > kGoodEnough && models[i].left_out_error < kMustImprove * error) best = i;
  }
  ScalingFit out;
  out.chosen = models[best];
  models.erase(models.begin() + static_cast<std::ptrdiff_t>(best));
  std::ranges::stable_sort(models, {}, &FittedModel::left_out_error);
  out.others = std::move(models);

  std::int64_t largest = 0;
  for (const ScalingCell& cell : cells) largest = std::max(largest, cell.topology.world_size());
  std::vector<ScalingCell> smaller;
  for (const ScalingCell& cell : cells) {
    if (cell.topology.world_size() < largest) smaller.push_back(cell);
  }
  if (const auto before = fit_scaling(smaller)) {
    double worst = 0;
    for (const ScalingCell& cell : cells) {
      if (cell.topology.world_size() < largest) continue;
      const auto predicted = predict_step(*before, cell);
      if (predicted) worst = std::max(worst, std::abs(cell.step_s / predicted->step_s - 1));
    }
    out.held_out_error = worst;
  }
  return out;
}

std::optional<Predicted> predict_step(const ScalingFit& fit, const ScalingCell& cell) {
  const FittedModel& model = fit.chosen;
  if (model.form->needs_base && !cell.base_s) return std::nullopt;
  Predicted out;
  out.step_s = step_by(*model.form, model.coefficients, cell);
  // The weights are those of relative errors, so the terms are taken relative to the step too.
  const auto x = terms_of(*model.form, cell);
  const std::size_t p = x.size();
  double leverage = 0;
  for (std::size_t i = 0; i < p; ++i) {
    for (std::size_t k = 0; k < p; ++k) leverage += x[i] * model.inverse[i * p + k] * x[k];
  }
  leverage /= out.step_s * out.step_s;
  const boost::math::students_t t(static_cast<double>(model.cells - model.form->terms));
  const double half =
      std::max(boost::math::quantile(t, 0.975) * model.sigma * std::sqrt(1 + leverage),
               fit.held_out_error.value_or(0)) *
      out.step_s;
  out.low_s = std::max(out.step_s - half, out.step_s * 1e-3);
  out.high_s = out.step_s + half;
  for (const FittedModel& other : fit.others) {
    if (other.left_out_error > kRivals * model.left_out_error) continue;
    const double step = step_by(*other.form, other.coefficients, cell);
    out.low_s = std::min(out.low_s, step);
    out.high_s = std::max(out.high_s, step);
  }
  return out;
}

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

Batch batch_of(const Identity& identity) {
  return {*identity.micro_batch_size, *identity.gradient_accumulation_steps};
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
    std::set<Batch> batches;
    for (const Cell* cell : cells_) {
      const Batch batch = batch_of(cell->identity);
      if (*cell->identity.world_size() == 1) bases_[batch] = step_of(*cell);
      batches.insert(batch);
      global.insert(*cell->identity.global_batch_size());
    }
    constexpr std::size_t kLeastTopologies = 3;  // two lie on any line
    std::set<std::pair<std::int64_t, std::int64_t>> measured;
    for (const Cell* cell : cells_) {
      ScalingCell& point = points.emplace_back(point_of(cell->identity));
      point.step_s = step_of(*cell);
      measured.emplace(point.topology.nodes, point.topology.gpus_per_node);
    }
    if (measured.size() >= kLeastTopologies) out.fit = fit_scaling(points);
    if (!out.fit) {
      out.reason = fmt::format("{} cells of {} topologies do not determine a model", points.size(),
                               measured.size());
      return out;
    }
    const bool strong = !out.fit->chosen.form->needs_base && global.size() == 1;
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
    if (out.cells.empty()) {
      out.reason = "the topologies cannot share the global batch of the measured cells evenly";
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
    const auto [micro, accumulation] = batch_of(identity);
    point.sequences_per_gpu = static_cast<double>(micro) * static_cast<double>(accumulation);
    const auto same = bases_.find(batch_of(identity));
    if (same != bases_.end()) point.base_s = same->second;
    return point;
  }

  // The largest measured micro batch that divides what is left for each GPU; all of it where none.
  void predict_strong(PredictedGroup& out, const Topology& topology, std::int64_t global) {
    const std::int64_t world = topology.world_size();
    if (global % world != 0) return;
    std::int64_t micro = 0;
    for (const Cell* cell : cells_) {
      const std::int64_t size = *cell->identity.micro_batch_size;
      if (global / world % size == 0) micro = std::max(micro, size);
    }
    if (micro == 0) micro = global / world;
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
    if (cell.kind == WorkKind::training && can_be_placed(cell.identity) &&
        cell.median_in(RateUnit::sequences_per_second)) {
      groups[group_of(cell.identity)].add(cell);
    }
  }
  std::vector<PredictedGroup> out;
  for (auto& [name, group] : groups) out.push_back(group.run(name, topologies));
  return out;
}

}  // namespace bertbench
