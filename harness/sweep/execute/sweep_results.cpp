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
#include "reports/gate/paired.h"
#include "reports/model/result_io.h"
#include "reports/output/render.h"

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

// The file is written anew when it is this many times as old as it takes to write it.
constexpr double kAgePerCost = 20;

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

const Trial& SweepResults::keep(const PlannedTrial& trial, MeasuredAttempt measured, Retry retry) {
  measured.iterations_csv.clear();  // it is in its file
  const std::pair id{trial.cell, trial.trial};
  retry == Retry::pending ? void(pending_.insert(id)) : void(pending_.erase(id));
  auto& kept = kept_[id];
  kept = std::move(measured);
  return kept.trial;
}

const Trial* SweepResults::decided(std::size_t cell, int trial) const {
  const auto it = kept_.find({cell, trial});
  return it == kept_.end() || pending_.contains(it->first) ? nullptr : &it->second.trial;
}

bool SweepResults::hopeless(std::size_t cell) const {
  return begins_hopeless([&](int number) { return decided(cell, number); });
}

/// Takes the looks whose blocks all cells that go on have measured. A pure function of the trials
/// up to them, whenever it is called: a resumed sweep ends the same cells.
void SweepResults::look_at_pairs() {
  const auto& plan = sweep_.plan;
  std::map<std::size_t, std::set<std::size_t>> points;  // cells of this start, by point
  for (const auto& trial : plan.trials) {
    points[plan.cells[trial.cell].grid_point].insert(trial.cell);
  }
  const auto is_base = [&](std::size_t cell) {
    return plan.cells[cell].identity.axes.at(kVariantAxis) == rule_->base;
  };
  for (const auto& [point, cells] : points) {
    std::size_t others = 0, lost = 0;
    bool base_lost = false;
    for (const std::size_t cell : cells) {
      const bool gone = hopeless(cell);
      base_lost = base_lost || (gone && is_base(cell));
      if (is_base(cell)) continue;
      ++others;
      lost += gone ? 1 : 0;
    }
    if (base_lost || (others > 0 && lost == others)) ended_points_.insert(point);
  }
  while (looks_ + 1 < rule_->looks.size()) {
    std::map<std::size_t, std::set<std::string>> going_on;  // keys by point, of the others
    for (const auto& [point, cells] : points) {
      if (ended_points_.contains(point)) continue;
      auto& keys = going_on[point];
      for (const std::size_t cell : cells) {
        if (hopeless(cell)) continue;
        for (int number = 1; number <= rule_->looks[looks_]; ++number) {
          if (decided(cell, number) == nullptr) return;
        }
        if (!is_base(cell)) keys.insert(plan.cells[cell].key);
      }
    }
    if (going_on.empty()) return;
    const std::set<std::string> ended = ended_pairs(collect(), *rule_, ++looks_);
    for (const auto& [point, keys] : going_on) {
      if (std::ranges::includes(ended, keys)) ended_points_.insert(point);
    }
  }
}

std::vector<std::size_t> SweepResults::settled_with(std::size_t cell) {
  if (!rule_) return settled(cell) ? std::vector{cell} : std::vector<std::size_t>{};
  look_at_pairs();
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sweep_.plan.cells.size(); ++i) {
    if (settled(i) && given_out_.insert(i).second) out.push_back(i);
  }
  return out;
}

bool SweepResults::settled(std::size_t cell) const {
  const auto& config = sweep_.plan.config;
  if (!config.auto_trials) return false;
  if (rule_) return ended_points_.contains(sweep_.plan.cells[cell].grid_point) || hopeless(cell);
  std::vector<double> rates;
  int launches = 0;
  bool hopeless = false;
  for (auto it = kept_.lower_bound({cell, 0}); it != kept_.end() && it->first.first == cell; ++it) {
    const Trial& trial = it->second.trial;
    ++launches;
    if (trial.counts()) rates.push_back(*trial.sequences_per_second);
    hopeless = hopeless || repeats_if_launched_again(trial.outcome.status);
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
    if (cell.emulated || placement_.emulated(id.first)) {
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
  const std::string own = plan.launcher->hosts == RankHosts::this_machine
                              ? gpu_of_machine(*result.environment)
                              : std::string();
  const std::string image = plan.launcher->image ? plan.launcher->image(plan.config) : "";
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
    if (!image.empty()) (*cell.context)["container"] = image;
    if (!planned.threads.empty()) (*cell.context)["threads"] = planned.threads;
    if (planned.variant) (*cell.context)["variant"] = *planned.variant;
    if (sweep_.plan.config.turn_s > 0) (*cell.context)["turn_s"] = sweep_.plan.config.turn_s;
    if (!planned.phases.empty()) (*cell.context)["phases"] = planned.phases;
    if (rule_) (*cell.context)[kStoppingKey] = to_json(*rule_);
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
    const auto status = ran ? it->second.trial.outcome.status : Status::no_data;
    const bool covered = ran && it->second.trial.window.covered;
    // A window may hold no time: what was measured is then nothing.
    if (covered && it->second.trial.rate() && !ended_badly(status)) continue;
    // A trial whose window is covered has its number, however it ended: it is not run again.
    const bool final = covered || (ran && repeats_if_launched_again(status));
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
    if (auto done = root.write(file, render_text(**report, out.result, options)); !done)
      return tl::unexpected(done.error());
    out.report_path = root.path_of(file);
  }
  if (auto done = results.get(); !done) return tl::unexpected(done.error());
  count_failures(out);
  out.exit_status = interrupted ? 130 : out.failed_trials > 0 ? 1 : 0;
  return out;
}

}  // namespace bertbench
