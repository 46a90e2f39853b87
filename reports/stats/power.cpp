#include "reports/stats/power.h"

#include <algorithm>
#include <span>

#include "reports/stats/normals.h"
#include "reports/stats/rank_test.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// One simulated measurement without a loss; the loss scales `now`.
struct Draw {
  std::vector<double> now, pooled;
  double reference = 0, tolerance = 0;
};

Draw draw_one(const GateModel& gate, Normals& normal) {
  Draw out;
  const auto run = [&](std::size_t trials, std::vector<double>& into) {
    const double mean = 1 + gate.run_noise * normal();
    for (std::size_t i = 0; i < trials; ++i) into.push_back(mean * (1 + gate.noise * normal()));
  };
  std::vector<double> medians;
  for (std::size_t r = 0; r < gate.base_runs; ++r) {
    run(gate.base_trials, out.pooled);
    medians.push_back(median(std::span(out.pooled).last(gate.base_trials)));
  }
  run(gate.trials, out.now);
  out.reference = median(medians);
  out.tolerance = std::max(gate.floor, gate_noise(out.pooled, medians).share);
  return out;
}

/// Fewer steps give their root mean square no better than five medians give their sd.
constexpr std::size_t kStepsForNoise = 5;
/// A step further out, in sd, is a change of the program: of normal steps 1 in 16,000 is.
constexpr double kSigmasOfAChange = 4;

/// How far each run was from the median of the runs before it, as a fraction of that; without
/// changes of the program.
std::vector<double> steps_of_noise(std::span<const double> history) {
  std::vector<double> steps, sizes;
  for (std::size_t i = kRunsForNoise; i < history.size(); ++i) {
    const std::size_t before = std::min(i, kRunsOfBaseline);
    steps.push_back(history[i] / median(history.subspan(i - before, before)) - 1);
    sizes.push_back(std::abs(steps.back()));
  }
  if (steps.empty()) return steps;
  const double sd = kMadToSigma * median(sizes);
  if (sd > 0) {
    std::erase_if(steps, [&](double step) { return std::abs(step) > kSigmasOfAChange * sd; });
  }
  return steps;
}

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// Largest u with P(U <= u) <= level; none when not even 0 is.
std::optional<std::size_t> critical_u(std::size_t n, std::size_t m, double level) {
  if (smallest_p(n, m) > level) return std::nullopt;
  const auto cdf = u_distribution(n, m);
  std::size_t u = 0;
  while (u + 1 < cdf.size() && cdf[u + 1] <= level) ++u;
  return u;
}

class Simulation {
 public:
  Simulation(const GateModel& gate, int draws)
      : critical_(
            critical_u(gate.trials, gate.base_trials * gate.base_runs,
                       gate.alpha / static_cast<double>(std::max<std::size_t>(1, gate.cells)))) {
    if (!critical_) return;
    Normals normal(20260101);
    draws_.reserve(static_cast<std::size_t>(draws));
    for (int i = 0; i < draws; ++i) draws_.push_back(draw_one(gate, normal));
  }

  [[nodiscard]] double power(double loss) const {
    if (draws_.empty()) return 0;
    const auto found =
        std::ranges::count_if(draws_, [&](const Draw& draw) { return regression(draw, 1 - loss); });
    return static_cast<double>(found) / static_cast<double>(draws_.size());
  }

 private:
  [[nodiscard]] bool regression(const Draw& draw, double factor) const {
    if (1 - factor * median(draw.now) / draw.reference <= draw.tolerance) return false;
    std::size_t u = 0;  // pairs in which the new trial is the faster one
    for (const double now : draw.now) {
      for (const double base : draw.pooled) u += factor * now > base ? 1 : 0;
    }
    return u <= *critical_;
  }

  std::optional<std::size_t> critical_;
  std::vector<Draw> draws_;
};

}  // namespace

std::vector<double> u_distribution(std::size_t n, std::size_t m) {
  // ways[i][u]: orders of i new and j base values with u pairs won, j growing from 0 to m.
  // count(i, j, u) = count(i-1, j, u-j) + count(i, j-1, u): the largest value is new or base.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1, 0.0));
  for (auto& row : ways) row[0] = 1;
  for (std::size_t j = 1; j <= m; ++j) {
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t u = i * j; u >= j; --u) ways[i][u] += ways[i - 1][u - j];
    }
  }
  auto cdf = std::move(ways[n]);
  double sum = 0;
  for (double& x : cdf) x = sum += x;
  for (double& x : cdf) x /= sum;
  return cdf;
}

double detection_power(const GateModel& gate, double loss, int draws) {
  return Simulation(gate, draws).power(loss);
}

std::optional<double> smallest_loss(const GateModel& gate, double power, int draws) {
  const Simulation simulation(gate, draws);
  double low = 0, high = 0.5;
  if (simulation.power(high) < power) return std::nullopt;
  for (int i = 0; i < 14; ++i) {  // to 0.003 %
    const double middle = (low + high) / 2;
    (simulation.power(middle) < power ? low : high) = middle;
  }
  return high;
}

std::optional<std::size_t> trials_for_loss(GateModel gate, double loss, double power,
                                           std::size_t most, int draws) {
  // Not quite monotone (the reachable levels jump), so the fewest is searched from below; large
  // counts in larger strides, as the answer is a plan and not a theorem.
  for (std::size_t n = 2; n <= most; n += 1 + n / 20) {
    gate.trials = gate.base_trials = n;
    if (detection_power(gate, loss, draws) >= power) return n;
  }
  return std::nullopt;
}

GateNoise gate_noise(std::span<const double> pooled, std::span<const double> history) {
  constexpr double kSigmas = 3;
  const std::vector<double> steps = steps_of_noise(history);
  if (steps.size() >= kStepsForNoise) {
    return {kSigmas * root_mean_square(steps), steps.size()};
  }
  if (history.size() >= kRunsForNoise) {
    return {kSigmas * standard_deviation(history) / median(history)};
  }
  return {kSigmas * kMadToSigma * median_absolute_deviation(pooled) / median(pooled)};
}

}  // namespace bertbench
