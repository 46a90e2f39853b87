// bertbench store: the history of results in one SQLite file.
#include "reports/store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/number_text.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/cli/result_view.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "reports/gate/verdict_words.h"
#include "reports/model/result_io.h"
#include "reports/output/table.h"
#include "reports/stats/change_points.h"

namespace bertbench::command_store {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kActions{"add", "list", "show", "export", "trend"};

struct Options {
  std::string action, db, cell;
  std::vector<std::string> operands;
  AddOptions add;
  OutputOptions output;
};

ordered_json to_json(const StoredRun& run) {
  return {{"run", run.id},          {"added", run.added},   {"created", run.created},
          {"machine", run.machine}, {"commit", run.commit}, {"label", run.label},
          {"cells", run.cells}};
}

/// A run is a baseline for those to come, its failures included.
void note_failed_trials(const ResultSet& result, Console& console) {
  std::map<std::string_view, int> failed;  // by status
  std::set<std::string> keys;
  long long trials = 0, failures = 0;
  for (const Cell& cell : result.cells) {
    for (const Trial& trial : cell.trials) {
      ++trials;
      if (!ended_badly(trial.outcome.status)) continue;
      ++failures;
      ++failed[name(trial.outcome.status)];
      keys.insert(cell.key);
    }
  }
  if (failures == 0) return;
  const std::string cells = keys.size() == 1 ? *keys.begin() : "in " + counted(keys.size(), "cell");
  console.note("store", make_notice(NoticeCode::stored_failed_trials, 0, failures, trials,
                                    counts_in_words(failed), cells));
}

ExitCode add(const Options& options, Console& console) {
  std::vector<ResultSet> results;  // all are read before any is stored
  for (const std::string& path : options.operands) {
    auto result = read_results(path, console);
    if (!result) return console.error(result.error(), ExitCode::nothing_read);
    results.push_back(std::move(*result));
  }
  auto store = Store::open(options.db, Store::Mode::create);
  if (!store) return console.error(store.error());
  ordered_json rows = ordered_json::array();
  std::string text;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto added = store->add(results[i], options.add);
    if (!added) return console.error(added.error());
    note_failed_trials(results[i], console);
    rows.push_back({{"result", options.operands[i]}, {"run", added->id}, {"new", added->is_new}});
    text += fmt::format("run {}: {}{}\n", added->id, escape_for_terminal(options.operands[i]),
                        added->is_new ? "" : ", stored before");
  }
  return answer(
      console, options.output, ExitCode::good, [&] { return rows; }, [&] { console.print(text); });
}

ExitCode list(const Options& options, const Store& store, Console& console) {
  const auto runs = store.list();
  if (!runs) return console.error(runs.error(), ExitCode::nothing_read);
  ordered_json rows = ordered_json::array();
  Table table{columns_of({">run", "measured", "commit", "label", ">cells", "machine"})};
  for (const StoredRun& run : *runs) {
    rows.push_back(to_json(run));
    table.rows.push_back({fmt::format("{}", run.id), run.created, run.commit.substr(0, 12),
                          run.label, fmt::format("{}", run.cells), run.machine});
  }
  return answer(
      console, options.output, ExitCode::good, [&] { return rows; },
      [&] { console.print(text_table(table)); });
}

// `show` for people, `export` as the result file that was stored.
ExitCode show(const Options& options, const Store& store, Console& console) {
  const auto id = options.operands.size() == 1 ? to_int(options.operands[0]) : std::nullopt;
  if (!id) {
    return console.error(
        {"store " + options.action, "give the number of one run", "see `bertbench store list`"});
  }
  const auto results = store.load(*id);
  if (!results) return console.error(results.error(), ExitCode::nothing_read);
  OutputOptions output = options.output;
  if (options.action == "export" && output.path.empty()) output.json = true;
  if (const auto good = check_ending(output.path); !good) return console.error(good.error());
  return answer(
      console, output, ExitCode::good,
      [&](const std::string& path) { return result_text(*results, path); },
      [&] {
        if (options.action == "show") print_results(console, SetSource(*results), {});
      });
}

ordered_json to_json(const Trend& trend) {
  ordered_json points = ordered_json::array();
  for (const TrendPoint& point : trend.points) {
    ordered_json row{{"run", point.run.id},
                     {"created", point.run.created},
                     {"commit", point.run.commit},
                     {"median", point.median},
                     {"n", point.n}};
    for (const ContextDifference& one : point.machine_changes) {
      row["machine_changes"].push_back({{"key", one.key}, {"before", one.a}, {"after", one.b}});
    }
    points.push_back(std::move(row));
  }
  ordered_json shifts = ordered_json::array();
  for (const TrendShift& shift : trend.shifts) {
    const StoredRun& run = trend.points[shift.at].run;
    shifts.push_back({{"run", run.id},
                      {"commit", run.commit},
                      {"before", shift.before},
                      {"after", shift.after},
                      {"change", shift.change}});
  }
  return {{"key", trend.key},   {"kind", name(trend.kind)}, {"machine", trend.machine},
          {"unit", trend.unit}, {"points", points},         {"shifts", shifts}};
}

