// bertbench sweep: plan, launch, watch and measure a grid of training runs.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/number_text.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/cli/progress.h"
#include "harness/cli/result_view.h"
#include "harness/sweep/config/config.h"
#include "harness/sweep/execute/runner.h"
#include "harness/sweep/plan/forecast.h"
#include "harness/sweep/plan/plan.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"
#include "reports/model/result_io.h"
#include "reports/output/table.h"
#include "reports/output/value_text.h"

namespace bertbench::command_sweep {
namespace {

// sweep --plan: a forecast for people and as JSON.

using Json = nlohmann::ordered_json;

std::string trials_text(const std::optional<std::size_t>& trials) {
  return trials ? std::to_string(*trials) : "over 100";
}

void print_cells(Console& console, const Forecast& forecast) {
  Table table{columns_of({"cell", ">trials", ">done", ">a trial takes", ">cv"})};
  for (const CellForecast& cell : forecast.cells) {
    std::string seconds = cell.seconds ? format_duration(*cell.seconds) : "-";
    if (cell.seconds && !cell.own_seconds) seconds = "~" + seconds;
    table.rows.push_back({cell.key, std::to_string(cell.trials), std::to_string(cell.done), seconds,
                          cell.noise ? fmt::format("{:.2f} %", 100 * *cell.noise) : "-"});
  }
  console.print(text_table(table, {}));
}

void print_forecast(Console& console, const Plan& plan, const Forecast& forecast) {
  print_cells(console, forecast);
  const std::string up_to = plan.config.auto_trials ? "up to " : "";
  console.print(
      fmt::format("\n{}, {}{}, {} done, launcher {}\n", counted(forecast.cells.size(), "cell"),
                  up_to, counted(forecast.trials, "trial"), forecast.done, plan.config.launcher));
  if (forecast.seconds_left) {
    console.print(fmt::format(
        "estimated duration: {}{} ({} of {} cells by their own trials, the others as their mean)\n",
        up_to, format_duration(*forecast.seconds_left), forecast.cells_timed,
        forecast.cells.size()));
  } else {
    console.print(
        "estimated duration: unknown, as no trial of this grid has been timed; --trials 1 runs "
        "each cell once, --history FILE takes earlier results\n");
  }
  console.print(fmt::format("noise: cv {:.2f} % of trials ({})\n", 100 * forecast.noise,
                            forecast.noise_cells > 0
                                ? fmt::format("median of {}", counted(forecast.noise_cells, "cell"))
                                : std::string("assumed; --noise sets it")));
  console.print(fmt::format(
      "\nlosses that `check` would find with {:.0f} % power (simulated; Holm over {}):\n",
      100 * forecast.power, counted(forecast.cells.size(), "cell")));
  Table table{
      {{"against"}, {"smallest loss", true}, {"trials for 5 %", true}, {"trials for 3 %", true}},
      {}};
  for (const LossForecast& loss : forecast.losses) {
    table.rows.push_back({loss.baseline,
                          loss.smallest_loss ? percent_text(*loss.smallest_loss) : "cannot decide",
                          trials_text(loss.trials_for_5), trials_text(loss.trials_for_3)});
  }
  console.print(text_table(table, {}));
  if (!forecast.pairs) return;
  const PairForecast& pairs = *forecast.pairs;
  console.print(fmt::format(
      "\n`check --paired`: {} find a loss of 2 % in {:.0f} % (simulated; as if pairs shared "
      "nothing\nof that noise); {}\n",
      counted(pairs.pairs, "pair"), 100 * pairs.power_for_2,
      pairs.pairs_for_2 ? fmt::format("{} find 2 % in {:.0f} %",
                                      counted(*pairs.pairs_for_2, "pair"), 100 * pairs.power)
                        : std::string("not even 200 pairs find it in 95 %")));
  if (pairs.expected) {
    console.print(fmt::format(
        "They end early (\"trials\": \"auto\"): a cell takes {:.1f} pairs on average as it was, "
        "{:.1f} where it\nlost 2 %, {} at most.\n",
        *pairs.expected, *pairs.expected_with_loss, pairs.pairs));
  }
}

Json forecast_json(const Plan& plan, const Forecast& forecast) {
  Json cells = Json::array();
  for (const CellForecast& cell : forecast.cells) {
    Json row = {{"key", cell.key}, {"trials", cell.trials}, {"done", cell.done}};
    put(row, "seconds", cell.seconds);
    if (cell.seconds) row["own_seconds"] = cell.own_seconds;
    put(row, "cv", cell.noise);
    cells.push_back(std::move(row));
  }
  Json losses = Json::array();
  for (const LossForecast& loss : forecast.losses) {
    Json row = {{"baseline", loss.baseline}};
    put(row, "smallest_loss", loss.smallest_loss);
    put(row, "trials_for_5_percent", loss.trials_for_5);
    put(row, "trials_for_3_percent", loss.trials_for_3);
    losses.push_back(std::move(row));
  }
  Json out = {{"name", plan.config.name},
              {"trials", forecast.trials},
              {"done", forecast.done},
              {"cells", cells},
              {"noise", {{"cv", forecast.noise}, {"cells", forecast.noise_cells}}},
              {"power", forecast.power},
              {"losses", losses}};
  put(out, "seconds_left", forecast.seconds_left);
  if (forecast.pairs) {
    Json& pairs = out["pairs"];
    pairs = {{"planned", forecast.pairs->pairs},
             {"power_for_2_percent", forecast.pairs->power_for_2},
             {"power", forecast.pairs->power}};
    put(pairs, "expected", forecast.pairs->expected);
    put(pairs, "expected_with_loss", forecast.pairs->expected_with_loss);
    put(pairs, "pairs_for_2_percent", forecast.pairs->pairs_for_2);
  }
  return out;
}

struct Options {
  std::string config, out, launcher, trainer, trials;
  std::vector<std::string> set, only, history;
  OneLine line;
  bool dry_run = false, plan = false, no_probe = false;
  double noise = std::numeric_limits<double>::quiet_NaN();  // NaN: not given
  std::string flops_formula;
  OutputOptions output;
};

std::string trial_name(const TrialProgress& at) {
  std::string text = fmt::format("[{}/{}] {} trial {}/{}", at.position, at.to_run, at.cell->key,
                                 at.trial, at.trials);
  if (at.attempt > 1) text += fmt::format(" attempt {}", at.attempt);
  return text;
}

/// Shows on stderr what run_sweep reports: a line for each finished trial, and one live line.
class SweepView : public SweepObserver {
 public:
  explicit SweepView(Console& console) : console_(console) {}

