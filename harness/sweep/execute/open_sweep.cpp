#include "harness/sweep/execute/open_sweep.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <utility>

#include "harness/sweep/execute/adaptive.h"
#include "harness/sweep/execute/job_folder.h"
#include "harness/sweep/execute/measured_outcome.h"
#include "harness/sweep/execute/preflight.h"
#include "harness/sweep/observe/environment.h"
#include "harness/sweep/observe/telemetry.h"
#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/crc32c.h"
#include "parsers/core/parallel.h"
#include "parsers/core/text.h"
#include "parsers/input/arrivals_file.h"
#include "parsers/reader/log_reader.h"
#include "reports/model/version.h"

namespace bertbench {
namespace {

/// A queue chooses nodes when a job starts, so no file and no word of a template can name them.
Result<void> check_hosts_known(const Plan& plan) {
  if (plan.launcher->hosts != RankHosts::allotted) return {};
  for (const auto& trial : plan.trials) {
    const auto words = template_names_hosts(plan, trial);
    if (!words) return tl::unexpected(words.error());
    if (!*words) continue;
    return fail(
        plan.workload.label(),
        fmt::format("{} names its hosts on its command line, and a queue chooses them later",
                    plan.cells[trial.cell].key),
        "use launcher ssh or mpi with 'hosts', or a way of 'launch' that needs no hosts");
  }
  return {};
}

Result<void> check_programs(const Plan& plan, const std::string& out) {
  const Launcher& launcher = *plan.launcher;
  if (!launcher.program.empty() && find_program(std::string(launcher.program)).empty()) {
    return fail("launcher " + std::string(launcher.name),
                fmt::format("{} is not on PATH", launcher.program), "install it");
  }
  for (const auto& program : programs_of(plan)) {
    if (!find_program(program).empty()) continue;
    return fail(
        program, "the trainer program is missing or cannot be run",
        plan.workload.is_bert_train ? "build it (scripts/quickstart), or name it with --trainer"
        : program.find(' ') != program.npos ? "give each word by itself: no shell splits them"
                                            : "install it, or correct the name");
  }
  if (!plan.missing.empty()) {
    return fail(plan.workload.label(), "needs " + plan.missing.front().option,
                plan.missing.front().what);
  }
  if (const auto lost = plan.config.secrets.missing(); !lost.empty()) {
    return fail(plan.config.source,
                fmt::format("{} stands for a value that no run folder holds", lost.front()),
                "use the configuration that has the value, or give it to sweep by --set");
  }
  if (auto good = check_hosts_known(plan); !good) return good;
  const auto& hooks = plan.config.hooks;
  if (launcher.queue() && !(hooks.trial_setup.empty() && hooks.trial_cleanup.empty())) {
    return fail("launcher " + std::string(launcher.name),
                "runs trial_setup and trial_cleanup only inside an allocation",
                "start bertbench in one (salloc), or let the program do it");
  }
  std::error_code ec;
  if (launcher.queue() && std::filesystem::absolute(out, ec).string().find('\\') != out.npos) {
    return fail("--out " + out, "holds a backslash, which Slurm drops from the name of a job's log",
                "name a folder without one");
  }
  if (launcher.check) {
    if (auto good = launcher.check(plan); !good) return good;
  }
  return check_format_name(plan.workload.format);
}

/// Pairs that end by a rule keep its looks: with others, what was seen so far would count twice.
Result<void> check_same_looks(const Folder& root, const std::string& config) {
  if (!root.holds("sweep.json")) return {};
  const auto path = root.path_of("sweep.json");
  const auto before = nlohmann::json::parse(proc::read_file(path), nullptr, false);
  const auto now = nlohmann::json::parse(config);
  if (!before.is_object() || !before.contains("variants") || !now.contains("variants")) return {};
  const auto number_of_trials = [](const nlohmann::json& of) {
    return std::pair(of.value("trials", nlohmann::json()),
                     of.value("trials_max", nlohmann::json()));
  };
  const bool by_rule = before.value("trials", nlohmann::json()) == "auto" ||
                       now.value("trials", nlohmann::json()) == "auto";
  if (!by_rule || number_of_trials(before) == number_of_trials(now)) return {};
  return fail(path, "its pairs are measured by another rule than \"trials\" asks for now",
              "go on with the trials and trials_max that it began with, or use another --out");
}

}  // namespace

Result<OpenSweep> OpenSweep::open(const Plan& plan, const SweepOptions& options,
                                  SweepObserver& observer, const StopSignals& signals) {
  prepare_to_run_processes();
  if (auto good = check_programs(plan, options.out); !good) return tl::unexpected(good.error());
  auto root = Folder::make_root(options.out);
  if (!root) return tl::unexpected(root.error());
  auto journal = Journal::open(*root);
  if (!journal) return tl::unexpected(journal.error());
  if (auto good = root->probe(std::size_t{256} << 10); !good) return tl::unexpected(good.error());
  OpenSweep sweep(plan, options, observer, signals, std::move(*root), std::move(*journal));
  sweep.report_journal_notices();
  if (auto done = sweep.replay_journal(); !done) return tl::unexpected(done.error());
  const auto boot = boot_id();
  if (auto done = sweep.end_earlier_processes(boot); !done) return tl::unexpected(done.error());

  for (const auto& cell : plan.cells) {
    const auto [entry, fresh] = sweep.trainer_ids_.try_emplace(program_of(plan, cell));
    if (fresh) entry->second = program_stamp(find_program(entry->first));
  }
  sweep.own_id = program_stamp("/proc/self/exe");
  const auto config = config_to_json(plan.config);
  if (auto good = check_same_looks(sweep.root, config); !good) return tl::unexpected(good.error());
  if (auto done = sweep.journal.append({{"event", "opened"},
                                        {"run", sweep.earlier.run_id},
                                        {"boot", boot},
                                        {"pid", getpid()},
                                        {"version", std::string(tool_version())},
                                        {"commit", std::string(tool_commit())},
                                        {"program", sweep.own_id},
                                        {"config", digest(config)}});
      !done) {
    return tl::unexpected(done.error());
  }
  if (auto done = sweep.root.write("sweep.json", config); !done) {
    return tl::unexpected(done.error());
  }
  if (auto done = sweep.note_environment(config); !done) return tl::unexpected(done.error());
  sweep.note_preflight();
  return sweep;
}

Result<void> OpenSweep::replay_journal() {
  earlier = replay(journal.records());
  if (!earlier.run_id.empty()) return {};
  if (!journal.empty()) {
    return fail(root.path_of("journal.jsonl"), "is no journal of a sweep", "use another --out");
  }
  // sweep.json is written after the journal's first record, so here a journal was lost.
  if (root.holds("sweep.json")) {
    return fail(root.path_of("journal.jsonl"),
                "is missing or empty, though the folder holds a sweep",
                "put it back; or use another --out, as trials of unknown origin are not reused");
  }
  earlier.run_id = random_id();
  return {};
}

Result<void> OpenSweep::end_earlier_processes(const std::string& boot) {
  const auto known =
      earlier.boot_id == boot ? earlier.unfinished_processes() : std::vector<ProcessId>{};
  // Jobs of a queue that this start does not use must end before their processes are looked for.
  for (const auto* other : all_launchers()) {
    if (!other->batch || launcher.queue() == other->batch) continue;
    if (auto done = end_jobs(root, *other->batch, {}); !done) return done;
  }
  if (launcher.end_leftovers) launcher.end_leftovers(earlier.run_id);
  std::error_code ec;
  const auto real = std::filesystem::canonical(root.path(), ec).string();
  // Jobs that go on without us hold logs as well, and may run on this very machine.
  const auto folder = ec || launcher.queue() ? std::string() : real;
  if (const int killed = kill_leftover_processes(earlier.run_id + ":", known, folder); killed > 0) {
    observer.notice(fmt::format("{} {} of an earlier start still ran and {} ended", killed,
                                killed == 1 ? "process" : "processes",
                                killed == 1 ? "was" : "were"));
  }
  return {};
}

Result<void> OpenSweep::note_environment(const std::string& config) {
  environment = capture_environment({.hostname = plan.config.record_hostname,
                                     .configuration = config,
                                     .version_name = std::string(launcher.version_name),
                                     .version_program = std::string(launcher.program),
                                     .conceal = [this](std::string word) {
                                       return plan.config.secrets.conceal_word(std::move(word));
                                     }});
  const auto path = root.path_of("environment.json");
  if (root.holds("environment.json")) {
    // Trials of before were measured there; a resume elsewhere is reported, not hidden.
    auto before = nlohmann::ordered_json::parse(proc::read_file(path), nullptr, false);
    if (before.is_object()) {
      for (const char* key : {"cpu", "cores", "memory_bytes"}) {
        if (before.contains(key) && environment.contains(key) && before[key] != environment[key]) {
          observer.notice(fmt::format("{}: '{}' was {} when the sweep began and is {} now", path,
                                      key, before[key].dump(), environment[key].dump()));
        }
      }
      environment = std::move(before);
      return {};
    }
  }
  return root.write("environment.json", environment.dump(2) + "\n");
}

void OpenSweep::note_preflight() {
  if (!root.holds(kPreflightFile)) return;
  auto summary = preflight_summary(proc::read_file(root.path_of(kPreflightFile)));
  if (summary.is_null()) return;
  for (const auto& named : summary["outliers"]) {
    observer.notice(fmt::format("{} named {}", kPreflightFile, named.get<std::string>()));
  }
  environment["preflight"] = std::move(summary);
}

const std::string& OpenSweep::trainer_id(std::size_t cell) const {
  return trainer_ids_.at(program_of(plan, plan.cells[cell]));
}

bool OpenSweep::stopping() const {
  return signals.count() > 0 || (options.stop && options.stop->load());
}

std::optional<BlockPlace> OpenSweep::block_of(const PlannedTrial& trial, bool again) const {
  const bool by_itself = again && (launcher.queue() || plan.config.turn_s > 0);
  if (trial.position == 0 || by_itself) return std::nullopt;
  return BlockPlace{earlier.sessions + 1, trial.position};
}

std::string OpenSweep::attempt_path(const PlannedTrial& trial, int attempt) const {
  std::string path = fmt::format("{}/trial_{}", plan.cells[trial.cell].folder, trial.trial);
  if (attempt > 1) path += fmt::format("/attempt_{}", attempt);
  return path;
}

Result<Folder> OpenSweep::attempt_folder(const PlannedTrial& trial, int attempt) const {
  return root.child(attempt_path(trial, attempt));
}

void OpenSweep::report_journal_notices() {
  const auto& notices = journal.notices();
  while (journal_notices_reported_ < notices.size()) {
    observer.notice(notices[journal_notices_reported_++]);
  }
}

Result<std::string> command_digest(const OpenSweep& sweep, const PlannedTrial& trial) {
  const LaunchPlace canonical_place{"<dir>", 0, ""};
  const auto processes = sweep.launcher.processes(sweep.plan, trial, canonical_place);
  if (!processes) return tl::unexpected(processes.error());
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& one : *processes) {
    all.push_back({{"argv", one.argv}, {"set", one.set}, {"unset", one.unset}});
    if (!one.input.empty()) all.back()["input"] = one.input;
    if (one.terminal) all.back()["terminal"] = true;
  }
  const auto text = all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  auto canonical = fmt::format("{}\n{}", sweep.launcher.name, text);
  const auto files = trial_files(sweep.plan, trial, canonical_place);
  if (!files) return tl::unexpected(files.error());
  for (const auto& file : *files) canonical += fmt::format("\n{}\n{}", file.name, file.text);
  // A phase begins with what the one before it made.
  if (sweep.plan.cells[trial.cell].phase > 1) {
    const auto before = command_digest(sweep, {.cell = trial.cell - 1, .trial = trial.trial});
    if (!before) return before;
    canonical += "\n" + *before;
  }
  canonical += sweep.plan.config.secrets.digests_of(canonical, sweep.earlier.run_id);
  return digest(canonical);
}
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

