#include "harness/cli/result_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "harness/cli/number_text.h"
#include "parsers/core/parallel.h"
#include "parsers/core/text.h"
#include "reports/measure/estimators.h"
#include "reports/output/cell_table.h"
#include "reports/output/phases.h"
#include "reports/output/rank_tables.h"
#include "reports/output/remarks.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

constexpr std::size_t kMostTrialsSideBySide = 6;
constexpr std::size_t kMostCellsWithEstimators = 2;
constexpr std::size_t kMostSingleTrials = 12;  // cells of one trial: of more the table has all

// Of several units that of the cell's number: a table of trials has one heading for all.
std::string_view unit_of(const Cell& cell) {
  for (const RateUnit unit : kRateUnits) {
    const auto in_unit = [&](const Trial& trial) { return trial.unit() == unit; };
    if (std::ranges::any_of(cell.trials, in_unit)) return name(unit);
  }
  return name(kRateUnits[0]);
}

/// The names of cells as they are shown. One of which nothing is known has that of its log, with a
/// number where the log has several.
class ShownNames {
 public:
  std::string next(const std::string& key, std::string_view log) {
    if (log.empty() || !is_nameless(key)) return key;
    const std::string place(place_name(log));
    const int nth = ++seen_[place];
    return nth > 1 ? fmt::format("{}#{}", place, nth) : place;
  }

 private:
  std::map<std::string, int> seen_;
};

std::string heading(const Console& console, const Cell& cell, const std::string& title) {
  const bool known =
      cell.kind != WorkKind::training || std::ranges::any_of(cell.trials, shows_kind);
  std::string facts(known ? name(cell.kind) : std::string_view("kind of work unknown"));
  if (cell.identity.simulated()) facts = "simulated " + facts;
  if (const auto& framework = cell.identity.framework) facts += ", " + *framework;
  if (const auto world = cell.world_size()) {
    facts += ", " + counted(*world, cell.identity.simulated() ? "simulated GPU"
                                    : cell.emulated           ? "emulated GPU"
                                                              : "GPU");
  }
  if (const auto batch = cell.global_batch_size()) {
    facts += fmt::format(", global batch {}", *batch);
  }
  return fmt::format("{}  ({})\n", console.styled(Style::bold, escape_for_terminal(title)),
                     escape_for_terminal(facts));
}

std::string window_text(const Trial& trial) {
  std::string text = trial.window.rule;
  if (!trial.window.covered) text += ", not covered";
  return text;
}

std::string rate_and_unit(const Cell& cell, const Trial& trial) {
  const auto rate = trial.rate();
  if (!rate) {
    const FailureWords failures = failures_of(cell);
    const auto memory = failures.out_of_memory_text();
    return std::string(failures.no_rate_text()) + (memory.empty() ? "" : ", " + memory);
  }
  const auto tokens = cell.tokens_per_second();
  const bool both = tokens && trial.sequences_per_second;
  return fmt::format("{} {}{} by {}", rate_text(*rate), unit_of(cell),
                     both ? fmt::format(" ({:.0f} tokens/s)", *tokens) : "", trial.estimator);
}

// One trial is read more easily downwards than across.
void print_single(Console& console, const Cell& cell, const std::string& title,
                  const ViewOptions& options) {
  const Trial& trial = cell.trials.front();
  const auto row = [&](std::string_view what, const std::string& text) {
    console.print(fmt::format("  {:<12}{}\n", what, text));
  };
  if (title != cell.key) {
    row("format", trial.format);
  } else if (options.show_log) {
    row("log", fmt::format("{} ({})", escape_for_terminal(place_name(trial.log)), trial.format));
  }
  std::string outcome = outcome_text(trial.outcome);
  if (const std::string more = more_than_name(trial.outcome); !more.empty()) {
    outcome += ": " + escape_for_terminal(more);
  }
  row("outcome", is_failure(trial.outcome.status) ? console.styled(Style::red, outcome) : outcome);
  const bool whole = std::ranges::any_of(trial.notices, is_warmup_included);
  row("window", fmt::format("{}, {} of {} records{}", window_text(trial), trial.iterations.used,
                            trial.iterations.seen, whole ? ", warm-up included" : ""));
  row("throughput", console.styled(Style::bold, rate_and_unit(cell, trial)));
  if (cell.tflops_per_gpu) {
    row("FLOPs",
        fmt::format("{} TFLOPS per {} by {}{}", number_text(*cell.tflops_per_gpu),
                    cell.emulated ? "rank" : "GPU", escape_for_terminal(cell.flops_formula),
                    cell.mfu ? fmt::format(", MFU {} of {}", share_text(*cell.mfu),
                                           escape_for_terminal(cell.peak))
                             : ""));
  }
  if (const std::string stated = stated_text(stated_of(cell)); !stated.empty()) {
    row("stated", stated + " of one GPU, by the log");
  }
  if (const std::string memory = memory_text(cell.memory, true); !memory.empty()) {
    row("memory", memory + " at most, by " + escape_for_terminal(cell.memory->source));
  }
  if (const std::string parts = parts_text(parts_of(cell.trials)); !parts.empty()) {
    row("parts", parts);
  }
  if (cell.energy_per_sequence_j && cell.power_w) {
    row("energy", fmt::format("{} a sequence at {} while it trains",
                              energy_text(*cell.energy_per_sequence_j), power_text(*cell.power_w)));
  }
}

