#include "harness/sweep/execute/open_attempt.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "harness/sweep/observe/node_telemetry.h"
#include "harness/sweep/plan/template_call.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

int free_port() {
  const Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd < 0) return 29500;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool good = bind(fd, raw, length) == 0 && getsockname(fd, raw, &length) == 0;
  return good ? ntohs(address.sin_port) : 29500;
}

namespace {

/// Removes what an earlier start left in the folder of an attempt that begins again.
void clear_attempt(const Folder& folder, const OwnLogs& own) {
  for (const char* old :
       {"outcome.json", "iterations.csv", "timings.jsonl", kTrainingMark, kTrainerLog}) {
    folder.remove(old);
  }
  for (const char* log : {kPrintedLog, kTrainerLog}) {
    folder.remove(log + std::string(kArrivalsSuffix));
  }
  // A trainer that finds its checkpoints goes on from there. Of a link the link itself goes.
  std::error_code ec;
  for (const char* old : {kOutputFolder, kFilesFolder}) {
    std::filesystem::remove_all(folder.path_of(old), ec);
  }
  for (const auto& log : own.find()) std::filesystem::remove(log, ec);
}

Result<void> write_command(const OpenSweep& sweep, const OpenAttempt& open,
                           const std::vector<TrialFile>& files) {
  Json json = {{"cell", open.cell.key},
               {"trial", open.wanted.trial.trial},
               {"launcher", std::string(sweep.launcher.name)},
               {"world_size", open.cell.topology.world_size()}};
  json["processes"] = Json::array();
  for (const auto& one : open.processes) {
    Json set = Json::object();
    for (const auto& [key, value] : one.set) set[key] = value;
    Json process = {{"argv", one.argv}, {"set", set}, {"unset", one.unset}};
    if (!one.input.empty()) process["input"] = one.input;
    if (one.terminal) process["terminal"] = true;
    json["processes"].push_back(std::move(process));
  }
  for (const auto& file : files) json["files"][file.name] = file.text;
  return open.folder.write_unsynced(
      "command.json", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<void> write_files(const OpenSweep& sweep, const Folder& attempt,
                         const std::vector<TrialFile>& files) {
  if (!sweep.plan.workload.is_bert_train) {
    if (auto made = attempt.child(kOutputFolder); !made) return tl::unexpected(made.error());
  }
  for (const auto& file : files) {
    const auto into = attempt.child(kFilesFolder);
    if (!into) return tl::unexpected(into.error());
    const auto& secrets = sweep.plan.config.secrets;
    auto done = !secrets.held_by(file.text) ? into->write(file.name, file.text)
                : file.json ? into->write_private(file.name, secrets.reveal_json(file.text))
                            : into->write_private(file.name, secrets.reveal(file.text));
    if (!done) return done;
  }
  return {};
}

TrialLogs::Readers readers_of(const OpenSweep& sweep, const std::string& path) {
  const ReadOptions options{.format = sweep.plan.workload.format,
                            .window = sweep.plan.config.window,
                            .of_training = true};
  return [options, folder = sweep.root.path_of(path)](const std::string& file) {
    return LogReader(options, folder + "/" + file);
  };
}

}  // namespace

OpenAttempt::OpenAttempt(const OpenSweep& sweep, WantedAttempt w, Folder f, Descriptor fd,
                         OwnLogs own)
    : wanted(std::move(w)),
      cell(sweep.plan.cells[wanted.trial.cell]),
      path(sweep.attempt_path(wanted.trial, wanted.attempt)),
      folder(std::move(f)),
      log_fd(std::move(fd)),
      log(log_fd, std::move(own), readers_of(sweep, path)) {}

Json OpenAttempt::who() const {
  return {{"cell", cell.key}, {"trial", wanted.trial.trial}, {"attempt", wanted.attempt}};
}

Result<std::unique_ptr<OpenAttempt>> OpenAttempt::begin(OpenSweep& sweep, WantedAttempt wanted) {
  const auto trial = wanted.trial;
  auto folder = sweep.attempt_folder(trial, wanted.attempt);
  if (!folder) return tl::unexpected(folder.error());
  auto own = own_logs(sweep.plan, trial, {folder->path(), 0, ""});
  if (!own) return tl::unexpected(own.error());
  clear_attempt(*folder, *own);
  if (sweep.plan.cells[trial.cell].phase > 0) {
    // What a later phase takes up is of this attempt or of none.
    std::error_code ec;
    const LaunchPlace place{folder->path(), 0, ""};
    std::filesystem::remove_all(phase_checkpoint(sweep.plan, trial.cell, trial.trial, place), ec);
  }
  auto log_fd = folder->create_log("log.txt");
  if (!log_fd) return tl::unexpected(log_fd.error());
  auto open = std::make_unique<OpenAttempt>(sweep, std::move(wanted), std::move(*folder),
                                            std::move(*log_fd), std::move(*own));

  open->place = {open->folder.path(), free_port(),
                 // A job outlives the harness: resume must not take it for a survivor.
                 fmt::format("{}{}:{}", sweep.launcher.queue() ? "job:" : "", sweep.earlier.run_id,
                             open->path)};
  auto processes = sweep.launcher.processes(sweep.plan, trial, open->place);
  if (!processes) return tl::unexpected(processes.error());
  open->processes = std::move(*processes);
  const auto files = trial_files(sweep.plan, trial, open->place);
  if (!files) return tl::unexpected(files.error());
  if (auto done = write_files(sweep, open->folder, *files); !done) {
    return tl::unexpected(done.error());
  }
  const auto command = command_digest(sweep, trial);
  if (!command) return tl::unexpected(command.error());
  if (auto done = write_command(sweep, *open, *files); !done) return tl::unexpected(done.error());
  Json started = {{"event", "started"}};
  started.update(open->who());
  started["command"] = *command;
  started["program"] = sweep.trainer_id(trial.cell);
  open->block = sweep.block_of(trial, open->wanted.again);
  if (open->block) {
    started["session"] = open->block->session;
    started["position"] = open->block->position;
  }
  if (auto done = sweep.journal.append(started); !done) return tl::unexpected(done.error());
  return open;
}

Result<std::unique_ptr<OpenAttempt>> OpenAttempt::take_over(const OpenSweep& sweep,
                                                            WantedAttempt wanted) {
  auto folder = sweep.attempt_folder(wanted.trial, wanted.attempt);
  if (!folder) return tl::unexpected(folder.error());
  auto own = own_logs(sweep.plan, wanted.trial, {folder->path(), 0, ""});
  if (!own) return tl::unexpected(own.error());
  auto log_fd = folder->open_append("log.txt");
  if (!log_fd) return tl::unexpected(log_fd.error());
  auto open = std::make_unique<OpenAttempt>(sweep, std::move(wanted), std::move(*folder),
                                            std::move(*log_fd), std::move(*own));
  const auto trials = sweep.earlier.trials.find({open->cell.key, open->wanted.trial.trial});
  if (trials == sweep.earlier.trials.end()) return open;
  for (const auto& attempt : trials->second) {
    if (attempt.attempt == open->wanted.attempt) open->block = attempt.block;
  }
  return open;
}

}  // namespace bertbench
