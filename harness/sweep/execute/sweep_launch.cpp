// SweepRun: the order of launches, and what is written at the end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

#include "harness/sweep/execute/batch_run.h"
#include "harness/sweep/execute/sweep_run.h"
#include "harness/sweep/observe/environment.h"
#include "reports/cells/cell_flops.h"
#include "reports/measure/measure.h"
#include "reports/model/result_io.h"
#include "reports/output/render.h"

namespace bertbench {
namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? kUnknown
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

}  // namespace

bool SweepRun::stopping() const {
  return signals_.count() > 0 || (options_.stop && options_.stop->load());
}

TrialProgress SweepRun::progress_of(const PlannedTrial& trial, int attempt) const {
  TrialProgress out;
  out.cell = &plan_.cells[trial.cell];
  out.trial = trial.trial;
  out.trials = plan_.config.trials;
  out.attempt = attempt;
  out.position = static_cast<int>(position_);
  out.to_run = static_cast<int>(pending_.size());
  out.steps = plan_.config.steps;
  return out;
}

double SweepRun::eta_of_later_trials() {
  // Asked at every redraw, and of thousands of trials at every start: a sum of now and then does.
  using Clock = std::chrono::steady_clock;
  const auto now = Clock::now();
  if (now - later_at_ < std::chrono::milliseconds(500)) return later_s_;
  std::map<std::size_t, double> means;
  double sum = 0, count = 0;
  for (const auto& [cell, seconds] : durations_) {
    means[cell] = mean(seconds);
    sum += means[cell] * static_cast<double>(seconds.size());
    count += static_cast<double>(seconds.size());
  }
  const double typical = count > 0 ? sum / count : kUnknown;
  double total = 0;
  for (std::size_t i = position_; i < pending_.size(); ++i) {
    const auto it = means.find(pending_[i].trial.cell);
    total += it != means.end() ? it->second : typical;
  }
  later_at_ = now;
  return later_s_ = total;
}

double SweepRun::eta(const PlannedTrial& now, double remaining_s) {
  const auto own = durations_.find(now.cell);
  if (std::isnan(remaining_s) && own != durations_.end()) remaining_s = mean(own->second);
  return eta_of_later_trials() + remaining_s;  // NaN while nothing of the kind has been seen
}

void SweepRun::tell_journal_notices() {
  const auto& notices = journal_->notices();
  for (; notices_told_ < notices.size(); ++notices_told_) observer_.notice(notices[notices_told_]);
}

Result<void> SweepRun::launch() {
  if (const auto* queue = launcher_.queue()) {
    auto done = BatchRun(*this, *queue).run();
    if (!done) {
      (void)write_results(true);
      (void)journal_->append({{"event", "closed"}, {"why", done.error().message()}});
    }
    return done;
  }
  for (position_ = 1; position_ <= pending_.size(); ++position_) {
    if (stopping()) break;
    if (settled(pending_[position_ - 1].trial.cell)) continue;
    const auto done = run_trial(pending_[position_ - 1]);
    tell_journal_notices();
    if (!done) {
      // What was measured before the error is worth having; the first error is the one to tell.
      (void)write_results(true);
      (void)journal_->append({{"event", "closed"}, {"why", done.error().message()}});
      return done;
    }
    if (interrupted_) break;
    if (auto written = write_results(false); !written) return written;
  }
  interrupted_ = interrupted_ || (stopping() && position_ <= pending_.size());
  return {};
}

Result<void> SweepRun::run_trial(Pending pending) {
  std::vector<Notice> earlier;
  const int last = pending.attempt + plan_.config.retries;
  for (int attempt = pending.attempt; attempt <= last; ++attempt) {
    const auto again = run_one(pending.trial, attempt, earlier);
    if (!again) return tl::unexpected(again.error());
    if (!*again || interrupted_ || stopping()) break;
  }
  return {};
}

namespace {

/// The GPU of all that are in `environment`, where they have one name.
std::string gpu_of_machine(const nlohmann::ordered_json& environment) {
  std::set<std::string> names;
  for (const auto& gpu : environment.value("gpus", nlohmann::ordered_json::array())) {
    names.insert(gpu.value("name", std::string()));
  }
  return names.size() == 1 ? *names.begin() : std::string();
}

}  // namespace