  void plan_ready(const Plan& plan, const SweepCounts& counts) override {
    std::set<std::size_t> cells;  // of the grid, those that --only leaves
    for (const PlannedTrial& trial : plan.trials) cells.insert(trial.cell);
    console_.status(fmt::format("{}: {}, {}{}, launcher {}", plan.config.name,
                                counted(cells.size(), "cell"),
                                plan.config.auto_trials ? "up to " : "",
                                counted(counts.planned, "trial"), plan.config.launcher));
    if (counts.reused > 0) {
      console_.status(fmt::format("resumed: {} of {} done before and kept, {} to run",
                                  counts.reused, counted(counts.planned, "trial"), counts.to_run));
    }
    console_.progress().start();
  }

  void trial_started(const TrialProgress& at) override { trial_progress(at); }

  void trial_progress(const TrialProgress& at) override {
    std::string text = trial_name(at);
    if (at.steps > 0) {
      text += fmt::format(", step {}/{}", at.step, at.steps);
    } else if (at.step > 0) {
      text += fmt::format(", step {}", at.step);
    }
    if (std::isfinite(at.sequences_per_second)) {
      text += fmt::format(", {} sequences/s", rate_text(at.sequences_per_second));
    }
    const auto eta = std::isfinite(at.eta_s)
                         ? std::optional(std::chrono::seconds(std::llround(at.eta_s)))
                         : std::nullopt;
    console_.progress().update(escape_for_terminal(text), std::nullopt, eta);
  }