/// What this program measured of an attempt before, if its log is as it was then.
std::optional<MeasuredAttempt> recall(const OpenSweep& sweep, const AttemptState& attempt,
                                      const std::string& folder) {
  if (!attempt.finished || !attempt.covered || attempt.log_stamp.empty()) return std::nullopt;
  if (sweep.own_id.empty() || attempt.read_by != sweep.own_id) return std::nullopt;
  const auto path = sweep.root.path_of(folder);
  if (logs_stamp(path) != attempt.log_stamp) return std::nullopt;
  if (!holds_text(path + "/iterations.csv")) return std::nullopt;
  const auto text = proc::read_file(path + "/outcome.json");
  if (fmt::format("{:08x}", crc32c(text)) != attempt.outcome_crc) return std::nullopt;
  return read_measured_outcome(text, sweep.plan);
}

/// The copy next to log.txt; where an earlier start did not live to make it, it is made now.
Result<std::vector<RunLog>> read_own_log(const OpenSweep& sweep, const PlannedTrial& trial,
                                         int attempt, const ReadOptions& options) {
  if (sweep.plan.workload.logs.empty()) return std::vector<RunLog>{};
  const auto path = sweep.root.path_of(sweep.attempt_path(trial, attempt));
  if (!holds_text(path + "/" + kTrainerLog)) {
    const auto names = own_logs(sweep.plan, trial, {path, 0, ""});
    if (!names) return tl::unexpected(names.error());
    const auto found = names->first();
    if (found.empty()) return std::vector<RunLog>{};
    std::error_code ec;
    const auto bytes = std::filesystem::file_size(found, ec);
    const auto place = sweep.attempt_folder(trial, attempt);
    if (!place) return tl::unexpected(place.error());
    if (ec) return std::vector<RunLog>{};
    auto kept = place->keep(kTrainerLog, found, static_cast<std::int64_t>(bytes));
    if (!kept) return tl::unexpected(kept.error());
  }
  auto runs = read_log(path + "/" + kTrainerLog, options).value_or(std::vector<RunLog>{});
  give_arrivals(runs, read_arrivals(path + "/" + kTrainerLog));
  return runs;
}

