// SweepRun: taking over what earlier starts left in the run folder. A trial is done when its log
// says so: a log that is not as it was when this program measured it is read again, on all cores,
// as there may be ten thousand of them.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/execute/batch_run.h"
#include "harness/sweep/execute/measured_outcome.h"
#include "harness/sweep/execute/sweep_run.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/parallel.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

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

}  // namespace

std::optional<MeasuredAttempt> SweepRun::recall(const AttemptState& attempt,
                                                const std::string& folder) const {
  if (!attempt.finished || !attempt.covered || attempt.log_stamp.empty()) return std::nullopt;
  if (own_id_.empty() || attempt.read_by != own_id_) return std::nullopt;
  const auto path = root_->path_of(folder);
  if (logs_stamp(path) != attempt.log_stamp) return std::nullopt;
  if (!holds_text(path + "/iterations.csv")) return std::nullopt;
  const auto text = proc::read_file(path + "/outcome.json");
  if (fmt::format("{:08x}", crc32c(text)) != attempt.outcome_crc) return std::nullopt;
  return read_measured_outcome(text, plan_);
}

/// The copy next to log.txt; where an earlier start did not live to make it, it is made now.
Result<std::vector<RunLog>> SweepRun::read_own_log(const PlannedTrial& trial, int attempt,
                                                   const ReadOptions& options) const {
  if (plan_.workload.logs.empty()) return std::vector<RunLog>{};
  const auto path = root_->path_of(attempt_path(trial, attempt));
  if (!holds_text(path + "/" + kTrainerLog)) {
    const auto names = own_logs(plan_, trial, {path, 0, ""});
    if (!names) return tl::unexpected(names.error());
    const auto found = names->first();
    if (found.empty()) return std::vector<RunLog>{};
    std::error_code ec;
    const auto bytes = std::filesystem::file_size(found, ec);
    const auto place = attempt_folder(trial, attempt);
    if (!place) return tl::unexpected(place.error());
    if (ec) return std::vector<RunLog>{};
    auto kept = place->keep(kTrainerLog, found, static_cast<std::int64_t>(bytes));
    if (!kept) return tl::unexpected(kept.error());
  }
  return read_log(path + "/" + kTrainerLog, options).value_or(std::vector<RunLog>{});
}

Result<SweepRun::ReadAgain> SweepRun::read_again(const PlannedTrial& trial,
                                                 const AttemptState& attempt,
                                                 const std::string& folder) const {
  const auto path = folder + "/log.txt";
  const ReadOptions options{plan_.workload.format, plan_.config.window};
  const auto printed = read_log(root_->path_of(path), options);
  auto own = read_own_log(trial, attempt.attempt, options);
  if (!own) return tl::unexpected(own.error());
  // A log that is whole and cannot be read now (EIO, no descriptors, no right) is not lost.
  if (attempt.covered && own->empty() && !printed &&
      log_is_whole(root_->path_of(path), attempt.log_bytes)) {
    return tl::unexpected(printed.error());
  }
  const bool legible = printed.has_value() || !own->empty();
  const auto said = choose_runs(std::move(*own), printed.value_or(std::vector<RunLog>{}));
  // iterations.csv is not synced; after a crash of the machine it may be missing or empty.
  const bool again = legible && !holds_text(root_->path_of(folder) + "/iterations.csv");
  ReadAgain out;
  out.measured = measure_attempt(plan_, trial, attempt.attempt, said.runs,
                                 said.own ? fmt::format("{}/{}", folder, kTrainerLog) : path,
                                 again ? IterationsText::yes : IterationsText::no);
  out.legible = legible;
  if (!out.measured.iterations_csv.empty()) {
    auto place = attempt_folder(trial, attempt.attempt);
    if (place) (void)place->write_unsynced("iterations.csv", out.measured.iterations_csv);
    out.measured.iterations_csv.clear();
  }
  return out;
}

Result<SweepRun::Reviewed> SweepRun::review(const PlannedTrial& trial,
                                            const AttemptState& attempt) const {
  const auto folder = attempt_path(trial, attempt.attempt);
  auto recalled = recall(attempt, folder);
  const bool known = recalled.has_value();
  auto read = known ? Result<ReadAgain>(ReadAgain{std::move(*recalled), true})
                    : read_again(trial, attempt, folder);
  if (!read) return tl::unexpected(read.error());
  Reviewed out{std::move(read->measured), false};
  Trial& result = out.measured.trial;
  const bool covered = result.window.covered;
  if (attempt.finished && attempt.outcome) {
    result.outcome = *attempt.outcome;
  } else if (covered && is_failure(result.outcome.status)) {
    // The harness died between the window's end and the trainer's.
    result.outcome = {
        Status::killed, result.outcome.step, 0, {make_notice(NoticeCode::harness_ended_first, 0)}};
  }
  const auto status = result.outcome.status;
  const bool final = attempt.finished && read->legible &&
                     (status == Status::out_of_memory || status == Status::nan);
  out.settles = covered || final;
  if (!out.settles) return out;
  if (attempt.finished && !known) {
    const auto file = root_->path_of(folder + "/outcome.json");
    const auto outcome = nlohmann::ordered_json::parse(proc::read_file(file), nullptr, false);
    if (outcome.is_object() && outcome.contains("telemetry")) {
      apply_telemetry(result, outcome["telemetry"]);
    }
  }
  if (!attempt.program.empty() && attempt.program != program_id_) {
    result.notices.push_back(make_notice(NoticeCode::trainer_build_changed, 0));
  }
  return out;
}

