#include "reports/studies/reconcile/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "parsers/core/text.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/estimators.h"
#include "reports/measure/measure.h"
#include "reports/stats/clock.h"
#include "reports/studies/reconcile/reconcile_script.h"

namespace bertbench {
namespace {

constexpr const char* kSumOfSteps = "sum of the steps";

struct Clocked {
  std::optional<double> seconds;
  std::string clock;
};

Clocked seconds_of(const RunLog& log) {
  if (log.totals.wall_s && *log.totals.wall_s > 0) return {log.totals.wall_s, "process"};
  if (log.totals.training_s && *log.totals.training_s > 0) {
    return {log.totals.training_s, "training"};
  }
  if (log.records.empty()) return {};
  if (const double time = log.records.back().time_s; time > 0) return {time, "to the last record"};
  double sum = 0;
  for (const Record& record : log.records) {
    if (record.seconds > 0) sum += record.seconds;
  }
  if (sum > 0) return {sum, kSumOfSteps};
  return {};
}

double as_double(std::int64_t value) { return static_cast<double>(value); }

class Reconciler {
 public:
  Reconciler(std::vector<const RunLog*> logs, const ReconcileOptions& options)
      : logs_(std::move(logs)), options_(options) {}

  ReconciledRun run() {
    for (const RunLog* log : logs_) look_at(*log);
    choose_unit();
    add_up_work();
    add_up_time();
    if (out_.work && out_.seconds) out_.rate = *out_.work / *out_.seconds;
    estimates();
    doubt_total();
    scripts();
    return std::move(out_);
  }

 private:
  void look_at(const RunLog& log) {
    std::vector<Notice> notices;
    Facts facts = merge_facts(options_.given, log.facts, notices);
    facts = merge_facts(facts, facts_from_path(log.path).facts, notices);
    const Facts deduced = deduce_facts(facts, notices);
    MeasureOptions measure;
    measure.window = options_.window;
    Trial trial = measure_trial(log, facts, measure);
    for (Notice& notice : notices) note(log, std::move(notice));
    for (const Notice& notice : log.notices) note(log, notice);
    RunPart& part = out_.parts.emplace_back();
    part.log = log.path;
    part.outcome = log.outcome;
    const Clocked clocked = seconds_of(log);
    part.seconds = clocked.seconds;
    part.clock = clocked.clock;
    if (const auto range = optimizer_step_range(log)) {
      part.first_step = range->first;
      part.last_step = range->last;
    }
    per_step_.push_back(deduced.sequences_per_optimizer_step());
    per_iteration_.push_back(sequences_per_iteration(deduced, log.iteration_unit));
    facts_.push_back(deduced);
    trials_.push_back(std::move(trial));
  }

  void note(const RunLog& log, Notice notice) {
    out_.notices.push_back(logs_.size() > 1 ? of_log(log.path, std::move(notice))
                                            : std::move(notice));
  }

  // Sequences where every log allows it, else tokens where every log has those: rates of different
  // units cannot be joined.
  void choose_unit() {
    const auto all_in = [&](RateUnit unit) {
      return std::ranges::all_of(trials_, [&](const Trial& trial) {
        return trial.estimators.empty() || trial.unit() == unit;
      });
    };
    unit_ = all_in(RateUnit::sequences_per_second) ? RateUnit::sequences_per_second
            : all_in(RateUnit::tokens_per_second)  ? RateUnit::tokens_per_second
                                                   : RateUnit::iterations_per_second;
    sequences_ = unit_ == RateUnit::sequences_per_second;
    out_.unit = name(unit_);
    if (unit_ == RateUnit::tokens_per_second) {
      out_.notices.push_back(make_notice(NoticeCode::rates_need_sequence_length, 0));
    } else if (!sequences_) {
      out_.notices.push_back(make_notice(NoticeCode::rates_in_iterations, 0,
                                         "; give --micro-batch-size, --nodes and --gpus-per-node "
                                         "(and --gradient-accumulation-steps)"));
    }
  }

