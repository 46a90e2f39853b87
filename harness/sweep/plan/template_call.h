// From a template to what one trial of it needs: its words, its files, the logs that it writes
// itself, and what only the user can give. Pure: nothing is written here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/sweep/plan/launcher.h"
#include "harness/sweep/plan/own_logs.h"

namespace bertbench {

/// The way in which the workload starts a cell: the first whose conditions hold, of the name that
/// the axis `launch` asks for. An Error where there is none.
Result<std::size_t> choose_way(const Workload& workload, const PlannedCell& cell,
                               const std::string& launcher);
const LaunchWay& way_of(const Plan& plan, const PlannedCell& cell);

/// Processes that the harness starts for a cell.
struct ProcessCount {
  std::int64_t nodes = 1;     ///< on which processes are started
  std::int64_t per_node = 1;  ///< on each
};
ProcessCount process_count(const Plan& plan, const PlannedCell& cell);

/// Program and arguments, the same for every process. An option of `needs` that is missing stands
/// at the end with its name in angle brackets, as a dry run shows it.
Result<std::vector<std::string>> template_words(const Plan& plan, const PlannedTrial& trial,
                                                const LaunchPlace& place, int ranks_per_machine);
/// Variables of the template and of its way; those of config and cell are above them.
Result<std::map<std::string, std::string>> template_env(const Plan& plan, const PlannedTrial& trial,
                                                        const LaunchPlace& place);

/// Folder of the files of an attempt, below its own.
inline constexpr const char* kFilesFolder = "files";
/// Folder for what the trainer writes: {output}. Empty when an attempt starts.
inline constexpr const char* kOutputFolder = "output";

struct TrialFile {
  std::string name;  ///< {file:NAME} is <attempt>/files/NAME
  std::string text;
  bool json = false;
};
/// The files that a word or a variable of the trial names.
Result<std::vector<TrialFile>> trial_files(const Plan& plan, const PlannedTrial& trial,
                                           const LaunchPlace& place);

/// The words of a hook of each attempt (SweepConfig::hooks), placeholders replaced.
Result<std::vector<std::string>> hook_words(const Plan& plan, const PlannedTrial& trial,
                                            const LaunchPlace& place,
                                            const std::vector<std::string>& words);

/// An error that names the first placeholder without a value in the words, variables, files and
/// hooks of the planned trials.
Result<void> check_words(const Plan& plan);

/// Where the trainer writes its own logs; empty where it writes none.
Result<OwnLogs> own_logs(const Plan& plan, const PlannedTrial& trial, const LaunchPlace& place);

/// The command of a cell as template and configuration write it, placeholders not replaced:
/// variables as NAME=VALUE, program and arguments, then the texts of the files and definitions that
/// they name. What changes the work is in here or in the cell's axes.
std::vector<std::string> template_command(const SweepConfig& config, const Workload& workload,
                                          const PlannedCell& cell);

/// The program that the trials of a cell start, by the name or path that the plan gives it.
const std::string& program_of(const Plan& plan, const PlannedCell& cell);
/// Programs that the planned trials start, each once.
std::vector<std::string> programs_of(const Plan& plan);
/// True where its words, variables or files name hosts that are not known yet ("<host2>").
Result<bool> template_names_hosts(const Plan& plan, const PlannedTrial& trial);

/// The needs that no word of some planned cell fulfils.
Result<std::vector<Need>> missing_needs(const Plan& plan);

}  // namespace bertbench