ResultSet SweepRun::collect() {
  MeasureOptions options;
  options.window = plan_.config.window;
  options.flops_formula = options_.flops_formula;
  ResultBuilder builder(options);
  for (const auto& [id, kept] : kept_) {
    const auto& cell = plan_.cells[id.first];
    builder.add_trial(cell.identity, kept.measured.kind, kept.measured.trial);
    if (cell.emulated || placement_.contains(id.first))
      builder.mark_emulated(cell.identity, kept.measured.kind);
  }
  auto result = builder.finish();
  result.environment = environment_;
  std::map<std::string, std::set<std::string>> versions;
  for (const auto& [id, kept] : kept_) {
    for (const auto& [name, value] : kept.measured.versions) versions[name].insert(value);
  }
  add_software(*result.environment, versions);
  std::map<std::string_view, const PlannedCell*> by_key;
  for (const auto& planned : plan_.cells) by_key.emplace(planned.key, &planned);
  // MFU needs the GPU: the one that the trainers' logs name, else this machine's where they ran on
  // it. A rank that stands in for a GPU has none.
  std::map<std::string_view, std::set<std::string>> gpus;
  for (const auto& [id, kept] : kept_) {
    const auto gpu = kept.measured.versions.find("gpu");
    if (gpu != kept.measured.versions.end()) gpus[plan_.cells[id.first].key].insert(gpu->second);
  }
  const std::string own =
      plan_.config.launcher == "local" ? gpu_of_machine(*result.environment) : std::string();
  for (auto& cell : result.cells) {
    if (cell.emulated) continue;
    const auto named = gpus.find(cell.key);
    if (named == gpus.end()) cell.gpu = own;
    if (named != gpus.end() && named->second.size() == 1) cell.gpu = *named->second.begin();
    if (!cell.gpu.empty()) count_flops(cell, options.flops_formula);
  }
  for (auto& cell : result.cells) {
    const auto planned = by_key.find(cell.key);
    if (planned == by_key.end()) continue;
    if (!planned->second->command.empty()) (*cell.context)["command"] = planned->second->command;
    if (!planned->second->threads.empty()) (*cell.context)["threads"] = planned->second->threads;
    auto warnings = planned->second->warnings;
    const auto index = static_cast<std::size_t>(planned->second - plan_.cells.data());
    if (const auto it = placement_.find(index); it != placement_.end()) {
      warnings.insert(warnings.end(), it->second.begin(), it->second.end());
    }
    for (const auto& warning : warnings) {
      if (std::find(cell.warnings.begin(), cell.warnings.end(), warning) == cell.warnings.end()) {
        cell.warnings.push_back(warning);
      }
    }
  }
  return result;
}

Result<void> SweepRun::write_results(bool always) {
  // Journal and logs are the truth; this file may lag a little when writing it gets expensive.
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const double age = std::chrono::duration<double>(begin - results_written_).count();
  if (!always && age < 20 * results_cost_s_) return {};
  auto done = root_->write(std::string(kResultsFile), to_text(collect()));
  results_written_ = Clock::now();
  results_cost_s_ = std::chrono::duration<double>(results_written_ - begin).count();
  return done;
}

Result<SweepOutcome> SweepRun::finish() {
  SweepOutcome out;
  out.result = collect();
  out.interrupted = interrupted_;
  out.results_path = root_->path_of(std::string(kResultsFile));
  // Two long texts of one result, made side by side.
  auto results = std::async(std::launch::async | std::launch::deferred, [&] {
    return root_->write(std::string(kResultsFile), to_text(out.result));
  });
  auto report = find_report("html");
  if (!report) report = find_report("markdown");
  if (report) {
    const std::string file = "report" + std::string((*report)->extension);
    ReportOptions options;
    options.title = plan_.config.name;
    options.run_folder = root_->path();
    const auto text = render_text(**report, out.result, options);
    if (!text) return tl::unexpected(text.error());
    if (auto done = root_->write(file, *text); !done) return tl::unexpected(done.error());
    out.report_path = root_->path_of(file);
  }
  if (auto done = results.get(); !done) return tl::unexpected(done.error());
  for (const auto& trial : plan_.trials) {
    const auto it = kept_.find({trial.cell, trial.trial});
    const bool ran = it != kept_.end();
    if (!ran && settled(trial.cell)) continue;  // not needed any more
    if (ran && it->second.measured.trial.window.covered) continue;
    const auto status = ran ? it->second.measured.trial.outcome.status : Status::killed;
    const bool stands = status == Status::out_of_memory || status == Status::nan;
    if (!stands) ++out.open_trials;
    if (!ran && interrupted_) continue;  // not begun or cut short, which is no failure of its own
    ++out.failed_trials;
    if (stands) ++out.settled_failures;
  }
  out.exit_status = interrupted_ ? 130 : out.failed_trials > 0 ? 1 : 0;
  if (auto done =
          journal_->append({{"event", "closed"}, {"why", interrupted_ ? "interrupted" : "done"}});
      !done) {
    return tl::unexpected(done.error());
  }
  return out;
}

}  // namespace bertbench
