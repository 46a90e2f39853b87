// SweepRun: one attempt, from the record that it starts to the record of how it ended.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/sweep/execute/measured_outcome.h"
#include "harness/sweep/execute/sweep_run.h"
#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/plan/placement.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

/// A port that is free now. Two sweeps of one machine may draw the same one; then a rank fails to
/// listen and the trial is tried again with another.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 29500;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool good = bind(fd, raw, length) == 0 && getsockname(fd, raw, &length) == 0;
  close(fd);
  return good ? ntohs(address.sin_port) : 29500;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json outcome_json(const Trial& trial, const AttemptEnd& end) {
  Json out = {{"status", name(trial.outcome.status)}};
  if (trial.outcome.step) out["step"] = *trial.outcome.step;
  if (trial.outcome.line) out["line"] = trial.outcome.line;
  if (!trial.outcome.details.empty()) out["detail"] = detail_text(trial.outcome);
  if (end.exit && end.exit->code) out["exit_code"] = *end.exit->code;
  if (end.exit && end.exit->signal) out["signal"] = *end.exit->signal;
  out["seconds"] = end.seconds;
  out["log_bytes"] = end.log_bytes;
  out["window_covered"] = trial.window.covered;
  return out;
}

}  // namespace

OpenAttempt::OpenAttempt(PlannedTrial t, int number, std::string where, Folder f)
    : trial(t), attempt(number), path(std::move(where)), folder(std::move(f)) {}

OpenAttempt::OpenAttempt(OpenAttempt&& other) noexcept
    : trial(other.trial),
      attempt(other.attempt),
      path(std::move(other.path)),
      folder(std::move(other.folder)),
      log_fd(std::exchange(other.log_fd, -1)),
      place(std::move(other.place)),
      processes(std::move(other.processes)),
      own_logs(std::move(other.own_logs)),
      progress(other.progress),
      telemetry(std::move(other.telemetry)),
      training_told(other.training_told) {}

OpenAttempt::~OpenAttempt() {
  if (log_fd >= 0) close(log_fd);
}

Json OpenAttempt::who(const PlannedCell& cell) const {
  return {{"cell", cell.key}, {"trial", trial.trial}, {"attempt", attempt}};
}

Result<void> SweepRun::write_command(const Folder& folder, const PlannedTrial& trial,
                                     const std::vector<ProcessSpec>& processes,
                                     const std::vector<TrialFile>& files) const {
  const auto& cell = plan_.cells[trial.cell];
  Json json = {{"cell", cell.key},
               {"trial", trial.trial},
               {"launcher", std::string(launcher_.name)},
               {"world_size", cell.topology.world_size()}};
  json["processes"] = Json::array();
  for (const auto& one : processes) {
    Json set = Json::object();
    for (const auto& [key, value] : one.set) set[key] = value;
    json["processes"].push_back({{"argv", one.argv}, {"set", set}, {"unset", one.unset}});
  }
  for (const auto& file : files) json["files"][file.name] = file.text;
  return folder.write_unsynced("command.json", text_of(json));
}

void SweepRun::clear_attempt(const Folder& folder, const OwnLogs& own) const {
  for (const char* old :
       {"outcome.json", "iterations.csv", "timings.jsonl", kTrainingMark, kTrainerLog}) {
    folder.remove(old);
  }
  // A trainer that finds its checkpoints goes on from there. Of a link the link itself goes.
  std::error_code ec;
  for (const char* old : {kOutputFolder, kFilesFolder}) {
    std::filesystem::remove_all(folder.path_of(old), ec);
  }
  for (const auto& log : own.find()) std::filesystem::remove(log, ec);
}

Result<OpenAttempt> SweepRun::begin_attempt(const PlannedTrial& trial, int attempt) {
  auto folder = attempt_folder(trial, attempt);
  if (!folder) return tl::unexpected(folder.error());
  auto own = own_logs(plan_, trial, {folder->path(), 0, ""});
  if (!own) return tl::unexpected(own.error());
  clear_attempt(*folder, *own);
  OpenAttempt out(trial, attempt, attempt_path(trial, attempt), std::move(*folder));
  const auto log_fd = out.folder.create_log("log.txt");
  if (!log_fd) return tl::unexpected(log_fd.error());
  out.log_fd = *log_fd;
  out.own_logs = std::move(*own);

  out.place = {out.folder.path(), free_port(),
               // A job outlives the harness: resume must not take it for a survivor.
               fmt::format("{}{}:{}", launcher_.queue() ? "job:" : "", state_.run_id, out.path)};
  auto processes = launcher_.processes(plan_, trial, out.place);
  if (!processes) return tl::unexpected(processes.error());
  out.processes = std::move(*processes);
  const auto files = trial_files(plan_, trial, out.place);
  if (!files) return tl::unexpected(files.error());
  if (!plan_.workload.is_bert_train) {
    if (auto made = out.folder.child(kOutputFolder); !made) return tl::unexpected(made.error());
  }
  for (const auto& file : *files) {
    const auto into = out.folder.child(kFilesFolder);
    if (!into) return tl::unexpected(into.error());
    if (auto done = into->write(file.name, file.text); !done) return tl::unexpected(done.error());
  }
  const auto command = command_digest(trial);
  if (!command) return tl::unexpected(command.error());
  if (auto done = write_command(out.folder, trial, out.processes, *files); !done) {
    return tl::unexpected(done.error());
  }
  Json started = {{"event", "started"}};
  started.update(out.who(plan_.cells[trial.cell]));
  started["command"] = *command;
  started["program"] = program_id_;
  if (auto done = journal_->append(started); !done) return tl::unexpected(done.error());
  out.progress = progress_of(trial, attempt);
  out.progress.eta_s = eta(trial, kUnknown);
  return out;
}

