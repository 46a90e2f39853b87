// From the paths of a command line to the list of logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

/// The log that one rank of a job wrote.
struct RankLog {
  std::string path;
  std::int64_t rank = 0;
};

struct Input {
  std::string path;        ///< "-" = stdin
  bool named = true;       ///< by the user; false: found below a folder
  std::int64_t bytes = 0;  ///< 0 = unknown (a pipe); of all ranks
  std::size_t index = 0;   ///< in Inputs::logs as found
  /// Of a job whose ranks wrote a log each: all these logs, `path` first; else empty.
  std::vector<RankLog> ranks{};
};

/// What becomes of the logs that the ranks of one job wrote.
enum class RankLogs {
  joined,  ///< they are one input
  apart    ///< each is an input, but of gluon-nlp's below a folder the first alone
};

struct Inputs {
  std::vector<Input> logs;            ///< in the order given; below a folder sorted by path
  std::vector<Error> errors;          ///< paths that do not exist, folders without a log, archives
  std::vector<std::string> left_out;  ///< whole sentences: logs below a folder that are copies
};

/// A log of one rank by the words of its path alone: "rank.3/stdout", "train_rank3.log",
/// "attempt_0/3/stderr.log", "workerlog.3", "phase1_log.3".
struct RankFile {
  std::string job;  ///< equal for all files of a job: the path without what differs between them
  std::int64_t rank = 0;
};
[[nodiscard]] std::optional<RankFile> rank_file(const std::string& path);

/// Files stand for themselves whatever their name. Folders are searched for files whose name ends
/// in .log .txt .out .err .json .jsonl or .stdout, also with .gz or .zst appended; hidden ones and,
/// in a run folder, everything but the trials' logs are left out. gluon-nlp's "phase1_log.0", Open
/// MPI's "rank.0/stdout" and Paddle's "workerlog.0" are some as well. A path named twice is read
/// once. Which logs are of ranks of one job: docs/ranks.md.
[[nodiscard]] Inputs find_inputs(const std::vector<std::string>& paths,
                                 RankLogs ranks = RankLogs::apart);

/// Of logs that are read at the same time, in addition to what one needs by itself.
inline constexpr std::size_t kMemoryOfLogs = std::size_t{24} << 20;
/// Bytes that the records of these logs may take: a line of 90 bytes can be a record of as many,
/// and a compressed log is of unknown length. The records that a run keeps are bounded (23 MB).
[[nodiscard]] std::size_t memory_of(std::span<const Input> logs);

/// Neighbours of a few KB put together, so that threads hand on work of some size; whatever is
/// larger, packed or of unknown size stays alone.
[[nodiscard]] std::vector<std::span<const Input>> small_logs_together(std::span<const Input> logs);

}  // namespace bertbench
