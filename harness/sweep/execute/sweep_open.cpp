// SweepRun: opening the run folder.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/sweep/execute/batch_run.h"
#include "harness/sweep/execute/measured_outcome.h"
#include "harness/sweep/execute/sweep_run.h"
#include "harness/sweep/observe/environment.h"
#include "harness/sweep/observe/machine.h"
#include "harness/sweep/plan/template_call.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/text.h"
#include "parsers/reader/log_reader.h"
#include "reports/model/version.h"

namespace bertbench {
namespace {

/// Slurm chooses nodes when a job starts, so no file and no word of a template can name them.
Result<void> check_hosts_known(const Plan& plan) {
  if (plan.config.launcher != "slurm") return {};
  for (const auto& trial : plan.trials) {
    const auto words = template_names_hosts(plan, trial);
    if (!words) return tl::unexpected(words.error());
    if (!*words) continue;
    return fail("template " + plan.workload.name,
                fmt::format("{} names its hosts on its command line, and Slurm chooses them later",
                            plan.cells[trial.cell].key),
                "use launcher ssh or mpi with 'hosts', or a way of 'launch' that needs no hosts");
  }
  return {};
}

Result<void> check_programs(const Plan& plan, const Launcher& launcher) {
  if (!launcher.runs) {
    return fail("launcher " + std::string(launcher.name), "is not built yet in this version",
                "use --launcher local, or --dry-run to see its commands");
  }
  if (!launcher.program.empty() && find_program(std::string(launcher.program)).empty()) {
    return fail("launcher " + std::string(launcher.name),
                fmt::format("{} is not on PATH", launcher.program), "install it");
  }
  for (const auto& program : programs_of(plan)) {
    if (!find_program(program).empty()) continue;
    return fail(program, "the trainer program is missing or cannot be run",
                plan.workload.is_bert_train
                    ? "build it (scripts/quickstart), or name it with --trainer"
                    : "install it, or correct the template's program");
  }
  if (!plan.missing.empty()) {
    return fail("template " + plan.workload.name, "needs " + plan.missing.front().option,
                plan.missing.front().what);
  }
  if (auto good = check_hosts_known(plan); !good) return good;
  if (launcher.check) {
    if (auto good = launcher.check(plan); !good) return good;
  }
  return check_format_name(plan.workload.format);
}

}  // namespace

SweepRun::SweepRun(const Plan& plan, const SweepOptions& options, SweepObserver& observer,
                   const Launcher& launcher)
    : plan_(plan),
      options_(options),
      observer_(observer),
      launcher_(launcher),
      signals_(options.handle_signals) {}

// The folder, its journal, and what they say of earlier starts.
Result<void> SweepRun::open_folder() {
  auto root = Folder::make_root(options_.out);
  if (!root) return tl::unexpected(root.error());
  root_.emplace(std::move(*root));
  auto journal = Journal::open(*root_);
  if (!journal) return tl::unexpected(journal.error());
  journal_.emplace(std::move(*journal));
  if (auto good = root_->probe(std::size_t{256} << 10); !good) return good;
  tell_journal_notices();

  state_ = replay(journal_->records());
  if (state_.run_id.empty()) {
    if (!journal_->empty()) {
      return fail(root_->path_of("journal.jsonl"), "is no journal of a sweep", "use another --out");
    }
    // sweep.json is written after the journal's first record, so here a journal was lost.
    if (root_->holds("sweep.json")) {
      return fail(root_->path_of("journal.jsonl"),
                  "is missing or empty, though the folder holds a sweep",
                  "put it back; or use another --out, as trials of unknown origin are not reused");
    }
    state_.run_id = random_id();
  }
  return {};
}

// Nothing that an earlier start left may run beside what this one launches.
Result<void> SweepRun::end_earlier_processes(const std::string& boot) {
  const auto known =
      state_.boot_id == boot ? state_.unfinished_processes() : std::vector<ProcessId>{};
  // Jobs of a queue that this start does not use must end before their
  // processes are looked for.
  for (const auto* other : all_launchers()) {
    if (!other->batch || launcher_.queue() == other->batch) continue;
    if (auto done = BatchRun::end_jobs(*root_, *other->batch, {}); !done) return done;
  }
  if (launcher_.end_leftovers) launcher_.end_leftovers(state_.run_id);
  std::error_code ec;
  const auto real = std::filesystem::canonical(root_->path(), ec).string();
  // Jobs that go on without us hold logs as well, and may run on this very
  // machine.
  const auto folder = ec || launcher_.queue() ? std::string() : real;
  if (const int killed = kill_leftover_processes(state_.run_id + ":", known, folder); killed > 0) {
    observer_.notice(fmt::format("{} {} of an earlier start still ran and {} ended", killed,
                                 killed == 1 ? "process" : "processes",
                                 killed == 1 ? "was" : "were"));
  }
  return {};
}

Result<void> SweepRun::note_environment(const std::string& config) {
  const Machine machine = look_at_machine("", /*with_gpus=*/false);
  memory_bytes_ = machine.memory_bytes;
  if (machine.memory_limit_bytes && machine.memory_limit_bytes < memory_bytes_) {
    memory_bytes_ = machine.memory_limit_bytes;
  }
  nvml_ = Nvml::open();
  environment_ = capture_environment(
      {plan_.config.record_hostname, config, plan_.config.launcher == "mpi", true});
  const auto path = root_->path_of("environment.json");
  if (root_->holds("environment.json")) {
    // Trials of before were measured there; a resume elsewhere is said, not hidden.
    auto before = nlohmann::ordered_json::parse(proc::read_file(path), nullptr, false);
    if (before.is_object()) {
      for (const char* key : {"cpu", "cores", "memory_bytes"}) {
        if (before.contains(key) && environment_.contains(key) &&
            before[key] != environment_[key]) {
          observer_.notice(fmt::format("{}: '{}' was {} when the sweep began and is {} now", path,
                                       key, before[key].dump(), environment_[key].dump()));
        }
      }
      environment_ = std::move(before);
      return {};
    }
  }
  return root_->write("environment.json", environment_.dump(2) + "\n");
}

Result<void> SweepRun::open() {
  prepare_to_run_processes();
  if (auto good = check_programs(plan_, launcher_); !good) return good;
  if (auto good = open_folder(); !good) return good;
  const auto boot = boot_id();
  if (auto done = end_earlier_processes(boot); !done) return done;

  const auto config = config_to_json(plan_.config);
  if (auto done = journal_->append({{"event", "opened"},
                                    {"run", state_.run_id},
                                    {"boot", boot},
                                    {"pid", getpid()},
                                    {"version", std::string(tool_version())},
                                    {"commit", std::string(tool_commit())},
                                    {"program", program_stamp("/proc/self/exe")},
                                    {"config", digest(config)}});
      !done) {
    return done;
  }
  if (auto done = root_->write("sweep.json", config); !done) return done;
  return note_environment(config);
}

Result<std::string> SweepRun::command_digest(const PlannedTrial& trial) const {
  // The canonical command: everything but what differs from launch to launch by nature.
  const auto processes = launcher_.processes(plan_, trial, {"<dir>", 0, ""});
  if (!processes) return tl::unexpected(processes.error());
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& one : *processes) {
    all.push_back({{"argv", one.argv}, {"set", one.set}, {"unset", one.unset}});
  }
  const auto text = all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  auto canonical = fmt::format("{}\n{}", launcher_.name, text);
  const auto files = trial_files(plan_, trial, {"<dir>", 0, ""});
  if (!files) return tl::unexpected(files.error());
  for (const auto& file : *files) canonical += fmt::format("\n{}\n{}", file.name, file.text);
  return digest(canonical);
}

std::string SweepRun::attempt_path(const PlannedTrial& trial, int attempt) const {
  std::string path = fmt::format("{}/trial_{}", plan_.cells[trial.cell].folder, trial.trial);
  if (attempt > 1) path += fmt::format("/attempt_{}", attempt);
  return path;
}

Result<Folder> SweepRun::attempt_folder(const PlannedTrial& trial, int attempt) const {
  Result<Folder> folder = root_->child(plan_.cells[trial.cell].folder);
  if (folder) folder = folder->child(fmt::format("trial_{}", trial.trial));
  if (folder && attempt > 1) folder = folder->child(fmt::format("attempt_{}", attempt));
  return folder;
}

}  // namespace bertbench
