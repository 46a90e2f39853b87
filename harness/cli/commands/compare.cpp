// bertbench compare: two result sets side by side, without a verdict.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/cli/said_once.h"
#include "parsers/core/text.h"
#include "reports/comparison_table.h"
#include "reports/model/result_io.h"
#include "reports/render.h"
#include "reports/table.h"
#include "reports/verdicts.h"

namespace bertbench {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string a, b, to;
  double alpha = 0.05;
  OutputOptions output;
};

void put(ordered_json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

ordered_json to_json(const Options& options, const std::vector<CellComparison>& cells) {
  ordered_json rows = ordered_json::array();
  for (const CellComparison& cell : cells) {
    ordered_json row{{"key", cell.key},
                     {"kind", name(cell.kind)},
                     {"unit", cell.unit},
                     {"n_a", cell.n_a},
                     {"n_b", cell.n_b}};
    put(row, "median_a", cell.median_a);
    put(row, "median_b", cell.median_b);
    put(row, "cv_a", cell.cv_a);
    put(row, "cv_b", cell.cv_b);
    put(row, "change", cell.change);
    if (cell.interval) {
      row["interval"] = {{"low", cell.interval->low},
                         {"high", cell.interval->high},
                         {"coverage", cell.interval->coverage}};
    }
    put(row, "p", cell.p);
    put(row, "p_adjusted", cell.p_adjusted);
    row["significant"] = cell.significant;
    row["notes"] = cell.notes;
    rows.push_back(std::move(row));
  }
  return {{"schema", "bertbench.compare/1"},
          {"a", options.a},
          {"b", options.b},
          {"alpha", options.alpha},
          {"cells", rows}};
}

Style style_of(const CellComparison& cell) {
  if (!cell.significant || !cell.change) return Style::plain;
  return *cell.change < 0 ? Style::red : Style::green;
}

// Each note once, however many cells it is about.
void print_notes(Console& console, const std::vector<CellComparison>& cells) {
  struct Note {
    std::string_view text, cell;
  };
  std::vector<Note> notes;
  for (const CellComparison& cell : cells) {
    for (const std::string& note : cell.notes) notes.push_back({note, cell.key});
  }
  for (const auto& group : in_groups(notes, [](const Note& note) { return note.text; })) {
    std::vector<std::string_view> keys;
    for (const Note* note : group) keys.push_back(note->cell);
    console.note(named_cells(keys), {0, std::string(group.front()->text)});
  }
}

void print(Console& console, const Options& options, const std::vector<CellComparison>& cells) {
  const bool one_unit = std::all_of(cells.begin(), cells.end(), [&](const CellComparison& cell) {
    return cell.unit == cells.front().unit;
  });
  console.print(fmt::format("A  {}\nB  {}\n\n", escape_for_terminal(options.a),
                            escape_for_terminal(options.b)));
  // Remarks are said below, once for all cells that share one.
  const Table table = comparison_table(cells, Remarks::left_out);
  TextTableOptions look;
  look.most_columns = console.most_columns();
  constexpr std::size_t kChange = 3;
  look.paint = [&](std::size_t row, std::size_t column, const std::string& text) {
    return column == kChange ? console.styled(style_of(cells[row]), text) : text;
  };
  console.print(text_table(table, look));
  console.print(fmt::format(
      "\nA and B: median{} ± coefficient of variation. change: the Hodges-Lehmann\n"
      "shift, ~ when not significant (exact Mann-Whitney, p above {} after Holm over\n"
      "all cells compared); the interval is of each cell by itself.\n",
      one_unit && !cells.empty() ? " " + cells.front().unit : std::string(), options.alpha));
  const ComparisonSummary sum = summary_of(cells);
  if (sum.compared > 0) console.print("\n" + sum.sentence + "\n");
  print_notes(console, cells);
}

// B as a report for people, with A beside it.
ExitCode write_report(const Options& options, const ResultSet& a, const ResultSet& b,
                      Console& console) {
  const auto report = find_report(options.to);
  if (!report) return console.error(report.error());
  if (options.to != "html" && options.to != "markdown") {
    return console.error({"--to " + options.to, "shows one result only", "use html or markdown"});
  }
  ReportOptions how;
  how.title = fmt::format("{} against {}", options.b, options.a);
  how.run_folder = run_folder_of(options.b);
  how.baseline = &a;
  how.baseline_name = options.a;
  how.result_name = options.b;
  how.alpha = options.alpha;
  if (!options.output.path.empty() && options.output.path != "-") {
    if (const auto written = render_file(**report, b, how, options.output.path); !written) {
      return console.error(written.error());
    }
    console.status("wrote " + options.output.path);
    return ExitCode::good;
  }
  const auto text = render_text(**report, b, how);
  if (!text) return console.error(text.error());
  console.print(*text);
  return ExitCode::good;
}

ExitCode run(const Options& options, Console& console) {
  const auto a = read_result_set(options.a);
  if (!a) return console.error(a.error(), ExitCode::nothing_read);
  const auto b = read_result_set(options.b);
  if (!b) return console.error(b.error(), ExitCode::nothing_read);
  const std::vector<CellComparison> cells = compare(*a, *b, options.alpha);
  const bool any = std::any_of(cells.begin(), cells.end(), [](const CellComparison& cell) {
    return cell.n_a > 0 && cell.n_b > 0;
  });
  if (!options.to.empty() && any) return write_report(options, *a, *b, console);
  const ExitCode status = answer(
      console, options.output, any ? ExitCode::good : ExitCode::not_comparable,
      [&](const std::string&) { return json_text(to_json(options, cells)); },
      [&] { print(console, options, cells); });
  if (status == ExitCode::not_comparable) {
    return console.error({"compare", "no cell has a number on both sides",
                          "cells are paired by identity: see `key` in both files"},
                         status);
  }
  return status;
}

CommandRun declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_argument(app, "A", options->a, "The earlier result: a result file or a run folder.");
  add_argument(app, "B", options->b, "The later one; a positive change means that B is faster.");
  add_share(app, "--alpha", options->alpha, "Chance of calling noise a difference, over all cells.")
      ->default_str("0.05");
  add_text(app, "--to", options->to, "NAME",
           "html or markdown: a report of B with A beside it, to stdout or to -o.");
  add_output(app, options->output, "Write the JSON form, or that report, to FILE (-: stdout).");
  return [options](Console& console) { return run(*options, console); };
}

constexpr Example kExamples[] = {
    {"bertbench compare before after", "Two run folders side by side."},
    {"bertbench compare before after --to html -o change.html", "A page with plots."},
    {"bertbench compare v1.json v2.json --json", "The same for a script."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good, "compared, whatever came out"},
    {ExitCode::usage},
    {ExitCode::not_comparable, "no cell has a number on both sides"},
    {ExitCode::nothing_read}};

}  // namespace

extern const Command command_compare{
    "compare",
    "two results side by side: change, interval, n, p",
    "A B",
    "The trial is the unit of replication. With fewer than four trials a side no test can tell a "
    "difference from noise, and the table says ~. For a verdict and an exit status use `check`.",
    kExamples,
    kStatuses,
    declare};

}  // namespace bertbench