Result<OpenAttempt> SweepRun::take_over_attempt(const PlannedTrial& trial, int attempt) {
  auto folder = attempt_folder(trial, attempt);
  if (!folder) return tl::unexpected(folder.error());
  OpenAttempt out(trial, attempt, attempt_path(trial, attempt), std::move(*folder));
  const auto log_fd = out.folder.open_append("log.txt");
  if (!log_fd) return tl::unexpected(log_fd.error());
  out.log_fd = *log_fd;
  auto own = own_logs(plan_, trial, {out.folder.path(), 0, ""});
  if (!own) return tl::unexpected(own.error());
  out.own_logs = std::move(*own);
  out.progress = progress_of(trial, attempt);
  return out;
}

void SweepRun::label_placement(const PlannedTrial& trial, const std::string& nodes) {
  const auto& cell = plan_.cells[trial.cell];
  auto& known = placement_[trial.cell];
  for (auto& warning : placement_warnings(plan_, cell, parse_nodes(nodes))) {
    if (std::find(known.begin(), known.end(), warning) == known.end()) {
      observer_.notice(fmt::format("{}: {}", cell.key, text_of(warning)));
      known.push_back(std::move(warning));
    }
  }
  if (known.empty()) placement_.erase(trial.cell);
}

TrialLogs::Readers SweepRun::readers_of(const OpenAttempt& attempt) const {
  const ReadOptions options{plan_.workload.format, plan_.config.window};
  return [options, folder = root_->path_of(attempt.path)](const std::string& file) {
    return LogReader(options, folder + "/" + file);
  };
}

void SweepRun::tell_progress(OpenAttempt& attempt, const LiveView& live, double elapsed) {
  auto& progress = attempt.progress;
  progress.step = live.last_step.value_or(0);
  if (live.last_step && launcher_.watches_nodes && !attempt.training_told) {
    attempt.training_told = attempt.folder.write_unsynced(kTrainingMark, "").has_value();
  }
  progress.sequences_per_second = live_rate(live, plan_.cells[attempt.trial.cell]);
  progress.elapsed_s = elapsed;
  // Steps take alike, so what is left of this trial follows from its own pace, but for the first
  // one: a start and a compilation of minutes precede it.
  double remaining = kUnknown;
  if (progress.step > 0) {
    if (!attempt.first_step_at) attempt.first_step_at = {progress.step, elapsed};
    const auto [first, first_s] = *attempt.first_step_at;
    const auto left = static_cast<double>(progress.steps - progress.step);
    if (left <= 0) {
      remaining = 0;
    } else if (progress.step > first) {
      remaining = left * (elapsed - first_s) / static_cast<double>(progress.step - first);
    }
  }
  progress.eta_s = eta(attempt.trial, remaining);
  observer_.trial_progress(progress);
}

Result<bool> SweepRun::run_one(const PlannedTrial& trial, int attempt,
                               std::vector<Notice>& earlier) {
  auto open = begin_attempt(trial, attempt);
  if (!open) return tl::unexpected(open.error());
  if (launcher_.nodes) {
    const auto nodes = launcher_.nodes();
    if (auto done = open->folder.write("nodes", nodes); !done) return tl::unexpected(done.error());
    label_placement(trial, nodes);
  }
  observer_.trial_started(open->progress);
  const auto telemetry = telemetry_of(trial);
  AttemptHooks hooks;
  struct Files {
    std::vector<int> fds;
    ~Files() {
      for (const int fd : fds) close(fd);
    }
  } said;
  if (launcher_.samplers && !sampler_program().empty()) {
    for (auto& sampler : launcher_.samplers(plan_, trial, open->place)) {
      const auto fd = open->folder.create_log(node_file(sampler.node));
      if (!fd) return tl::unexpected(fd.error());
      said.fds.push_back(*fd);
      hooks.helpers.push_back({std::move(sampler.process), *fd});
    }
  }
  hooks.stop = [this] { return options_.stop && options_.stop->load(); };
  hooks.launched = [&](const std::vector<ProcessId>& ids) {
    Json record = {{"event", "launched"}};
    record.update(open->who(plan_.cells[trial.cell]));
    record["processes"] = Json::array();
    std::vector<pid_t> ranks;
    for (const auto& id : ids) {
      record["processes"].push_back({{"pid", id.pid}, {"start_time", id.start_time}});
      ranks.push_back(id.pid);
    }
    if (telemetry) telemetry->watch(std::move(ranks));
    return journal_->append(record);
  };
  hooks.progress = [&](const LiveView& live, double elapsed) {
    if (telemetry) telemetry->sample(live.last_step.has_value());
    tell_progress(*open, live, elapsed);
  };
  const AttemptLimits limits{plan_.config.timeout_s, plan_.config.stall_timeout_s, options_.grace_s,
                             plan_.config.log_limit_bytes, options_.progress_s};
  const auto end =
      run_attempt(open->processes, open->log_fd, limits,
                  TrialLogs(open->log_fd, open->own_logs, readers_of(*open)), hooks, signals_);
  if (!end) return tl::unexpected(end.error());
  if (telemetry) open->telemetry = telemetry->finish();
  take_telemetry_of_nodes(*open);
  if (launcher_.end_leftovers && end->cause != EndCause::exited) {
    launcher_.end_leftovers(state_.run_id);
  }
  return end_attempt(*open, *end, earlier);
}

