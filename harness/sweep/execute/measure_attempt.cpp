#include "harness/sweep/execute/measure_attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "harness/sweep/plan/launcher.h"
#include "parsers/core/text.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/measure.h"
#include "reports/output/iterations.h"

namespace bertbench {
namespace {

/// A log holds more than one run after a requeue: the last training run is the trial's.
const RunLog* run_of(const std::vector<RunLog>& runs) {
  for (auto it = runs.rbegin(); it != runs.rend(); ++it) {
    if (it->kind == WorkKind::training) return &*it;
  }
  return runs.empty() ? nullptr : &runs.back();
}

std::string csv_of(const RunLog& run, const Facts& facts, const Trial& trial) {
  const auto sequences = sequences_per_iteration(facts, run.iteration_unit);
  const auto prefix = iterations_prefix(trial.log, std::to_string(trial.trial));
  std::string text(kIterationsHeader);
  for (const auto& record : run.records) {
    text += prefix;
    append_iteration(text, record, sequences, run.rate_unit);
  }
  return text;
}

Outcome outcome_of(Status status, std::vector<Notice> details, const std::optional<Outcome>& log,
                   std::optional<std::int64_t> last_step) {
  Outcome out{status, last_step, 0, std::move(details)};
  // That the log was cut follows from the cause; a message of the trainer says more.
  const bool message = log && is_failure(log->status) && log->status != Status::truncated &&
                       log->status != Status::no_data;
  if (message) {
    // The log's own message says more than "exit status 1".
    out.line = log->line;
    if (log->step) out.step = log->step;
    out.details.insert(out.details.end(), log->details.begin(), log->details.end());
  }
  return out;
}

Outcome judge(const std::optional<Outcome>& log, const AttemptEnd& end, const SweepConfig& config,
              std::optional<std::int64_t> last_step) {
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
  // A launcher between us and the trainer tells a signal as 128 + its number.
  if (exit.code == 128 + SIGKILL && end.kernel_oom) {
    return joined(Status::out_of_memory, {make_notice(NoticeCode::kernel_out_of_memory, 0)});
  }
  if (exit.code && *exit.code != 0) {
    const bool sent = *exit.code == 130 || *exit.code == 137 || *exit.code == 143;
    return joined(sent ? Status::killed : Status::error, exited(exit.str()));
  }
  if (!log) return {Status::no_data, std::nullopt, 0, {make_notice(NoticeCode::no_known_line, 0)}};
  // Formats without a closing line cannot tell a whole log from a cut one; exit status 0 can.
  if (log->status == Status::truncated && last_step.value_or(0) >= config.steps) {
    return {Status::completed, last_step, 0, {}};
  }
  return *log;
}

}  // namespace

Facts facts_of(const PlannedCell& cell) {
  Facts facts;
  const auto source = FactSource::command_line;
  const auto& id = cell.identity;
  if (id.framework) facts.framework.set(*id.framework, source);
  if (id.model) facts.model.set(*id.model, source);
  if (id.precision) facts.precision.set(*id.precision, source);
  if (id.sequence_length) facts.sequence_length.set(*id.sequence_length, source);
  if (id.micro_batch_size) facts.micro_batch_size.set(*id.micro_batch_size, source);
  if (id.gradient_accumulation_steps) {
    facts.gradient_accumulation_steps.set(*id.gradient_accumulation_steps, source);
  }
  if (id.nodes) facts.nodes.set(*id.nodes, source);
  if (id.gpus_per_node) facts.gpus_per_node.set(*id.gpus_per_node, source);
  facts.axes = id.axes;
  facts.axes.erase("seed");  // of a trial of its own the cell says only that
  return facts;
}

MeasuredAttempt measure_attempt(const Plan& plan, const PlannedTrial& planned, int attempt,
                                const std::vector<RunLog>& runs, const std::string& log_path,
                                IterationsText iterations) {
  MeasuredAttempt out;
  const auto& cell = plan.cells[planned.cell];
  const RunLog* run = run_of(runs);
  if (run) {
    std::vector<Notice> notices;
    const Facts given = facts_of(cell);
    const Facts facts = deduce_facts(merge_facts(given, run->facts, notices), notices);
    MeasureOptions options;
    options.given = given;
    options.window = plan.config.window;
    out.trial = measure_trial(*run, facts, options);
    out.trial.notices.insert(out.trial.notices.end(), notices.begin(), notices.end());
    if (runs.size() > 1) {
      const auto training = std::count_if(
          runs.begin(), runs.end(), [](const RunLog& r) { return r.kind == WorkKind::training; });
      if (training > 1) {
        out.trial.notices.push_back(
            make_notice(NoticeCode::last_run_of_log_counts, run->first_line, training));
      }
    }
    out.kind = run->kind;
    out.versions = run->facts.versions;
    out.trial.outcome = run->outcome;
  } else {
    out.trial.outcome = {
        Status::no_data, std::nullopt, 0, {make_notice(NoticeCode::no_known_line, 0)}};
    out.trial.window.rule = plan.config.window.str();
  }
  out.trial.window.chosen_by = plan.config.window.chosen_by_user ? "config" : "default";
  out.trial.trial = planned.trial;
  out.trial.seed = plan.config.seed_of(planned.trial);
  out.trial.attempt = attempt;
  out.trial.log = log_path;
  if (run) {
    out.trial.iterations_file = log_path.substr(0, log_path.rfind('/') + 1) + "iterations.csv";
    if (iterations == IterationsText::yes)
      out.iterations_csv = csv_of(*run, facts_of(cell), out.trial);
  }
  return out;
}

Outcome join_outcomes(const std::optional<Outcome>& log, const AttemptEnd& end,
                      const SweepConfig& config, std::optional<std::int64_t> last_step) {
  // The trainer's own log has its steps, the terminal what ended it.
  auto heard = log;
  const bool failed = end.exit && !end.exit->success();
  if (end.said && failed && heard &&
      (!is_failure(heard->status) || heard->status == Status::truncated)) {
    heard = end.said;
    heard->step = last_step;
  }
  auto out = judge(heard, end, config, last_step);
  if (out.line == 0 && is_failure(out.status)) {
    // No line says it, so the last one in front of it is the place to look at.
    for (const auto& run : end.runs) {
      if (!run.records.empty()) out.line = run.records.back().line;
    }
  }
  return out;
}

bool worth_retrying(const Outcome& outcome, const std::optional<ExitStatus>& exit) {
  switch (outcome.status) {
    case Status::completed:
    case Status::out_of_memory:
    case Status::nan:
      return false;
    default:
      break;
  }
  // 2: usage, 3: no device (bert_train); 126, 127: cannot be run. The next attempt would be equal.
  const int code = exit && exit->code ? *exit->code : 0;
  return code != 2 && code != 3 && code != 126 && code != 127;
}

double live_rate(const LiveView& live, const PlannedCell& cell) {
  switch (live.unit) {
    case RateUnit::sequences_per_second:
      return live.recent_rate;
    case RateUnit::iterations_per_second: {
      const auto sequences = sequences_per_iteration(facts_of(cell), live.iteration_unit);
      return sequences ? live.recent_rate * static_cast<double>(*sequences) : kUnknown;
    }
    case RateUnit::tokens_per_second:
      return live.recent_rate / static_cast<double>(cell.identity.sequence_length.value_or(1));
    case RateUnit::unknown:
      break;
  }
  return kUnknown;
}

}  // namespace bertbench