struct ReadAgain {
  MeasuredAttempt measured;
  bool legible = false;  // there is a log of a known format
};

Result<ReadAgain> read_again(const OpenSweep& sweep, const PlannedTrial& trial,
                             const AttemptState& attempt, const std::string& folder) {
  const auto path = folder + "/log.txt";
  const ReadOptions options{.format = sweep.plan.workload.format,
                            .window = sweep.plan.config.window,
                            .of_training = true};
  auto printed = read_log(sweep.root.path_of(path), options);
  if (printed) give_arrivals(*printed, read_arrivals(sweep.root.path_of(path)));
  auto own = read_own_log(sweep, trial, attempt.attempt, options);
  if (!own) return tl::unexpected(own.error());
  // A log that is whole and cannot be read now (EIO, no descriptors, no right) is not lost.
  if (attempt.covered && own->empty() && !printed &&
      log_is_whole(sweep.root.path_of(path), attempt.log_bytes)) {
    return tl::unexpected(printed.error());
  }
  const bool legible = printed.has_value() || !own->empty();
  auto chosen = choose_runs(std::move(*own), std::move(printed).value_or(std::vector<RunLog>{}));
  // iterations.csv is not synced; after a crash of the machine it may be missing or empty.
  const bool again = legible && !holds_text(sweep.root.path_of(folder) + "/iterations.csv");
  const bool failed = attempt.outcome && is_failure(attempt.outcome->status);
  for (RunLog& run : chosen.runs) {
    // The exit status showed that the run did not live on after it.
    if (failed && run.survived && run.survived->line == attempt.outcome->line) {
      run.outcome = *run.survived;
    }
  }
  ReadAgain out;
  const bool cut_off = attempt.outcome && is_cut_off(attempt.outcome->status);
  out.measured = measure_attempt(sweep.plan, trial, attempt.attempt, chosen.runs, cut_off,
                                 chosen.own ? fmt::format("{}/{}", folder, kTrainerLog) : path,
                                 again ? IterationsText::yes : IterationsText::no);
  out.legible = legible;
  std::error_code ec;
  const bool own_log = std::filesystem::exists(sweep.root.path_of(folder) + "/" + kTrainerLog, ec);
  add_missing_log(sweep.plan.workload.logs, own_log, out.measured.trial.notices);
  if (!out.measured.iterations_csv.empty()) {
    auto place = sweep.attempt_folder(trial, attempt.attempt);
    if (place) (void)place->write_unsynced("iterations.csv", out.measured.iterations_csv);
    out.measured.iterations_csv.clear();
  }
  return out;
}