Result<MeasuredAttempt> SweepRun::measure_ended(OpenAttempt& open, const AttemptEnd& end,
                                                std::optional<std::int64_t> last_step) const {
  auto measured =
      measure_attempt(plan_, open.trial, open.attempt, end.runs,
                      fmt::format("{}/{}", open.path, end.own_log ? kTrainerLog : "log.txt"));
  auto& result = measured.trial;
  const bool has_log = !end.runs.empty();
  result.outcome = join_outcomes(has_log ? std::optional(result.outcome) : std::nullopt, end,
                                 plan_.config, last_step);
  if (end.log_cuts > 0) {
    result.notices.push_back(make_notice(NoticeCode::log_cut_while_running, 0));
  }
  if (!end.own_path.empty()) {
    auto kept = open.folder.keep(kTrainerLog, end.own_path, end.own_bytes);
    if (!kept) return tl::unexpected(kept.error());
  }
  const auto restored = open.folder.restore("log.txt", open.log_fd);
  if (!restored) return tl::unexpected(restored.error());
  if (*restored) {
    result.notices.push_back(make_notice(NoticeCode::log_replaced_while_running, 0));
  }
  if (end.escaped > 0) {
    result.notices.push_back(
        make_notice(NoticeCode::processes_left_behind, 0,
                    end.escaped == 1 ? "a process" : fmt::format("{} processes", end.escaped),
                    end.escaped == 1 ? "was" : "were"));
  }
  apply_telemetry(result, open.telemetry);
  return measured;
}

Result<void> SweepRun::record_end(const OpenAttempt& open, const AttemptEnd& end,
                                  const MeasuredAttempt& measured) {
  if (!measured.iterations_csv.empty()) {
    if (auto done = open.folder.write_unsynced("iterations.csv", measured.iterations_csv); !done) {
      return done;
    }
  }
  Json outcome = outcome_json(measured.trial, end);
  Json finished = {{"event", "finished"}};
  finished.update(open.who(plan_.cells[open.trial.cell]));
  finished.update(outcome);
  if (!open.telemetry.is_null()) outcome["telemetry"] = open.telemetry;
  const auto text = outcome_text(outcome, plan_, open.trial.cell, measured);
  if (auto done = open.folder.write("outcome.json", text); !done) return done;
  finished["log"] = logs_stamp(open.folder.path());
  finished["outcome"] = fmt::format("{:08x}", crc32c(text));
  return journal_->append(finished);
}

Result<bool> SweepRun::end_attempt(OpenAttempt& open, const AttemptEnd& end,
                                   std::vector<Notice>& earlier) {
  const auto& trial = open.trial;
  auto& progress = open.progress;
  std::optional<std::int64_t> last_step;
  for (const auto& run : end.runs) {
    if (!run.records.empty()) last_step = run.records.back().step;
  }
  auto measured = measure_ended(open, end, last_step);
  if (!measured) return tl::unexpected(measured.error());
  auto& result = measured->trial;
  result.notices.insert(result.notices.end(), earlier.begin(), earlier.end());
  const bool covered = result.window.covered;
  interrupted_ = end.cause == EndCause::stopped;
  if (interrupted_ && !covered) {
    // Not the trial's fault: it has no end in the journal and is launched again on resume.
    observer_.trial_finished(progress, result);
    return false;
  }
  if (auto done = record_end(open, end, *measured); !done) return tl::unexpected(done.error());
  const bool again =
      !covered && end.cause != EndCause::log_limit && worth_retrying(result.outcome, end.exit);
  earlier.push_back(make_notice(
      NoticeCode::attempt_before, 0, open.attempt,
      fmt::format("{}{}{}", name(result.outcome.status), result.outcome.details.empty() ? "" : ": ",
                  detail_text(result.outcome))));
  if (covered) durations_[trial.cell].push_back(end.seconds);
  progress.elapsed_s = end.seconds;
  progress.step = last_step.value_or(progress.step);
  measured->iterations_csv.clear();  // it is in its file
  auto& kept = kept_[{trial.cell, trial.trial}];
  kept.measured = std::move(*measured);
  observer_.trial_finished(progress, kept.measured.trial);
  return again;
}

}  // namespace bertbench
