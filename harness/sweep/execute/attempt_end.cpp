#include "harness/sweep/execute/attempt_end.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ranges>
#include <utility>

#include "harness/sweep/execute/measured_outcome.h"
#include "harness/sweep/observe/telemetry.h"
#include "parsers/core/crc32c.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

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

Outcome outcome_of(Status status, std::vector<Notice> details, const std::optional<Outcome>& log,
                   std::optional<std::int64_t> last_step) {
  Outcome out{status, last_step, 0, std::move(details)};
  // That the log was cut follows from the cause; a message of the trainer explains more.
  const bool message = log && is_failure(log->status) && log->status != Status::truncated &&
                       log->status != Status::no_data;
  if (message) {
    // The log's own message explains more than "exit status 1".
    out.line = log->line;
    if (log->step) out.step = log->step;
    out.details.insert(out.details.end(), log->details.begin(), log->details.end());
  }
  return out;
}

Outcome judge(const std::optional<Outcome>& log, const AttemptEnd& end, const SweepConfig& config,
              std::int64_t steps, std::optional<std::int64_t> last_step) {
  const auto joined = [&](Status status, std::vector<Notice> details) {
    return outcome_of(status, std::move(details), log, last_step);
  };
  const auto exited = [](std::string text) {
    return std::vector{make_notice(NoticeCode::exit_status, 0, std::move(text))};
  };
  switch (end.cause) {
    case EndCause::not_started:
      return {
          Status::error, std::nullopt, 0, {make_notice(NoticeCode::not_started, 0, end.detail)}};
    case EndCause::stopped:
      return joined(Status::killed, {make_notice(NoticeCode::stopped_by_user, 0)});
    case EndCause::timeout:
      return joined(Status::timeout, {make_notice(NoticeCode::ran_too_long, 0, config.timeout_s)});
    case EndCause::stalled:
      return joined(Status::stalled, {make_notice(NoticeCode::no_output, 0,
                                                  fmt::format("{} s", config.stall_timeout_s))});
    case EndCause::log_limit:
      return joined(Status::error,
                    {make_notice(NoticeCode::log_too_long, 0, config.log_limit_bytes)});
    case EndCause::lost:
      return joined(end.lost_as, {make_notice(NoticeCode::lost, 0, end.detail)});
    case EndCause::exited:
      break;
  }
  const auto exit = end.exit.value_or(ExitStatus{});
  const bool log_oom = log && log->status == Status::out_of_memory;
  if (log_oom || exit.code == 12) {
    return joined(Status::out_of_memory,
                  exit.code == 12 ? exited(exit.str()) : std::vector<Notice>{});
  }
  if (log && log->status == Status::nan) return *log;
  if (const auto launcher = find_launcher(config.launcher); launcher && (*launcher)->name_exit) {
    if (const auto text = (*launcher)->name_exit(exit); !text.empty()) {
      return joined(Status::error, exited(exit.str() + ": " + text));
    }
  }
  if (exit.signal) {
    const int number = *exit.signal;
    if (number == SIGKILL && end.kernel_oom) {
      return joined(Status::out_of_memory, {make_notice(NoticeCode::kernel_out_of_memory, 0)});
    }
    const bool sent = number == SIGKILL || number == SIGTERM || number == SIGINT ||
                      number == SIGHUP || number == SIGQUIT;
    return joined(sent ? Status::killed : Status::error, exited(exit.str()));
  }
  // A launcher between us and the trainer reports a signal as 128 + its number.
  if (exit.code == 128 + SIGKILL && end.kernel_oom) {
    return joined(Status::out_of_memory, {make_notice(NoticeCode::kernel_out_of_memory, 0)});
  }
  if (exit.code && *exit.code != 0) {
    // A launcher ends the other ranks by a signal when one has failed, which the log names.
    const bool after_error = *exit.code == 143 && log && log->status == Status::error;
    const bool sent = !after_error && (*exit.code == 130 || *exit.code == 137 || *exit.code == 143);
    return joined(sent ? Status::killed : Status::error, exited(exit.str()));
  }
  if (!log) return {Status::no_data, std::nullopt, 0, {make_notice(NoticeCode::no_known_line, 0)}};
  const auto nothing_read = [](const Notice& detail) {
    return detail.code == NoticeCode::no_step || detail.code == NoticeCode::no_known_line;
  };
  // Closing words alone ("Training finished") do not show that the trainer trained.
  if (!is_failure(log->status) && std::ranges::any_of(log->details, nothing_read)) {
    return {Status::no_data, std::nullopt, log->line, log->details};
  }
  // Formats without a closing line cannot distinguish a whole log from a cut one; exit status 0
  // can.
  const std::int64_t asked = config.asks_for_steps() ? steps : 0;
  if (log->status == Status::truncated && last_step.value_or(-1) >= asked) {
    return {Status::completed, last_step, 0, {}};
  }
  return *log;
}

