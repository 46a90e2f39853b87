#include "harness/cli/commands/reconcile_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/console.h"
#include "reports/model/json_put.h"
#include "reports/output/table.h"

namespace bertbench {
namespace {

using nlohmann::ordered_json;

std::string hours(double time_s) { return fmt::format("{:.1f}", time_s / 3600); }

std::string share(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f} %", 100 * *value, decimals) : "-";
}

std::string count(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}

}  // namespace

ordered_json plan_to_json(const PlanReckoning& plan) {
  ordered_json json{{"schema", "bertbench.plan/1"}, {"phases", ordered_json::array()}};
  for (const PhaseReckoning& out : plan.phases) {
    ordered_json row{{"name", out.phase.name}, {"calculated_s", out.calculated_s}};
    put(row, "measured_s", out.phase.measured_s);
    put(row, "overhead", out.overhead);
    row["expected_s"] = out.expected_s;
    row["corrected"] = out.corrected;
    put(row, "global_batch_size", out.global_batch_size);
    put(row, "sequences", out.sequences);
    row["share_of_time"] = out.share_of_time;
    put(row, "share_of_sequences", out.share_of_sequences);
    json["phases"].push_back(std::move(row));
  }
  json["calculated_s"] = plan.calculated_s;
  json["expected_s"] = plan.expected_s;
  put(json, "overhead", plan.overhead);
  put(json, "overhead_of_measured", plan.overhead_of_measured);
  put(json, "sequences", plan.sequences);
  return json;
}

void print_plan(Console& console, const PlanReckoning& plan) {
  Table table{{{"phase"},
               {"calculated s", true},
               {"measured s", true},
               {"expected s", true},
               {"hours", true},
               {"of time", true},
               {"global batch", true},
               {"sequences", true},
               {"of sequences", true}},
              {}};
  for (const PhaseReckoning& out : plan.phases) {
    table.rows.push_back({out.phase.name, fmt::format("{:.2f}", out.calculated_s),
                          out.phase.measured_s ? fmt::format("{:.2f}", *out.phase.measured_s) : "-",
                          fmt::format("{:.2f}{}", out.expected_s, out.corrected ? " *" : ""),
                          hours(out.expected_s), share(out.share_of_time, 1),
                          count(out.global_batch_size), count(out.sequences),
                          share(out.share_of_sequences, 2)});
  }
  table.rows.push_back({"together", fmt::format("{:.2f}", plan.calculated_s), "",
                        fmt::format("{:.2f}", plan.expected_s), hours(plan.expected_s), "", "",
                        count(plan.sequences), ""});
  console.print(text_table(table));
  if (!plan.overhead) return;
  console.print(
      fmt::format("\n* calculated, with the overhead of the measured phases: {:.2f} % of the "
                  "calculated\n  time, {:.2f} % of the measured.\n",
                  100 * *plan.overhead, 100 * *plan.overhead_of_measured));
}

}  // namespace bertbench
