#include "harness/cli/confirm_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/number_text.h"
#include "harness/sweep/config/config.h"
#include "harness/sweep/config/hosts.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/plan/pair_stopping.h"
#include "harness/sweep/plan/placement.h"
#include "harness/sweep/plan/plan.h"
#include "harness/sweep/process/folder.h"
#include "parsers/core/text.h"
#include "reports/output/render.h"

namespace bertbench {
namespace {

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

/// The hosts that the configuration of a run gave a cell of so many nodes; none where its launcher
/// takes none.
std::vector<std::string> configured_hosts(const std::string& run_folder, std::int64_t nodes) {
  const auto text = read_text((fs::path(run_folder) / "sweep.json").string());
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object()) return {};
  const auto launcher = json.find("launcher"), hosts = json.find("hosts");
  const bool takes_hosts =
      launcher != json.end() && (*launcher == "ssh" || *launcher == "mpi") && hosts != json.end();
  if (!takes_hosts || !hosts->is_array()) return {};
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
/// they are not known. What a file says is no more than names.
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
  if (!options.hosts.empty()) {
    if (config.launcher != "ssh" && config.launcher != "mpi") {
      return fail("--confirm-hosts", fmt::format("launcher {} takes no hosts", config.launcher),
                  config.launcher == "slurm" ? "give --confirm-elsewhere: Slurm chooses the nodes"
                                             : "ssh and mpi do (--confirm-set launcher=ssh)");
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
  if (config.launcher != "slurm") {
    return fail("--confirm-elsewhere",
                fmt::format("asks Slurm for other nodes; the launcher is {}", config.launcher),
                "name them: --confirm-hosts");
  }
  if (std::getenv("SLURM_JOB_ID") != nullptr) {
    return fail("--confirm-elsewhere", "this allocation has no other nodes",
                "run the check outside an allocation");
  }
  if (used.empty()) {
    return fail("--confirm-elsewhere", "the nodes of the flagged cells are not known",
                "give the run folder as RESULT, as the sweep left it");
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  auto& args = config.slurm.args;
  const auto excluded =
      std::ranges::find_if(args, [](const auto& arg) { return arg.starts_with("--exclude="); });
  if (excluded == args.end()) {
    args.push_back(fmt::format("--exclude={}", fmt::join(used, ",")));
  } else {
    *excluded += fmt::format(",{}", fmt::join(used, ","));
  }
  return {};
}

}  // namespace

Result<GateReport> confirm_by_rerun(GateReport first, const ResultSet& measured,
                                    const std::string& result, const Decide& decide,
                                    const ConfirmOptions& options, Console& console) {
  const auto flagged = flagged_cells(first);
  if (flagged.empty()) {
    console.status("nothing to confirm: no cell is a regression");
    return first;
  }
  auto config = load_config(options.config, options.set);
  if (!config) return tl::unexpected(config.error());
  const std::string folder = run_folder_of(result);
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
  if (const auto rule = stopping_rule_for(*plan); rule && options.fits) {
    if (const auto fits = options.fits(*rule); !fits) return tl::unexpected(fits.error());
  }
  SweepOptions sweep;
  sweep.probe_s = kProbe_s;
  sweep.out = options.out.empty() ? fresh_folder(result) : options.out;
  std::error_code ignored;
  if (fs::exists(fs::path(sweep.out) / "journal.jsonl", ignored)) {
    return fail("--confirm-out " + sweep.out, "holds a sweep already",
                "name a new folder: a confirmation is measured anew");
  }
  console.status(fmt::format("confirming {} in {}",
                             counted(static_cast<long long>(held.size()), "flagged cell"),
                             sweep.out));
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

}  // namespace bertbench
