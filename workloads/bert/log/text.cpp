#include "workloads/bert/log/text.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

namespace bert {
namespace {

template <typename Real>
std::string shortest(Real value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string python_float(double value) { return shortest(value); }

std::string python_json_float(double value) {
  if (std::isfinite(value)) return python_float(value);
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

std::string numpy_float32(double value) { return shortest(static_cast<float>(value)); }

std::string percent_g(double value) { return fmt::format("{:.6g}", value); }

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string python_datetime(double unix_seconds) {
  return fmt::format("{}.{:06d}", utc(unix_seconds), fraction(unix_seconds, 1e6));
}

std::string rfc3339(double unix_seconds) {
  const auto milliseconds = static_cast<long long>(std::floor(unix_seconds * 1000));
  return fmt::format("{}.{:03d}Z",
                     utc(static_cast<double>(milliseconds / 1000), "%Y-%m-%dT%H:%M:%S"),
                     milliseconds % 1000);
}

std::string utc(double unix_seconds, const char* format) {
  const auto whole = static_cast<std::time_t>(std::floor(unix_seconds));
  std::tm parts = {};
  gmtime_r(&whole, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

int fraction(double unix_seconds, double units) {
  return static_cast<int>((unix_seconds - std::floor(unix_seconds)) * units);
}

std::string command_trace(const RunFacts& facts) {
  std::string text = fmt::format("+ {}\n", fmt::join(facts.command, " "));
  if (facts.simulated_topology.empty()) return text;
  return text + fmt::format("  Simulated cluster = {}\n", facts.simulated_topology);
}

double warmup_share(const RunFacts& facts) {
  if (facts.steps == 0) return 0;
  return static_cast<double>(facts.schedule.warmup_steps) / static_cast<double>(facts.steps);
}

std::string interrupted(const RunEnd& end) {
  return fmt::format("Training interrupted by signal {} after step {}", end.signal, end.step);
}

}  // namespace bert
