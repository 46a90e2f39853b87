// bertbench compare: two result sets side by side, without a verdict.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cli/cell_groups.h"
#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "reports/gate/comparison.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"
#include "reports/output/comparison_table.h"
#include "reports/output/render.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"
#include "reports/studies/published/published.h"

namespace bertbench::command_compare {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string a, b, to, published;
  double alpha = 0.05;
  OutputOptions output;
};

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
    put(row, "interval", cell.interval);
    put(row, "p", cell.p);
    put(row, "p_adjusted", cell.p_adjusted);
    row["significant"] = cell.significant;
    put(row, "peak_memory_bytes_a", cell.peak_memory_a);
    put(row, "peak_memory_bytes_b", cell.peak_memory_b);
    for (const StatedSides& sides : cell.stated) {
      ordered_json& both = row["stated"][std::string(sides.name->key)];
      put(both, "a", sides.a);
      put(both, "b", sides.b);
    }
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
    console.note(named_cells(keys), foreign_notice(0, std::string(group.front()->text)));
  }
}

void print(Console& console, const Options& options, const std::vector<CellComparison>& cells) {
  const bool one_unit = std::all_of(cells.begin(), cells.end(), [&](const CellComparison& cell) {
    return cell.unit == cells.front().unit;
  });
  console.print(fmt::format("A  {}\nB  {}\n\n", escape_for_terminal(options.a),
                            escape_for_terminal(options.b)));
  // Remarks stand below, once for all cells that share one.
  const Table table = comparison_table(cells, Remarks::left_out);
  constexpr std::size_t kChange = 3;  // column
  console.print(console.painted(table, {.most_columns = console.most_columns()}, kChange,
                                [&](std::size_t row) { return style_of(cells[row]); }));
  console.print(fmt::format(
      "\nA and B: median{} ± coefficient of variation. change: the Hodges-Lehmann\n"
      "shift, ~ when not significant (exact Mann-Whitney, p above {} after Holm over\n"
      "all cells compared); the interval is of each cell by itself.\n",
      one_unit && !cells.empty() ? " " + cells.front().unit : std::string(), options.alpha));
  if (const Table stated = stated_comparison_table(cells); !stated.rows.empty()) {
    console.print("\nstated by the logs:\n" + text_table(stated, {}));
  }
  const ComparisonSummary sum = summary_of(cells);
  if (sum.compared > 0) console.print("\n" + sum.sentence + "\n");
  print_notes(console, cells);
}

ordered_json to_json(const Options& options, const Published& page,
                     const PublishedComparison& found) {
  ordered_json software = ordered_json::object();
  for (const auto& [name, version] : page.software) software[name] = version;
  ordered_json rows = ordered_json::array();
  for (const ComparedRow& each : found.rows) {
    const PublishedTable& table = page.tables[each.table];
    ordered_json row{{"key", each.key}, {"kind", name(each.kind)}, {"table", table.title}};
    if (each.row.line > 0) row["line"] = each.row.line;
    if (each.emulated) row["emulated"] = true;
    if (each.simulated) row["simulated"] = true;
    row["unit"] = "sequences/s";
    row["published"] = each.published;
    put(row, "ours", each.ours);
    row["n"] = each.n;
    put(row, "ratio", each.ratio);
    put(row, "interval", each.interval);
    const auto both = [&](const char* key, const std::optional<double>& published,
                          const std::optional<double>& ours) {
      if (!published && !ours) return;
      ordered_json pair = ordered_json::object();
      put(pair, "published", published);
      put(pair, "ours", ours);
      pair["base"] = each.speedup_base;
      row[key] = std::move(pair);
    };
    both("speedup", each.speedup_published, each.speedup_ours);
    both("scaling_efficiency", each.efficiency_published, each.efficiency_ours);
    ordered_json values = ordered_json::array();
    for (const ComparedValue& value : each.values) {
      values.push_back({{"what", value.what},
                        {"unit", value.unit},
                        {"published", value.published},
                        {"ours", value.ours},
                        {"ratio", value.ratio()}});
    }
    row["values"] = std::move(values);
    row["unknown_to_page"] = each.unknown_to_page;
    row["unknown_to_us"] = each.unknown_to_us;
    ordered_json differs = ordered_json::array();
    for (const StatedDifference& one : each.differences) {
      differs.push_back({{"fact", one.fact}, {"published", one.published}, {"ours", one.ours}});
    }
    row["differences"] = std::move(differs);
    row["doubts"] = each.row.doubts;
    rows.push_back(std::move(row));
  }
  ordered_json unmatched = ordered_json::array();
  for (const PublishedComparison::Unmatched& cell : found.unmatched) {
    unmatched.push_back({{"key", cell.key}, {"reason", cell.reason}});
  }
  return {{"schema", "bertbench.compare-published/1"},
          {"result", options.a},
          {"published",
           {{"name", page.name},
            {"title", page.title},
            {"document", page.document},
            {"repository", page.repository},
            {"method", page.method},
            {"gpu", page.gpu},
            {"machine", page.machine},
            {"software", software}}},
          {"cells", rows},
          {"unmatched", unmatched}};
}

