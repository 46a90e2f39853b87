// bertbench doctor: what would spoil a measurement on this machine, or on the nodes of a launcher.
#include "harness/sweep/plan/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/help.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/sweep/execute/node_probe.h"
#include "harness/sweep/execute/preflight.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/text.h"
#include "reports/output/table.h"

namespace bertbench::command_doctor {
namespace {

struct Options {
  std::string path = ".", nodes;
  PreflightOptions preflight;
  bool node_probe = false, strict = false;
  OutputOptions output;
};

Style style_of(Severity severity) {
  if (severity == Severity::ok) return Style::green;
  return severity == Severity::warning ? Style::yellow : Style::plain;
}

nlohmann::ordered_json to_json(const std::vector<DoctorFinding>& findings) {
  auto rows = nlohmann::ordered_json::array();
  for (const DoctorFinding& finding : findings) {
    rows.push_back({{"severity", name(finding.severity)},
                    {"subject", finding.subject},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  return {{"findings", rows}};
}

std::ptrdiff_t warnings_of(const std::vector<DoctorFinding>& findings) {
  return std::ranges::count(findings, Severity::warning, &DoctorFinding::severity);
}

/// A node or a pair of nodes that differs from the others, or that gave no answer.
bool names_any(const Preflight& preflight) {
  return !preflight.silent.empty() || !preflight.unread.empty() ||
         !preflight.pairs_problem.empty() ||
         std::ranges::any_of(preflight.readings,
                             [](const NodeReading& one) {
                               return !one.outliers.empty() || !one.findings.empty();
                             }) ||
         std::ranges::any_of(preflight.pairs, [](const PairReading& one) {
           return !one.gb_s || !one.outlier.empty();
         });
}

/// With --strict a finding fails the step of CI that looks for it.
ExitCode status_of(const Options& options, bool found) {
  return options.strict && found ? ExitCode::regression : ExitCode::good;
}

void print(Console& console, const std::vector<DoctorFinding>& findings) {
  Table table{columns_of({"", "subject", "finding"})};
  std::vector<Style> styles;
  // The last column is as wide as a terminal leaves it; elsewhere a finding is a line.
  std::size_t first = 0, second = 0;
  for (const DoctorFinding& finding : findings) {
    first = std::max(first, name(finding.severity).size());
    second = std::max(second, finding.subject.size());
  }
  const std::size_t others = first + second + 4;
  const std::size_t most = console.most_columns();
  const std::size_t room =
      most == 0 ? std::string::npos : std::max<std::size_t>(30, most - std::min(most, others));
  const auto add = [&](std::string severity, std::string subject, const std::string& text,
                       Style style) {
    const std::string lines = wrap(text, 0, room);
    for (const std::string_view line : split(trim(lines), '\n')) {
      table.rows.push_back(
          {std::exchange(severity, ""), std::exchange(subject, ""), std::string(line)});
      styles.push_back(style);
    }
  };
  for (const DoctorFinding& finding : findings) {
    add(std::string(name(finding.severity)), finding.subject, finding.text,
        style_of(finding.severity));
    if (!finding.advice.empty()) add("", "", "-> " + finding.advice, Style::plain);
  }
  console.print(
      console.painted(table, {.headings = false}, 0, [&](std::size_t row) { return styles[row]; }));
  const auto warnings = warnings_of(findings);
  console.print(warnings == 0 ? std::string("\nnothing found that would spoil a measurement\n")
                              : fmt::format("\n{} finding{} would spoil a measurement here\n",
                                            warnings, warnings == 1 ? "" : "s"));
}

std::string skew_text(const NodeReading& reading) {
  return fmt::format("{:+.3f} to {:+.3f}", reading.skew_low_s, reading.skew_high_s);
}

void print_pairs(Console& console, const Preflight& preflight) {
  if (!preflight.pairs_problem.empty()) {
    console.print(
        escape_for_terminal("no all-reduce between neighbours, " + preflight.pairs_problem) + "\n");
  }
  if (preflight.pairs.empty()) return;
  Table table{columns_of({">nodes", ">all-reduce, GB/s", "outlier"})};
  for (const PairReading& pair : preflight.pairs) {
    table.rows.push_back({fmt::format("{}, {}", pair.first, pair.second),
                          pair.gb_s ? fmt::format("{:.3f}", *pair.gb_s) : "-",
                          pair.gb_s ? pair.outlier : pair.problem});
  }
  console.print(console.painted(table, {}, 2, [](std::size_t) { return Style::yellow; }) + "\n");
}

void print(Console& console, const Preflight& preflight) {
  Table table{columns_of({">node", "host", ">GEMM, GFLOP/s", ">memory, GB/s", ">clock, MHz",
                          ">clock skew, s", "outlier"})};
  for (const NodeReading& reading : preflight.readings) {
    table.rows.push_back(
        {std::to_string(reading.node), reading.host, fmt::format("{:.2f}", reading.gflops),
         fmt::format("{:.2f}", reading.copy_gb_s),
         reading.clock_mhz ? fmt::format("{:.0f}", *reading.clock_mhz) : "", skew_text(reading),
         fmt::format("{}", fmt::join(reading.outliers, "; "))});
  }
  console.print(console.painted(table, {}, 6, [](std::size_t) { return Style::yellow; }) + "\n");
  for (const NodeReading& reading : preflight.readings) {
    for (const std::string& finding : reading.findings) {
      console.print(escape_for_terminal(fmt::format("node {}: {}", reading.node, finding)) + "\n");
    }
  }
  for (const std::int64_t node : preflight.silent) {
    console.print(console.styled(Style::yellow, fmt::format("node {}: no answer", node)) + "\n");
  }
  print_pairs(console, preflight);
  for (const std::string& text : preflight.unread) {
    console.print(escape_for_terminal("a process gave no answer, " + text) + "\n");
  }
  if (preflight.emulated) {
    console.print("the nodes are emulated: they share this machine while they measure\n");
  }
  const auto named = std::ranges::count_if(
      preflight.readings, [](const NodeReading& reading) { return !reading.outliers.empty(); });
  console.print(fmt::format(
      "{} of {} nodes answered, {} named (more than {:.0f} % below the median of the others)\n"
      "GEMM and memory: of one thread{}\n",
      preflight.readings.size(), preflight.nodes, named, 100 * kPreflightFloor,
      preflight.pairs.empty() ? "" : "; all-reduce: 4 MiB over TCP by bert_train"));
}

ExitCode run_on_nodes(const Options& options, Console& console) {
  PreflightOptions how = options.preflight;
  if (!options.nodes.empty()) {
    how.nodes = to_int(options.nodes).value_or(0);
    if (how.nodes < 1 || how.nodes > 100'000) {
      return console.error({"--nodes", fmt::format("'{}' is not a number of nodes", options.nodes),
                            "use a whole number of at least 1"});
    }
  }
  const auto preflight = run_preflight(how);
  if (!preflight) return console.error(preflight.error());
  if (preflight->interrupted) {
    console.status("interrupted; no preflight was kept");
    return ExitCode::interrupted;
  }
  const auto json = to_json(*preflight);
  if (options.path != ".") {
    auto folder = Folder::make_root(options.path);
    if (!folder) return console.error(folder.error());
    if (auto kept = folder->write(kPreflightFile, json_text(json)); !kept) {
      return console.error(kept.error());
    }
  }
  return answer(
      console, options.output, status_of(options, names_any(*preflight)),
      [&] {
        return nlohmann::ordered_json{{"findings", nlohmann::ordered_json::array()},
                                      {"preflight", json}};
      },
      [&] { print(console, *preflight); });
}

ExitCode run(const Options& options, Console& console) {
  if (options.node_probe) {
    console.print(probe_node().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                  "\n");
    return ExitCode::good;
  }
  if (!options.preflight.launcher.empty()) return run_on_nodes(options, console);
  if (!options.preflight.sets.empty() || !options.nodes.empty()) {
    return console.error({"doctor", "--set and --nodes are of a preflight",
                          "name the launcher as well: --launcher ssh"});
  }
  const std::vector<DoctorFinding> findings = doctor(options.path);
  return answer(
      console, options.output, status_of(options, warnings_of(findings) > 0),
      [&] { return to_json(findings); }, [&] { print(console, findings); });
}

void declare(CommandLine& line, Options& options) {
  line.add_text("--out", options.path, "DIR",
                "Where a sweep would write, for its free space; a preflight is kept there as "
                "preflight.json, and a sweep into DIR reports it.")
      .default_text("the current folder");
  line.add_text("--launcher", options.preflight.launcher, "NAME",
                "Preflight: measure every node at once, each started by this launcher.");
  complete_launchers(line);
  line.add_text("--nodes", options.nodes, "N", "Nodes of the preflight.")
      .default_text("the hosts given, or the nodes of the allocation");
  line.add_list("--set", options.preflight.sets, "KEY=VALUE",
                "Of a sweep's configuration, for the launcher, as in hosts=[\"a\",\"b\"]; "
                "repeatable.");
  line.add_flag("--strict", options.strict,
                "End with 1 where anything was found that would spoil a measurement.");
  line.add_flag("--node-probe", options.node_probe,
                "Print what a preflight asks of a node: half a second of measuring, one line of "
                "JSON.");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench doctor", "Look before a measurement that matters."},
    {"bertbench doctor --strict", "The same as a step of CI, which a finding fails."},
    {"bertbench doctor --json", "The same for a script; `severity` is ok, info or warning."},
    {"bertbench doctor --launcher ssh --set 'hosts=[\"gpu01\",\"gpu02\"]' --out run",
     "A preflight of two nodes, kept for the report of a sweep into run."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good, "whatever was found, without --strict"},
    {ExitCode::regression, "with --strict: a finding that would spoil a measurement"},
    {ExitCode::usage},
    {ExitCode::interrupted, "a preflight was ended by a signal; nothing was kept"}};

}  // namespace

extern const Command entry{
    "doctor",
    "what would spoil a measurement, here or on every node",
    "",
    "Looks at frequency governor, load, cores, clocks, GPUs in use, disk space and launchers, and "
    "advises what to do. It measures and changes nothing; findings alter the exit status only with "
    "--strict.\n"
    "With --launcher a preflight: bertbench, which every node must have under the same path, "
    "measures a product of matrices and a copy of memory by one thread of each node at the same "
    "time, its clock and how far its wall clock is off. Then neighbouring nodes sum 4 MiB over TCP "
    "in pairs, by bert_train, which every node must have as well. Nodes and pairs that differ from "
    "the others are named.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_doctor