// Of a rate that is not in the unit of its column.
std::string other_unit(const Trial& trial, std::string_view unit) {
  const bool other = trial.rate() && name(trial.unit()) != unit;
  return other ? fmt::format(" {}", name(trial.unit())) : std::string();
}

// Columns that are equal for every trial go into the line above the table.
void print_trials(Console& console, const Cell& cell, const ViewOptions& options) {
  const std::string unit(unit_of(cell));
  Table table{columns_of(
      {">trial", ">" + unit, "outcome", ">used", ">seen", "estimator", "window", "format"})};
  if (options.show_log) table.columns.push_back({"log"});
  for (const Trial& trial : cell.trials) {
    std::vector<std::string> row{std::to_string(trial.trial),
                                 rate_text(trial.rate()) + other_unit(trial, unit),
                                 outcome_text(trial.outcome),
                                 std::to_string(trial.iterations.used),
                                 std::to_string(trial.iterations.seen),
                                 trial.estimator.empty() ? "-" : trial.estimator,
                                 window_text(trial),
                                 trial.format};
    if (options.show_log) row.push_back(trial.log);
    table.rows.push_back(std::move(row));
  }
  std::vector<Constant> constants;
  const Table shown =
      varying_columns(table, {"trial", unit, "outcome", "used", "seen", "log"}, constants, true);
  std::string same;
  for (const Constant& constant : constants) {
    same += fmt::format("{}{} {}", same.empty() ? "  " : "; ", constant.heading,
                        escape_for_terminal(constant.value));
  }
  if (!same.empty()) console.print(same + "\n");
  console.print(console.painted(shown, {.indent = "  "}, 2, [&](std::size_t row) {
    return is_failure(cell.trials[row].outcome.status) ? Style::red : Style::plain;
  }));
}