/// The last line of a log that is not empty, as far as it shows in a row of a table. What Open MPI
/// prints between rules of dashes when a rank has failed comes after the reason and is left out.
std::string last_line(int fd) {
  constexpr off_t kTail = 4096;
  constexpr std::size_t kShown = 300;        // bytes
  constexpr std::size_t kShortestRule = 20;  // dashes
  struct stat info {};
  if (fstat(fd, &info) != 0) return {};
  std::string tail(static_cast<std::size_t>(std::min<off_t>(info.st_size, kTail)), '\0');
  const ssize_t got = pread(fd, tail.data(), tail.size(), info.st_size - std::ssize(tail));
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  std::string_view last;  // also between rules, where nothing else is there
  bool between_rules = false;
  std::ranges::replace(tail, '\r', '\n');
  for (const auto whole : split(tail, '\n') | std::views::reverse) {
    const std::string_view line = trim(whole);
    if (line.empty()) continue;
    if (line.size() > kShortestRule && line.find_first_not_of('-') == line.npos) {
      between_rules = !between_rules;
      continue;
    }
    if (last.empty() || !between_rules) last = line;
    if (!between_rules) break;
  }
  return std::string(last.substr(0, kShown));
}

/// An error of a trainer that never began has no line that explains it, but a refusal of a few
/// lines ends with what it refuses.
void add_last_line(const AttemptEnd& end, int log_fd, Outcome& outcome) {
  const bool exited = end.exit && end.exit->code;
  const bool began =
      std::ranges::any_of(end.runs, [](const RunLog& run) { return run.records_seen > 0; });
  if (outcome.status != Status::error || outcome.line != 0 || !exited || began) return;
  if (auto last = last_line(log_fd); !last.empty()) {
    outcome.details.push_back(log_line(std::move(last)));
  }
}

/// The runs, where the trainer failed and a failure stands within their records alone: one rank
/// died of it, the others went on until the launcher ended them, and their steps are no training.
std::optional<std::vector<RunLog>> ended_by_survived(const AttemptEnd& end) {
  const bool failed = end.cause == EndCause::exited && end.exit && end.exit->code.value_or(0) != 0;
  if (!failed || end.runs.empty()) return std::nullopt;
  const RunLog& last = end.runs.back();
  if (!last.survived ||
      (is_failure(last.outcome.status) && last.outcome.status != Status::truncated))
    return std::nullopt;
  auto runs = end.runs;
  runs.back().outcome = *last.survived;
  return runs;
}

}  // namespace

void AttemptEnd::take(TrialLogs& logs) {
  log_bytes = logs.bytes_read();
  log_cuts = logs.cuts();
  own_path = logs.own_path();
  own_bytes = logs.own_bytes();
  auto read = logs.finish();
  runs = std::move(read.runs);
  own_log = read.own;
  printed_failure = std::move(read.printed_failure);
}

std::optional<std::int64_t> AttemptEnd::last_step() const {
  std::optional<std::int64_t> last;
  for (const auto& run : runs) {
    if (!run.records.empty()) last = run.records.back().step;
  }
  return last;
}

