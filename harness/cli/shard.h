// extract --shard i/n: the share of the logs that one process of many reads.
#pragma once

#include <map>
#include <string>

#include "harness/cli/inputs.h"
#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "reports/cells/partial.h"

namespace bertbench {

struct ShardName {
  int shard = 1, of = 1;  ///< 1-based
};

/// "3/8"; 1 <= i <= n <= 1000000.
[[nodiscard]] Result<ShardName> parse_shard(const std::string& text);

/// Leaves the logs of this shard in `inputs`; the result names the list that they are from. Errors
/// about paths are left to the first shard, so that a fleet reports each once.
[[nodiscard]] Shard take_shard(Inputs& inputs, const ShardName& shard);

/// Facts of the command line by the names of their options.
[[nodiscard]] std::map<std::string, std::string> facts_as_options(const Facts& facts);

}  // namespace bertbench