void print(Console& console, const std::vector<Trend>& all) {
  console.print(text_table(trend_table(all, [](double value) { return rate_text(value); })));
  if (std::ranges::any_of(
          all, [](const Trend& one) { return one.points.size() < kLeastForChangePoints; })) {
    console.print(fmt::format("\nShifts are looked for in at least {} runs of a cell.\n",
                              kLeastForChangePoints));
  }
}

ExitCode trend(const Options& options, const Store& store, Console& console) {
  if (const auto good = check_ending(options.output.path, {".html", ".json"}); !good) {
    return console.error(good.error());
  }
  const auto list = store.list();
  if (!list) return console.error(list.error(), ExitCode::nothing_read);
  std::vector<std::pair<StoredRun, ResultSet>> runs;
  for (const StoredRun& run : *list) {
    auto results = store.load(run.id);
    if (!results) return console.error(results.error(), ExitCode::nothing_read);
    if (!options.cell.empty()) {
      std::erase_if(results->cells, [&](const Cell& cell) { return cell.key != options.cell; });
    }
    runs.emplace_back(run, std::move(*results));
  }
  const auto all = trends(runs);
  if (all.empty()) {
    return console.error(
        {options.db,
         options.cell.empty() ? "holds no number" : "holds no number of the cell " + options.cell,
         "see `bertbench store list`"},
        ExitCode::nothing_read);
  }
  ordered_json rows = ordered_json::array();
  for (const Trend& one : all) rows.push_back(to_json(one));
  return answer(
      console, options.output, ExitCode::good,
      [&](const std::string& path) {
        return path.ends_with(".html") ? trend_html(all, "Trend of " + options.db)
                                       : json_text(rows);
      },
      [&] { print(console, all); });
}

ExitCode run(const Options& options, Console& console) {
  if (std::ranges::find(kActions, options.action) == kActions.end()) {
    return console.error({"store", "'" + options.action + "' is no action",
                          name_hint(options.action, {kActions.begin(), kActions.end()}, "use ")});
  }
  const bool takes_operands = options.action != "list" && options.action != "trend";
  if (takes_operands == options.operands.empty()) {
    return console.error({"store " + options.action,
                          takes_operands ? "nothing is named to work on" : "takes no operand",
                          "see `bertbench store --help`"});
  }
  if (options.action == "add") return add(options, console);
  const auto store = Store::open(options.db, Store::Mode::existing);
  if (!store) return console.error(store.error(), ExitCode::nothing_read);
  if (options.action == "list") return list(options, *store, console);
  if (options.action == "trend") return trend(options, *store, console);
  return show(options, *store, console);
}

void declare(CommandLine& line, Options& options) {
  line.add_argument("ACTION", options.action, "add, list, show, export or trend.");
  line.add_arguments("OPERAND", options.operands,
                     "add: result files or run folders; show and export: the number of a run.")
      .required(false);
  line.add_text("--db", options.db, "FILE", "The store; add makes it.").required();
  line.add_text("--commit", options.add.commit, "ID", "add: what was measured.")
      .default_text("the commit of bertbench itself");
  line.add_text("--label", options.add.label, "TEXT", "add: a word to find the run by.");
  line.add_text("--cell", options.cell, "KEY", "trend: this cell only.");
  add_output(line, options.output, "Write the machine form, or a trend's .html page, to FILE.");
}

constexpr Example kExamples[] = {
    {"bertbench store add run --db history.db --commit \"$(git rev-parse HEAD)\"",
     "Keeps a result; the same one again changes nothing."},
    {"bertbench check run --baseline history.db",
     "Against the last 5 stored runs of this machine that hold the cells; the last 20 show their "
     "noise."},
    {"bertbench store trend --db history.db -o trend.html",
     "Where did each cell's level shift? With plots."},
    {"bertbench store export 12 --db history.db -o run12.json",
     "A stored result as a file; .csv and .md too."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good}, {ExitCode::usage}, {ExitCode::nothing_read, "no such store, run or cell"}};

}  // namespace

extern const Command entry{
    "store",
    "a history of results in one SQLite file",
    "ACTION [OPERAND...] --db FILE",
    "add keeps results, list names the runs, show prints one, export gives it back as a file, "
    "trend follows each cell over the runs and finds the runs at which its level shifted "
    "(at least 20 runs, levels of at least 3). The order of runs is that of their `created`, "
    "whenever they were added. Several programs may add at the same time.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_store
