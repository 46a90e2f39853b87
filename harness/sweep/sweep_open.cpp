// SweepRun, first half: opening the run folder and taking over what is there.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/sweep/environment.h"
#include "harness/sweep/proc_fs.h"
#include "harness/sweep/sweep_run.h"
#include "parsers/core/text.h"
#include "parsers/log_reader.h"
#include "reports/version.h"

namespace bertbench {
namespace {

/// Size and time of change: a trainer built anew is another one, even at the same place.
std::string identity_of_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) < 0) return {};
  return fmt::format("{}-{}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

Result<void> check_programs(const Plan& plan, const Launcher& launcher) {
  if (!launcher.runs) {
    return fail("launcher " + std::string(launcher.name), "is not built yet in this version",
                "use --launcher local, or --dry-run to see its commands");
  }
  if (!launcher.program.empty() && find_program(std::string(launcher.program)).empty()) {
    return fail("launcher " + std::string(launcher.name),
                fmt::format("{} is not on PATH", launcher.program), "install it");
  }
  if (find_program(plan.workload.program).empty()) {
    return fail(plan.workload.program, "the trainer program is missing or cannot be run",
                plan.workload.is_bert_train
                    ? "build it (scripts/quickstart), or name it with --trainer"
                    : "install it, or correct 'program' of the template");
  }
  if (launcher.check) {
    if (auto good = launcher.check(plan); !good) return good;
  }
  return check_format_name(plan.workload.format);
}

}  // namespace

SweepRun::SweepRun(const Plan& plan, const SweepOptions& options, SweepObserver& observer,
                   const Launcher& launcher)
    : plan_(plan),
      options_(options),
      observer_(observer),
      launcher_(launcher),
      signals_(options.handle_signals) {}

Result<void> SweepRun::open() {
  prepare_to_run_processes();
  if (auto good = check_programs(plan_, launcher_); !good) return good;
  auto root = Folder::make_root(options_.out);
  if (!root) return tl::unexpected(root.error());
  root_.emplace(std::move(*root));
  auto journal = Journal::open(*root_);
  if (!journal) return tl::unexpected(journal.error());
  journal_.emplace(std::move(*journal));
  if (auto good = root_->probe(std::size_t{256} << 10); !good) return good;
  for (const auto& text : journal_->notices()) observer_.notice(text);

  state_ = replay(journal_->records());
  if (state_.run_id.empty()) {
    if (!journal_->records().empty()) {
      return fail(root_->path_of("journal.jsonl"), "is no journal of a sweep", "use another --out");
    }
    state_.run_id = random_id();
  }
  const auto boot = boot_id();
  const auto known =
      state_.boot_id == boot ? state_.unfinished_processes() : std::vector<ProcessId>{};
  if (const int killed = kill_survivors(state_.run_id + ":", known); killed > 0) {
    observer_.notice(fmt::format("{} {} of an earlier start still ran and {} ended", killed,
                                 killed == 1 ? "process" : "processes",
                                 killed == 1 ? "was" : "were"));
  }

  const auto config = config_to_json(plan_.config);
  if (auto done = journal_->append({{"event", "opened"},
                                    {"run", state_.run_id},
                                    {"boot", boot},
                                    {"pid", getpid()},
                                    {"version", std::string(tool_version())},
                                    {"commit", std::string(tool_commit())},
                                    {"config", digest(config)}});
      !done) {
    return done;
  }
  if (auto done = root_->write("sweep.json", config); !done) return done;

  environment_ = capture_environment();
  const auto path = root_->path_of("environment.json");
  if (root_->holds("environment.json")) {
    // Trials of before were measured there; a resume elsewhere is said, not hidden.
    auto before = nlohmann::ordered_json::parse(proc::read_file(path), nullptr, false);
    if (before.is_object()) {
      for (const char* key : {"cpu", "cores", "memory_bytes"}) {
        if (before.contains(key) && environment_.contains(key) &&
            before[key] != environment_[key]) {
          observer_.notice(fmt::format("{}: '{}' was {} when the sweep began and is {} now", path,
                                       key, before[key].dump(), environment_[key].dump()));
        }
      }
      environment_ = std::move(before);
      return {};
    }
  }
  return root_->write("environment.json", environment_.dump(2) + "\n");
}