/// An attempt of an earlier start, as it counts now.
struct Reviewed {
  MeasuredAttempt measured;
  bool settles = false;  // its trial: a rate, or an end that a further launch would meet again
};

/// Measured (or recalled), with the outcome that the journal knows and the telemetry.
Result<Reviewed> review(const OpenSweep& sweep, const PlannedTrial& trial,
                        const AttemptState& attempt) {
  const auto folder = sweep.attempt_path(trial, attempt.attempt);
  auto recalled = recall(sweep, attempt, folder);
  const bool known = recalled.has_value();
  auto read = known ? Result<ReadAgain>(ReadAgain{std::move(*recalled), true})
                    : read_again(sweep, trial, attempt, folder);
  if (!read) return tl::unexpected(read.error());
  Reviewed out{std::move(read->measured), false};
  Trial& result = out.measured.trial;
  const bool covered = result.window.covered;
  if (attempt.finished && attempt.outcome) result.outcome = *attempt.outcome;
  if (attempt.finished) {
    add_steps_over_run_time(sweep.plan, sweep.plan.cells[trial.cell], attempt.seconds, result);
  }
  conceal_in(result, sweep.plan.config.secrets);
  result.block = attempt.block;
  const auto status = result.outcome.status;
  const bool final = attempt.finished && read->legible && repeats_if_launched_again(status);
  // An attempt without an end in the journal was ended by the sweep, unless its log shows that it
  // came to its own end before. A phase that was ended early left a checkpoint of another step than
  // its last, or none: the next phase cannot go on from there, whatever the window covers.
  const bool must_be_complete = !attempt.finished || sweep.plan.cells[trial.cell].has_later_phase();
  const bool whole = covered && (!must_be_complete || status == Status::completed);
  out.settles = whole || final;
  if (!out.settles) return out;
  if (attempt.finished && !known) {
    const auto file = sweep.root.path_of(folder + "/outcome.json");
    const auto outcome = nlohmann::ordered_json::parse(proc::read_file(file), nullptr, false);
    if (outcome.is_object() && outcome.contains("telemetry")) {
      apply_telemetry(result, outcome["telemetry"]);
    }
  }
  const auto& trainer = sweep.trainer_id(trial.cell);
  if (!attempt.program.empty() && !trainer.empty() && attempt.program != trainer) {
    result.notices.push_back(make_notice(NoticeCode::trainer_build_changed, 0));
  }
  return out;
}

