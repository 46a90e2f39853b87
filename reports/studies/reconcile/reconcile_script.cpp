#include "reports/studies/reconcile/reconcile_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr double kLoosest = 1e-3;  // a statement of few digits fits too much

struct Reading {
  double rate = 0;
  std::string what;
};

// Half a unit of the last digit that was printed; trailing zeros are lost, which only narrows it.
double printed_error(double value) {
  const std::string text = shortest(value);
  const auto point = text.find('.');
  const auto decimals = point == std::string::npos || text.find('e') != std::string::npos
                            ? 0
                            : static_cast<int>(text.size() - point - 1);
  const double half = 0.5 * std::pow(10.0, -decimals);
  return std::min(half, kLoosest * std::abs(value)) * (1 + 1e-9);
}

// The readings of one log without a wrong factor.
std::vector<Reading> honest_readings(const RunLog& log, const ScriptInputs& inputs) {
  std::vector<Reading> out;
  const bool sequences = log.summary->unit == RateUnit::sequences_per_second;
  const bool bar = log.rate_unit == RateUnit::iterations_per_second;
  const auto reading = [&](double rate, const std::string& what) {
    if (!(rate > 0)) return;
    if (sequences && bar) {
      if (!inputs.per_iteration) return;
      out.push_back({rate * static_cast<double>(*inputs.per_iteration),
                     fmt::format("{}: {} iterations/s x {} sequences", what, shortest(rate),
                                 *inputs.per_iteration)});
    } else if (log.rate_unit == log.summary->unit) {
      out.push_back({rate, fmt::format("{}: {}", what, shortest(rate))});
    }
  };
  if (!log.records.empty()) {
    const Record& last = log.records.back();
    const bool redrawn = last.printed_first != last.printed_rate;
    if (redrawn) reading(last.printed_first, "first redraw of the last step");
    reading(last.printed_rate, redrawn ? "last redraw of the last step" : "last printed rate");
  }
  if (inputs.total) out.push_back({*inputs.total, "total work over total time"});
  if (inputs.training) out.push_back({*inputs.training, "total work over the training time"});
  for (const auto& [name, rate] : inputs.estimators) {
    if (name != "log_summary" && name != "total_time") {
      out.push_back({rate, fmt::format("the estimate {} over the window", name)});
    }
  }
  return out;
}

}  // namespace

ScriptNumber explain_script(const RunLog& log, const ScriptInputs& inputs) {
  ScriptNumber out;
  out.stated = *log.summary;
  out.log = log.path;
  const double value = out.stated.value;
  if (inputs.total && out.stated.unit == RateUnit::sequences_per_second) {
    out.gap = value / *inputs.total - 1;
  }
  const double error = printed_error(value);
  std::vector<Reading> fits;
  const auto readings = honest_readings(log, inputs);
  const auto add = [&](double rate, const std::string& what) {
    if (std::abs(rate - value) <= error) fits.push_back({rate, what});
  };
  for (const Reading& reading : readings) add(reading.rate, reading.what);
  if (fits.empty()) {
    const std::pair<std::optional<std::int64_t>, const char*> factors[] = {
        {inputs.accumulation, "the gradient accumulation steps"},
        {inputs.world_size, "the world size"}};
    for (const auto& [factor, name] : factors) {
      if (!factor || *factor < 2) continue;
      const auto f = static_cast<double>(*factor);
      for (const Reading& reading : readings) {
        add(reading.rate * f,
            fmt::format("{}, times {} once too often ({})", reading.what, name, *factor));
        add(reading.rate / f, fmt::format("{}, without {} ({})", reading.what, name, *factor));
      }
    }
  }
  if (fits.empty()) return out;
  // Equal readings stay in the order above; a nearer one goes first.
  std::ranges::stable_sort(fits, {}, [&](const Reading& fit) {
    return std::round(std::abs(fit.rate - value) / error * 4);
  });
  out.taken = fits.front().what;
  for (std::size_t i = 1; i < fits.size(); ++i) out.also.push_back(fits[i].what);
  return out;
}

}  // namespace bertbench