Result<SweepRun::Found> SweepRun::look_at(const PlannedTrial& trial,
                                          std::optional<std::string>& cells_command) const {
  Found found;
  const auto it = state_.trials.find({plan_.cells[trial.cell].key, trial.trial});
  if (it == state_.trials.end()) return found;
  if (!cells_command) {
    auto digest = command_digest(trial);
    if (!digest) return tl::unexpected(digest.error());
    cells_command = std::move(*digest);
  }
  const auto command = cells_command;
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
    auto reviewed = review(trial, *a);
    if (!reviewed) return tl::unexpected(reviewed.error());
    if (!reviewed->settles) {
      // The last failure stands in the report until a launch does better.
      if (a->finished && !found.measured) found.measured = std::move(reviewed->measured);
      continue;
    }
    found.settled = true;
    found.seconds = a->seconds;
    found.measured = std::move(reviewed->measured);
    if (launcher_.queue()) {
      const auto place = attempt_folder(trial, a->attempt);
      if (place && place->holds("nodes")) {
        found.nodes = proc::read_file(place->path_of("nodes"));
      }
    }
  }
  // An attempt that was cut short by the harness's own end is made again under its number.
  const auto& last = attempts.back();
  found.next_attempt = last.finished || last.command != *command ? last.attempt + 1 : last.attempt;
  return found;
}

/// This start's, then those of which earlier starts left something: --only leaves cells out of this
/// start, not out of the result.
std::vector<PlannedTrial> SweepRun::trials_to_report() const {
  std::vector<PlannedTrial> trials = plan_.trials;
  std::set<CellTrial> selected;
  for (const auto& trial : trials) selected.emplace(trial.cell, trial.trial);
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    for (int trial = 1; trial <= plan_.config.trials; ++trial) {
      if (selected.contains({cell, trial})) continue;
      if (!state_.trials.contains({plan_.cells[cell].key, trial})) continue;
      trials.push_back({cell, trial});
    }
  }
  return trials;
}

std::vector<Result<SweepRun::Found>> SweepRun::look_at_all(
    const std::vector<PlannedTrial>& trials) const {
  std::vector<Result<Found>> found(trials.size());
  std::vector<std::vector<std::size_t>> by_cell(plan_.cells.size());
  for (std::size_t i = 0; i < trials.size(); ++i) by_cell[trials[i].cell].push_back(i);
  const bool apart = plan_.config.seed_per_trial() || plan_.workload.placeholders.contains("trial");
  for_each_index(by_cell.size(), 16, [&](std::size_t cell) {
    std::optional<std::string> command;
    for (const auto i : by_cell[cell]) {
      if (apart) command.reset();
      found[i] = look_at(trials[i], command);
    }
  });
  return found;
}

/// `wanted`: by this start, which launches it unless it is settled.
void SweepRun::take_over(const PlannedTrial& trial, Found found, bool wanted) {
  if (found.command_changed) {
    observer_.notice(fmt::format("{} trial {}: its command has changed, so it is measured anew",
                                 plan_.cells[trial.cell].key, trial.trial));
  }
  if (found.settled && found.seconds > 0) durations_[trial.cell].push_back(found.seconds);
  if (found.measured) {
    kept_.insert_or_assign({trial.cell, trial.trial}, Kept{std::move(*found.measured)});
  }
  if (!found.settled && wanted) {
    pending_.push_back({trial, found.next_attempt, found.job});
  } else if (!found.job.empty()) {
    spared_jobs_.insert(found.job);
  }
  if (!found.nodes.empty()) label_placement(trial, found.nodes);
}

void SweepRun::tell_cells_left_out() {
  std::set<std::string> keys, gone;
  for (const auto& cell : plan_.cells) keys.insert(cell.key);
  for (const auto& [name, attempts] : state_.trials) {
    if (!keys.contains(name.first)) gone.insert(name.first);
  }
  if (gone.empty()) return;
  observer_.notice(fmt::format("{} {} of the run folder {} not in this grid and {} left out: {}",
                               gone.size(), gone.size() == 1 ? "cell" : "cells",
                               gone.size() == 1 ? "is" : "are", gone.size() == 1 ? "is" : "are",
                               fmt::join(gone, ", ")));
}

Result<void> SweepRun::reuse() {
  program_id_.clear();
  for (const auto& program : programs_of(plan_)) {
    program_id_ += (program_id_.empty() ? "" : "+") + program_stamp(find_program(program));
  }
  own_id_ = program_stamp("/proc/self/exe");
  const auto trials = trials_to_report();
  auto found = look_at_all(trials);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!found[i]) return tl::unexpected(found[i].error());
    take_over(trials[i], std::move(*found[i]), i < plan_.trials.size());
  }
  tell_cells_left_out();
  std::erase_if(pending_, [&](const Pending& one) { return settled(one.trial.cell); });
  SweepCounts counts;
  counts.planned = static_cast<int>(plan_.trials.size());
  counts.to_run = static_cast<int>(pending_.size());
  counts.reused = counts.planned - counts.to_run;
  observer_.plan_ready(plan_, counts);
  return {};
}

}  // namespace bertbench
