#include "reports/studies/reconcile/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/config_reader.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/estimators.h"
#include "reports/measure/measure.h"
#include "reports/stats/clock.h"

namespace bertbench {
namespace {

// Which of a log's numbers its script used for the throughput that it prints at the end.

/// The numbers that a script could have used.
struct ScriptInputs {
  std::optional<std::int64_t> per_iteration;  ///< sequences per iteration of the counter
  std::optional<std::int64_t> accumulation, world_size;
  std::optional<double> total;               ///< sequences/s
  std::optional<double> training;            ///< the same over the stated time of training alone
  std::map<std::string, double> estimators;  ///< of this log, in the unit of the statement
};

constexpr double kLoosest = 1e-3;    // a statement of few digits fits too much
constexpr double kRounding = 1e-12;  // one that is calculated of stated work and time

struct Reading {
  double rate = 0;
  std::string what;
};

// Half a unit of the last digit that was printed; trailing zeros are lost, which only narrows it.
double printed_error(double value) {
  const std::string text = shortest(value);
  const auto point = text.find('.');
  const auto decimals = point == std::string::npos || text.find('e') != std::string::npos
                            ? 0
                            : static_cast<int>(text.size() - point - 1);
  const double half = 0.5 * std::pow(10.0, -decimals);
  return std::min(half, kLoosest * std::abs(value)) * (1 + 1e-9);
}

// The readings of one log without a wrong factor.
std::vector<Reading> honest_readings(const RunLog& log, const ScriptInputs& inputs, RateUnit unit) {
  std::vector<Reading> out;
  const bool sequences = unit == RateUnit::sequences_per_second;
  const bool bar = log.rate_unit == RateUnit::iterations_per_second;
  const auto reading = [&](double rate, const std::string& what) {
    if (!(rate > 0)) return;
    if (sequences && bar) {
      if (!inputs.per_iteration) return;
      out.push_back({rate * static_cast<double>(*inputs.per_iteration),
                     fmt::format("{}: {} iterations/s x {} sequences", what, shortest(rate),
                                 *inputs.per_iteration)});
    } else if (log.rate_unit == unit) {
      out.push_back({rate, fmt::format("{}: {}", what, shortest(rate))});
    }
  };
  if (!log.records.empty()) {
    const Record& last = log.records.back();
    const bool redrawn = last.printed_first != last.printed_rate;
    if (redrawn) reading(last.printed_first, "first redraw of the last step");
    reading(last.printed_rate, redrawn ? "last redraw of the last step" : "last printed rate");
  }
  if (inputs.total) out.push_back({*inputs.total, "total work over total time"});
  if (inputs.training) out.push_back({*inputs.training, "total work over the training time"});
  for (const auto& [name, rate] : inputs.estimators) {
    if (name != "log_summary" && name != "total_time") {
      out.push_back({rate, fmt::format("the estimate {} over the window", name)});
    }
  }
  return out;
}

/// Compares the statement with every candidate to its printed digits. The first redraw, the last
/// redraw and the estimators come first; then the same off by the accumulation, the world size or
/// the batch, the usual mistakes of such scripts. No reading when nothing fits.
ScriptNumber explain_script(const RunLog& log, const ScriptInputs& inputs) {
  ScriptNumber out;
  out.stated = *log.summary;
  out.log = log.path;
  double error = printed_error(out.stated.value);
  double& value = out.stated.value;
  if (inputs.total && inputs.per_iteration && out.stated.unit == RateUnit::iterations_per_second) {
    out.stated.unit = RateUnit::sequences_per_second;
    value *= static_cast<double>(*inputs.per_iteration);
    error *= static_cast<double>(*inputs.per_iteration);
  }
  error = std::max(error, kRounding * value);
  const bool sequences = out.stated.unit == RateUnit::sequences_per_second;
  if (inputs.total && sequences) out.gap = value / *inputs.total - 1;
  std::vector<Reading> fits;
  const auto readings = honest_readings(log, inputs, out.stated.unit);
  const auto add = [&](double rate, const std::string& what) {
    if (std::abs(rate - value) <= error) fits.push_back({rate, what});
  };
  for (const Reading& reading : readings) add(reading.rate, reading.what);
  if (fits.empty()) {
    const std::pair<std::optional<std::int64_t>, const char*> factors[] = {
        {inputs.accumulation, "the gradient accumulation steps"},
        {inputs.world_size, "the world size"}};
    for (const auto& [factor, name] : factors) {
      if (factor < 2) continue;  // nor where it is unknown
      const auto f = static_cast<double>(*factor);
      for (const Reading& reading : readings) {
        add(reading.rate * f,
            fmt::format("{}, times {} once too often ({})", reading.what, name, *factor));
        add(reading.rate / f, fmt::format("{}, without {} ({})", reading.what, name, *factor));
      }
    }
  }
  if (fits.empty()) return out;
  // Equal readings stay in the order above; a nearer one goes first.
  std::ranges::stable_sort(fits, {}, [&](const Reading& fit) {
    return std::round(std::abs(fit.rate - value) / error * 4);
  });
  out.taken = fits.front().what;
  for (std::size_t i = 1; i < fits.size(); ++i) out.also.push_back(fits[i].what);
  return out;
}

constexpr const char* kSumOfSteps = "sum of the steps";

double iterations_of(const Record& record) { return static_cast<double>(record.iterations); }

struct Clocked {
  std::optional<double> seconds;
  std::string clock;
};

Clocked seconds_of(const RunLog& log) {
  if (log.totals.wall_s > 0.0) return {log.totals.wall_s, "process"};
  if (log.totals.training_s > 0.0) return {log.totals.training_s, "training"};
  if (log.records.empty()) return {};
  if (const double time = log.records.back().time_s; time > 0) {
    // Stamps begin at the end of the first record, whose work counts: what the parts of the time
    // give it, its own time, or that of as many iterations of the others.
    double before = 0;
    if (log.clock_is_wall && !(log.records.front().time_s > 0)) {
      const auto parts = time_parts(log);
      const Record& first = log.records.front();
      double rest = 0;  // iterations
      for (const Record& record : log.records) rest += iterations_of(record);
      rest -= iterations_of(first);
      const double own = first.seconds > 0 ? first.seconds
                         : rest > 0        ? time * iterations_of(first) / rest
                                           : 0;
      before = parts ? std::max(0.0, parts->total_s - log.off_clock_s() - time) : own;
    }
    return {time + before + log.off_clock_s(), "to the last record"};
  }
  double sum = 0;
  for (const Record& record : log.records) {
    if (record.seconds > 0) sum += record.seconds;
  }
  if (sum > 0) return {sum, kSumOfSteps};
  return {};
}

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// What its counter counts, redone steps included.
std::optional<std::int64_t> iterations_of(const RunLog& log) {
  if (log.totals.iterations) return log.totals.iterations;
  if (log.records.empty()) return std::nullopt;
  const Record& first = log.records.front();
  return log.records.back().step - (first.step - first.iterations);
}

/// Whether the counters of the lines are those of one training, as goodput takes them: no log
/// numbers optimizer steps for all, and no restart begins at 0 again.
bool counters_go_on(std::span<const RunLog* const> logs) {
  const auto begins_above_zero = [&](const RunLog* log) {
    const auto range = counter_range(*log);
    return range && (log == logs.front() || range->first > 0) &&
           log->iteration_unit == logs.front()->iteration_unit;
  };
  return logs.size() > 1 &&
         !std::ranges::all_of(
             logs, [](const RunLog* log) { return optimizer_step_range(*log).has_value(); }) &&
         std::ranges::all_of(logs, begins_above_zero);
}

class Reconciler {
 public:
  Reconciler(std::vector<const RunLog*> logs, const ReconcileOptions& options)
      : logs_(std::move(logs)), options_(options) {}

