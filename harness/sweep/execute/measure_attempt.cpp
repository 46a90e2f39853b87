#include "harness/sweep/execute/measure_attempt.h"

#include <algorithm>

#include "parsers/core/each_fact.h"
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

}  // namespace

void add_steps_over_run_time(const Plan& plan, const PlannedCell& cell, double seconds,
                             Trial& trial) {
  const auto batch = cell.identity.global_batch_size();
  const auto status = trial.outcome.status;
  const bool ended = status == Status::completed || status == Status::no_data;  // exit status 0
  const bool counted = trial.iterations.seen > 0 || !trial.estimators.empty();
  if (!ended || counted || !batch || !(seconds > 0) || !plan.config.asks_for_steps()) return;
  const auto& config = plan.config;
  const std::int64_t steps =
      cell.phase > 0 ? config.phases[static_cast<std::size_t>(cell.phase) - 1].steps : config.steps;
  trial.estimators["total_time"] =
      static_cast<double>(steps) * static_cast<double>(*batch) / seconds;
  trial.notices.push_back(make_notice(NoticeCode::steps_over_run_time, 0, steps, seconds));
}

void conceal_in(Trial& trial, const Secrets& secrets) {
  if (secrets.empty()) return;
  for (auto* notices : {&trial.outcome.details, &trial.notices}) {
    for (auto& notice : *notices) {
      for (auto& value : notice.values) {
        if (auto* text = std::get_if<std::string>(&value)) *text = secrets.conceal_values(*text);
      }
    }
  }
}

Facts facts_of(const PlannedCell& cell) {
  Facts facts;
  const auto& id = cell.identity;
  for_each_fact(facts, id, [](const char*, auto& to, const auto& known) {
    if (known) to.set(*known, FactSource::command_line);
  });
  facts.axes = id.axes;
  facts.axes.erase("seed");  // of each trial its own: the cell states only that
  return facts;
}

MeasuredAttempt measure_attempt(const Plan& plan, const PlannedTrial& planned, int attempt,
                                const std::vector<RunLog>& runs, bool cut_off,
                                const std::string& log_path, IterationsText iterations) {
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
    if (cut_off && plan.config.asks_for_steps()) options.planned_steps = cell.steps;
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

double live_rate(const LiveView& live, const PlannedCell& cell) {
  switch (live.unit) {
    case RateUnit::sequences_per_second:
      return live.recent_rate;
    case RateUnit::iterations_per_second: {
      const auto sequences = sequences_per_iteration(facts_of(cell), live.iteration_unit);
      return sequences ? live.recent_rate * static_cast<double>(*sequences) : kUnknown;
    }
    case RateUnit::tokens_per_second:
      if (!cell.identity.sequence_length) return kUnknown;
      return live.recent_rate / static_cast<double>(*cell.identity.sequence_length);
    case RateUnit::epochs_per_second:
    case RateUnit::unknown:
      break;
  }
  return kUnknown;
}

}  // namespace bertbench
