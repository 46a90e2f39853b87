// bertbench reconcile: the rates a run's logs give, next to all its work over all its time; and the
// same arithmetic for a training plan.
#include "reports/studies/reconcile/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/inputs.h"
#include "harness/cli/number_text.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "parsers/described/described_format.h"
#include "parsers/reader/log_reader.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"

namespace bertbench::command_reconcile {
namespace {

// The answer of `reconcile --plan`.

using nlohmann::ordered_json;

std::string hours(double time_s) { return fmt::format("{:.1f}", time_s / 3600); }

std::string share(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f} %", 100 * *value, decimals) : "-";
}

std::string count(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}

ordered_json plan_to_json(const PlanReckoning& plan) {
  ordered_json json{{"schema", "bertbench.plan/1"}, {"phases", ordered_json::array()}};
  for (const PhaseReckoning& out : plan.phases) {
    ordered_json row{{"name", out.phase.name}, {"calculated_s", out.calculated_s}};
    put(row, "measured_s", out.phase.measured_s);
    put(row, "overhead", out.overhead);
    row["expected_s"] = out.expected_s;
    row["corrected"] = out.corrected;
    put(row, "global_batch_size", out.global_batch_size);
    put(row, "sequences", out.sequences);
    row["share_of_time"] = out.share_of_time;
    put(row, "share_of_sequences", out.share_of_sequences);
    json["phases"].push_back(std::move(row));
  }
  json["calculated_s"] = plan.calculated_s;
  json["expected_s"] = plan.expected_s;
  put(json, "overhead", plan.overhead);
  put(json, "overhead_of_measured", plan.overhead_of_measured);
  put(json, "sequences", plan.sequences);
  return json;
}

void print_plan(Console& console, const PlanReckoning& plan) {
  Table table{columns_of({"phase", ">calculated s", ">measured s", ">expected s", ">hours",
                          ">of time", ">global batch", ">sequences", ">of sequences"})};
  for (const PhaseReckoning& out : plan.phases) {
    table.rows.push_back({out.phase.name, fmt::format("{:.2f}", out.calculated_s),
                          out.phase.measured_s ? fmt::format("{:.2f}", *out.phase.measured_s) : "-",
                          fmt::format("{:.2f}{}", out.expected_s, out.corrected ? " *" : ""),
                          hours(out.expected_s), share(out.share_of_time, 1),
                          count(out.global_batch_size), count(out.sequences),
                          share(out.share_of_sequences, 2)});
  }
  table.rows.push_back({"together", fmt::format("{:.2f}", plan.calculated_s), "",
                        fmt::format("{:.2f}", plan.expected_s), hours(plan.expected_s), "", "",
                        count(plan.sequences), ""});
  console.print(text_table(table));
  if (!plan.overhead) return;
  console.print(
      fmt::format("\n* calculated, with the overhead of the measured phases: {:.2f} % of the "
                  "calculated\n  time, {:.2f} % of the measured.\n",
                  100 * *plan.overhead, 100 * *plan.overhead_of_measured));
}

struct Options {
  std::vector<std::string> logs;
  std::string plan, format = "auto", format_file;
  std::optional<WindowRule> window;
  ReconcileOptions reconcile;
  OutputOptions output;
};

ordered_json to_json(const ReconciledRun& run) {
  ordered_json json{{"schema", "bertbench.reconcile/1"}, {"unit", run.unit}};
  ordered_json& total = json["total"] = ordered_json::object();
  put(total, "work", run.work);
  if (run.work) total["work_source"] = run.work_source;
  put(total, "seconds", run.seconds);
  if (run.seconds) total["seconds_source"] = run.seconds_source;
  put(total, "rate", run.rate);
  json["estimates"] = ordered_json::array();
  for (const ReconciledEstimate& estimate : run.estimates) {
    ordered_json row{{"estimator", estimate.name}, {"rate", estimate.rate}};
    put(row, "gap", estimate.gap);
    put(row, "explains_s", estimate.explains_s);
    if (estimate.resolution > 0) row["resolution"] = estimate.resolution;
    row["logs"] = estimate.logs;
    json["estimates"].push_back(std::move(row));
  }
  if (run.time) json["time_parts"] = bertbench::to_json(time_record(*run.time));
  json["scripts"] = ordered_json::array();
  for (const ScriptNumber& script : run.scripts) {
    ordered_json row{{"log", script.log},
                     {"line", script.stated.line},
                     {"rate", script.stated.value},
                     {"unit", name(script.stated.unit)}};
    put(row, "gap", script.gap);
    if (!script.taken.empty()) row["taken"] = script.taken;
    if (!script.also.empty()) row["also"] = script.also;
    json["scripts"].push_back(std::move(row));
  }
  json["logs"] = ordered_json::array();
  for (const RunPart& part : run.parts) {
    ordered_json row{{"log", part.log}, {"outcome", name(part.outcome.status)}};
    put(row, "first_step", part.first_step);
    put(row, "last_step", part.last_step);
    row["redone_steps"] = part.redone_steps;
    put(row, "work", part.sequences);
    put(row, "seconds", part.seconds);
    if (part.seconds) row["clock"] = part.clock;
    json["logs"].push_back(std::move(row));
  }
  json["notices"] = ordered_json::array();
  for (const Notice& notice : run.notices) json["notices"].push_back(text_of(notice));
  return json;
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds) : "-";
}

