// SweepRun, second half: launching, measuring, writing.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/sweep/sweep_run.h"
#include "reports/measure.h"
#include "reports/model/result_io.h"
#include "reports/render.h"

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

double mean(const std::vector<double>& values) {
  return values.empty() ? kUnknown
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json outcome_json(const Trial& trial, const AttemptEnd& end) {
  Json out = {{"status", name(trial.outcome.status)}};
  if (trial.outcome.step) out["step"] = *trial.outcome.step;
  if (trial.outcome.line) out["line"] = trial.outcome.line;
  if (!trial.outcome.detail.empty()) out["detail"] = trial.outcome.detail;
  if (end.exit && end.exit->code) out["exit_code"] = *end.exit->code;
  if (end.exit && end.exit->signal) out["signal"] = *end.exit->signal;
  out["seconds"] = end.seconds;
  out["log_bytes"] = end.log_bytes;
  out["window_covered"] = trial.window.covered;
  return out;
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

double SweepRun::eta(const PlannedTrial& now, double remaining_s) const {
  std::vector<double> all;
  for (const auto& [cell, seconds] : durations_) {
    all.insert(all.end(), seconds.begin(), seconds.end());
  }
  const double typical = mean(all);
  double total = 0;
  for (std::size_t i = position_; i < pending_.size(); ++i) {
    const auto it = durations_.find(pending_[i].trial.cell);
    total += it != durations_.end() ? mean(it->second) : typical;
  }
  const auto own = durations_.find(now.cell);
  if (std::isnan(remaining_s) && own != durations_.end()) remaining_s = mean(own->second);
  return total + remaining_s;  // NaN while nothing of the kind has been seen
}

Result<void> SweepRun::launch() {
  for (position_ = 1; position_ <= pending_.size(); ++position_) {
    if (stopping()) break;
    if (auto done = run_trial(pending_[position_ - 1]); !done) {
      // What was measured before the error is worth having; the first error is the one to tell.
      (void)write_results(true);
      (void)journal_->append({{"event", "closed"}, {"why", done.error().message()}});
      return done;
    }
    if (interrupted_) break;
    if (auto done = write_results(false); !done) return done;
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

Result<void> SweepRun::write_command(const Folder& folder, const PlannedTrial& trial,
                                     const std::vector<ProcessSpec>& processes) const {
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
  return folder.write("command.json", text_of(json));
}

Result<bool> SweepRun::run_one(const PlannedTrial& trial, int attempt,
                               std::vector<Notice>& earlier) {
  const auto& cell = plan_.cells[trial.cell];
  const auto path = attempt_path(trial, attempt);
  const auto folder = attempt_folder(trial, attempt);
  if (!folder) return tl::unexpected(folder.error());
  for (const char* old : {"outcome.json", "iterations.csv", "timings.jsonl"}) folder->remove(old);
  const auto log_fd = folder->create_log("log.txt");
  if (!log_fd) return tl::unexpected(log_fd.error());
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{*log_fd};

  const LaunchPlace place{folder->path(), free_port(), fmt::format("{}:{}", state_.run_id, path)};
  const auto processes = launcher_.processes(plan_, trial, place);
  if (!processes) return tl::unexpected(processes.error());
  const auto command = command_digest(trial);
  if (!command) return tl::unexpected(command.error());
  if (auto done = write_command(*folder, trial, *processes); !done) {
    return tl::unexpected(done.error());
  }
  const Json who = {{"cell", cell.key}, {"trial", trial.trial}, {"attempt", attempt}};
  Json started = {{"event", "started"}};
  started.update(who);
  started["command"] = *command;
  started["program"] = program_id_;
  if (auto done = journal_->append(started); !done) return tl::unexpected(done.error());

  auto progress = progress_of(trial, attempt);
  progress.eta_s = eta(trial, kUnknown);
  observer_.trial_started(progress);
  AttemptHooks hooks;
  hooks.stop = [this] { return options_.stop && options_.stop->load(); };
  hooks.launched = [&](const std::vector<ProcessId>& ids) {
    Json record = {{"event", "launched"}};
    record.update(who);
    record["processes"] = Json::array();
    for (const auto& id : ids) {
      record["processes"].push_back({{"pid", id.pid}, {"start_time", id.start_time}});
    }
    return journal_->append(record);
  };
  hooks.progress = [&](const LiveView& live, double elapsed) {
    progress.step = live.last_step.value_or(0);
    progress.sequences_per_second = live_rate(live, cell);
    progress.elapsed_s = elapsed;
    // Steps take alike, so what is left of this trial follows from its own pace.
    double remaining = kUnknown;
    if (progress.step > 0) {
      const double left = static_cast<double>(progress.steps - progress.step);
      remaining = std::max(0.0, elapsed * left / static_cast<double>(progress.step));
    }
    progress.eta_s = eta(trial, remaining);
    observer_.trial_progress(progress);
  };
  const AttemptLimits limits{plan_.config.timeout_s, plan_.config.stall_timeout_s, options_.grace_s,
                             options_.log_limit_bytes, options_.progress_s};
  const std::string log = path + "/log.txt";
  auto end =
      run_attempt(*processes, *log_fd, limits,
                  LogReader({plan_.workload.format, plan_.config.window}, root_->path_of(log)),
                  hooks, signals_);
  if (!end) return tl::unexpected(end.error());

  auto measured = measure_attempt(plan_, trial, attempt, end->runs, log);
  auto& result = measured.trial;
  const bool has_log = !end->runs.empty();
  std::optional<std::int64_t> last_step;
  for (const auto& run : end->runs) {
    if (!run.records.empty()) last_step = run.records.back().step;
  }
  result.outcome = join_outcomes(has_log ? std::optional(result.outcome) : std::nullopt, *end,
                                 plan_.config, last_step);
  if (end->escaped > 0) {
    result.notices.push_back(
        {0, fmt::format("{} processes that the trainer left behind were ended", end->escaped)});
  }
  result.notices.insert(result.notices.end(), earlier.begin(), earlier.end());
  if (end->cause == EndCause::stopped && !result.window.covered) {
    // Not the trial's fault: it has no end in the journal and is launched again on resume.
    interrupted_ = true;
    observer_.trial_finished(progress, result);
    return false;
  }
  interrupted_ = end->cause == EndCause::stopped;
  if (!measured.iterations_csv.empty()) {
    if (auto done = folder->write("iterations.csv", measured.iterations_csv); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (auto done = folder->write("outcome.json", text_of(outcome_json(result, *end))); !done) {
    return tl::unexpected(done.error());
  }
  Json finished = {{"event", "finished"}};
  finished.update(who);
  finished.update(outcome_json(result, *end));
  if (auto done = journal_->append(finished); !done) return tl::unexpected(done.error());
  const bool covered = result.window.covered;
  const bool again = !covered && worth_retrying(result.outcome, end->exit);
  earlier.push_back(
      {0, fmt::format("attempt {} ended with {}{}{}", attempt, name(result.outcome.status),
                      result.outcome.detail.empty() ? "" : ": ", result.outcome.detail)});
  if (covered) durations_[trial.cell].push_back(end->seconds);
  progress.elapsed_s = end->seconds;
  progress.step = last_step.value_or(progress.step);
  kept_[{trial.cell, trial.trial}] = Kept{std::move(measured)};
  observer_.trial_finished(progress, kept_[{trial.cell, trial.trial}].measured.trial);
  return again;
}

ResultSet SweepRun::collect() {
  MeasureOptions options;
  options.window = plan_.config.window;
  ResultBuilder builder(options);
  for (const auto& [id, kept] : kept_) {
    const auto& cell = plan_.cells[id.first];
    builder.add_trial(cell.identity, kept.measured.kind, kept.measured.trial);
    if (cell.emulated) builder.mark_emulated(cell.identity, kept.measured.kind);
  }
  auto result = builder.finish();
  result.environment = environment_;
  for (auto& cell : result.cells) {
    for (const auto& planned : plan_.cells) {
      if (planned.identity != cell.identity) continue;
      for (const auto& warning : planned.warnings) {
        if (std::find(cell.warnings.begin(), cell.warnings.end(), warning) == cell.warnings.end()) {
          cell.warnings.push_back(warning);
        }
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
  if (auto done = root_->write(std::string(kResultsFile), to_text(out.result)); !done) {
    return tl::unexpected(done.error());
  }
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
  for (const auto& trial : plan_.trials) {
    const auto it = kept_.find({trial.cell, trial.trial});
    const bool ran = it != kept_.end();
    const bool failed = ran ? !it->second.measured.trial.window.covered : !interrupted_;
    if (failed) ++out.failed_trials;
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
