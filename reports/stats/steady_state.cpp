#include "reports/stats/steady_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "reports/stats/change_points.h"
#include "reports/stats/clip.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::size_t kMostMeans = 400;  // optimal partitioning is quadratic in them

constexpr std::array<std::pair<Steadiness, std::string_view>, 4> kNames{{
    {Steadiness::flat, "flat"},
    {Steadiness::warm_up, "warm_up"},
    {Steadiness::slow_down, "slow_down"},
    {Steadiness::no_steady_state, "no_steady_state"},
}};

std::vector<double> means_of(std::span<const double> series, std::size_t batch) {
  std::vector<double> out;
  out.reserve(series.size() / batch);
  for (std::size_t i = 0; i + batch <= series.size(); i += batch) {
    out.push_back(mean(series.subspan(i, batch)));
  }
  return out;
}

bool same_level(double a, double b) { return std::abs(a / b - 1) <= kSameLevel; }

}  // namespace

std::string_view name(Steadiness steadiness) {
  for (const auto& [value, text] : kNames) {
    if (value == steadiness) return text;
  }
  return "";
}

std::optional<Steadiness> steadiness_from_name(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

std::optional<SteadyState> steady_state(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < kLeastForChangePoints) return std::nullopt;
  if (!std::ranges::all_of(series, [](double y) { return std::isfinite(y) && y > 0; })) {
    return std::nullopt;
  }
  const std::size_t batch = (n + kMostMeans - 1) / kMostMeans;
  const auto y = means_of(clipped(series), batch);
  std::vector<std::size_t> begins = change_points(y);
  begins.insert(begins.begin(), 0);

  const auto level_of = [&](std::size_t segment) {
    const std::size_t end = segment + 1 < begins.size() ? begins[segment + 1] : y.size();
    return mean(std::span(y).subspan(begins[segment], end - begins[segment]));
  };
  const double last = level_of(begins.size() - 1);
  std::size_t steady = begins.size() - 1;
  // All neighbours are held against the last level, not against each other: a slow drift in small
  // steps is no steady state.
  while (steady > 0 && same_level(level_of(steady - 1), last)) --steady;

  SteadyState out;
  out.first = begins[steady] * batch;
  out.level = mean(std::span(y).subspan(begins[steady]));
  if (out.first == 0) return out;
  out.earlier = mean(std::span(y).first(begins[steady]));
  if (static_cast<double>(n - out.first) < kLeastSteadyPart * static_cast<double>(n)) {
    out.steadiness = Steadiness::no_steady_state;
    return out;
  }
  out.steadiness = Steadiness::warm_up;
  for (std::size_t segment = 0; segment < steady; ++segment) {
    if (level_of(segment) < out.level * (1 - kSameLevel)) out.steadiness = Steadiness::slow_down;
  }
  return out;
}

}  // namespace bertbench