  void trial_finished(const TrialProgress& at, const Trial& trial) override {
    const bool good = trial.window.covered && !is_failure(trial.outcome.status);
    std::string text = trial_name(at) + ": ";
    // A rate shows that all went well, and the line fits 80 columns.
    const auto& rate_of_trial = trial.rate_in(trial.unit());
    const bool rate = rate_of_trial.has_value();
    if (rate) text += fmt::format("{} {}", rate_text(*rate_of_trial), name(trial.unit()));
    if (!rate || !good) text += (rate ? ", " : "") + outcome_text(trial.outcome);
    if (!trial.outcome.details.empty() && !good) text += ": " + detail_text(trial.outcome);
    if (!trial.window.covered) text += ", window not covered";
    text += fmt::format(" ({})", format_duration(at.elapsed_s));
    console_.status(text, good ? Style::plain : Style::red);
  }

  void notice(const std::string& text) override { console_.note(text); }

 private:
  Console& console_;
};

Result<Plan> plan_of(const Options& options) {
  auto sets = options.set;
  const bool auto_trials = options.trials == "auto";
  if (auto_trials) sets.emplace_back("trials=auto");
  const auto config = options.config.empty() ? parse_config("{}", "", sets, options.line)
                                             : load_config(options.config, sets, options.line);
  if (!config) return tl::unexpected(config.error());
  PlanOptions how;
  how.only = options.only;
  if (!options.trials.empty() && !auto_trials) {
    const auto trials = to_int(options.trials);
    if (!trials || *trials < 1 || *trials > 100'000) {
      return fail("--trials", fmt::format("'{}' is not a number of trials", options.trials),
                  "use a whole number of at least 1, or auto");
    }
    how.trials = static_cast<int>(*trials);
  }
  how.launcher = options.launcher;
  how.trainer = options.trainer;
  return make_plan(*config, how);
}

ExitCode show_plan(const Options& options, const Plan& plan, Console& console) {
  const auto lines = dry_run(plan, options.out);
  if (!lines) return console.error(lines.error());
  const auto json = [&] {
    auto rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < plan.trials.size() && i < lines->size(); ++i) {
      const PlannedCell& cell = plan.cells[plan.trials[i].cell];
      rows.push_back({{"key", cell.key},
                      {"trial", plan.trials[i].trial},
                      {"world_size", cell.topology.world_size()},
                      {"line", (*lines)[i]}});
    }
    return nlohmann::ordered_json{{"name", plan.config.name}, {"trials", rows}};
  };
  return answer(console, options.output, ExitCode::good, json, [&] {
    for (const std::string& line : *lines) console.print(escape_for_terminal(line) + "\n");
  });
}

ExitCode show_forecast(const Options& options, const Plan& plan, Console& console) {
  std::vector<ResultSet> history;
  for (const std::string& path : options.history) {
    auto results = read_results(path, console);
    if (!results) return console.error(results.error(), ExitCode::nothing_read);
    history.push_back(std::move(*results));
  }
  constexpr double kUsualNoise = 0.01;  // cv of trials on a quiet machine
  const double noise = std::isnan(options.noise) ? kUsualNoise : options.noise;
  const Forecast seen = forecast(plan, options.out, history, noise);
  return answer(
      console, options.output, ExitCode::good, [&] { return forecast_json(plan, seen); },
      [&] { print_forecast(console, plan, seen); });
}

/// What becomes of failed trials of which some are not launched again.
std::string settled_text(const SweepOutcome& outcome) {
  constexpr const char* kWhy =
      "with a covered window, out of memory or with a loss that is not finite";
  const std::string anew = "; when the trainer is mended, measure anew in another --out";
  return outcome.open_trials == 0
             ? fmt::format(
                   "a trial {} stands as it is, so the same command does not run them again",
                   kWhy) +
                   anew
             : fmt::format("the same command runs {} of them again, not those {}",
                           outcome.open_trials, kWhy) +
                   anew;
}

ExitCode launch(const Options& options, const Plan& plan, Console& console) {
  SweepView view(console);
  SweepOptions how;
  how.out = options.out;
  how.flops_formula = options.flops_formula;
  how.probe_s = options.no_probe ? 0 : kProbe_s;
  const auto outcome = run_sweep(plan, how, view);
  console.progress().stop();
  if (!outcome) return console.error(outcome.error());

  const SetSource cells(outcome->result);
  const ExitCode status = answer(
      console, options.output, static_cast<ExitCode>(outcome->exit_status),
      [&](const std::string& path) { return result_text(outcome->result, path, options.out); },
      [&] {
        ViewOptions summary;
        summary.summary_only = true;
        if (!outcome->result.cells.empty()) print_results(console, cells, summary);
      });
  print_notices(console, cells);
  if (outcome->interrupted) {
    const int open = outcome->open_trials;
    console.status(open == 0   ? "interrupted after the last trial; nothing is left to run"
                   : open == 1 ? "interrupted; the same command runs the 1 trial that is left"
                               : fmt::format("interrupted; the same command runs the {} trials "
                                             "that are left",
                                             open),
                   Style::yellow);
  } else if (outcome->failed_trials > 0) {
    console.status(
        counted(outcome->failed_trials, "trial") + " failed; " +
            (outcome->settled_failures == 0 ? std::string("the same command runs them again")
                                            : settled_text(*outcome)),
        Style::red);
  }
  if (!outcome->results_path.empty()) console.status("results: " + outcome->results_path);
  if (!outcome->report_path.empty()) console.status("report:  " + outcome->report_path);
  return status;
}

ExitCode run(const Options& options, Console& console) {
  if (options.out.empty() && !options.dry_run && !options.plan) {
    return console.error(
        {"sweep", "--out DIR is required", "name the run folder, or use --dry-run or --plan"});
  }
  if (options.config.empty() && options.line.command.empty()) {
    return console.error({"sweep", "needs a CONFIG, or a program after --",
                          "as in `bertbench sweep --out run -- python3 train.py`"});
  }
  if (options.dry_run && options.plan) {
    return console.error(
        {"sweep", "--dry-run and --plan print different things", "give one of the two"});
  }
  if (!options.plan && (!options.history.empty() || !std::isnan(options.noise))) {
    return console.error({options.history.empty() ? "--noise" : "--history",
                          "is for the forecast of --plan", "give --plan, or leave it out"});
  }
  if (const auto good = check_ending(options.output.path); !good) {
    return console.error(good.error());
  }
  const auto plan = plan_of(options);
  if (!plan) return console.error(plan.error());
  for (const std::string& notice : plan->notices) console.note(notice);
  const bool starts = !options.dry_run && !options.plan;
  for (const Need& need : plan->missing) {
    const auto text = fmt::format("{} needs {}: {}", plan->workload.label(),
                                  need.option.substr(0, need.option.find('|')), need.what);
    if (starts) {
      console.error({"", text, ""});
    } else {
      console.note(text);
    }
  }
  if (starts && !plan->missing.empty()) {
    const auto option = plan->missing.front().option;
    return console.error(
        {options.config, "options that only you can give are missing, nothing was started",
         fmt::format("give them as \"args\": [\"{}=...\"] of the sweep, or as axes of its grid",
                     option.substr(0, option.find('|')))});
  }
  if (options.dry_run) return show_plan(options, *plan, console);
  if (options.plan) return show_forecast(options, *plan, console);
  return launch(options, *plan, console);
}

void declare(CommandLine& line, Options& options) {
  line.add_argument("CONFIG", options.config,
                    "What to run, as JSON; see configs/. Not needed with a PROGRAM.")
      .required(false);
  line.add_command(options.line.command);
  line.add_text("--out", options.out, "DIR", "Run folder; one that holds a sweep is resumed.");
  line.add_flag("--dry-run", options.dry_run, "Print the command of each trial, run nothing.");
  line.add_list(
      "--set", options.set, "KEY=VALUE",
      "Change the configuration, as in steps=100 or grid.model=[\"bert-base\"]; repeatable.");
  line.add_list("--grid", options.line.grid, "AXIS=V1,V2",
                "Values of an axis, in place of those of CONFIG; repeatable. In a PROGRAM's words "
                "{AXIS} stands for the value.");
  line.add_text("--each", options.line.each, "gpu|node|job",
                "Of a PROGRAM: processes that are started, one a GPU, one a node, or one.")
      .default_text("gpu");
  line.add_list("--file", options.line.files, "NAME=PATH",
                "Of a PROGRAM: a file written for each trial, with its placeholders replaced; "
                "{file:NAME} is its path. Repeatable.");
  line.add_list("--only", options.only, "KEY=V1,V2",
                "Run the cells with one of these values of an axis; repeatable, all must hold.");
  line.add_flag("--plan", options.plan,
                "Print how long it will take and which losses it could show, run nothing.");
  line.add_list("--history", options.history, "RESULT",
                "With --plan: earlier results, for durations and noise; repeatable.");
  add_share(line, "--noise", options.noise, "With --plan: cv of trials, where no result has it.")
      .default_text("1%");
  line.add_text("--trials", options.trials, "N|auto",
                "Launches of each cell; auto: until the interval of its median is narrow.")
      .default_text("as configured");
  line.add_text("--launcher", options.launcher, "NAME", "As in `bertbench list launchers`.")
      .default_text("as configured");
  complete_launchers(line);
  line.add_flag("--no-probe", options.no_probe,
                "Do not look at the machine's own speed before and after each local trial, which "
                "takes a tenth of a second.");
  line.add_text("--trainer", options.trainer, "PATH", "The bert_train to measure.")
      .default_text("next to bertbench, else on PATH");
  add_flops_formula(line, options.flops_formula, "masked_head");
  add_output(line, options.output,
             "Also write the result to FILE, in the format of its ending; - for JSON on stdout.");
}

constexpr Example kExamples[] = {
    {"bertbench sweep configs/quickstart.json --out run", "Measure; the same again resumes."},
    {"bertbench sweep configs/quickstart.json --dry-run --only topology=1n2g",
     "Show the commands of two ranks."},
    {"bertbench sweep configs/quickstart.json --out run --plan",
     "What is left to run, and which losses the grid could show."},
    {"bertbench sweep configs/quickstart.json --out run --set steps=100 --trials 10",
     "More steps and more trials than the file asks for."},
    {"bertbench sweep --out run --grid lr=1e-4,3e-4 -- python3 train.py --lr {lr}",
     "Measure a trainer of your own, whatever it is (docs/own_trainer.md)."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::regression, "a trial failed, or its window is not covered or gives no rate"},
    {ExitCode::usage},
    {ExitCode::interrupted}};

}  // namespace

extern const Command entry{
    "sweep",
    "run a grid of training jobs, measure each, write a report",
    "CONFIG --out DIR\n       bertbench sweep [options] --out DIR -- PROGRAM ARG...",
    "Every cell of the grid is launched several times, interleaved, so that drift of the machine "
    "hits all alike. Any process may die at any time: the same command again keeps finished trials "
    "and runs the rest. Ctrl-C stops cleanly.\n"
    "PROGRAM is any trainer, ARG its words; no shell reads them. Placeholders in them: {topology}, "
    "{nodes}, {gpus_per_node}, {world_size}, {model}, {precision}, {sequence_length}, "
    "{micro_batch_size}, {gradient_accumulation_steps}, {accumulated_batch_size}, "
    "{micro_batch_size_all}, {global_batch_size}, {steps}, {warmup_steps}, {trial}, {seed}, "
    "{variant}, {threads}, {master_addr}, {master_port}, {host_slots}, {host_lines}, {gpu_list}, "
    "{dir}, {output}, {file:NAME}, and each axis of the grid by its name. {{ and }} are braces. "
    "What each means is in docs/templates.md.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_sweep
