#include "harness/sweep/execute/sweep_results.h"

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/execute/adaptive.h"
#include "harness/sweep/observe/environment.h"
#include "reports/cells/cell_flops.h"
#include "reports/cells/result_builder.h"
#include "reports/model/result_io.h"
#include "reports/output/render.h"

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

// The file is written anew when it is this many times as old as it takes to write it.
constexpr double kAgePerCost = 20;

/// Neither is mended by a further launch.
bool stands(Status status) { return status == Status::out_of_memory || status == Status::nan; }

/// The GPU of all that are in `environment`, where they have one name.
std::string gpu_of_machine(const nlohmann::ordered_json& environment) {
  std::set<std::string> names;
  for (const auto& gpu : environment.value("gpus", nlohmann::ordered_json::array())) {
    names.insert(gpu.value("name", std::string()));
  }
  return names.size() == 1 ? *names.begin() : std::string();
}

void add_warnings(Cell& cell, const std::vector<Notice>& warnings) {
  for (const auto& warning : warnings) {
    if (std::find(cell.warnings.begin(), cell.warnings.end(), warning) == cell.warnings.end()) {
      cell.warnings.push_back(warning);
    }
  }
}

}  // namespace

const Trial& SweepResults::keep(const PlannedTrial& trial, MeasuredAttempt measured) {
  measured.iterations_csv.clear();  // it is in its file
  auto& kept = kept_[{trial.cell, trial.trial}];
  kept = std::move(measured);
  return kept.trial;
}

bool SweepResults::settled(std::size_t cell) const {
  const auto& config = sweep_.plan.config;
  if (!config.auto_trials) return false;
  std::vector<double> rates;
  int launches = 0;
  bool hopeless = false;
  for (auto it = kept_.lower_bound({cell, 0}); it != kept_.end() && it->first.first == cell; ++it) {
    const Trial& trial = it->second.trial;
    ++launches;
    if (trial.counts()) rates.push_back(*trial.sequences_per_second);
    hopeless = hopeless || stands(trial.outcome.status);
  }
  return enough_trials(rates, launches, hopeless,
                       {config.trials_min, config.trials, config.trials_interval});
}

ResultSet SweepResults::collect() const {
  const auto& plan = sweep_.plan;
  MeasureOptions options;
  options.window = plan.config.window;
  options.strong_scaling = plan.config.scaling == "strong";
  options.flops_formula = sweep_.options.flops_formula;
  ResultBuilder builder(options);
  std::map<std::string, std::set<std::string>> versions;
  std::map<std::string_view, std::set<std::string>> gpus;  // of the logs, by cell key
  for (const auto& [id, measured] : kept_) {
    const auto& cell = plan.cells[id.first];
    builder.add_trial(cell.identity, measured.kind, measured.trial);
    if (cell.emulated || !placement_.of(id.first).empty()) {
      builder.mark_emulated(cell.identity, measured.kind);
    }
    for (const auto& [name, value] : measured.versions) versions[name].insert(value);
    const auto gpu = measured.versions.find("gpu");
    if (gpu != measured.versions.end()) gpus[cell.key].insert(gpu->second);
  }
  auto result = builder.finish();
  result.environment = sweep_.environment;
  add_software(*result.environment, versions);
  // MFU needs the GPU: the one that the trainers' logs name, else this machine's where they ran on
  // it. A rank that stands in for a GPU has none.
  const std::string own =
      plan.config.launcher == "local" ? gpu_of_machine(*result.environment) : std::string();
  std::map<std::string_view, std::size_t> by_key;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) by_key.emplace(plan.cells[i].key, i);
  for (auto& cell : result.cells) {
    const auto named = gpus.find(cell.key);
    if (!cell.emulated) {
      if (named == gpus.end()) cell.gpu = own;
      if (named != gpus.end() && named->second.size() == 1) cell.gpu = *named->second.begin();
      if (!cell.gpu.empty()) count_flops(cell, options.flops_formula);
    }
    const auto index = by_key.find(cell.key);
    if (index == by_key.end()) continue;
    const auto& planned = plan.cells[index->second];
    if (!planned.command.empty()) (*cell.context)["command"] = planned.command;
    if (const auto& image = plan.config.slurm.container.image;
        plan.config.launcher == "slurm" && !image.empty()) {
      (*cell.context)["container"] = image;
    }
    if (!planned.threads.empty()) (*cell.context)["threads"] = planned.threads;
    if (planned.variant) (*cell.context)["variant"] = *planned.variant;
    if (!planned.phases.empty()) (*cell.context)["phases"] = planned.phases;
    add_warnings(cell, planned.warnings);
    add_warnings(cell, placement_.of(index->second));
  }
  return result;
}

Result<void> SweepResults::write(bool always) {
  const auto begin = Clock::now();
  const double age_s = std::chrono::duration<double>(begin - written_).count();
  if (!always && age_s < kAgePerCost * write_cost_s_) return {};
  auto done = sweep_.root.write(std::string(kResultsFile), to_text(collect()));
  written_ = Clock::now();
  write_cost_s_ = std::chrono::duration<double>(written_ - begin).count();
  return done;
}

void SweepResults::count_failures(SweepOutcome& out) const {
  for (const auto& trial : sweep_.plan.trials) {
    const auto it = kept_.find({trial.cell, trial.trial});
    const bool ran = it != kept_.end();
    if (!ran && settled(trial.cell)) continue;  // not needed any more
    if (ran && it->second.trial.window.covered) continue;
    const bool final = ran && stands(it->second.trial.outcome.status);
    if (!final) ++out.open_trials;
    if (!ran && out.interrupted) continue;  // not begun or cut short: no failure of its own
    ++out.failed_trials;
    if (final) ++out.settled_failures;
  }
}

Result<SweepOutcome> SweepResults::finish(bool interrupted) {
  SweepOutcome out;
  out.result = collect();
  out.interrupted = interrupted;
  const auto& root = sweep_.root;
  out.results_path = root.path_of(std::string(kResultsFile));
  // Two long texts of one result, made side by side.
  auto results = std::async(std::launch::async | std::launch::deferred, [&] {
    return root.write(std::string(kResultsFile), to_text(out.result));
  });
  auto report = find_report("html");
  if (!report) report = find_report("markdown");
  if (report) {
    const std::string file = "report" + std::string((*report)->extension);
    ReportOptions options;
    options.title = sweep_.plan.config.name;
    options.run_folder = root.path();
    const auto text = render_text(**report, out.result, options);
    if (!text) return tl::unexpected(text.error());
    if (auto done = root.write(file, *text); !done) return tl::unexpected(done.error());
    out.report_path = root.path_of(file);
  }
  if (auto done = results.get(); !done) return tl::unexpected(done.error());
  count_failures(out);
  out.exit_status = interrupted ? 130 : out.failed_trials > 0 ? 1 : 0;
  return out;
}

}  // namespace bertbench
