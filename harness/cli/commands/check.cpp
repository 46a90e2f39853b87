// bertbench check: has anything become slower? The gate of a CI job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/cli/cell_groups.h"
#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/number_text.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/sweep/config/config.h"
#include "harness/sweep/config/hosts.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/journal/journal.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/pair_stopping.h"
#include "harness/sweep/plan/placement.h"
#include "harness/sweep/plan/plan.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/text.h"
#include "reports/gate/paired.h"
#include "reports/gate/verdicts.h"
#include "reports/gate/waivers.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"
#include "reports/output/gate_reports.h"
#include "reports/output/render.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"
#include "reports/stats/pairs.h"
#include "reports/stats/stopping.h"
#ifdef BB_HAVE_STORE
#include "reports/store/store.h"
#endif

namespace bertbench::command_check {
namespace {

// check --confirm: measures the flagged cells once more, then decides.

struct ConfirmOptions {
  std::string config;            ///< of the sweep that measured the result; empty: no confirmation
  std::string out;               ///< run folder of the rerun; empty: next to the result
  std::string trainer;           ///< as in sweep
  std::vector<std::string> set;  ///< as in sweep
  std::string hosts;       ///< in place of the configuration's: names with commas, or a hostfile
  bool elsewhere = false;  ///< on nodes of Slurm that the flagged cells did not run on
};

struct Options {
  std::string result, baseline;
  std::string paired;  // the variant that the others are held against
  double floor = std::numeric_limits<double>::quiet_NaN();  // NaN: the default of what is compared
  GateOptions gate;
  ConfirmOptions confirm;
  std::string waive;
  std::vector<Waiver> waivers;  // of that file
  std::string junit;
  bool github = false;
  OutputOptions output;
};

/// Decides anew, with the rerun (`confirm`, `confirm_paired`).
using Decide = std::function<GateReport(GateReport first, const ResultSet& rerun)>;

namespace fs = std::filesystem;

class RerunView : public SweepObserver {
 public:
  explicit RerunView(Console& console) : console_(console) {}
  void trial_finished(const TrialProgress& at, const Trial& trial) override {
    console_.status(fmt::format("confirming [{}/{}] {} trial {}: {}", at.position, at.to_run,
                                escape_for_terminal(at.cell->key), at.trial,
                                trial.sequences_per_second
                                    ? rate_text(*trial.sequences_per_second) + " sequences/s"
                                    : std::string(name(trial.outcome.status))));
  }
  void notice(const std::string& text) override { console_.note(text); }

