// One shard's part of an extraction, and how the parts become the result of a single run.
//
// A part is a result set of its own whose cells are not grouped: one cell a log, in the order read,
// so that nothing is lost that grouping needs (tree, numbering, superseded attempts). The object
// "partial" next to them holds which shard it is, what was read, and what each cell's place means:
//   {"shard": 2, "of": 8, "logs": 1220, "list": "9f2c01ab", "options": {"window": "auto"},
//    "sources": [{"log": 1, "run": 0, "tree": "...", "numbered": true}, ...]}
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "reports/cells/result_builder.h"

namespace bertbench {

struct ShardLog {
  MeasuredLog measured;
  std::size_t log = 0;  ///< index in the list of all logs, the same list in every shard
  std::size_t run = 0;  ///< index among the runs of that log
};

struct Shard {
  int shard = 1, of = 1;  ///< 1-based
  std::size_t logs = 0;   ///< in the list of all shards
  std::string list;       ///< digest of that list
  /// What decides the result in addition to the logs; equal in all shards.
  std::map<std::string, std::string> options;
  std::vector<ShardLog> measured;  ///< in the order read
};

/// Shard i of n reads log k of the list when k % n == i - 1: neighbours in a tree are often of one
/// size, so this spreads the bytes.
[[nodiscard]] constexpr bool in_shard(std::size_t log, int shard, int of) {
  return log % static_cast<std::size_t>(of) == static_cast<std::size_t>(shard - 1);
}

/// Digest of a list of names in its order.
[[nodiscard]] std::string digest_of(const std::vector<std::string>& names);

[[nodiscard]] ResultSet partial_result(Shard shard);

/// A result set that partial_result made; `where` names it in errors.
[[nodiscard]] Result<Shard> read_shard(ResultSet results, const std::string& where);

struct NamedShard {
  std::string name;  ///< for messages
  Shard shard;
};

/// The result of a run that reads every log in one process. Errors: a shard missing or twice, lists
/// or options that differ. `notices` gets what ResultBuilder::notices() would.
[[nodiscard]] Result<ResultSet> merge_shards(std::vector<NamedShard> shards,
                                             std::vector<Notice>& notices);

}  // namespace bertbench
