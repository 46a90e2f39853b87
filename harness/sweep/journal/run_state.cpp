#include "harness/sweep/journal/run_state.h"

#include <fmt/format.h>
#include <sys/random.h>

#include "harness/sweep/process/proc_fs.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

AttemptState& attempt_of(RunState& state, const JournalRecord& record) {
  auto& attempts = state.trials[{record.value("cell", ""), record.value("trial", 0)}];
  const int number = record.value("attempt", 1);
  for (auto& attempt : attempts) {
    if (attempt.attempt == number) return attempt;
  }
  attempts.emplace_back();
  attempts.back().attempt = number;
  return attempts.back();
}

}  // namespace

std::vector<ProcessId> RunState::unfinished_processes() const {
  std::vector<ProcessId> out;
  for (const auto& [name, attempts] : trials) {
    for (const auto& attempt : attempts) {
      if (!attempt.finished) {
        out.insert(out.end(), attempt.processes.begin(), attempt.processes.end());
      }
    }
  }
  return out;
}

RunState replay(const std::vector<JournalRecord>& records) {
  RunState state;
  std::string harness;
  for (const auto& record : records) {
    const std::string event = record.value("event", "");
    if (event == "opened") {
      state.run_id = record.value("run", state.run_id);
      state.boot_id = record.value("boot", "");
      harness = record.value("program", "");
      ++state.sessions;
    } else if (event == "started") {
      auto& attempt = attempt_of(state, record);
      const int number = attempt.attempt;
      attempt = AttemptState{};  // launched again after an interruption
      attempt.attempt = number;
      attempt.command = record.value("command", "");
      attempt.program = record.value("program", "");
      if (record.contains("session")) {
        attempt.block = BlockPlace{record.value("session", 1), record.value("position", 1)};
      }
    } else if (event == "launched") {
      auto& attempt = attempt_of(state, record);
      for (const auto& process : record.value("processes", JournalRecord::array())) {
        attempt.processes.push_back({process.value("pid", 0), process.value("start_time", 0ULL)});
      }
    } else if (event == "finished") {
      auto& attempt = attempt_of(state, record);
      attempt.finished = true;
      attempt.covered = record.value("window_covered", false);
      attempt.log_bytes = record.value("log_bytes", std::int64_t{-1});
      attempt.log_stamp = record.value("log", "");
      attempt.outcome_crc = record.value("outcome", "");
      attempt.read_by = harness;
      attempt.seconds = record.value("seconds", 0.0);
      Outcome outcome;
      outcome.status = parse_status(record.value("status", "error")).value_or(Status::error);
      if (const std::string detail = record.value("detail", ""); !detail.empty()) {
        outcome.details = {foreign_notice(0, detail)};
      }
      outcome.line = record.value("line", std::int64_t{0});
      if (record.contains("step")) outcome.step = record.value("step", std::int64_t{0});
      attempt.outcome = outcome;
    }
  }
  return state;
}

std::string digest(std::string_view text) {
  __extension__ using Wide = unsigned __int128;
  const Wide prime = (Wide{1} << 88) + 0x13B;
  Wide hash = (Wide{0x6C62272E07BB0142ULL} << 64) + 0x62B821756295C58DULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64),
                     static_cast<std::uint64_t>(hash));
}

std::string random_id() {
  std::uint64_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) value = 1;
  return fmt::format("{:016x}", value);
}

std::string boot_id() { return proc::read_value("/proc/sys/kernel/random/boot_id"); }

}  // namespace bertbench