void print_estimators(Console& console, const Cell& cell) {
  Table table{columns_of({"estimator"})};
  const bool single = cell.trials.size() == 1;
  for (const Trial& trial : cell.trials) {
    table.columns.push_back(
        {single ? std::string(unit_of(cell)) : fmt::format("trial {}", trial.trial), true});
  }
  if (single) table.columns.push_back({"vs used", true});
  if (single) table.columns.push_back({"resolution", true});
  if (single) table.columns.push_back({"expected error", true});
  for (const std::string_view each : estimator_names()) {
    const std::string key(each);
    const bool any = std::any_of(cell.trials.begin(), cell.trials.end(), [&](const Trial& trial) {
      return trial.estimators.contains(key);
    });
    if (!any) continue;
    std::vector<std::string> row{key};
    for (const Trial& trial : cell.trials) {
      const auto at = trial.estimators.find(key);
      std::string text = at == trial.estimators.end() ? "-" : rate_text(at->second);
      if (trial.estimator == key) text = (single ? "" : "* ") + text;
      row.push_back(std::move(text));
    }
    if (single) {
      const Trial& trial = cell.trials.front();
      const auto rate = trial.rate();
      row.push_back(trial.estimator == key ? "used"
                    : rate                 ? change_text(trial.estimators.at(key) / *rate - 1)
                                           : "-");
      const auto resolution = trial.resolution.find(key);
      row.push_back(resolution == trial.resolution.end() || resolution->second <= 0
                        ? ""
                        : share_text(resolution->second));
      const auto error = trial.expected_error.find(key);
      row.push_back(error == trial.expected_error.end() ? "" : share_text(error->second));
    }
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return;
  console.print("\n" + text_table(table, {.indent = "  "}));
}

std::string summary_line(const Cell& cell) {
  const ThroughputSummary& t = cell.throughput;
  std::string text = fmt::format("  n {}", t.n);
  if (t.median) text += fmt::format(", median {} {}", rate_text(*t.median), t.unit);
  if (t.median_interval) {
    text += fmt::format(" [{}, {}] at {:.1f} %", rate_text(t.median_interval->low),
                        rate_text(t.median_interval->high), t.median_interval->coverage * 100);
  }
  if (t.mean && t.n > 1) text += fmt::format(", mean {}", rate_text(*t.mean));
  if (t.cv) text += fmt::format(", cv {}", share_text(*t.cv));
  if (cell.sequences_per_second_per_gpu && cell.identity.world_size().value_or(1) > 1) {
    text += fmt::format(", {} per GPU", rate_text(*cell.sequences_per_second_per_gpu));
  }
  if (cell.tflops_per_gpu) {
    text += fmt::format("\n  {} TFLOPS per {} by {}", number_text(*cell.tflops_per_gpu),
                        cell.emulated ? "rank" : "GPU", escape_for_terminal(cell.flops_formula));
  }
  if (const std::string memory = memory_text(cell.memory); !memory.empty()) {
    text += ", peak memory " + memory;
  }
  if (cell.energy_per_sequence_j && cell.power_w) {
    text += fmt::format(", {} a sequence at {}", energy_text(*cell.energy_per_sequence_j),
                        power_text(*cell.power_w));
  }
  if (const std::string parts = parts_text(parts_of(cell.trials)); !parts.empty()) {
    text += "\n  parts of a step: " + parts;
  }
  return text + "\n";
}

std::string optional_share(const std::optional<double>& value) {
  return value ? share_text(*value) : "";
}

std::vector<std::string> row_of(const CellSource& cells, std::size_t i, const Cell& cell,
                                bool with_log) {
  FailureWords failures;
  std::string log;
  cells.each_trial(i, [&](const Trial& trial) {
    failures.add(trial);
    log = place_name(trial.log);
  });
  if (!with_log || cells.trials(i) != 1) log.clear();
  const ThroughputSummary& t = cell.throughput;
  return {cell.key,
          cell.kind == WorkKind::training ? "" : std::string(name(cell.kind)),
          std::to_string(t.n),
          t.median ? rate_text(t.median) : std::string(failures.no_rate_text()),
          t.median ? t.unit : "",
          optional_share(t.cv),
          cell.sequences_per_second_per_gpu ? rate_text(*cell.sequences_per_second_per_gpu) : "",
          cell.speedup ? fmt::format("{:.2f}", cell.speedup->value) : "",
          optional_share(cell.scaling_efficiency),
          cell.tflops_per_gpu ? number_text(*cell.tflops_per_gpu) : "",
          optional_share(cell.mfu),
          memory_text(cell.memory),
          cell.energy_per_sequence_j ? rate_text(*cell.energy_per_sequence_j) : "",
          cell.power_w ? power_text(*cell.power_w) : "",
          failures.text(),
          log};
}

// Where a log's name would pass the edge of a terminal it shares the line of its cell.
bool log_shares_cell(const std::vector<std::vector<std::string>>& rows, std::size_t most_columns) {
  constexpr std::size_t kNumbers = 60;  // columns that the others take
  std::size_t widest = 0;
  for (const auto& row : rows) {
    widest = std::max(widest, display_width(row.front()) + display_width(row.back()));
  }
  return most_columns > 0 && widest + kNumbers > most_columns;
}

void print_cells(Console& console, const CellSource& cells) {
  LongTable table(columns_of({"cell", "kind", ">n", ">median", "unit", ">cv", ">per GPU",
                              ">speedup", ">efficiency", ">TFLOPS/GPU", ">MFU", ">memory",
                              ">J/sequence", ">power", "failures", "log"}));
  bool log_in_cell = false, failed = false;
  ShownNames names;
  std::set<std::string> formulas, sources;  // of FLOPs, of memory: named below the table
  // Of very many cells the cores share the making of rows.
  constexpr std::size_t kBlock = 64, kBlocks = 32, kLeastBlocks = 4;
  bool with_logs = false;
  for (std::size_t i = 0; i < cells.size() && !with_logs; ++i) {
    with_logs = needs_name_of_log(cells.cell(i));
  }
  for (std::size_t begin = 0; begin < cells.size(); begin += kBlock * kBlocks) {
    std::vector<std::vector<std::string>> rows(std::min(cells.size() - begin, kBlock * kBlocks));
    std::vector<std::pair<std::string, std::string>> by(rows.size());
    for_each_index((rows.size() + kBlock - 1) / kBlock, kLeastBlocks, [&](std::size_t block) {
      const std::size_t end = std::min(rows.size(), (block + 1) * kBlock);
      for (std::size_t i = block * kBlock; i < end; ++i) {
        const Cell cell = cells.cell(begin + i);
        rows[i] = row_of(cells, begin + i, cell, with_logs);
        by[i] = {cell.flops_formula, cell.memory ? cell.memory->source : std::string()};
      }
    });
    for (const auto& [formula, source] : by) {
      if (!formula.empty()) formulas.insert(formula);
      if (!source.empty()) sources.insert(source);
    }
    for (auto& row : rows) {
      failed = failed || !row[row.size() - 2].empty();
      const std::string title = names.next(row.front(), row.back());
      if (title == row.front()) continue;
      row.front() = title;
      row.back().clear();
    }
    if (begin == 0) log_in_cell = log_shares_cell(rows, console.most_columns());
    for (auto& row : rows) {
      if (log_in_cell && !row.back().empty()) row.front() += "  " + std::exchange(row.back(), "");
      table.add(row);
    }
  }
  std::vector<std::string> keep{"cell", "n", "median", "unit", "cv"};
  if (failed) keep.emplace_back("failures");  // that all cells fail alike is no reason to hide it
  table.print(keep, {.most_columns = console.most_columns()},
              [&](std::string_view text) { console.print(text); });
  std::string legend;
  if (!formulas.empty()) {
    legend = fmt::format("TFLOPS and MFU by the formula {}", fmt::join(formulas, ", "));
  }
  const auto add_memory = [&](std::string_view of, const std::string& by) {
    legend += fmt::format("{}peak memory of {} by {}", legend.empty() ? "" : "; ", of, by);
  };
  if (sources.erase("proc") > 0) add_memory("all processes of a machine", "proc");
  if (!sources.empty()) add_memory("one GPU", fmt::format("{}", fmt::join(sources, ", ")));
  if (!legend.empty()) console.print("\n" + escape_for_terminal(legend) + "\n");
}

/// The cells of the kinds that are shown.
class ShownCells final : public CellSource {
 public:
  ShownCells(const CellSource& all, const ViewOptions& options) : all_(all) {
    std::vector<WorkKind> kinds;
    for (std::size_t i = 0; i < all.size(); ++i) kinds.push_back(all.cell(i).kind);
    const bool training = std::ranges::count(kinds, WorkKind::training) > 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool chosen = options.kinds.empty()
                              ? kinds[i] == (training ? WorkKind::training : WorkKind::inference)
                              : std::ranges::count(options.kinds, kinds[i]) > 0;
      (chosen || all.size() == 1 ? shown_ : others_).push_back(i);
    }
    no_training_ = options.kinds.empty() && !training;
  }
  [[nodiscard]] const ResultSet& head() const override { return all_.head(); }
  [[nodiscard]] std::size_t size() const override { return shown_.size(); }
  [[nodiscard]] Cell cell(std::size_t i) const override { return all_.cell(shown_[i]); }
  [[nodiscard]] std::size_t trials(std::size_t i) const override { return all_.trials(shown_[i]); }
  void each_trial(std::size_t i, const std::function<void(const Trial&)>& see) const override {
    all_.each_trial(shown_[i], see);
  }
  [[nodiscard]] const std::vector<std::size_t>& others() const { return others_; }
  /// It was asked for, but there is none.
  [[nodiscard]] bool no_training() const { return no_training_; }

 private:
  const CellSource& all_;
  std::vector<std::size_t> shown_, others_;
  bool no_training_ = false;
};