/// `cells_command`: digest of the command, where the trials of the cell share it; filled in.
Result<void> review_trial(const OpenSweep& sweep, EarlierTrial& out,
                          std::optional<std::string>& cells_command) {
  const auto& trial = out.trial;
  const auto it = sweep.earlier.trials.find({sweep.plan.cells[trial.cell].key, trial.trial});
  if (it == sweep.earlier.trials.end()) return {};
  if (!cells_command) {
    auto digest = command_digest(sweep, trial);
    if (!digest) return tl::unexpected(digest.error());
    cells_command = std::move(*digest);
  }
  const auto& command = *cells_command;
  const auto& attempts = it->second;
  out.command_changed = true;
  for (auto a = attempts.rbegin(); a != attempts.rend() && !out.settled; ++a) {
    if (a->command != command) continue;
    out.command_changed = false;
    if (!a->finished && sweep.launcher.queue()) {
      const auto folder = sweep.attempt_folder(trial, a->attempt);
      if (!folder) return tl::unexpected(folder.error());
      if (auto job = job_of(sweep.root, *folder)) {
        out.job = std::move(*job);
        out.block = a->block;
        out.next_attempt = a->attempt;
        return {};
      }
    }
    auto reviewed = review(sweep, trial, *a);
    if (!reviewed) return tl::unexpected(reviewed.error());
    if (!reviewed->settles) {
      // The last failure stands in the report until a launch does better.
      if (a->finished && !out.measured) out.measured = std::move(reviewed->measured);
      continue;
    }
    out.settled = true;
    out.block = a->block;
    out.seconds = a->seconds;
    out.measured = std::move(reviewed->measured);
    if (sweep.launcher.hosts != RankHosts::this_machine) {
      const auto folder = sweep.attempt_folder(trial, a->attempt);
      if (folder) out.nodes = read_mark(*folder, "nodes");
    }
  }
  // An attempt that was cut short by the harness's own end is made again: under its number where it
  // printed nothing, else in a folder of its own, so that its log is kept.
  const auto& last = attempts.back();
  const auto folder = sweep.root.path_of(sweep.attempt_path(trial, last.attempt));
  const bool printed =
      holds_text(folder + "/" + kPrintedLog) || holds_text(folder + "/" + kTrainerLog);
  const bool cut_short = !last.finished && last.command == command;
  out.next_attempt = cut_short && !printed ? last.attempt : last.attempt + 1;
  if (cut_short && printed) {
    const auto killed = fmt::format("{}: {}", name(Status::killed),
                                    text_of(make_notice(NoticeCode::harness_ended_first, 0)));
    out.cut_short = {make_notice(NoticeCode::attempt_before, 0, last.attempt, killed)};
  }
  return {};
}