  // All work of one log, redone steps included, in the unit of the rates.
  std::optional<double> work_of(std::size_t i) const {
    const RunLog& log = *logs_[i];
    const Totals& totals = log.totals;
    if (sequences_) {
      if (totals.sequences) return as_double(*totals.sequences);
      const RunPart& part = out_.parts[i];
      if (part.first_step && per_step_[i]) {
        return as_double(*part.last_step - *part.first_step) * as_double(*per_step_[i]);
      }
      if (const auto stated = sequences_of_run(log, per_step_[i])) return stated;
      if (totals.iterations && per_iteration_[i]) {
        return as_double(*totals.iterations) * as_double(*per_iteration_[i]);
      }
      return std::nullopt;
    }
    if (unit_ == RateUnit::tokens_per_second) return std::nullopt;  // no log states its tokens
    if (totals.iterations) return as_double(*totals.iterations);
    if (log.records.empty()) return std::nullopt;
    const Record& first = log.records.front();
    return as_double(log.records.back().step - (first.step - first.iterations));
  }

  bool work_of_user() {
    if (options_.sequences && sequences_) {
      out_.work = as_double(*options_.sequences);
      out_.work_source = fmt::format("{} sequences (given)", *options_.sequences);
      return true;
    }
    if (!options_.optimizer_steps || !sequences_) return false;
    const auto known = std::ranges::find_if(per_step_, [](const auto& n) { return n.has_value(); });
    if (known == per_step_.end()) {
      out_.notices.push_back(make_notice(NoticeCode::optimizer_steps_useless, 0));
      return false;
    }
    out_.work = as_double(*options_.optimizer_steps) * as_double(**known);
    out_.work_source = fmt::format("{} optimizer steps (given) x {} sequences",
                                   *options_.optimizer_steps, **known);
    return true;
  }

  void add_up_work() {
    double all = 0;
    double once = 0;
    bool known = true;
    std::int64_t done = 0;  // steps up to here were done by earlier parts
    std::int64_t steps = 0;
    bool numbered = true;
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      RunPart& part = out_.parts[i];
      part.sequences = work_of(i);
      known = known && part.sequences;
      numbered = numbered && part.first_step;
      double share = 1;
      if (part.first_step) {
        const std::int64_t length = *part.last_step - *part.first_step;
        const StepOverlap overlap =
            overlap_of(i == 0 ? *part.first_step : done, {*part.first_step, *part.last_step});
        if (overlap.missing > 0) {
          out_.notices.push_back(
              make_notice(NoticeCode::steps_missing, 0, done + 1, *part.first_step));
        }
        part.redone_steps = overlap.redone;
        if (length > 0) share = 1 - as_double(part.redone_steps) / as_double(length);
        steps += length - part.redone_steps;
        done = std::max(done, *part.last_step);
      }
      all += part.sequences.value_or(0);
      once += part.sequences.value_or(0) * share;
    }
    if (work_of_user()) return;
    if (!known) {
      out_.notices.push_back(make_notice(NoticeCode::work_unknown, 0));
      return;
    }
    if (logs_.size() > 1 && !numbered) {
      out_.notices.push_back(make_notice(NoticeCode::steps_not_numbered, 0));
    }
    out_.work = once;
    out_.work_source = steps > 0 && numbered && sequences_
                           ? fmt::format("{} optimizer steps by the log{}", steps,
                                         logs_.size() > 1 ? "s' own numbers" : "'s own numbers")
                           : std::string(logs_.size() > 1 ? "as the logs say" : "as the log says");
    const RunPart& first = out_.parts.front();
    if (first.first_step && *first.first_step > 0) {
      out_.notices.push_back(
          make_notice(NoticeCode::earlier_work_not_counted, 0, *first.first_step));
    }
  }

  void add_up_time() {
    if (options_.seconds) {
      out_.seconds = options_.seconds;
      out_.seconds_source = "given";
      return;
    }
    double sum = 0;
    for (const RunPart& part : out_.parts) {
      if (!part.seconds) {
        out_.notices.push_back(make_notice(NoticeCode::part_without_time, 0, part.log));
        return;
      }
      sum += *part.seconds;
      if (out_.seconds_source.find(part.clock) == std::string::npos) {
        out_.seconds_source += (out_.seconds_source.empty() ? "" : ", ") + part.clock;
      }
    }
    out_.seconds = sum;
    const bool own_clock = out_.seconds_source.find("process") != std::string::npos ||
                           out_.seconds_source.find("training") != std::string::npos;
    if (!own_clock) {
      out_.notices.push_back(make_notice(NoticeCode::clock_of_records, 0));
    }
  }