std::string pair_text(const std::optional<double>& ours, const std::optional<double>& published,
                      std::string (*text)(double)) {
  if (!ours && !published) return {};
  return fmt::format("{} ({})", ours ? text(*ours) : "-", published ? text(*published) : "-");
}

/// Each remark once, with the cells that it is about; one that holds for all of them names none.
void print_remarks(Console& console, const Published& page, const PublishedComparison& found) {
  std::vector<std::pair<std::string, std::string_view>> remarks;  // and the cell's key
  std::set<std::string_view> cells;
  for (const ComparedRow& row : found.rows) {
    cells.insert(row.key);
    const auto add = [&](std::string text) { remarks.emplace_back(std::move(text), row.key); };
    for (const StatedDifference& one : row.differences) {
      add(fmt::format("unlike {}: published on {}, ours on {}", one.fact,
                      one.published.empty() ? "one that the page does not name" : one.published,
                      one.ours.empty() ? "one that the result does not name" : one.ours));
    }
    if (row.emulated) add(std::string(kEmulatedNote));
    if (row.simulated) add(std::string(kSimulatedNote));
    if (!row.unknown_to_page.empty()) {
      add(fmt::format("the page does not state {}", fmt::join(row.unknown_to_page, ", ")));
    }
    if (!row.unknown_to_us.empty()) {
      add(fmt::format("the result does not state {}", fmt::join(row.unknown_to_us, ", ")));
    }
    for (const std::string& doubt : row.row.doubts) {
      const std::string line =
          row.row.line > 0 ? fmt::format("line {}", row.row.line) : page.tables[row.table].title;
      add(fmt::format("doubt of the page's {}: {}", line, doubt));
    }
  }
  console.print("\n");
  for (const auto& group : in_groups(remarks, [](const auto& remark) { return remark.first; })) {
    std::vector<std::string_view> keys;
    for (const auto* remark : group) {
      if (keys.empty() || keys.back() != remark->second) keys.push_back(remark->second);
    }
    const std::string who = keys.size() == cells.size() ? "" : named_cells(keys) + ": ";
    console.print(escape_for_terminal(who + group.front()->first) + "\n");
  }
}

void print(Console& console, const Options& options, const Published& page,
           const PublishedComparison& found) {
  const auto line = [&](std::string_view what, const std::string& text) {
    if (!text.empty())
      console.print(escape_for_terminal(fmt::format("{:<11}{}", what, text)) + "\n");
  };
  line("ours", options.a);
  line("published", fmt::format("{}: {}", page.name, page.title));
  line("source", page.document + (page.repository.empty() ? "" : ", " + page.repository));
  line("hardware",
       page.gpu + (page.gpu.empty() || page.machine.empty() ? "" : ", ") + page.machine);
  std::string software;
  for (const auto& [name, version] : page.software) {
    software += fmt::format("{}{} {}", software.empty() ? "" : ", ", name, version);
  }
  line("software", software);
  line("method", page.method);
  if (found.rows.empty()) return;
  Table table{columns_of({"cell", ">line", ">published", ">ours", ">ratio", "interval", ">n",
                          ">speedup (pub.)", ">efficiency (pub.)"})};
  Table further{
      {{"cell"}, {"line", true}, {"what"}, {"published", true}, {"ours", true}, {"ratio", true}},
      {}};
  for (const ComparedRow& row : found.rows) {
    const std::string at = row.row.line > 0 ? std::to_string(row.row.line) : "";
    table.rows.push_back(
        {key_with_kind(row.key, row.kind), at, number_text(row.published),
         row.ours ? number_text(*row.ours) : "-", row.ratio ? number_text(*row.ratio) : "-",
         row.interval ? fmt::format("{} to {}", number_text(row.interval->low),
                                    number_text(row.interval->high))
                      : "",
         std::to_string(row.n), pair_text(row.speedup_ours, row.speedup_published, number_text),
         pair_text(row.efficiency_ours, row.efficiency_published,
                   [](double value) { return percent_text(value); })});
    for (const ComparedValue& value : row.values) {
      const bool bytes = value.unit == "bytes";
      const auto text = [&](double number) {
        return bytes ? bytes_text(number) : number_text(number);
      };
      further.rows.push_back({key_with_kind(row.key, row.kind), at,
                              bytes ? "peak memory of one GPU" : value.unit + " per GPU",
                              text(value.published), text(value.ours), number_text(value.ratio())});
    }
  }
  const TextTableOptions look{.most_columns = console.most_columns()};
  std::vector<Constant> gone;
  const std::vector<std::string> keep = {"cell", "line", "published", "ours", "ratio", "n"};
  console.print("\n" + text_table(varying_columns(table, keep, gone, true), look));
  console.print(
      "\npublished, ours: sequences/s of the whole job, ours the median of n trials. ratio: ours "
      "over\n"
      "published, with the interval of ours; the page states no spread. In brackets: as "
      "published.\n");
  if (!further.rows.empty()) console.print("\n" + text_table(further, look));
  print_remarks(console, page, found);
}

