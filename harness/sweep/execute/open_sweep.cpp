#include "harness/sweep/execute/open_sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/sweep/execute/job_folder.h"
#include "harness/sweep/execute/measured_outcome.h"
#include "harness/sweep/execute/preflight.h"
#include "harness/sweep/observe/environment.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/text.h"
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

Result<void> check_programs(const Plan& plan) {
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
  if (auto good = check_programs(plan); !good) return tl::unexpected(good.error());
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
                                     .version_program = std::string(launcher.program)});
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
  if (trial.position == 0 || (again && launcher.queue())) return std::nullopt;
  return BlockPlace{earlier.sessions + 1, trial.position};
}

std::string OpenSweep::attempt_path(const PlannedTrial& trial, int attempt) const {
  std::string path = fmt::format("{}/trial_{}", plan.cells[trial.cell].folder, trial.trial);
  if (attempt > 1) path += fmt::format("/attempt_{}", attempt);
  return path;
}

Result<Folder> OpenSweep::attempt_folder(const PlannedTrial& trial, int attempt) const {
  Result<Folder> folder = root.child(plan.cells[trial.cell].folder);
  if (folder) folder = folder->child(fmt::format("trial_{}", trial.trial));
  if (folder && attempt > 1) folder = folder->child(fmt::format("attempt_{}", attempt));
  return folder;
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

}  // namespace bertbench
