// Journal: <out>/journal.jsonl, the truth about a run folder. Append-only, one fsync'd line an
// event, each line with a checksum of itself. The lock on it is held for the harness's life.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/sweep/process/folder.h"
#include "parsers/core/error.h"

namespace bertbench {

/// Events, in the member "event":
///   opened    harness pid, tool version, config hash: one per start of the harness
///   started   cell, trial, attempt, command (canonical), marker: before the first rank is started;
///             of a variant session (the number of `opened` before it) and position in its block
///   launched  cell, trial, attempt, processes [{pid, start_time}]: after the last rank is started
///   finished  cell, trial, attempt, status, exit, seconds, log_bytes
///   closed    why: "done", "interrupted" or the error
/// Every record has "n" (1, 2, 3 ...), "time" (RFC 3339, UTC, for people only), "run" (the same
/// in all; earlier versions wrote it into `opened` alone) and, last, "crc", the
/// CRC-32C of the line before `,"crc"`.
using JournalRecord = nlohmann::ordered_json;

class Journal {
 public:
  /// Opens or makes the journal, locks it and reads what is whole. A torn or damaged end is cut off
  /// and named in notices(). Another harness holding the lock is an Error with its pid.
  static Result<Journal> open(const Folder& folder);

  /// Parsed anew at each call: the records of ten thousand trials are large, their text is not.
  [[nodiscard]] std::vector<JournalRecord> records() const;
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  /// Adds n, time, run and crc, writes one line and syncs it. After a failure (full disk) what was
  /// written of the line is cut off again, so the journal stays readable; if even that fails,
  /// nothing more is appended. A journal that was removed or cut since is written again first, and
  /// notices() reports it; one that somebody else replaced or wrote to is an Error.
  Result<void> append(JournalRecord record);

 private:
  Journal(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<void> load();
  Result<void> guard();
  Result<void> write_again(const std::string& why);
  Descriptor fd_;        // with the lock
  std::string text_;     // of the file, by our own writes
  bool broken_ = false;  // the file's end is not known to be whole
  std::string path_;
  std::vector<std::string> notices_;
  std::int64_t next_ = 1;
  std::string run_;  // of all its records
};

/// One line of a journal with its checksum, without the newline.
std::string journal_line(const JournalRecord& record);
/// The record of a line, or nothing when the line is torn or altered.
std::optional<JournalRecord> parse_journal_line(std::string_view line);

}  // namespace bertbench