void print_parts(Console& console, const ReconciledRun& run) {
  Table table{columns_of({"log", "steps", ">redone", ">seconds", "clock", "outcome"})};
  for (const RunPart& part : run.parts) {
    table.rows.push_back(
        {part.log,
         part.first_step ? fmt::format("{}..{}", *part.first_step + 1, *part.last_step) : "?",
         part.first_step ? fmt::format("{}", part.redone_steps) : "?", seconds_text(part.seconds),
         part.clock, std::string(name(part.outcome.status))});
  }
  console.print(text_table(table) + "\n");
}

void print_total(Console& console, const ReconciledRun& run) {
  const std::string work_unit = run.unit.substr(0, run.unit.find('/'));
  console.print(run.work ? fmt::format("work  {:.0f} {}: {}\n", *run.work, work_unit,
                                       escape_for_terminal(run.work_source))
                         : std::string("work  unknown\n"));
  const double hours = run.seconds.value_or(0) / 3600;
  console.print(run.seconds
                    ? fmt::format("time  {:.3f} s{}: {}\n", *run.seconds,
                                  hours >= 0.1 ? fmt::format(" ({:.2f} h)", hours) : std::string(),
                                  run.seconds_source)
                    : std::string("time  unknown\n"));
  console.print("\n");
}

void print_rates(Console& console, const ReconciledRun& run) {
  Table table{columns_of({"rate", ">" + run.unit, ">gap", ">unexplained"})};
  if (run.rate) table.rows.push_back({"total work / total time", rate_text(*run.rate), "", ""});
  for (const ReconciledEstimate& estimate : run.estimates) {
    std::string rest;
    if (estimate.explains_s && run.seconds) {
      rest = fmt::format("{:+.1f} s", *run.seconds - *estimate.explains_s);
    }
    std::string label = estimate.name;
    if (estimate.resolution >= 0.001) {
      label += fmt::format(" (clock +-{:.1f} %)", 100 * estimate.resolution);
    }
    if (estimate.logs < run.parts.size()) {
      label += fmt::format(" ({} of {} logs)", estimate.logs, run.parts.size());
    }
    table.rows.push_back(
        {label, rate_text(estimate.rate), estimate.gap ? change_text(*estimate.gap) : "-", rest});
  }
  console.print(text_table(table));
}

// The line of time, 60 characters long: the part that holds most of a character's time stands
// there.
std::string timeline_text(const TimeParts& time) {
  constexpr std::size_t kWidth = 60;
  constexpr std::string_view kLetters = "s~=ec!t";  // by TimePart
  std::string out;
  auto span = time.spans.begin();
  for (std::size_t i = 0; i < kWidth; ++i) {
    const double begin = time.total_s * double(i) / kWidth;
    const double end = time.total_s * double(i + 1) / kWidth;
    while (span + 1 < time.spans.end() && span->end_s <= begin) ++span;
    std::array<double, kTimePartCount> seconds{};
    for (auto at = span; at < time.spans.end() && at->begin_s < end; ++at) {
      seconds[std::size_t(at->part)] += std::min(end, at->end_s) - std::max(begin, at->begin_s);
    }
    out += kLetters[std::size_t(std::ranges::max_element(seconds) - seconds.begin())];
  }
  return out;
}

void print_time(Console& console, const TimeParts& time, double all_s) {
  constexpr double kLeast_s = 0.05;  // prints as 0.1
  Table table{columns_of({"time goes into", ">seconds", ">share"})};
  const double unplaced_s = all_s - time.total_s >= kLeast_s ? all_s - time.total_s : 0;
  const auto add = [&](const std::string& label, double seconds) {
    if (!(seconds > 0)) return;
    table.rows.push_back({label, fmt::format("{:.1f}", seconds),
                          fmt::format("{:.1f} %", 100 * seconds / (time.total_s + unplaced_s))});
  };
  for (std::size_t i = 0; i < kTimePartCount; ++i) {
    std::string label(name(TimePart(i)));
    std::ranges::replace(label, '_', '-');
    add(label, time.seconds[i]);
  }
  add("not on any line", unplaced_s);
  console.print("\n" + text_table(table));
  if (time.spans.size() < 2) return;
  console.print("\n" + timeline_text(time) +
                "\ns start-up, ~ warm-up, = steady, e evaluation, c checkpoint, ! stall, t tail\n");
}