bool one_trial_each(const CellSource& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells.trials(i) != 1) return false;
  }
  return true;
}

/// "evaluation: 11 cells, 243.56 to 2346.60 sequences/s; --kind evaluation shows them".
void print_others(Console& console, const CellSource& all, const ShownCells& shown) {
  if (shown.others().empty()) return;
  struct Kind {
    long long cells = 0;
    std::map<std::string, std::pair<double, double>> rates;  ///< by unit: lowest, highest
  };
  std::map<WorkKind, Kind> kinds;
  for (const std::size_t i : shown.others()) {
    const Cell cell = all.cell(i);
    Kind& kind = kinds[cell.kind];
    ++kind.cells;
    const ThroughputSummary& rate = cell.throughput;
    if (!rate.median) continue;
    auto& [low, high] = kind.rates.try_emplace(rate.unit, *rate.median, *rate.median).first->second;
    low = std::min(low, *rate.median);
    high = std::max(high, *rate.median);
  }
  console.print(shown.size() > 0 ? "\n" : shown.no_training() ? "no training\n" : "");
  for (const auto& [kind, its] : kinds) {
    std::string text = fmt::format("{}: {}", name(kind), counted(its.cells, "cell"));
    for (const auto& [unit, range] : its.rates) {
      text += ", " + rate_text(range.first);
      if (range.second > range.first) text += " to " + rate_text(range.second);
      text += " " + unit;
    }
    console.print(
        fmt::format("{}; --kind {} shows {}\n", text, name(kind), its.cells == 1 ? "it" : "them"));
  }
}

