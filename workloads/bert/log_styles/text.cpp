#include "workloads/bert/log_styles/text.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace bert {

std::string python_float(double value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string python_json_float(double value) {
  if (std::isfinite(value)) {
    return python_float(value);
  }
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

std::string numpy_float32(double value) {
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow)) {
    return std::isnan(narrow) ? "nan" : narrow > 0 ? "inf" : "-inf";
  }
  std::string text = fmt::format("{}", narrow);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string percent_g(double value) { return fmt::format("{:.6g}", value); }

std::string python_datetime(double unix_seconds) {
  const double whole = std::floor(unix_seconds);
  return fmt::format("{}.{:06d}", utc(whole, "%Y-%m-%d %H:%M:%S"),
                     static_cast<int>((unix_seconds - whole) * 1e6));
}

std::string command_trace(const RunFacts& facts) {
  std::string text = fmt::format("+ {}\n", fmt::join(facts.command, " "));
  if (!facts.simulated_topology.empty()) {
    text += fmt::format("  Simulated cluster = {}\n", facts.simulated_topology);
  }
  return text;
}

std::string utc(double unix_seconds, const char* format) {
  const auto whole = static_cast<std::time_t>(std::floor(unix_seconds));
  std::tm parts = {};
  gmtime_r(&whole, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string rfc3339(double unix_seconds) {
  const auto milliseconds = static_cast<long long>(std::floor(unix_seconds * 1000));
  return fmt::format("{}.{:03d}Z",
                     utc(static_cast<double>(milliseconds / 1000), "%Y-%m-%dT%H:%M:%S"),
                     milliseconds % 1000);
}

}  // namespace bert