void print(Console& console, const ReconciledRun& run) {
  if (run.parts.size() > 1) print_parts(console, run);
  print_total(console, run);
  print_rates(console, run);
  if (run.time) print_time(console, *run.time, run.seconds.value_or(0));
  for (const ScriptNumber& script : run.scripts) {
    std::string text =
        script.taken.empty() ? "fits none of the readings of this log" : "is the " + script.taken;
    for (const std::string& other : script.also) text += "; it could also be the " + other;
    console.print(fmt::format("\n{}the log's own {:.7g} {} (line {}) {}\n",
                              run.parts.size() > 1 ? escape_for_terminal(script.log) + ": " : "",
                              script.stated.value, name(script.stated.unit), script.stated.line,
                              escape_for_terminal(text)));
  }
}

// Of one log they stand with its place; of several each names its log or is of all.
void print_notices(Console& console, const ReconciledRun& run) {
  std::set<std::string> printed;  // the parts of one file often have the same
  for (const Notice& notice : run.notices) {
    if (run.parts.size() == 1) {
      console.note(run.parts.front().log, notice);
    } else if (printed.insert(text_of(notice)).second) {
      console.note(text_of(notice));
    }
  }
}

ExitCode run_plan(const Options& options, Console& console) {
  const auto phases = read_plan(options.plan);
  if (!phases) return console.error(phases.error());
  const PlanReckoning plan = reckon(*phases);
  return answer(
      console, options.output, ExitCode::good, [&] { return plan_to_json(plan); },
      [&] { print_plan(console, plan); });
}

ExitCode run(const Options& options, Console& console) {
  if (options.plan.empty() == options.logs.empty()) {
    return console.error(
        {"reconcile", "give either logs or --plan", "see `bertbench reconcile --help`"});
  }
  if (!options.plan.empty()) return run_plan(options, console);
  ReadOptions read;
  read.format = options.format;
  read.world = options.reconcile.given.world();
  if (!options.format_file.empty()) {
    auto loaded = DescribedFormat::load(options.format_file);
    if (!loaded) return console.error(loaded.error());
    read.user_format = std::move(*loaded);
  }
  if (const auto known = check_format_name(options.format, read.user_format.get()); !known) {
    return console.error(known.error());
  }
  ReconcileOptions reconcile = options.reconcile;
  if (options.window) read.window = reconcile.window = *options.window;
  const Inputs inputs = find_inputs(options.logs);
  std::vector<RunLog> logs;
  // A missing restart would make the total wrong, so one unreadable log fails them all.
  for (const Error& error : inputs.errors) return console.error(error, ExitCode::nothing_read);
  for (const Input& input : inputs.logs) {
    auto runs = read_log(input.path, read);
    if (!runs) return console.error(runs.error(), ExitCode::nothing_read);
    for (RunLog& log : *runs) logs.push_back(std::move(log));
  }
  const auto result = reconcile_run(logs, reconcile);
  if (!result) return console.error(result.error(), ExitCode::nothing_read);
  print_notices(console, *result);
  if (result->estimates.empty() && !result->rate) {
    return console.error({"reconcile", "the logs give no rate at all", ""},
                         ExitCode::not_comparable);
  }
  return answer(
      console, options.output, ExitCode::good, [&] { return to_json(*result); },
      [&] { print(console, *result); });
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments("LOG", options.logs,
                     "The logs of one run, its restarts in order; - for stdin; .gz and .zst too.")
      .required(false);
  line.add_text("--plan", options.plan, "FILE",
                "Reckon a training plan instead: phases with steps, accumulation, rate (JSON).");
  ReconcileOptions& reconcile = options.reconcile;
  add_count(line, "--optimizer-steps", reconcile.optimizer_steps, 1,
            "Applied updates of the whole run, where no log prints them.");
  add_count(line, "--sequences", reconcile.sequences, 1, "Sequences of the whole run, likewise.");
  add_positive(line, "--total-seconds", reconcile.seconds, "S", "Time of the whole run, likewise.");
  add_format(line, options.format, options.format_file);
  add_facts(line, reconcile.given);
  add_window(line, options.window, "auto");
  add_output(line, options.output);
}

constexpr Example kExamples[] = {
    {"bertbench reconcile train.log --gpus-per-node 16 --micro-batch-size 64",
     "What the log's rates are worth, and which one its script took."},
    {"bertbench reconcile start.log restart1.log restart2.log",
     "One run over several logs: steps done twice count once, time counts always."},
    {"bertbench reconcile --plan configs/plans/dgx2-two-phase.json",
     "Calculated against measured hours of a two-phase pre-training."},
};
constexpr ExitCodeRow kStatuses[] = {{ExitCode::good},
                                     {ExitCode::usage},
                                     {ExitCode::not_comparable, "the logs give no rate"},
                                     {ExitCode::nothing_read, "a log could not be read"}};

}  // namespace

extern const Command entry{
    "reconcile",
    "a log's rates next to total work over total time",
    "LOG...",
    "Every estimate of the throughput is held against all work over all time, which start-up, "
    "checkpoints and stalls are part of. The gap shows how much an estimate flatters, unexplained "
    "is the time that it leaves out. Steps that a restart did again count once. A closing "
    "throughput that a script wrote into the log is traced to the reading it was made from.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_reconcile
