#include "reports/measure/tool_windows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bertbench {
namespace {

struct Value {
  std::int64_t step = 0;
  double seconds = 0;  ///< per iteration
};
using Values = std::vector<Value>;

void keep_from(Values& values, std::size_t first) {
  values.erase(values.begin(),
               values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size())));
}

struct Tool {
  std::string_view name;
  void (*keep)(Values&);    ///< its window
  bool of_rates = false;    ///< its mean is one of rates (TFLOP/s), not of times
  bool population = false;  ///< its deviation divides by n
};

// As read in the sources of 2026: dgxc-benchmarking 841f546 pretrain_log_parser.py; Megatron-Bridge
// 067f987df scripts/performance/utils/evaluate.py; cloudai 5b5c0f72 megatron_bridge.py:581; Primus
// fd1eeabb tools/auto_benchmark/metrics.py.
constexpr auto kTools = std::to_array<Tool>({
    {"dgxc",
     [](Values& values) {
       std::erase_if(values, [](const Value& it) { return it.step < 35 || it.step > 44; });
     }},
    {"megatron-bridge", [](Values& values) { keep_from(values, values.size() / 10); }, true},
    {"cloudai",
     [](Values& values) {
       keep_from(values, values.size() - std::min<std::size_t>(10, values.size()));
     },
     false, true},
    {"primus", [](Values& values) { keep_from(values, 5); }},
});

}  // namespace

std::vector<std::string_view> window_tools() {
  std::vector<std::string_view> out;
  for (const Tool& tool : kTools) out.push_back(tool.name);
  return out;
}

std::optional<ToolWindow> window_of(std::string_view tool, std::span<const Record> records) {
  const auto rule = std::ranges::find(kTools, tool, &Tool::name);
  if (rule == kTools.end()) return std::nullopt;
  Values values;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    double seconds = record.seconds;
    if (!(seconds > 0) && i > 0) seconds = record.time_s - records[i - 1].time_s;
    if (!(seconds > 0) || record.iterations < 1) continue;
    values.push_back({record.step, seconds / static_cast<double>(record.iterations)});
  }
  rule->keep(values);
  if (values.empty()) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  double sum = 0, rates = 0, squares = 0;
  for (const Value& value : values) {
    sum += value.seconds;
    rates += 1 / value.seconds;
  }
  for (const Value& value : values) squares += std::pow(value.seconds - sum / n, 2);
  ToolWindow out;
  out.values = static_cast<std::int64_t>(values.size());
  out.first = values.front().step;
  out.last = values.back().step;
  out.seconds = rule->of_rates ? n / rates : sum / n;
  const double freedom = rule->population ? n : n - 1;
  out.deviation = freedom > 0 ? std::sqrt(squares / freedom) : 0;
  return out;
}

}  // namespace bertbench
