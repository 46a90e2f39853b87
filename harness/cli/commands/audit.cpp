// bertbench audit: do the numbers of a published table agree with each other?
#include "reports/studies/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"
#include "reports/output/table.h"
#include "reports/stats/flops.h"

namespace bertbench::command_audit {
namespace {

using audit::AuditOptions;
using audit::CheckedCell;
using audit::TableAudit;
using audit::Verdict;

constexpr std::size_t kLargestMib = 64;

struct Options {
  std::vector<std::string> tables, columns, facts;
  std::string format = "auto";
  bool all = false;
  OutputOptions output;
};

std::vector<audit::NamedFlops> flops_of(const std::string& model, double length,
                                        bool checkpointing) {
  // A name only: a table may not make this program open files.
  if (model.find('/') != std::string::npos || model.find(".json") != std::string::npos) return {};
  const auto shape = model_shape(model);
  if (!shape || !(length >= 1 && length <= 1e6)) return {};
  const auto all = flops_per_sequence(*shape, static_cast<std::int64_t>(length), checkpointing);
  std::vector<audit::NamedFlops> named;
  for (const FlopsFormula& formula : flops_formulas()) {
    named.push_back({std::string(formula.key), all.*formula.value});
  }
  return named;
}

Result<AuditOptions> audit_options(const Options& options) {
  AuditOptions out;
  out.flops = &flops_of;
  constexpr std::string_view kFormats[] = {"auto", "markdown", "html", "csv", "text"};
  const auto* const format = std::ranges::find(kFormats, options.format);
  if (format == std::end(kFormats)) {
    return fail("--format", fmt::format("'{}' is no format of tables", options.format),
                "give auto, markdown, html, csv or text");
  }
  out.format = static_cast<audit::TableFormat>(format - kFormats);  // in the order of the names
  const auto pair = [](const std::string& option,
                       const std::string& text) -> Result<std::pair<audit::Role, std::string>> {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return fail(option, fmt::format("'{}' is not of the form ROLE=VALUE", text),
                  option == "--column" ? "write --column 'throughput=seqs per s'"
                                       : "write --fact batch_size=64");
    }
    auto role = audit::role_from_name(text.substr(0, equals));
    if (!role) return fail(option, role.error().message(), {});
    return std::pair{*role, text.substr(equals + 1)};
  };
  for (const std::string& text : options.columns) {
    auto column = pair("--column", text);
    if (!column) return tl::unexpected(column.error());
    out.grid.columns.push_back(std::move(*column));
  }
  for (const std::string& text : options.facts) {
    const auto fact = pair("--fact", text);
    if (!fact) return tl::unexpected(fact.error());
    const auto value = to_double(fact->second);
    const bool word =
        fact->first == audit::Role::model || fact->first == audit::Role::checkpointing;
    if (word) {
      out.grid.words[fact->first] = fact->second;
    } else if (value && std::isfinite(*value) && *value > 0) {
      out.grid.facts[fact->first] = *value;
    } else {
      return fail("--fact", fmt::format("'{}' is not a positive number", fact->second),
                  "write --fact batch_size=64");
    }
  }
  return out;
}

std::string sources(const CheckedCell& cell) {
  std::string text = cell.rule + ": ";
  for (std::size_t n = 0; n < cell.from.size() && n < 6; ++n) {
    text += fmt::format("{}{} {}", n == 0 ? "" : ", ", cell.from[n].heading, cell.from[n].text);
  }
  if (cell.from.size() > 6) text += fmt::format(" and {} more", cell.from.size() - 6);
  return text;
}

void print(Console& console, const std::vector<TableAudit>& tables, bool all) {
  for (const TableAudit& each : tables) {
    Table table{
        columns_of({">line", "column", ">printed", "verdict", ">should be", "interval", "from"})};
    std::vector<Verdict> verdicts;
    for (const CheckedCell& cell : each.cells) {
      if (!all && !is_finding(cell)) continue;
      verdicts.push_back(cell.verdict);
      table.rows.push_back(
          {std::to_string(cell.line), cell.heading,
           cell.number == cell.text ? cell.text : fmt::format("{} of '{}'", cell.number, cell.text),
           std::string(name(cell.verdict)), cell.should_be, audit::interval_text(cell.interval),
           sources(cell)});
    }
    if (table.rows.empty()) continue;
    console.print(escape_for_terminal(fmt::format("{}:{}{}{}", each.file, each.line,
                                                  each.title.empty() ? "" : ": ", each.title)) +
                  "\n");
    console.print(console.painted(table, {.indent = "  "}, 3, [&](std::size_t row) {
      return verdicts[row] == Verdict::impossible  ? Style::red
             : verdicts[row] == Verdict::truncated ? Style::yellow
                                                   : Style::plain;
    }));
    for (const CheckedCell& cell : each.cells) {
      if (cell.note.empty()) continue;
      console.print(escape_for_terminal(fmt::format("  {}: {}", cell.number, cell.note)) + "\n");
    }
    for (const std::string& reading : each.readings) {
      console.print(escape_for_terminal("  read as: " + reading) + "\n");
    }
    console.print("\n");
  }
  const audit::Counts counts = count(tables);
  console.print(fmt::format("{} in {}: {} exact, {} possible, {} truncated, {} impossible\n",
                            counted(counts.all(), "derived cell"), counted(tables.size(), "table"),
                            counts.exact, counts.possible, counts.truncated, counts.impossible));
}

bool understood(const TableAudit& table) {
  return std::any_of(table.columns.begin(), table.columns.end(), [](const audit::Column& column) {
    return column.role != audit::Role::none && column.role != audit::Role::ignore &&
           column.role != audit::Role::variant;
  });
}

ExitCode run(const Options& options, Console& console) {
  const auto settings = audit_options(options);
  if (!settings) return console.error(settings.error());
  std::vector<TableAudit> tables;
  std::vector<audit::FileNotices> notices;
  for (const std::string& path : options.tables) {
    const auto text = read_whole_file(path, kLargestMib, "name the text file that holds the table");
    if (!text) {
      (void)console.error(text.error());
      continue;
    }
    auto found = audit_page(*text, path, *settings);
    for (const Notice& notice : found.notices) console.note(path, notice);
    notices.push_back({path, std::move(found.notices)});
    if (found.tables.empty()) {
      (void)console.error(
          {path, "holds no table",
           "Markdown (with its |---| row), HTML and CSV tables are read, and pasted "
           "text whose headings are known names; name others by --column"});
    }
    for (TableAudit& table : found.tables) {
      // A page has other tables too; those without a column of a benchmark are nobody's business.
      if (understood(table)) {
        for (const Notice& notice : table.notices) console.note(path, notice);
      }
      tables.push_back(std::move(table));
    }
  }
  const audit::Counts counts = count(tables);
  const ExitCode status = tables.empty()          ? ExitCode::nothing_read
                          : counts.impossible > 0 ? ExitCode::regression
                          : counts.all() == 0     ? ExitCode::not_comparable
                                                  : ExitCode::good;
  if (tables.empty()) return status;
  if (status == ExitCode::not_comparable) {
    console.note("no cell follows from others; name columns by --column, state facts by --fact");
  }
  return answer(
      console, options.output, status, [&] { return audit_to_json(tables, notices, options.all); },
      [&] { print(console, tables, options.all); });
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments("TABLE", options.tables, "Files with tables; - for stdin.").required();
  line.add_text("--format", options.format, "NAME",
                "auto, markdown, html, csv (separated by comma, semicolon or tab) or text (pasted: "
                "columns between tabs, bars or blanks, one cell a line, or records NAME: NUMBER).")
      .default_text("auto");
  line.add_list("--column", options.columns, "ROLE=HEADING",
                "What the column of this heading holds, where its name is not known: "
                "throughput, gpus, batch_size, speedup, ... or ignore.");
  line.add_list(
      "--fact", options.facts, "ROLE=VALUE",
      "What no column states: batch_size=64, accumulation=4, sequence_length=128, "
      "model=bert-large, peak_tflops=312; corrected_time=1.034 is measured over calculated "
      "time.");
  line.add_flag("--all", options.all, "List every cell that was checked, not only findings.");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench audit README.md page.txt",
     "Every table of a page, also of one pasted as text; names the cells that cannot be."},
    {"bertbench audit new.csv --column throughput=rate --fact batch_size=64 --all",
     "Headings of one's own, a batch size that is not in the table, every cell listed."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::regression, "a cell is impossible"},
    {ExitCode::usage},
    {ExitCode::not_comparable, "tables, but no cell that follows from others"},
    {ExitCode::nothing_read, "no table could be read"}};

}  // namespace

extern const Command entry{
    "audit",
    "recompute the derived columns of published tables",
    "TABLE...",
    "A printed 1.92 stands for every value that rounds to it. Speedup, scaling, efficiency, "
    "per-GPU rate, global batch, TFLOPS, times, means and deviations are recomputed from the other "
    "cells as intervals. exact: the printed numbers give the printed digits. possible: numbers "
    "that round to them do. truncated: only if digits were cut off; a warning. impossible: nothing "
    "fits; the cell to blame may be an input, and its right value is then named. Base rows are "
    "found per configuration.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_audit
