// bertbench doctor: what would spoil a measurement on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/help.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/sweep/observe/environment.h"
#include "parsers/core/text.h"
#include "reports/output/table.h"

namespace bertbench {
namespace {

struct Options {
  std::string path = ".";
  OutputOptions output;
};

Style style_of(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return Style::green;
    case Severity::info:
      return Style::plain;
    case Severity::warning:
      return Style::yellow;
  }
  return Style::plain;
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

void print(Console& console, const std::vector<DoctorFinding>& findings) {
  Table table{{{""}, {"subject"}, {"finding"}}, {}};
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
  TextTableOptions look;
  look.headings = false;
  look.paint = [&](std::size_t row, std::size_t column, const std::string& text) {
    return column == 0 ? console.styled(styles[row], text) : text;
  };
  console.print(text_table(table, look));
  const auto warnings = std::count_if(
      findings.begin(), findings.end(),
      [](const DoctorFinding& finding) { return finding.severity == Severity::warning; });
  console.print(warnings == 0 ? std::string("\nnothing found that would spoil a measurement\n")
                              : fmt::format("\n{} finding{} would spoil a measurement here\n",
                                            warnings, warnings == 1 ? "" : "s"));
}

ExitCode run(const Options& options, Console& console) {
  const std::vector<DoctorFinding> findings = doctor(options.path);
  return answer(
      console, options.output, ExitCode::good,
      [&](const std::string&) { return json_text(to_json(findings)); },
      [&] { print(console, findings); });
}

CommandRun declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_text("--out", options->path, "DIR", "Where a sweep would write, for its free space.")
      .default_text("the current folder");
  add_output(line, options->output, "Write the JSON form to FILE (-: stdout).");
  return [options](Console& console) { return run(*options, console); };
}

constexpr Example kExamples[] = {
    {"bertbench doctor", "Look before a measurement that matters."},
    {"bertbench doctor --json", "The same for a script; `severity` is ok, info or warning."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good, "whatever was found"}, {ExitCode::usage}};

}  // namespace

extern const Command command_doctor{
    "doctor",
    "what would spoil a measurement on this machine",
    "",
    "Looks at frequency governor, load, cores, clocks, GPUs in use, disk space and launchers, and "
    "says what to do. It measures and changes nothing; findings do not alter the exit status.",
    kExamples,
    kStatuses,
    declare};

}  // namespace bertbench
