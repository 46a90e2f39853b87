// SweepRun: taking over what earlier starts left in the run folder. A trial is done when its log
// says so, so every log is read again; on all cores, as there may be ten thousand of them.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "harness/sweep/batch_run.h"
#include "harness/sweep/proc_fs.h"
#include "harness/sweep/sweep_run.h"
#include "parsers/log_reader.h"

namespace bertbench {
namespace {

/// Size and time of change: a trainer built anew is another one, even at the same place.
std::string identity_of_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) < 0) return {};
  return fmt::format("{}-{}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/// False when the log is gone or has another size than when its trial finished.
bool log_is_whole(const std::string& path, std::int64_t bytes) {
  struct stat info {};
  if (stat(path.c_str(), &info) < 0) return errno != ENOENT && errno != ENOTDIR;
  return S_ISREG(info.st_mode) && bytes >= 0 && info.st_size == bytes;
}

bool holds_text(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
}

/// Calls work(i) for every i < count, on several threads when that pays.
template <class Work>
void for_each_index(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t most = std::min<std::size_t>(std::thread::hardware_concurrency(), 16);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(most, count / 64); ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // no thread to be had: this one does it all
    }
  }
  run();
  for (auto& thread : others) thread.join();
}

}  // namespace

Result<SweepRun::Found> SweepRun::look_at(const PlannedTrial& trial) const {
  Found found;
  const auto it = state_.trials.find({plan_.cells[trial.cell].key, trial.trial});
  if (it == state_.trials.end()) return found;
  const auto command = command_digest(trial);
  if (!command) return tl::unexpected(command.error());
  const auto& attempts = it->second;
  found.command_changed = true;
  for (auto a = attempts.rbegin(); a != attempts.rend() && !found.settled; ++a) {
    if (a->command != *command) continue;
    found.command_changed = false;
    if (!a->finished && launcher_.queue()) {
      const auto folder = attempt_folder(trial, a->attempt);
      if (!folder) return tl::unexpected(folder.error());
      if (auto job = BatchRun::job_of(*root_, *folder)) {
        found.job = std::move(*job);
        found.next_attempt = a->attempt;
        return found;
      }
    }
    const auto path = attempt_path(trial, a->attempt) + "/log.txt";
    const auto runs = read_log(root_->path_of(path), {plan_.workload.format, plan_.config.window});
    // A log that is whole and cannot be read now (EIO, no descriptors, no right) is not lost.
    if (a->covered && !runs && log_is_whole(root_->path_of(path), a->log_bytes)) {
      return tl::unexpected(runs.error());
    }
    // iterations.csv is not synced; after a crash of the machine it may be missing or empty.
    const bool again =
        runs && !holds_text(root_->path_of(attempt_path(trial, a->attempt)) + "/iterations.csv");
    auto measured = measure_attempt(plan_, trial, a->attempt, runs.value_or(std::vector<RunLog>{}),
                                    path, again ? IterationsText::yes : IterationsText::no);
    if (!measured.iterations_csv.empty()) {
      auto folder = attempt_folder(trial, a->attempt);
      if (folder) (void)folder->write_unsynced("iterations.csv", measured.iterations_csv);
      measured.iterations_csv.clear();
    }
    const bool covered = measured.trial.window.covered;
    if (a->finished && a->outcome) {
      measured.trial.outcome = *a->outcome;
    } else if (covered && is_failure(measured.trial.outcome.status)) {
      // The harness died between the window's end and the trainer's.
      measured.trial.outcome = {Status::killed, measured.trial.outcome.step, 0,
                                "the harness was ended before the trainer"};
    }
    const auto status = measured.trial.outcome.status;
    const bool final =
        a->finished && runs && (status == Status::out_of_memory || status == Status::nan);
    // The last failure stands in the report until a launch does better.
    if (!covered && a->finished && !found.measured) found.measured = measured;
    if (!covered && !final) continue;
    found.settled = true;
    found.seconds = a->seconds;
    if (a->finished) {
      const auto file = root_->path_of(attempt_path(trial, a->attempt) + "/outcome.json");
      const auto outcome = nlohmann::ordered_json::parse(proc::read_file(file), nullptr, false);
      if (outcome.is_object() && outcome.contains("telemetry")) {
        apply_telemetry(measured.trial, outcome["telemetry"]);
      }
    }
    if (!a->program.empty() && a->program != program_id_) {
      measured.trial.notices.push_back(
          {0, "measured with another build of the trainer than the one there now"});
    }
    found.measured = std::move(measured);
    if (launcher_.queue()) {
      const auto folder = attempt_folder(trial, a->attempt);
      if (folder && folder->holds("nodes")) {
        found.nodes = proc::read_file(folder->path_of("nodes"));
      }
    }
  }
  // An attempt that was cut short by the harness's own end is made again under its number.
  const auto& last = attempts.back();
  found.next_attempt = last.finished || last.command != *command ? last.attempt + 1 : last.attempt;
  return found;
}

Result<void> SweepRun::reuse() {
  program_id_ = identity_of_file(find_program(plan_.workload.program));
  std::set<CellTrial> selected;
  std::vector<PlannedTrial> trials = plan_.trials;
  for (const auto& trial : trials) selected.emplace(trial.cell, trial.trial);
  // --only leaves cells out of this start, not out of the result.
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    for (int trial = 1; trial <= plan_.config.trials; ++trial) {
      if (selected.contains({cell, trial})) continue;
      if (!state_.trials.contains({plan_.cells[cell].key, trial})) continue;
      trials.push_back({cell, trial});
    }
  }
  std::vector<Result<Found>> all(trials.size());
  for_each_index(trials.size(), [&](std::size_t i) { all[i] = look_at(trials[i]); });
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!all[i]) return tl::unexpected(all[i].error());
    auto& found = *all[i];
    const auto& trial = trials[i];
    if (found.command_changed) {
      observer_.notice(fmt::format("{} trial {}: its command has changed, so it is measured anew",
                                   plan_.cells[trial.cell].key, trial.trial));
    }
    if (found.settled && found.seconds > 0) durations_[trial.cell].push_back(found.seconds);
    if (found.measured) {
      kept_.insert_or_assign({trial.cell, trial.trial}, Kept{std::move(*found.measured)});
    }
    if (!found.settled && i < plan_.trials.size()) {
      pending_.push_back({trial, found.next_attempt, found.job});
    }
    if (!found.nodes.empty()) label_placement(trial, found.nodes);
  }
  std::set<std::string> keys, gone;
  for (const auto& cell : plan_.cells) keys.insert(cell.key);
  for (const auto& [name, attempts] : state_.trials) {
    if (!keys.contains(name.first)) gone.insert(name.first);
  }
  if (!gone.empty()) {
    observer_.notice(fmt::format("{} {} of the run folder {} not in this grid and {} left out: {}",
                                 gone.size(), gone.size() == 1 ? "cell" : "cells",
                                 gone.size() == 1 ? "is" : "are", gone.size() == 1 ? "is" : "are",
                                 fmt::join(gone, ", ")));
  }
  std::erase_if(pending_, [&](const Pending& one) { return settled(one.trial.cell); });
  SweepCounts counts;
  counts.planned = static_cast<int>(plan_.trials.size());
  counts.to_run = static_cast<int>(pending_.size());
  counts.reused = counts.planned - counts.to_run;
  observer_.plan_ready(plan_, counts);
  return {};
}

}  // namespace bertbench