/// Losses and scores over the trials of a cell, as far as a reader takes them in.
void print_stability(Console& console, const CellSource& cells) {
  constexpr std::size_t kMostRows = 60;
  const Table table = stability_table(cells);
  if (table.rows.empty()) return;
  if (table.rows.size() > kMostRows) {
    console.print(fmt::format("\n{} of losses and scores over trials: in the JSON and CSV forms\n",
                              counted(table.rows.size(), "row")));
    return;
  }
  console.print("\n" + text_table(table, {.most_columns = console.most_columns()}));
}

/// Ranks and nodes one by one, where logs have their own times.
void print_ranks(Console& console, const CellSource& cells) {
  constexpr std::size_t kMostRows = 60;
  const Table ranks = rank_table(cells);
  if (ranks.rows.empty()) return;
  console.print(fmt::format("\n{}\n", kRankTimesNote));
  for (Table table : {ranks, node_table(cells)}) {
    const std::size_t rows = table.rows.size();
    table.rows.resize(std::min(rows, kMostRows));
    console.print("\n" + text_table(table, {.most_columns = console.most_columns()}));
    if (rows > kMostRows) console.print(fmt::format("{} of {} rows\n", kMostRows, rows));
  }
}

}  // namespace

std::string outcome_text(const Outcome& outcome) {
  std::string text(name(outcome.status));
  if (outcome.status == Status::completed) return text;
  if (outcome.step) text += fmt::format(" at step {}", *outcome.step);
  if (outcome.line > 0) text += fmt::format(" (line {})", outcome.line);
  return text;
}

std::vector<WorkKind> all_kinds() {
  return {WorkKind::training, WorkKind::evaluation, WorkKind::inference};
}

void print_results(Console& console, const CellSource& all, const ViewOptions& options) {
  const ShownCells cells(all, options);
  const std::size_t count = cells.size();
  const bool rows_only =
      options.summary_only || (count > kMostSingleTrials && one_trial_each(cells));
  std::size_t trials = 0;
  for (std::size_t i = 0; i < count && !rows_only; ++i) trials += cells.trials(i);
  ShownNames names;
  for (std::size_t i = 0; i < count && !rows_only; ++i) {
    const Cell cell = cells.whole_cell(i);
    const bool by_log = options.show_log && cell.trials.size() == 1;
    const std::string title = names.next(cell.key, by_log ? cell.trials.front().log : "");
    console.print(heading(console, cell, title));
    if (cell.trials.size() == 1) {
      print_single(console, cell, title, options);
    } else {
      print_trials(console, cell, options);
    }
    if (count <= kMostCellsWithEstimators && trials <= kMostTrialsSideBySide) {
      print_estimators(console, cell);
    }
    if (cell.trials.size() > 1) console.print(summary_line(cell));
    if (i + 1 < count) console.print("\n");
  }
  if (count > 0 && (rows_only || count > 1)) {
    if (!rows_only) console.print("\n");
    print_cells(console, cells);
  }
  print_stability(console, cells);
  if (const Table phases = phases_table(cells); !phases.rows.empty()) {
    console.print("\n" + text_table(phases));
  }
  print_ranks(console, cells);
  print_others(console, all, cells);
}

void print_notices(Console& console, const CellSource& cells, const ViewOptions& options) {
  const ShownCells shown(cells, options);
  const bool windows_shown =
      !options.summary_only && shown.size() <= kMostSingleTrials && one_trial_each(shown);
  const std::vector<std::string> lines = notice_lines(shown, windows_shown);
  const Terminal& terminal = console.terminal();
  if (!lines.empty() && terminal.out_is_terminal && terminal.err_is_terminal) console.status("");
  for (const std::string& line : lines) console.note(line);
}

}  // namespace bertbench
