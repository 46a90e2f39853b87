// RunState: the state of the trials of a run folder, from its journal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/sweep/journal/journal.h"
#include "harness/sweep/process/process.h"
#include "parsers/core/outcome.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct AttemptState {
  int attempt = 1;
  std::string command;              ///< digest of the canonical command
  std::optional<BlockPlace> block;  ///< of a variant, where it can be half of a pair
  std::string program;              ///< identity of the trainer's file: size and time of change
  bool finished = false;
  bool covered = false;            ///< its log covered the window when it finished
  std::int64_t log_bytes = -1;     ///< of its log then; -1 unknown
  std::string log_stamp;           ///< file_stamp() of its log then
  std::string outcome_crc;         ///< of outcome.json, 8 hex digits
  std::string read_by;             ///< program_stamp() of the harness that measured it
  std::optional<Outcome> outcome;  ///< when finished
  std::vector<ProcessId> processes;
  double seconds = 0;
};

struct RunState {
  std::string run_id;   ///< of the folder, drawn when it was made
  int sessions = 0;     ///< starts of the harness
  std::string boot_id;  ///< of the last harness: process ids mean nothing after a reboot
  std::map<std::pair<std::string, int>, std::vector<AttemptState>> trials;  ///< (key, trial)

  /// Processes of attempts that have no end in the journal.
  [[nodiscard]] std::vector<ProcessId> unfinished_processes() const;
};

RunState replay(const std::vector<JournalRecord>& records);

/// 32 hex digits that distinguish one text from another (FNV-1a, 128 bits).
std::string digest(std::string_view text);
/// 16 random hex digits.
std::string random_id();
std::string boot_id();

}  // namespace bertbench