  // Of several logs: their work over the time it takes at each one's rate.
  void estimates() {
    for (const std::string_view name : estimator_names()) {
      if (name == "total_time") continue;
      ReconciledEstimate estimate;
      estimate.name = name;
      double work = 0;
      double seconds = 0;
      for (std::size_t i = 0; i < trials_.size(); ++i) {
        const auto at = trials_[i].estimators.find(estimate.name);
        if (at == trials_[i].estimators.end()) continue;
        if (trials_[i].unit() != unit_) continue;
        const double weight = trials_.size() > 1 ? out_.parts[i].sequences.value_or(0) : 1;
        if (!(weight > 0)) continue;
        work += weight;
        seconds += weight / at->second;
        ++estimate.logs;
        if (const auto res = trials_[i].resolution.find(estimate.name);
            res != trials_[i].resolution.end()) {
          estimate.resolution = std::max(estimate.resolution, res->second);
        }
      }
      if (estimate.logs == 0) continue;
      estimate.rate = work / seconds;
      if (out_.rate) estimate.gap = estimate.rate / *out_.rate - 1;
      if (out_.work) estimate.explains_s = *out_.work / estimate.rate;
      out_.estimates.push_back(estimate);
    }
  }

  void doubt_total() {
    if (!out_.rate || out_.estimates.empty()) return;
    std::vector<double> rates;
    for (const ReconciledEstimate& estimate : out_.estimates) rates.push_back(estimate.rate);
    if (!total_is_of_other_work(*out_.rate, rates, out_.seconds_source == kSumOfSteps)) return;
    out_.notices.push_back(
        make_notice(NoticeCode::total_off_every_estimate, 0, *out_.rate, out_.unit));
    out_.rate.reset();
    for (ReconciledEstimate& estimate : out_.estimates) {
      estimate.gap.reset();
      estimate.explains_s.reset();
    }
  }

  void scripts() {
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      if (!logs_[i]->summary) continue;
      ScriptInputs inputs;
      inputs.per_iteration = per_iteration_[i];
      inputs.accumulation = facts_[i].gradient_accumulation_steps.value;
      inputs.world_size = facts_[i].world();
      if (sequences_) {
        inputs.total = out_.rate;
        inputs.estimators = trials_[i].estimators;
        const auto& training_s = logs_[i]->totals.training_s;
        const auto& work = out_.parts[i].sequences;
        if (work && training_s && *training_s > 0) inputs.training = *work / *training_s;
      }
      out_.scripts.push_back(explain_script(*logs_[i], inputs));
    }
  }

  std::vector<const RunLog*> logs_;
  const ReconcileOptions& options_;
  ReconciledRun out_;
  std::vector<Trial> trials_;
  std::vector<Facts> facts_;
  std::vector<std::optional<std::int64_t>> per_step_, per_iteration_;
  RateUnit unit_ = RateUnit::sequences_per_second;
  bool sequences_ = true;
};

}  // namespace

namespace {

std::optional<TimeParts> time_of(std::span<const RunLog* const> logs) {
  TimeParts sum;
  for (const RunLog* log : logs) {
    auto parts = time_parts(*log);
    if (!parts) return std::nullopt;
    if (logs.size() == 1) return parts;
    sum.total_s += parts->total_s;
    for (std::size_t i = 0; i < kTimePartCount; ++i) sum.seconds[i] += parts->seconds[i];
  }
  return sum;
}

}  // namespace

Result<ReconciledRun> reconcile_run(std::span<const RunLog> logs, const ReconcileOptions& options) {
  std::vector<const RunLog*> chosen;
  std::size_t left_out = 0;
  for (const WorkKind kind : {WorkKind::training, WorkKind::evaluation, WorkKind::inference}) {
    for (const RunLog& log : logs) {
      if (log.kind == kind) chosen.push_back(&log);
    }
    if (!chosen.empty()) break;
  }
  if (chosen.empty()) return fail("reconcile", "the logs hold no run", "");
  left_out = logs.size() - chosen.size();
  const auto time = time_of(chosen);
  ReconciledRun run = Reconciler(std::move(chosen), options).run();
  run.time = time;
  if (left_out > 0) {
    run.notices.push_back(make_notice(NoticeCode::other_kinds_left_out, 0,
                                      counted(static_cast<long long>(left_out), "run")));
  }
  return run;
}

}  // namespace bertbench