Result<std::string> SweepRun::command_digest(const PlannedTrial& trial) {
  // The canonical command: everything but what differs from launch to launch by nature.
  const auto processes = launcher_.processes(plan_, trial, {"<dir>", 0, ""});
  if (!processes) return tl::unexpected(processes.error());
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& one : *processes) {
    all.push_back({{"argv", one.argv}, {"set", one.set}, {"unset", one.unset}});
  }
  const auto text = all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return digest(fmt::format("{}\n{}", launcher_.name, text));
}

std::string SweepRun::attempt_path(const PlannedTrial& trial, int attempt) const {
  std::string path = fmt::format("{}/trial_{}", plan_.cells[trial.cell].folder, trial.trial);
  if (attempt > 1) path += fmt::format("/attempt_{}", attempt);
  return path;
}

Result<Folder> SweepRun::attempt_folder(const PlannedTrial& trial, int attempt) const {
  Result<Folder> folder = root_->child(plan_.cells[trial.cell].folder);
  if (folder) folder = folder->child(fmt::format("trial_{}", trial.trial));
  if (folder && attempt > 1) folder = folder->child(fmt::format("attempt_{}", attempt));
  return folder;
}

Result<void> SweepRun::reuse_trial(const PlannedTrial& trial, bool selected) {
  const auto& cell = plan_.cells[trial.cell];
  const auto it = state_.trials.find({cell.key, trial.trial});
  Pending pending{trial, 1};
  bool settled = false;
  if (it != state_.trials.end()) {
    const auto command = command_digest(trial);
    if (!command) return tl::unexpected(command.error());
    const auto& attempts = it->second;
    bool same_command = false;
    for (auto a = attempts.rbegin(); a != attempts.rend() && !settled; ++a) {
      if (a->command != *command) continue;
      same_command = true;
      const auto path = attempt_path(trial, a->attempt) + "/log.txt";
      auto runs = read_log(root_->path_of(path), {plan_.workload.format, plan_.config.window});
      auto measured =
          measure_attempt(plan_, trial, a->attempt, runs.value_or(std::vector<RunLog>{}), path);
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
      if (!covered && a->finished) {
        // The last failure stands in the report until a launch does better.
        if (!kept_.contains({trial.cell, trial.trial})) {
          kept_[{trial.cell, trial.trial}] = Kept{measured};
        }
      }
      if (!covered && !final) continue;
      settled = true;
      if (a->seconds > 0) durations_[trial.cell].push_back(a->seconds);
      if (!a->program.empty() && a->program != program_id_) {
        measured.trial.notices.push_back(
            {0, "measured with another build of the trainer than the one there now"});
      }
      kept_[{trial.cell, trial.trial}] = Kept{std::move(measured)};
    }
    if (!same_command) {
      observer_.notice(fmt::format("{} trial {}: its command has changed, so it is measured anew",
                                   cell.key, trial.trial));
    }
    // An attempt that was cut short by the harness's own end is made again under its number.
    const auto& last = attempts.back();
    pending.attempt = last.finished || last.command != *command ? last.attempt + 1 : last.attempt;
  }
  if (!settled && selected) pending_.push_back(pending);
  return {};
}

Result<void> SweepRun::reuse() {
  program_id_ = identity_of_file(find_program(plan_.workload.program));
  std::set<CellTrial> selected;
  SweepCounts counts;
  for (const auto& trial : plan_.trials) {
    selected.emplace(trial.cell, trial.trial);
    if (auto done = reuse_trial(trial, true); !done) return done;
  }
  // --only leaves cells out of this start, not out of the result.
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    for (int trial = 1; trial <= plan_.config.trials; ++trial) {
      if (selected.contains({cell, trial})) continue;
      if (!state_.trials.contains({plan_.cells[cell].key, trial})) continue;
      if (auto done = reuse_trial({cell, trial}, false); !done) return done;
    }
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
  counts.planned = static_cast<int>(plan_.trials.size());
  counts.to_run = static_cast<int>(pending_.size());
  counts.reused = counts.planned - counts.to_run;
  observer_.plan_ready(plan_, counts);
  return {};
}

}  // namespace bertbench