Outcome join_outcomes(const std::optional<Outcome>& log, const AttemptEnd& end,
                      const SweepConfig& config, std::int64_t steps,
                      std::optional<std::int64_t> last_step) {
  // The trainer's own log has its steps, the terminal what ended it.
  auto best = log;
  const bool failed = end.exit && !end.exit->success();
  if (end.printed_failure && failed && best &&
      (!is_failure(best->status) || best->status == Status::truncated)) {
    best = end.printed_failure;
    best->step = last_step;
  }
  auto out = judge(best, end, config, steps, last_step);
  if (out.line == 0 && is_failure(out.status)) {
    // No line names it, so the last one before it is the place to look at.
    for (const auto& run : end.runs) {
      if (!run.records.empty()) out.line = run.records.back().line;
    }
  }
  return out;
}

bool worth_retrying(const Outcome& outcome, const std::optional<ExitStatus>& exit) {
  const Status status = outcome.status;
  if (status == Status::completed || status == Status::out_of_memory || status == Status::nan) {
    return false;
  }
  // 2: usage, 3: no device (bert_train); 126, 127: cannot be run. The next attempt would be equal.
  const int code = exit && exit->code ? *exit->code : 0;
  return code != 2 && code != 3 && code != 126 && code != 127;
}

Result<MeasuredAttempt> measure_ended(const OpenSweep& sweep, const EndedAttempt& ended) {
  const auto& [open, end] = ended;
  const auto failed = ended_by_survived(end);
  const auto measure = [&, &open = open, &end = end](bool cut_off) {
    return measure_attempt(sweep.plan, open->wanted.trial, open->wanted.attempt,
                           failed ? *failed : end.runs, cut_off,
                           fmt::format("{}/{}", open->path, end.own_log ? kTrainerLog : "log.txt"));
  };
  auto measured = measure(false);
  const auto outcome = join_outcomes(
      end.runs.empty() ? std::nullopt : std::optional(measured.trial.outcome), end,
      sweep.plan.config, sweep.plan.cells[open->wanted.trial.cell].steps, end.last_step());
  if (is_cut_off(outcome.status)) measured = measure(true);
  auto& result = measured.trial;
  result.outcome = outcome;
  add_last_line(end, open->log_fd, result.outcome);
  add_steps_over_run_time(sweep.plan, sweep.plan.cells[open->wanted.trial.cell], end.seconds,
                          result);
  if (end.log_cuts > 0) {
    result.notices.push_back(make_notice(NoticeCode::log_cut_while_running, 0));
  }
  add_missing_log(sweep.plan.workload.logs, !end.own_path.empty(), result.notices);
  if (!end.own_path.empty()) {
    auto kept = open->folder.keep(kTrainerLog, end.own_path, end.own_bytes);
    if (!kept) return tl::unexpected(kept.error());
  }
  const auto restored = open->folder.restore("log.txt", open->log_fd);
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
  result.block = open->block;
  apply_telemetry(result, open->telemetry);
  const auto& earlier = open->wanted.earlier;
  result.notices.insert(result.notices.end(), earlier.begin(), earlier.end());
  conceal_in(result, sweep.plan.config.secrets);
  return measured;
}

Result<void> record_end(OpenSweep& sweep, const EndedAttempt& ended,
                        const MeasuredAttempt& measured) {
  const auto& [open, end] = ended;
  const auto& folder = open->folder;
  if (!measured.iterations_csv.empty()) {
    auto done = folder.write_unsynced("iterations.csv", measured.iterations_csv);
    if (!done) return done;
  }
  Json outcome = outcome_json(measured.trial, end);
  Json finished = {{"event", "finished"}};
  finished.update(open->who());
  finished.update(outcome);
  if (!open->telemetry.is_null()) outcome["telemetry"] = open->telemetry;
  const auto text = outcome_text(outcome, sweep.plan, open->wanted.trial.cell, measured);
  if (auto done = folder.write("outcome.json", text); !done) return done;
  finished["log"] = logs_stamp(folder.path());
  finished["outcome"] = fmt::format("{:08x}", crc32c(text));
  return sweep.journal.append(finished);
}

}  // namespace bertbench
