#include "reports/output/gate_reports.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "parsers/core/text.h"
#include "reports/output/junit_xml.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

enum class Level { fine, skipped, failure, error };

Level level_of(const CellVerdict& cell, const GateOptions& options) {
  if (cell.waived()) return Level::skipped;
  switch (cell.counted()) {
    case Verdict::pass:
    case Verdict::improvement:
      return Level::fine;
    case Verdict::regression:
      return Level::failure;
    case Verdict::missing:
      return options.allow_missing ? Level::skipped : Level::failure;
    case Verdict::not_comparable:
      return Level::error;
    case Verdict::inconclusive:
    case Verdict::new_cell:
      return Level::skipped;
  }
  return Level::error;
}

/// https://docs.github.com/actions/reference/workflow-commands: % first, then what ends a command.
std::string command_text(std::string_view text, bool property) {
  std::string out;
  for (const char c : escape_for_terminal(text)) {
    if (c == '%') {
      out += "%25";
    } else if (property && (c == ':' || c == ',')) {
      out += c == ':' ? "%3A" : "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

std::string command(const char* level, const std::string& title, const std::string& text) {
  return fmt::format("::{} title={}::{}\n", level, command_text(title, true),
                     command_text(text, false));
}

std::string rate_of_pair(const std::optional<double>& rate) {
  return rate ? number_text(*rate) : "-";
}

}  // namespace

std::string counts_text(const GateReport& report) {
  std::map<std::string, int> count;
  for (const CellVerdict& cell : report.cells) ++count[verdict_text(cell)];
  std::string text = counted(report.compared, "cell") + " compared";
  for (const auto& [verdict, n] : count) text += fmt::format(", {} {}", n, verdict);
  return text;
}

std::string gate_junit(const GateReport& report, const GateOptions& options,
                       const std::string& name_of_gate) {
  JunitCounts counts;
  std::string cases;
  for (const CellVerdict& cell : report.cells) {
    const Level level = level_of(cell, options);
    ++counts.tests;
    const std::string verdict(name(cell.verdict));
    cases += "    <testcase" + junit_attribute("classname", "bertbench.check") +
             junit_attribute("name", key_with_kind(cell.key, cell.kind)) + ">\n";
    const std::string message = junit_attribute("message", reason_text(cell));
    if (level == Level::skipped) {
      ++counts.skipped;
      cases += "      <skipped" + message + "/>\n";
    } else if (level != Level::fine) {
      ++(level == Level::error ? counts.errors : counts.failures);
      cases += fmt::format("      <{}", level == Level::error ? "error" : "failure") +
               junit_attribute("type", verdict) + message + "/>\n";
    }
    std::vector<std::pair<std::string, std::string>> facts{{"verdict", verdict}};
    if (cell.change) facts.emplace_back("change", shortest(*cell.change));
    if (!cell.variant.empty()) {
      facts.emplace_back("variant", cell.variant);
      facts.emplace_back("pairs", std::to_string(cell.n_new));
      if (cell.interval.coverage > 0) {
        facts.emplace_back("interval_low", shortest(cell.interval.low));
        facts.emplace_back("interval_high", shortest(cell.interval.high));
      }
    }
    facts.emplace_back("speed_verdict", name(cell.speed));
    if (cell.outcomes) {
      facts.emplace_back("outcomes_verdict", name(cell.outcomes->verdict));
      facts.emplace_back("failed_trials", std::to_string(cell.outcomes->failed_now));
      facts.emplace_back("failed_trials_base", std::to_string(cell.outcomes->failed_base));
    }
    if (cell.memory) {
      facts.emplace_back("memory_verdict", name(cell.memory->verdict));
      if (cell.memory->now > 0) {
        facts.emplace_back("memory_change", shortest(cell.memory->change));
      }
    }
    if (cell.loss) {
      facts.emplace_back("loss_verdict", name(cell.loss->verdict));
      if (cell.loss->step) facts.emplace_back("loss_step", std::to_string(*cell.loss->step));
    }
    if (cell.rerun) {
      facts.emplace_back("first_verdict", name(cell.rerun->first));
      facts.emplace_back("rerun_verdict", name(cell.rerun->verdict));
      if (cell.rerun->change) facts.emplace_back("rerun_change", shortest(*cell.rerun->change));
      facts.emplace_back("cleared_by_rerun", cell.cleared() ? "true" : "false");
    }
    for (const auto& [waiver, state] : cell.waivers) {
      facts.emplace_back("waiver_of_" + waiver.verdict, name(state));
    }
    facts.emplace_back("reason", reason_text(cell));
    cases += junit_output(facts) + "    </testcase>\n";
  }
  return junit_file(name_of_gate, counts, "", cases);
}

std::string github_annotations(const GateReport& report, const GateOptions& options) {
  std::string out;
  for (const CellVerdict& cell : report.cells) {
    const Level level = level_of(cell, options);
    const std::string title =
        fmt::format("{}: {}", verdict_text(cell), key_with_kind(cell.key, cell.kind));
    if (level == Level::failure || level == Level::error) {
      out += command("error", title, reason_text(cell));
    } else if (cell.counted() == Verdict::inconclusive) {
      out += command(options.accept_inconclusive ? "notice" : "warning", title, reason_text(cell));
    } else if (cell.verdict != Verdict::pass || cell.cleared()) {
      out += command("notice", title, reason_text(cell));
    }
  }
  for (const Notice& notice : report.notices) {
    out += command("notice", "bertbench check", text_of(notice));
  }
  if (report.compared == 0) {
    out += command("error", "bertbench check", "nothing was compared: see the notices");
  }
  return out;
}

std::string gate_markdown(const GateReport& report, const std::string& name_of_gate) {
  const char* outcome = report.exit_status == 0   ? "passed"
                        : report.exit_status == 1 ? "failed"
                        : report.exit_status == 3 ? "inconclusive"
                                                  : "not comparable";
  std::string out = "### " + markdown_text(name_of_gate.empty() ? "bertbench" : name_of_gate) +
                    ": " + outcome + "\n\n" + counts_text(report) + "\n";
  Table table{columns_of({"verdict", "cell", ">change", ">n", "reason"})};
  for (const CellVerdict& cell : report.cells) {
    if (cell.verdict == Verdict::pass && !cell.cleared()) continue;
    table.rows.push_back({verdict_text(cell) + (cell.cleared() ? " (rerun)" : ""),
                          key_with_kind(cell.key, cell.kind),
                          cell.change ? change_text(*cell.change) : "-",
                          report.paired.empty() ? fmt::format("{}+{}", cell.n_base, cell.n_new)
                                                : fmt::format("{} pairs", cell.n_new),
                          reason_text(cell)});
  }
  if (!table.rows.empty()) out += "\n" + markdown_table(table);
  for (const Notice& notice : report.notices) out += "\n- " + markdown_text(text_of(notice));
  return out + (report.notices.empty() ? "" : "\n");
}

Table pairs_table(const GateReport& report, PairsAs as) {
  const bool ratios = as == PairsAs::ratios;
  const auto change = [&](double value) {
    return ratios ? fmt::format("{:.4f}", 1 + value) : change_text(value);
  };
  Table table{
      columns_of({"verdict", "cell", ">" + report.paired, ratios ? ">variant" : ">now", "unit",
                  ratios ? ">ratio" : ">change", ">interval", ">pairs", ">p slower"})};
  for (const CellVerdict& cell : report.cells) {
    const Interval& interval = cell.interval;
    std::string pairs = std::to_string(cell.n_new);
    if (cell.pairs_left_out > 0) pairs += fmt::format(" (+{})", cell.pairs_left_out);
    table.rows.push_back(
        {ratios ? std::string(name(cell.speed)) : verdict_text(cell),
         key_with_kind(cell.key, cell.kind), rate_of_pair(cell.reference),
         rate_of_pair(cell.median_new), cell.unit, cell.change ? change(*cell.change) : "-",
         interval.coverage > 0 ? change(interval.low) + " to " + change(interval.high) : "-", pairs,
         cell.change ? fmt::format("{:.3g}", cell.p_adjusted) : "-"});
  }
  return table;
}

}  // namespace bertbench
