#include <fmt/format.h>

#include <ostream>

#include "parsers/core/text.h"
#include "reports/output/report.h"
#include "reports/output/value_text.h"

namespace bertbench::report_prometheus {
namespace {

/// A label value of the exposition format: backslash, quote and line feed escaped; what a terminal
/// would run was made visible before.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : escape_for_terminal(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string labels_of(const Cell& cell) {
  const Identity& id = cell.identity;
  std::string out = "{key=\"" + label_value(cell.key) + "\"";
  const auto text = [&](const char* name, const std::optional<std::string>& value) {
    if (value) out += fmt::format(",{}=\"{}\"", name, label_value(*value));
  };
  const auto count = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) out += fmt::format(",{}=\"{}\"", name, *value);
  };
  text("framework", id.framework);
  text("model", id.model);
  text("precision", id.precision);
  count("sequence_length", id.sequence_length);
  count("micro_batch_size", id.micro_batch_size);
  count("nodes", id.nodes);
  count("gpus_per_node", id.gpus_per_node);
  if (id.simulated()) out += ",simulated=\"true\"";
  return out + fmt::format(",kind=\"{}\"}}", name(cell.kind));
}

struct Metric {
  const char* name;
  const char* help;
  std::optional<double> (*value)(const Cell&);
  /// One more label and its value; the value empty: none.
  const char* label = nullptr;
  std::string (*label_of)(const Cell&) = nullptr;
};

std::string formula_of(const Cell& cell) { return cell.flops_formula; }

constexpr Metric kMetrics[] = {
    {"bertbench_sequences_per_second", "Median throughput of the whole job over its trials.",
     [](const Cell& cell) { return cell.median_in(RateUnit::sequences_per_second); }},
    {"bertbench_tokens_per_second",
     "Median tokens, as the logs count them or of sequences of a known length.",
     [](const Cell& cell) { return cell.tokens_per_second(); }},
    {"bertbench_iterations_per_second",
     "Median rate where the batch or the number of GPUs is unknown.",
     [](const Cell& cell) { return cell.median_in(RateUnit::iterations_per_second); }},
    {"bertbench_epochs_per_second", "Median rate where the logs count nothing finer.",
     [](const Cell& cell) { return cell.median_in(RateUnit::epochs_per_second); }},
    {"bertbench_throughput_variation_ratio",
     "Coefficient of variation of the throughput over trials (n - 1).",
     [](const Cell& cell) { return cell.throughput.cv; }},
    {"bertbench_counted_trials", "Trials that give a number.",
     [](const Cell& cell) { return std::optional<double>(cell.throughput.n); }},
    {"bertbench_failed_trials", "Trials that ended in a failure.",
     [](const Cell& cell) { return std::optional<double>(failed_trials(cell)); }},
    {"bertbench_speedup_ratio", "Throughput over that of the base cell.",
     [](const Cell& cell) {
       return cell.speedup ? std::optional<double>(cell.speedup->value) : std::nullopt;
     }},
    {"bertbench_scaling_efficiency_ratio", "Speedup over the ratio of GPUs.",
     [](const Cell& cell) { return cell.scaling_efficiency; }},
    {"bertbench_tflops_per_gpu", "Model TFLOPS per GPU by the formula of the result.",
     [](const Cell& cell) { return cell.tflops_per_gpu; }, "formula", formula_of},
    {"bertbench_mfu_ratio", "Model FLOPs utilization of the dense peak.",
     [](const Cell& cell) { return cell.mfu; }, "formula", formula_of},
    {"bertbench_hfu_ratio", "The same with recomputation counted.",
     [](const Cell& cell) { return cell.hfu; }, "formula", formula_of},
    {"bertbench_peak_memory_bytes", "Most memory that a trial used on one GPU.",
     [](const Cell& cell) {
       return cell.memory ? std::optional(static_cast<double>(cell.memory->peak_bytes))
                          : std::nullopt;
     },
     "source", [](const Cell& cell) { return cell.memory ? cell.memory->source : std::string(); }},
    {"bertbench_power_watts", "Power of all GPUs of the job while it trains.",
     [](const Cell& cell) { return cell.power_w; }},
    {"bertbench_energy_per_sequence_joules", "That power over the throughput.",
     [](const Cell& cell) { return cell.energy_per_sequence_j; }},
};

/// Text exposition format 0.0.4, as node_exporter's textfile collector reads it.
void render(const ResultSet& set, const ReportOptions&, std::ostream& out) {
  std::vector<std::string> labels;
  for (const Cell& cell : set.cells) labels.push_back(labels_of(cell));
  for (const Metric& metric : kMetrics) {
    bool first = true;
    for (std::size_t i = 0; i < set.cells.size(); ++i) {
      const auto value = metric.value(set.cells[i]);
      if (!value) continue;
      if (first) {
        out << fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", metric.name, metric.help);
      }
      first = false;
      std::string with = labels[i];
      if (metric.label_of != nullptr) {
        if (const std::string more = metric.label_of(set.cells[i]); !more.empty()) {
          with.insert(with.size() - 1, fmt::format(",{}=\"{}\"", metric.label, label_value(more)));
        }
      }
      out << metric.name << with << ' ' << shortest(*value) << '\n';
    }
  }
  out << "# HELP bertbench_cells Cells of the result.\n# TYPE bertbench_cells gauge\n"
      << "bertbench_cells " << set.cells.size() << '\n';
}

}  // namespace

extern const Report entry{"prometheus", "gauges for node_exporter's textfile collector", ".prom",
                          &render};

}  // namespace bertbench::report_prometheus