std::vector<EarlierTrial> trials_to_report(const OpenSweep& sweep) {
  const auto& plan = sweep.plan;
  std::vector<EarlierTrial> out;
  std::set<std::pair<std::size_t, int>> wanted;
  for (const auto& trial : plan.trials) {
    out.push_back({trial, true});
    wanted.emplace(trial.cell, trial.trial);
  }
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    for (int trial = 1; trial <= plan.config.trials; ++trial) {
      if (wanted.contains({cell, trial})) continue;
      if (!sweep.earlier.trials.contains({plan.cells[cell].key, trial})) continue;
      out.push_back({{.cell = cell, .trial = trial}, false});
    }
  }
  return out;
}

bool holds_checkpoint(const OpenSweep& sweep, const PlannedTrial& trial) {
  const LaunchPlace place{sweep.root.path_of(sweep.attempt_path(trial, 1)), 0, ""};
  std::error_code ec;
  const auto folder = phase_checkpoint(sweep.plan, trial.cell, trial.trial, place);
  return std::filesystem::directory_iterator(folder, ec) != std::filesystem::directory_iterator();
}

/// With trials "auto": cells whose first trials end in a way that no launch mends. The sweep
/// dropped them and went on without.
std::set<std::size_t> dropped_cells(const OpenSweep& sweep,
                                    const std::vector<EarlierTrial>& trials) {
  std::set<std::size_t> out;
  if (!sweep.plan.config.auto_trials) return out;
  std::map<std::pair<std::size_t, int>, const Trial*> decided;
  std::set<std::size_t> cells;
  for (const auto& one : trials) {
    cells.insert(one.trial.cell);
    if (!one.settled || !one.measured) continue;
    decided.emplace(std::pair{one.trial.cell, one.trial.trial}, &one.measured->trial);
  }
  for (const std::size_t cell : cells) {
    const bool hopeless = begins_hopeless([&](int number) {
      const auto it = decided.find({cell, number});
      return it == decided.end() ? nullptr : it->second;
    });
    if (hopeless) out.insert(cell);
  }
  return out;
}