  ReconciledRun run() {
    by_counter_ = counters_go_on(logs_);
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
    if (const auto range = by_counter_ ? counter_range(log) : optimizer_step_range(log)) {
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
            : all_in(RateUnit::epochs_per_second)  ? RateUnit::epochs_per_second
                                                   : RateUnit::iterations_per_second;
    sequences_ = unit_ == RateUnit::sequences_per_second;
    out_.unit = name(unit_);
    if (unit_ == RateUnit::tokens_per_second) {
      out_.notices.push_back(make_notice(NoticeCode::rates_need_sequence_length, 0));
    } else if (unit_ == RateUnit::iterations_per_second) {
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
      const auto per_step = by_counter_ ? per_iteration_[i] : per_step_[i];
      if (part.first_step && per_step) {
        return as_double(*part.last_step - *part.first_step) * as_double(*per_step);
      }
      if (const auto stated = sequences_of_run(log, per_step_[i])) return stated;
      const auto iterations = iterations_of(log);
      if (!iterations || !per_iteration_[i]) return std::nullopt;
      return as_double(*iterations) * as_double(*per_iteration_[i]);
    }
    if (unit_ == RateUnit::tokens_per_second) return std::nullopt;  // no log states its tokens
    const auto iterations = iterations_of(log);
    return iterations ? std::optional(as_double(*iterations)) : std::nullopt;
  }

  // Of each log among all: their work where all have it in one unit, else what their counters
  // count.
  double weight_of(std::size_t i) const {
    if (logs_.size() == 1) return 1;
    const bool known = std::ranges::all_of(
        out_.parts, [](const RunPart& part) { return part.sequences.has_value(); });
    if (known) return *out_.parts[i].sequences;
    return as_double(iterations_of(*logs_[i]).value_or(0));
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
    out_.work_source = steps > 0 && numbered && (sequences_ || by_counter_)
                           ? fmt::format("{} {} by the log{}", steps,
                                         by_counter_ ? "iterations" : "optimizer steps",
                                         logs_.size() > 1 ? "s' own numbers" : "'s own numbers")
                           : std::string(logs_.size() > 1 ? "as in the logs" : "as in the log");
    const RunPart& first = out_.parts.front();
    if (first.first_step > 0) {
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
        const double weight = weight_of(i);
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
        if (work && training_s > 0.0) inputs.training = *work / *training_s;
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
  bool by_counter_ = false;  ///< the steps of the parts are those of the lines' counter
};

std::optional<TimeParts> time_of(std::span<const RunLog* const> logs) {
  TimeParts sum;
  for (const RunLog* log : logs) {
    const auto parts = time_parts(*log);
    if (!parts || logs.size() == 1) return parts;
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

namespace {

constexpr const char* kShape =
    "a phase has name, steps, gradient_accumulation_steps, iterations_per_second and, if known, "
    "micro_batch_size, world_size, measured_s";

PlanPhase phase_from(ConfigReader& in, const Json& json, const std::string& at) {
  PlanPhase phase;
  if (!json.is_object()) {
    in.fail_at(at, "is not an object", kShape);
    return phase;
  }
  in.check_keys(json, at,
                {"name", "steps", "gradient_accumulation_steps", "iterations_per_second",
                 "micro_batch_size", "world_size", "measured_s"},
                "key");
  const auto count = [&](const char* key, auto& out) {
    std::int64_t value = 0;
    in.integer(json, at, key, value, 1, std::numeric_limits<std::int64_t>::max());
    if (value > 0) out = value;
  };
  const auto number = [&](const char* key, auto& out) {
    const auto value = json.find(key);
    if (value == json.end()) return;
    if (value->is_number() && value->get<double>() > 0) {
      out = value->get<double>();
    } else {
      in.fail_at(child_pointer(at, key), "is not a number above 0");
    }
  };
  in.text(json, at, "name", phase.name);
  count("steps", phase.steps);
  count("gradient_accumulation_steps", phase.gradient_accumulation_steps);
  count("micro_batch_size", phase.micro_batch_size);
  count("world_size", phase.world_size);
  number("iterations_per_second", phase.iterations_per_second);
  number("measured_s", phase.measured_s);
  for (const char* needed : {"steps", "gradient_accumulation_steps", "iterations_per_second"}) {
    if (!json.contains(needed)) in.fail_at(at, fmt::format("lacks {}", needed));
  }
  return phase;
}

}  // namespace

PlanReckoning reckon(const std::vector<PlanPhase>& phases) {
  PlanReckoning plan;
  double clocked_calculated = 0;
  double clocked_measured = 0;
  for (const PlanPhase& phase : phases) {
    PhaseReckoning& out = plan.phases.emplace_back();
    out.phase = phase;
    const double micro_steps =
        static_cast<double>(phase.steps) * static_cast<double>(phase.gradient_accumulation_steps);
    out.calculated_s = micro_steps / phase.iterations_per_second;
    plan.calculated_s += out.calculated_s;
    if (phase.measured_s) {
      out.overhead = *phase.measured_s / out.calculated_s - 1;
      clocked_calculated += out.calculated_s;
      clocked_measured += *phase.measured_s;
    }
    if (phase.micro_batch_size && phase.world_size) {
      const double per_micro_step =
          static_cast<double>(*phase.micro_batch_size) * static_cast<double>(*phase.world_size);
      out.sequences = micro_steps * per_micro_step;
      out.global_batch_size =
          per_micro_step * static_cast<double>(phase.gradient_accumulation_steps);
    }
  }
  if (clocked_measured > 0) {
    plan.overhead = clocked_measured / clocked_calculated - 1;
    plan.overhead_of_measured = 1 - clocked_calculated / clocked_measured;
  }
  plan.sequences = phases.empty() ? std::nullopt : std::optional(0.0);
  for (PhaseReckoning& out : plan.phases) {
    out.corrected = !out.phase.measured_s && plan.overhead;
    out.expected_s = out.phase.measured_s.value_or(
        out.calculated_s * (plan.overhead ? clocked_measured / clocked_calculated : 1));
    plan.expected_s += out.expected_s;
    if (!out.sequences) plan.sequences.reset();
    if (plan.sequences) *plan.sequences += *out.sequences;
  }
  for (PhaseReckoning& out : plan.phases) {
    out.share_of_time = out.expected_s / plan.expected_s;
    if (plan.sequences) out.share_of_sequences = *out.sequences / *plan.sequences;
  }
  return plan;
}

Result<std::vector<PlanPhase>> plan_from_json(std::string_view text, const std::string& where) {
  auto in = ConfigReader::open(std::string(text), where, {}, "a plan");
  if (!in) return tl::unexpected(in.error());
  in->check_keys(in->root(), "", {"phases"}, "key");
  const auto list = in->root().find("phases");
  if (list == in->root().end() || !list->is_array() || list->empty()) {
    in->fail_at("/phases", "must be a list of at least one phase", kShape);
  }
  std::vector<PlanPhase> phases;
  for (std::size_t i = 0; !in->error() && i < list->size(); ++i) {
    phases.push_back(phase_from(*in, (*list)[i], fmt::format("/phases/{}", i)));
    if (phases[i].name.empty()) phases[i].name = fmt::format("phase {}", i + 1);
  }
  if (in->error()) return tl::unexpected(*in->error());
  return phases;
}

Result<std::vector<PlanPhase>> read_plan(const std::string& path) {
  const auto text = read_whole_file(path, 1, "give a plan file");
  if (!text) return tl::unexpected(text.error());
  return plan_from_json(*text, path);
}

}  // namespace bertbench