 private:
  Console& console_;
};

/// A rerun must be measured now: a folder that holds one already would be resumed.
std::string fresh_folder(const std::string& result) {
  std::error_code ignored;
  const bool folder = fs::is_directory(result, ignored);
  for (int n = 1;; ++n) {
    const std::string path = folder ? (fs::path(result) / fmt::format("confirm-{}", n)).string()
                                    : fmt::format("{}.confirm-{}", result, n);
    if (!fs::exists(path, ignored)) return path;
  }
}

bool takes_hosts(const Launcher& launcher) { return launcher.hosts == RankHosts::configured; }

/// "mpi or ssh"
std::string launchers_with_hosts() {
  std::vector<std::string_view> names;
  for (const Launcher* launcher : all_launchers()) {
    if (takes_hosts(*launcher)) names.push_back(launcher->name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

/// The hosts that the configuration of a run gave a cell of so many nodes; none where its launcher
/// takes none.
std::vector<std::string> configured_hosts(const std::string& run_folder, std::int64_t nodes) {
  const auto text = read_text((fs::path(run_folder) / "sweep.json").string());
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object()) return {};
  const auto named = json.find("launcher"), hosts = json.find("hosts");
  if (named == json.end() || !named->is_string() || hosts == json.end()) return {};
  const auto launcher = find_launcher(named->get_ref<const std::string&>());
  if (!launcher || !takes_hosts(**launcher) || !hosts->is_array()) return {};
  Hostfile known;
  for (const auto& host : *hosts) {
    if (std::ssize(known.hosts) >= nodes || !host.is_string()) continue;
    // The file is somebody's: what names no host is left out.
    if (!add_host(trim(host.get_ref<const std::string&>()), known)) continue;
  }
  return known.hosts;
}

/// Names of the nodes that a cell of this run folder was measured on, each once, sorted: those that
/// Slurm gave its trials (a file next to each log), else those of the configuration. Empty where
/// they are not known. Only names are taken from a file.
std::vector<std::string> nodes_of(const Cell& cell, const std::string& run_folder) {
  std::vector<std::string> out;
  for (const Trial& trial : cell.trials) {
    const fs::path log = fs::path(run_folder) / trial.log;
    const auto text = read_text((log.parent_path() / "nodes").string());
    for (const NodePlace& place : parse_nodes(text.value_or(""))) out.push_back(place.node);
  }
  if (out.empty()) out = configured_hosts(run_folder, cell.identity.nodes.value_or(1));
  std::erase_if(out, [](const std::string& name) { return !check_host(name); });
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// --confirm-hosts and --confirm-elsewhere. `used`: nodes that the flagged cells ran on.
Result<void> place_rerun(SweepConfig& config, std::vector<std::string> used,
                         const ConfirmOptions& options) {
  if (options.hosts.empty() && !options.elsewhere) return {};
  const auto found = find_launcher(config.launcher);
  if (!found) return tl::unexpected(found.error());
  const Launcher& launcher = **found;
  if (!options.hosts.empty()) {
    if (!takes_hosts(launcher)) {
      return fail("--confirm-hosts", fmt::format("launcher {} takes no hosts", config.launcher),
                  launcher.avoid ? "give --confirm-elsewhere: a queue chooses the nodes"
                                 : fmt::format("choose one that does: --confirm-set launcher={}",
                                               launchers_with_hosts()));
    }
    std::error_code ignored;
    Hostfile named;
    if (fs::is_regular_file(options.hosts, ignored)) {
      auto file = read_hostfile(options.hosts);
      if (!file) return tl::unexpected(file.error());
      named = std::move(*file);
    } else {
      for (const auto host : split(options.hosts, ',')) {
        if (auto good = add_host(trim(host), named); !good) {
          good.error().where = "--confirm-hosts";
          return good;
        }
      }
    }
    config.hosts = std::move(named.hosts);
    config.slots = std::move(named.slots);
  }
  if (!options.elsewhere) return {};
  if (!launcher.avoid) {
    return fail(
        "--confirm-elsewhere",
        fmt::format("asks a queue for other nodes, and launcher {} has none", config.launcher),
        "name them: --confirm-hosts");
  }
  if (!launcher.queue()) {
    return fail("--confirm-elsewhere", "this allocation has no other nodes",
                "run the check outside an allocation");
  }
  if (used.empty()) {
    return fail("--confirm-elsewhere", "the nodes of the flagged cells are not known",
                "give the run folder as RESULT, as the sweep left it");
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  launcher.avoid(config, used);
  return {};
}

using nlohmann::ordered_json;

/// Whether a cell's command is that of the result's: another program's speed confirms nothing.
Result<void> runs_the_same(const PlannedCell& planned, const ResultSet& measured) {
  for (const Cell& cell : measured.cells) {
    const auto command = cell.context->find("command");
    if (cell.key != planned.key || command == cell.context->end() || planned.command.empty() ||
        *command == ordered_json(planned.command)) {
      continue;
    }
    return fail("", fmt::format("the command of {} is another one than the result's", cell.key),
                "give the configuration that measured the result: sweep.json in its run folder");
  }
  return {};
}

// Fractions that differ by less are one: "1.3%" is 1.3 / 100, which is not the double 0.013.
constexpr double kShareGap = 1e-12;

// A run whose pairs end by a rule is judged by that rule alone.
Result<void> fits_rule(const Options& options, const StoppingRule& rule) {
  const std::string where = "--paired " + options.paired;
  if (rule.base != options.paired) {
    return fail(where,
                fmt::format("the run ends its pairs by what they show against '{}'", rule.base),
                "give --paired " + rule.base);
  }
  const auto same = [](double a, double b) { return std::abs(a - b) < kShareGap; };
  if (same(options.gate.floor, rule.floor) && same(options.gate.alpha, rule.alpha)) return {};
  return fail(where,
              fmt::format("the run ends its pairs by a floor of {:g} and alpha {:g}", rule.floor,
                          rule.alpha),
              "leave out --floor and --alpha, or measure a fixed number of trials");
}

/// Runs the cells of `first`, which is of `measured`, the file or run folder of the options, that
/// are regressions with the configuration, in a run folder that no sweep has used, and gives the
/// report that `decide` makes of it. Of a report of pairs the base is run with them, in turn as in
/// the sweep, and no other variant. Cells that the configuration does not hold keep their verdict,
/// with a notice. Without a regression nothing is run.
Result<GateReport> confirm_by_rerun(GateReport first, const ResultSet& measured,
                                    const Options& given, const Decide& decide, Console& console) {
  const ConfirmOptions& options = given.confirm;
  const auto flagged = flagged_cells(first);
  if (flagged.empty()) {
    console.status("nothing to confirm: no cell is a regression");
    return first;
  }
  auto config = load_config(options.config, options.set);
  if (!config) return tl::unexpected(config.error());
  const std::string folder = run_folder_of(given.result);
  std::vector<std::string> used;  // nodes of the flagged cells
  for (const Cell& cell : measured.cells) {
    if (std::ranges::find(flagged, cell.key) == flagged.end()) continue;
    auto nodes = folder.empty() ? std::vector<std::string>{} : nodes_of(cell, folder);
    used.insert(used.end(), nodes.begin(), nodes.end());
    first.rerun_nodes[cell.key].first = std::move(nodes);
  }
  if (const auto moved = place_rerun(*config, std::move(used), options); !moved) {
    return tl::unexpected(moved.error());
  }
  PlanOptions how;
  how.trainer = options.trainer;
  auto plan = make_plan(*config, how);
  if (!plan) return tl::unexpected(plan.error());
  const std::set<std::string> wanted(flagged.begin(), flagged.end());
  std::set<std::string> held;
  std::set<std::size_t> points;  // of pairs both halves are measured again
  for (const PlannedTrial& trial : plan->trials) {
    const PlannedCell& cell = plan->cells[trial.cell];
    if (!wanted.contains(cell.key)) continue;
    held.insert(cell.key);
    points.insert(cell.grid_point);
    if (auto same = runs_the_same(cell, measured); !same) {
      same.error().where = "--confirm " + options.config;
      return tl::unexpected(same.error());
    }
  }
  const auto is_base_of_flagged = [&](const PlannedCell& cell) {
    const auto variant = cell.identity.axes.find(kVariantAxis);
    return !first.paired.empty() && points.contains(cell.grid_point) &&
           variant != cell.identity.axes.end() && variant->second == first.paired;
  };
  std::erase_if(plan->trials, [&](const PlannedTrial& trial) {
    const PlannedCell& cell = plan->cells[trial.cell];
    return !needed_for(cell, wanted) && !is_base_of_flagged(cell);
  });
  for (const std::string& key : wanted) {
    if (!held.contains(key)) {
      console.note("check", make_notice(NoticeCode::not_rerun, 0, options.config, key));
    }
  }
  if (plan->trials.empty()) return first;
  if (const auto rule = stopping_rule_for(*plan); rule && !given.paired.empty()) {
    if (const auto fits = fits_rule(given, *rule); !fits) {
      return fail("--confirm " + options.config, fits.error().what, fits.error().hint);
    }
  }
  SweepOptions sweep;
  sweep.probe_s = kProbe_s;
  sweep.out = options.out.empty() ? fresh_folder(given.result) : options.out;
  std::error_code ignored;
  if (fs::exists(fs::path(sweep.out) / "journal.jsonl", ignored)) {
    return fail("--confirm-out " + sweep.out, "holds a sweep already",
                "name a new folder: a confirmation is measured anew");
  }
  console.status(
      fmt::format("confirming {} in {}", counted(held.size(), "flagged cell"), sweep.out));
  RerunView view(console);
  const auto outcome = run_sweep(*plan, sweep, view);
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->interrupted) {
    return fail("--confirm", "was interrupted before it could decide", "run the same check again");
  }
  for (const Cell& cell : outcome->result.cells) {
    const auto nodes = first.rerun_nodes.find(cell.key);
    if (nodes != first.rerun_nodes.end()) nodes->second.again = nodes_of(cell, sweep.out);
  }
  return decide(std::move(first), outcome->result);
}

void put_reason(const Notice& reason, ordered_json& out) {
  out["reason"] = text_of(reason);
  out["reason_code"] = name(reason.code);
}

void put_other_verdicts(const CellVerdict& cell, ordered_json& row) {
  row["speed"] = {{"verdict", name(cell.speed)}};
  if (cell.outcomes) {
    const OutcomeVerdict& outcomes = *cell.outcomes;
    ordered_json& out = row["outcomes"] = {{"verdict", name(outcomes.verdict)},
                                           {"failed_new", outcomes.failed_now},
                                           {"trials_new", outcomes.trials_now},
                                           {"failed_base", outcomes.failed_base},
                                           {"trials_base", outcomes.trials_base}};
    put_reason(outcomes.reason, out);
  }
  if (cell.memory) {
    const MemoryVerdict& memory = *cell.memory;
    ordered_json& out = row["memory"] = {{"verdict", name(memory.verdict)}};
    if (memory.now > 0) {
      out["change"] = memory.change;
      out["peak_bytes_new"] = memory.now;
      out["peak_bytes_base"] = memory.reference;
      out["source"] = memory.source;
    }
    put_reason(memory.reason, out);
  }
  for (const PartVerdict& part : cell.parts) {
    ordered_json& out = row["parts"][part.part] = {
        {"verdict", name(part.verdict)}, {"change", part.change}, {"p50_new", part.now},
        {"p50_base", part.reference},    {"p", part.p},           {"p_adjusted", part.p_adjusted},
        {"tolerance", part.tolerance},   {"n_new", part.n_new},   {"n_base", part.n_base}};
    put_reason(part.reason, out);
  }
  if (!cell.loss) return;
  const LossVerdict& loss = *cell.loss;
  ordered_json& out = row["loss"] = {{"verdict", name(loss.verdict)}};
  put(out, "step", loss.step);
  put(out, "loss_new", loss.now);
  put(out, "loss_base", loss.before);
  out["steps_compared"] = loss.steps_compared;
  if (loss.tolerance > 0) out["tolerance"] = loss.tolerance;
  put_reason(loss.reason, out);
}

ordered_json to_json(const Options& options, const GateReport& report) {
  ordered_json rows = ordered_json::array();
  for (const CellVerdict& cell : report.cells) {
    ordered_json row{{"key", cell.key}, {"kind", name(cell.kind)}, {"verdict", name(cell.verdict)}};
    put(row, "change", cell.change);
    if (cell.interval.coverage > 0) put(row, "interval", cell.interval);
    if (!cell.variant.empty()) {
      row["variant"] = cell.variant;
      row["pairs_left_out"] = cell.pairs_left_out;
    }
    row["p"] = cell.p;
    row["p_adjusted"] = cell.p_adjusted;
    if (cell.level > 0) row["level"] = cell.level;
    row["n_new"] = cell.n_new;
    row["n_base"] = cell.n_base;
    row["tolerance"] = cell.tolerance;
    put(row, "median_new", cell.median_new);
    put(row, "reference", cell.reference);
    if (cell.median_new || cell.reference) row["unit"] = cell.unit;
    row["reason"] = reason_text(cell);
    row["reason_code"] = name(cell.reasons.front().code);
    put_other_verdicts(cell, row);
    if (cell.rerun) {
      ordered_json& rerun = row["rerun"] = {{"verdict", name(cell.rerun->verdict)}};
      put(rerun, "change", cell.rerun->change);
      put(rerun, "median_new", cell.rerun->median_new);
      rerun["p_adjusted"] = cell.rerun->p_adjusted;
      rerun["n_new"] = cell.rerun->n_new;
      const RerunNodes& nodes = cell.rerun->nodes;
      if (!nodes.again.empty()) rerun["nodes"] = nodes.again;
      if (!nodes.first.empty()) rerun["first_nodes"] = nodes.first;
    }
    for (const auto& [waiver, state] : cell.waivers) {
      row["waivers"].push_back({{"verdict", waiver.verdict},
                                {"limit", waiver.limit},
                                {"reason", waiver.reason},
                                {"expiry", waiver.expiry},
                                {"state", name(state)}});
    }
    if (!cell.waivers.empty()) row["waived"] = cell.waived();
    rows.push_back(std::move(row));
  }
  ordered_json notices = ordered_json::array();
  for (const Notice& notice : report.notices) notices.push_back(text_of(notice));
  ordered_json json{{"schema", "bertbench.check/1"}, {"result", options.result}};
  if (report.paired.empty()) {
    json["baseline"] = options.baseline;
  } else {
    json["paired"] = report.paired;
  }
  json["exit_status"] = report.exit_status;
  json["compared"] = report.compared;
  json["cells"] = rows;
  json["notices"] = notices;
  return json;
}

Style style_of(const CellVerdict& cell) {
  if (cell.waived()) return Style::yellow;
  switch (cell.verdict) {
    case Verdict::pass:
    case Verdict::improvement:
      return Style::green;
    case Verdict::regression:
    case Verdict::missing:
      return Style::red;
    case Verdict::inconclusive:
    case Verdict::not_comparable:
      return Style::yellow;
    case Verdict::new_cell:
      return Style::plain;
  }
  return Style::plain;
}

// The reason; where trials are too few, without the cell's own numbers, so that such cells group.
std::string shared(const CellVerdict& cell) {
  const bool alike = cell.verdict == Verdict::inconclusive && cell.waivers.empty();
  return alike ? text_of(cell.reasons.front()) : reason_text(cell);
}

// Why each cell is not just a pass. What holds for many cells alike (another driver, a model that
// was not run) is printed once: the table above names them all.
void print_reasons(Console& console, const GateReport& report) {
  const auto groups = in_groups(report.cells, [](const CellVerdict& cell) {
    return std::pair(verdict_text(cell), shared(cell));
  });
  const char* gap = "\n";
  for (const auto& group : groups) {
    std::vector<std::string> names;
    for (const CellVerdict* cell : group) {
      if (cell->verdict != Verdict::pass || cell->cleared()) {
        names.push_back(key_with_kind(cell->key, cell->kind));
      }
    }
    const std::vector<std::string_view> keys(names.begin(), names.end());
    if (keys.empty()) continue;
    const CellVerdict& cell = *group.front();
    console.print(fmt::format(
        "{}{} {}: {}\n", std::exchange(gap, ""), console.styled(style_of(cell), verdict_text(cell)),
        escape_for_terminal(named_cells(keys)),
        escape_for_terminal(keys.size() > 1 ? shared(cell) : reason_text(cell))));
  }
}

/// What a reader must know of a cell that passes: a change that is no regression only as the
/// tolerance is wider than was asked for, or as memory is looked at too seldom; memory of two
/// sources, which is not compared; trials that fail on both sides.
std::vector<Notice> cautions_of(const CellVerdict& cell, const GateReport& report,
                                const GateOptions& gate) {
  std::vector<Notice> out;
  if (cell.verdict != Verdict::pass || cell.cleared()) return out;
  if (report.paired.empty() && cell.change && cell.tolerance > gate.floor) {
    out.push_back(cell.reasons.front());
  }
  if (cell.memory) {
    const MemoryVerdict& memory = *cell.memory;
    const bool let_pass =
        memory.verdict == Verdict::pass && std::abs(memory.change) > gate.memory_floor;
    if (let_pass || memory.verdict == Verdict::not_comparable) out.push_back(memory.reason);
  }
  if (cell.outcomes && cell.outcomes->failed_now > 0) out.push_back(cell.outcomes->reason);
  return out;
}

void print_cautions(Console& console, const GateReport& report, const GateOptions& gate) {
  constexpr long long kCellsExplained = 4;  // more would hide the verdicts: --json has them all
  long long cells = 0;
  for (const CellVerdict& cell : report.cells) {
    const auto cautions = cautions_of(cell, report, gate);
    if (cautions.empty() || ++cells > kCellsExplained) continue;
    console.print(
        fmt::format("{}pass {}: {}\n", cells == 1 ? "\n" : "",
                    escape_for_terminal(key_with_kind(cell.key, cell.kind)),
                    escape_for_terminal(fmt::format("{}", fmt::join(texts_of(cautions), "; ")))));
  }
  if (cells > kCellsExplained) {
    console.print(fmt::format("pass: the like of {} more, in the JSON form\n",
                              counted(cells - kCellsExplained, "cell")));
  }
}

// What the numbers of the table are, for a first reader.
constexpr std::string_view kLegend =
    "\nbaseline, now: median rate; n: trials of baseline+now; p slower: exact\n"
    "one-sided Mann-Whitney, after Holm over all cells compared. A regression is a\n"
    "loss beyond the tolerance (--floor or the noise of the baseline) with p <= {}.\n";

constexpr std::string_view kPairedLegend =
    "\n{0}, now: median rate; change: Hodges-Lehmann's estimate by the pairs' ratios\n"
    "(median of the means of two), with an interval of 95 % or more; pairs: those that\n"
    "count (+ those left out as hit); p slower: exact one-sided signed rank, after Holm.\n"
    "A regression is a loss beyond the floor ({1:.1f} %) with p <= {2}.\n";

/// The levels that the p values of the cells had to pass.
std::set<double> levels_of(const GateReport& report) {
  std::set<double> levels;
  for (const CellVerdict& cell : report.cells) {
    if (cell.level > 0) levels.insert(cell.level);
  }
  return levels;
}

/// That of pairs: alpha, or a fifth of it where their change is too uncertain for the floor to
/// guard it.
std::string level_words(const GateReport& report, double alpha) {
  const auto levels = levels_of(report);
  if (levels.size() > 1) return "its level, a fifth of alpha where the\nchange is uncertain";
  const double level = levels.empty() ? alpha : *levels.begin();
  return fmt::format("{:.2g}", level) +
         (level < alpha
              ? fmt::format(", a fifth of alpha ({:g}) as\nthe changes are uncertain", alpha)
              : "");
}

std::string level_text(const CellVerdict& cell) {
  return cell.level > 0 ? fmt::format("{:.2g}", cell.level) : "-";
}

std::string failed_text(const CellVerdict& cell) {
  if (!cell.outcomes) return "-";
  const OutcomeVerdict& outcomes = *cell.outcomes;
  return fmt::format("{}/{}, was {}/{}", outcomes.failed_now, outcomes.trials_now,
                     outcomes.failed_base, outcomes.trials_base);
}

std::string memory_text(const CellVerdict& cell) {
  return cell.memory && cell.memory->now > 0 ? change_text(cell.memory->change) : "-";
}

std::string loss_text(const CellVerdict& cell) {
  if (!cell.loss) return "-";
  if (cell.loss->verdict != Verdict::regression) {
    return cell.loss->steps_compared > 0 ? "equal" : "finite";
  }
  const std::string at = cell.loss->step ? fmt::format(" at {}", *cell.loss->step) : "";
  return (cell.loss->now ? "apart" : "NaN") + at;
}

/// The parts that changed: "optimizer +5.0 %". Of those that changed beyond their tolerance and
/// cannot be decided the one that changed most: "undecided (data +4.0 %)".
std::string parts_text(const CellVerdict& cell) {
  if (cell.parts.empty()) return "-";
  std::vector<std::string> out;
  const PartVerdict* undecided = nullptr;
  for (const PartVerdict& part : cell.parts) {
    if (part.verdict == Verdict::regression || part.verdict == Verdict::improvement) {
      out.push_back(part.part + " " + change_text(part.change));
    } else if (part.verdict == Verdict::inconclusive && std::abs(part.change) > part.tolerance &&
               (undecided == nullptr || std::abs(part.change) > std::abs(undecided->change))) {
      undecided = &part;
    }
  }
  if (undecided != nullptr) {
    out.push_back(
        fmt::format("undecided ({} {})", undecided->part, change_text(undecided->change)));
  }
  return out.empty() ? "equal" : fmt::format("{}", fmt::join(out, ", "));
}

/// What outcomes, memory, loss and the parts of a step became, where a cell has any; of pairs the
/// level of each, where they differ.
void add_other_columns(Table& table, const GateReport& report) {
  const auto add = [&](const char* title, std::string (*text)(const CellVerdict&)) {
    std::vector<std::string> texts;
    for (const CellVerdict& cell : report.cells) texts.push_back(text(cell));
    if (std::ranges::count(texts, "-") == std::ssize(texts)) return;
    table.columns.push_back({title, true});
    for (std::size_t i = 0; i < texts.size(); ++i) table.rows[i].push_back(std::move(texts[i]));
  };
  if (!report.paired.empty() && levels_of(report).size() > 1) add("level", level_text);
  add("failed", failed_text);
  add("memory", memory_text);
  add("loss", loss_text);
  add("parts", parts_text);
}

void print_table(Console& console, Table table, const GateReport& report) {
  add_other_columns(table, report);
  console.print(console.painted(table, {.most_columns = console.most_columns()}, 0,
                                [&](std::size_t row) { return style_of(report.cells[row]); }));
}

void print_runs(Console& console, const GateReport& report) {
  Table table{columns_of({"verdict", "cell", ">baseline", ">now", "unit", ">change", ">tolerance",
                          ">n", ">p slower"})};
  for (const CellVerdict& cell : report.cells) {
    const bool tested =
        cell.n_new > 0 && cell.n_base > 0 && cell.verdict != Verdict::not_comparable;
    table.rows.push_back(
        {verdict_text(cell), key_with_kind(cell.key, cell.kind), rate_text(cell.reference),
         rate_text(cell.median_new), cell.unit, cell.change ? change_text(*cell.change) : "-",
         tested ? share_text(cell.tolerance) : "-", fmt::format("{}+{}", cell.n_base, cell.n_new),
         tested ? p_text(cell.p_adjusted) : "-"});
  }
  print_table(console, std::move(table), report);
}

void print(Console& console, const Options& options, const GateReport& report) {
  const bool pairs = !report.paired.empty();
  if (pairs) {
    print_table(console, pairs_table(report, PairsAs::changes), report);
  } else {
    print_runs(console, report);
  }
  if (report.compared > 0) {
    console.print(pairs ? fmt::format(kPairedLegend, escape_for_terminal(report.paired),
                                      100 * options.gate.floor,
                                      level_words(report, options.gate.alpha))
                        : fmt::format(kLegend, options.gate.alpha));
  }
  print_reasons(console, report);
  print_cautions(console, report, options.gate);
  console.print(fmt::format("\n{}: exit status {}\n", counts_text(report), report.exit_status));
}

// What CI systems read: a JUnit file, annotations, the page of the job.
Result<void> write_for_ci(const Options& options, const GateReport& report, Console& console) {
  if (!options.junit.empty()) {
    const auto written = write_file_atomically(
        options.junit, gate_junit(report, options.gate, "bertbench check " + options.result));
    if (!written) return written;
  }
  if (!options.github) return {};
  // Actions reads commands from both streams; stdout stays JSON where that was asked for.
  const std::string commands = github_annotations(report, options.gate);
  if (options.output.machine_on_stdout()) {
    for (const std::string_view line : split(trim(commands), '\n')) console.status(line);
  } else {
    console.print(commands);
  }
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return {};
  std::ofstream page(summary, std::ios::app);
  page << gate_markdown(report, "bertbench check " + options.result) << "\n";
  page.close();
  if (!page) return fail(summary, "cannot be written", "see GITHUB_STEP_SUMMARY");
  return {};
}

bool baseline_is_store(const Options& options) {
#ifdef BB_HAVE_STORE
  return is_database(options.baseline);
#else
  static_cast<void>(options);
  return false;
#endif
}

// One result file, or the runs of a store that fit the result.
Result<std::vector<ResultSet>> baseline_runs(const Options& options, const ResultSet& result,
                                             Result<ResultSet> file) {
#ifdef BB_HAVE_STORE
  if (baseline_is_store(options)) {
    const auto store = Store::open(options.baseline, Store::Mode::existing);
    if (!store) return tl::unexpected(store.error());
    return store->baseline(result, options.gate.allow_context);
  }
#endif
  if (!file) return tl::unexpected(file.error());
  std::vector<ResultSet> runs;
  runs.push_back(std::move(*file));
  return runs;
}

// Why the options do not go together, or nothing.
Result<void> check_usage(const Options& options) {
  const ConfirmOptions& confirm = options.confirm;
  const char* of_confirm = confirm.elsewhere          ? "--confirm-elsewhere"
                           : !confirm.hosts.empty()   ? "--confirm-hosts"
                           : !confirm.out.empty()     ? "--confirm-out"
                           : !confirm.set.empty()     ? "--confirm-set"
                           : !confirm.trainer.empty() ? "--trainer"
                                                      : nullptr;
  if (confirm.config.empty() && of_confirm != nullptr) {
    return fail(of_confirm, "is for what --confirm measures", "give --confirm CONFIG");
  }
  // A mistake there is not to show on the day of the first regression.
  if (!confirm.config.empty()) {
    if (const auto config = load_config(confirm.config, confirm.set); !config) {
      return tl::unexpected(config.error());
    }
  }
  if (confirm.elsewhere && !confirm.hosts.empty()) {
    return fail("--confirm-elsewhere", "Slurm chooses the nodes, --confirm-hosts names them",
                "give one of the two");
  }
  if (options.paired.empty()) {
    if (!options.baseline.empty()) return {};
    return fail("check", "there is nothing to hold the result against",
                "give --baseline FILE-OR-DB, or --paired VARIANT for a run with variants");
  }
  if (!options.baseline.empty()) {
    return fail("--paired", "holds variants of one run against each other, without --baseline",
                "give one of the two");
  }
  return {};
}

Result<void> check_stopping_rule(const Options& options, const ResultSet& result) {
  if (const auto rule = stopping_rule_of(result)) return fits_rule(options, *rule);
  if (!has_unknown_stopping_rule(result)) return {};
  return fail(options.result, "its pairs ended by a rule that this release does not know",
              "judge it by the release that measured it");
}

// The verdicts of a run with variants, by its pairs.
Result<GateReport> judge_pairs(const Options& options, const ResultSet& result) {
  const std::vector<std::string> variants = variants_of(result);
  if (std::ranges::find(variants, options.paired) == variants.end()) {
    return fail("--paired " + options.paired, "the result has no such variant",
                variants.empty() ? "measure it by a configuration with \"variants\""
                                 : fmt::format("variants: {}", fmt::join(variants, ", ")));
  }
  if (const auto usable = check_stopping_rule(options, result); !usable) {
    return tl::unexpected(usable.error());
  }
  for (const Cell& cell : result.cells) {
    if (cell.trials.size() <= kMostPairs) continue;
    return fail("--paired", fmt::format("{} has {} trials", cell.key, cell.trials.size()),
                fmt::format("at most {} of a cell are judged by pairs", kMostPairs));
  }
  return check_paired(result, options.paired, options.gate);
}

/// From the verdicts to the end of the program. `decide`: as for confirm_by_rerun().
ExitCode conclude(const Options& options, const ResultSet& result, GateReport report,
                  const Decide& decide, Console& console) {
  for (const Notice& notice : report.notices) console.note("check", notice);
  if (!options.confirm.config.empty()) {
    auto confirmed = confirm_by_rerun(std::move(report), result, options, decide, console);
    if (!confirmed) return console.error(confirmed.error());
    report = std::move(*confirmed);
  }
  const std::size_t noted = report.notices.size();
  constexpr std::size_t kDay = 10;  // characters of YYYY-MM-DD, with which a time begins
  const std::string today = utc_now().substr(0, kDay);
  apply_waivers(report, options.waivers, today, options.gate);
  for (std::size_t i = noted; i < report.notices.size(); ++i) {
    console.note("check", report.notices[i]);
  }
  if (const auto written = write_for_ci(options, report, console); !written) {
    return console.error(written.error());
  }
  return answer(
      console, options.output, static_cast<ExitCode>(report.exit_status),
      [&] { return to_json(options, report); }, [&] { print(console, options, report); });
}

ExitCode run_paired(const Options& options, Console& console) {
  const auto result = read_results(options.result, console);
  if (!result) return console.error(result.error(), ExitCode::nothing_read);
  auto report = judge_pairs(options, *result);
  if (!report) return console.error(report.error());
  return conclude(
      options, *result, std::move(*report),
      [&](GateReport first, const ResultSet& rerun) {
        return confirm_paired(std::move(first), rerun, options.paired, options.gate);
      },
      console);
}

ExitCode run(const Options& given, Console& console) {
  Options options = given;
  if (const auto usage = check_usage(options); !usage) return console.error(usage.error());
  if (!options.waive.empty()) {
    auto waivers = read_waivers(options.waive);
    if (!waivers) return console.error(waivers.error());
    options.waivers = std::move(*waivers);
  }
  const GateOptions defaults;
  options.gate.floor = !std::isnan(options.floor) ? options.floor
                       : options.paired.empty()   ? defaults.floor
                                                  : kPairedFloor;
  if (!options.paired.empty()) return run_paired(options, console);
  // Two large files are read side by side.
  std::future<Result<ResultSet>> file =
      std::async(baseline_is_store(options) ? std::launch::deferred : std::launch::async,
                 [&options] { return read_results(options.baseline); });
  const auto result = read_results(options.result, console);
  if (!result) return console.error(result.error(), ExitCode::nothing_read);
  const auto runs = baseline_runs(
      options, *result,
      baseline_is_store(options) ? ResultSet{} : settled(file.get(), options.baseline, console));
  if (!runs) {
    Error error = runs.error();
    if (error.hint.empty()) {
      error.hint = "--baseline takes a result file, a run folder or a store (bertbench store add)";
    }
    return console.error(error, ExitCode::nothing_read);
  }
  return conclude(
      options, *result, check(*result, *runs, options.gate),
      [&](GateReport first, const ResultSet& rerun) {
        return confirm(std::move(first), rerun, *runs, options.gate);
      },
      console);
}

void declare(CommandLine& line, Options& options) {
  GateOptions& gate = options.gate;
  line.add_argument("RESULT", options.result,
                    "What was measured now: a result file, a run folder or its archive.");
  line.add_text("--baseline", options.baseline, "FILE-OR-DB",
                "What it is held against: a result file, a run folder or a store.");
  line.add_text("--paired", options.paired, "VARIANT",
                "In place of --baseline, of a sweep with variants: hold the others against this "
                "one, pair by pair.");
  add_share(line, "--floor", options.floor, "A smaller loss never fails.")
      .default_text("2%, of pairs 1.3%");
  add_share(line, "--memory-floor", gate.memory_floor,
            "A smaller growth of the peak memory never fails.")
      .default_text("5%");
  add_share(
      line, "--part-floor", gate.part_floor,
      "A part of a step (forward, backward, reduce, optimizer, data) that takes longer by less "
      "never fails.")
      .default_text("3%");
  add_share(line, "--alpha", gate.alpha, "Chance of a false alarm, over all cells together.")
      .default_text("0.05");
  line.add_list(
      "--allow-context", gate.allow_context, "KEY",
      "Compare although this key of the environment differs; repeatable, or all. loss: losses "
      "may differ.");
  line.add_flag("--allow-missing", gate.allow_missing,
                "A cell of the baseline that was not measured is no failure.");
  line.add_flag("--accept-inconclusive", gate.accept_inconclusive,
                "Cells that cannot be decided are no failure.");
  line.add_text(
      "--waive", options.waive, "FILE",
      "Losses that are accepted: a JSON file of cells, limits, reasons and expiry. They are "
      "shown, and do not fail within their limit until they expire.");
  line.add_output_file("--junit", options.junit, "FILE", "Write the verdicts as JUnit XML.");
  line.add_flag("--github", options.github,
                "Print annotations of GitHub Actions; add to $GITHUB_STEP_SUMMARY.");
  ConfirmOptions& confirm = options.confirm;
  line.add_text(
      "--confirm", confirm.config, "CONFIG",
      "Measure the flagged cells again by this sweep configuration; only what that repeats is a "
      "regression.");
  line.add_text("--confirm-out", confirm.out, "DIR", "Run folder of that, not used before.")
      .default_text("next to the result");
  line.add_list("--confirm-set", confirm.set, "KEY=VALUE", "As sweep --set; repeatable.");
  line.add_text(
      "--confirm-hosts", confirm.hosts, "HOSTS",
      "Measure again on these hosts: names with commas between them, or a hostfile; for the "
      "launchers ssh and mpi.");
  line.add_flag("--confirm-elsewhere", confirm.elsewhere,
                "Measure again on nodes of Slurm that the flagged cells did not run on.");
  line.add_text("--trainer", confirm.trainer, "PATH", "The bert_train of --confirm.")
      .default_text("next to bertbench, else on PATH");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench check run --baseline baseline.json",
     "Fails with status 1 if a cell became slower."},
    {"bertbench check run --baseline last --floor 5% --allow-context kernel",
     "Losses below 5 % pass, also after a kernel update."},
    {"bertbench check run --paired base",
     "Holds the other variants of a sweep against 'base': finds 2 %."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good, "no cell became slower, larger, another training, or fails more often"},
    {ExitCode::regression, "a regression, or a missing cell without --allow-missing"},
    {ExitCode::usage},
    {ExitCode::inconclusive, "a cell has too few trials to decide, or too noisy a baseline"},
    {ExitCode::not_comparable, "nothing was compared, or a cell in another context"},
    {ExitCode::nothing_read}};

}  // namespace

extern const Command entry{
    "check",
    "has anything become slower? verdicts and an exit status",
    "RESULT {--baseline FILE | --paired VARIANT}",
    "A cell regresses only when its loss exceeds the tolerance and an exact one-sided Mann-Whitney "
    "test over the trials passes Holm's correction over all cells. The tolerance is the larger of "
    "--floor and the noise of the baseline. A store gives the last 5 runs of this machine that "
    "hold a cell of the result. With --paired the trials of equal number are pairs, judged by an "
    "exact signed-rank test of their ratios. A cell also regresses when trials fail and those of "
    "the baseline did not, or clearly less often, when its peak memory grows beyond "
    "--memory-floor, when a part of its step takes longer by more than --part-floor, when more of "
    "its trials have a loss that is not finite, or when losses of one seed leave the tolerance of "
    "the precision. Of several statuses the first counts: 4 nothing compared, 1, 4 not comparable, "
    "3, 0.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_check