/// Measures the halves anew whose partners are still to be launched, or ran in another session.
void reopen_broken_pairs(const OpenSweep& sweep, std::vector<EarlierTrial>& trials) {
  std::map<std::pair<std::size_t, int>, std::vector<EarlierTrial*>> blocks;
  const auto dropped = dropped_cells(sweep, trials);
  for (auto& one : trials) {
    if (!one.wanted || (!one.settled && dropped.contains(one.trial.cell))) continue;
    blocks[{sweep.plan.cells[one.trial.cell].grid_point, one.trial.trial}].push_back(&one);
  }
  std::size_t reopened = 0;
  for (auto& [id, halves] : blocks) {
    const auto session = [](const EarlierTrial* one) {
      return one->block && (one->settled || !one->job.empty()) ? one->block->session : 0;
    };
    const int first = session(halves.front());
    const bool whole = std::ranges::all_of(
        halves, [&](const EarlierTrial* one) { return session(one) == first && first != 0; });
    if (whole) continue;
    for (EarlierTrial* one : halves) {
      if (!one->settled) continue;
      one->settled = false;
      one->measured.reset();
      ++reopened;
    }
  }
  if (reopened > 0) {
    sweep.observer.notice(
        fmt::format("{} measured anew: the other half of the pair was not measured in the same "
                    "start of the sweep",
                    counted(reopened, "trial")));
  }
}

/// What of the phases must be run again, as each goes on from the checkpoint of the one before.
void review_phases(const OpenSweep& sweep, std::vector<EarlierTrial>& trials) {
  const auto& plan = sweep.plan;
  std::map<std::pair<std::size_t, int>, EarlierTrial*> by_trial;
  for (auto& one : trials) {
    if (one.wanted) by_trial[{one.trial.cell, one.trial.trial}] = &one;
  }
  const auto phase_before = [&](const EarlierTrial& one) -> EarlierTrial* {
    if (plan.cells[one.trial.cell].phase < 2) return nullptr;
    const auto found = by_trial.find({one.trial.cell - 1, one.trial.trial});
    return found == by_trial.end() ? nullptr : found->second;
  };
  const auto failed = [](const EarlierTrial& one) {
    return one.settled && one.measured && is_failure(one.measured->trial.outcome.status);
  };
  const auto run_anew = [](EarlierTrial& one) {
    one.settled = false;
    one.measured.reset();
  };
  // From the last phase to the first: one that is to be run needs the checkpoint before it.
  for (auto& [id, one] : by_trial | std::views::reverse) {
    EarlierTrial* before = phase_before(*one);
    if (!before || one->settled || !one->job.empty()) continue;
    if (!before->settled || failed(*before) || holds_checkpoint(sweep, before->trial)) continue;
    run_anew(*before);
    sweep.observer.notice(fmt::format("{} trial {}: its checkpoint is gone, so it is run anew",
                                      plan.cells[before->trial.cell].key, before->trial.trial));
  }
  // From the first to the last: one that went on from what is run anew is run anew, and one whose
  // phase before it fails each time is not run.
  for (auto& [id, one] : by_trial) {
    const EarlierTrial* before = phase_before(*one);
    if (!before) continue;
    if (failed(*before) || !before->wanted) {
      one->wanted = false;
    } else if (!before->settled && one->settled) {
      run_anew(*one);
    }
  }
}

}  // namespace

Result<std::vector<EarlierTrial>> review_earlier_trials(const OpenSweep& sweep) {
  const auto& plan = sweep.plan;
  auto trials = trials_to_report(sweep);
  std::vector<std::vector<std::size_t>> by_cell(plan.cells.size());
  for (std::size_t i = 0; i < trials.size(); ++i) by_cell[trials[i].trial.cell].push_back(i);
  // Phases name the folder of their trial's checkpoint.
  const bool differ = plan.config.seed_per_trial() || !plan.config.phases.empty() ||
                      plan.workload.placeholders.contains("trial");
  std::vector<Result<void>> done(trials.size());
  for_each_index(by_cell.size(), 16, [&](std::size_t cell) {
    std::optional<std::string> command;
    for (const auto i : by_cell[cell]) {
      if (differ) command.reset();
      done[i] = review_trial(sweep, trials[i], command);
    }
  });
  for (const auto& one : done) {
    if (!one) return tl::unexpected(one.error());
  }
  if (!plan.config.variants.empty()) reopen_broken_pairs(sweep, trials);
  if (!plan.config.phases.empty()) review_phases(sweep, trials);
  return trials;
}

}  // namespace bertbench