ExitCode run_published(const Options& options, Console& console) {
  if (!options.b.empty() || !options.to.empty()) {
    return console.error({"--published", "stands in place of B, and has no report of its own",
                          "leave out " + (options.b.empty() ? std::string("--to") : options.b)});
  }
  const auto page = published_values(options.published, "--published");
  if (!page) return console.error(page.error());
  const auto ours = read_results(options.a, console);
  if (!ours) return console.error(ours.error(), ExitCode::nothing_read);
  const PublishedComparison found = compare_with_published(*ours, *page);
  const bool any = found.compared() > 0;
  const ExitCode status = answer(
      console, options.output, any ? ExitCode::good : ExitCode::not_comparable,
      [&] { return to_json(options, *page, found); },
      [&] { print(console, options, *page, found); });
  for (const auto& group : in_groups(
           found.unmatched, [](const PublishedComparison::Unmatched& cell) -> std::string_view {
             return cell.reason;
           })) {
    std::vector<std::string_view> keys;
    for (const PublishedComparison::Unmatched* cell : group) keys.push_back(cell->key);
    console.note(named_cells(keys), foreign_notice(0, group.front()->reason));
  }
  if (status == ExitCode::not_comparable) {
    return console.error({"compare", "nothing in common with " + page->name,
                          "`bertbench list published` names other pages; facts that a log does "
                          "not state can be given to `extract`"},
                         status);
  }
  return status;
}

// B as a report for people, with A next to it. `folder_of_b`: as run_folder_of().
ExitCode write_report(const Options& options, const ResultSet& a, const ResultSet& b,
                      const std::string& folder_of_b, Console& console) {
  const auto report = find_report(options.to);
  if (!report) return console.error(report.error());
  if (options.to != "html" && options.to != "markdown") {
    return console.error({"--to " + options.to, "shows one result only", "use html or markdown"});
  }
  ReportOptions how;
  how.title = fmt::format("{} against {}", options.b, options.a);
  how.run_folder = folder_of_b;
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
  console.print(render_text(**report, b, how));
  return ExitCode::good;
}

ExitCode run(const Options& options, Console& console) {
  if (!options.published.empty()) return run_published(options, console);
  if (options.b.empty()) {
    return console.error(
        {"compare", "B is required", "name a second result, or published values: --published"});
  }
  const auto a = read_results(options.a, console);
  if (!a) return console.error(a.error(), ExitCode::nothing_read);
  const auto run_of_b = OpenedRun::open(options.b);
  if (!run_of_b) return console.error(run_of_b.error(), ExitCode::nothing_read);
  const auto b = settled(run_of_b->results(), options.b, console);
  if (!b) return console.error(b.error(), ExitCode::nothing_read);
  const std::vector<CellComparison> cells = compare(*a, *b, options.alpha);
  const bool any =
      std::ranges::any_of(cells, [](const CellComparison& cell) { return cell.p.has_value(); });
  if (!options.to.empty() && any) {
    return write_report(options, *a, *b, run_folder_of(run_of_b->path()), console);
  }
  const ExitCode status = answer(
      console, options.output, any ? ExitCode::good : ExitCode::not_comparable,
      [&] { return to_json(options, cells); }, [&] { print(console, options, cells); });
  if (status == ExitCode::not_comparable) {
    return console.error({"compare", "no cell has numbers of one unit on both sides",
                          "cells are paired by identity: see `key` in both files"},
                         status);
  }
  return status;
}

void declare(CommandLine& line, Options& options) {
  line.add_argument("A", options.a, "The earlier result: a result file or a run folder.");
  line.add_argument("B", options.b, "The later one; a positive change means that B is faster.")
      .required(false);
  line.add_text(
      "--published", options.published, "NAME",
      "In place of B the values of a page, as in `bertbench list published`, or of a file "
      "that ends in .json: ratios of A to them, where the work is the same.");
  line.complete("--published", published_names());
  add_share(line, "--alpha", options.alpha, "Chance of calling noise a difference, over all cells.")
      .default_text("0.05");
  line.add_text("--to", options.to, "NAME",
                "html or markdown: a report of B with A next to it, to stdout or to -o.");
  line.complete("--to", {"html", "markdown"});
  add_output(line, options.output, "Write the JSON form, or that report, to FILE (-: stdout).");
}

constexpr Example kExamples[] = {
    {"bertbench compare before after", "Two run folders side by side."},
    {"bertbench compare before after --to html -o change.html", "A page with plots."},
    {"bertbench compare v1.json v2.json --json", "The same for a script."},
    {"bertbench compare run --published dlperf-mxnet", "Next to the table that DLPerf published."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good, "compared, whatever came out"},
    {ExitCode::usage},
    {ExitCode::not_comparable, "no cell has numbers of one unit on both sides, or on the page"},
    {ExitCode::nothing_read}};

}  // namespace

extern const Command entry{
    "compare",
    "two results side by side, or one and published values",
    "A B | A --published NAME",
    "The trial is the unit of replication. With fewer than four trials a side no test can separate "
    "a difference from noise, and the table shows ~. For a verdict and an exit status use `check`. "
    "Published values are matched by the facts of the work that both state; what one side does not "
    "state, and frameworks and GPUs that differ, are named.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_compare
