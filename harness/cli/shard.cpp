#include "harness/cli/shard.h"

#include <fmt/format.h>

#include <vector>

#include "parsers/core/text.h"

namespace bertbench {

Result<ShardName> parse_shard(const std::string& text) {
  const auto parts = split(text, '/');
  if (parts.size() == 2) {
    const auto shard = to_int(parts[0]), of = to_int(parts[1]);
    if (shard && of && *shard >= 1 && *of >= *shard && *of <= 1'000'000) {
      return ShardName{static_cast<int>(*shard), static_cast<int>(*of)};
    }
  }
  return fail("--shard", fmt::format("'{}' is not a part I/N", text),
              "count from 1, as in 3/8; under Slurm $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT "
              "of --array=1-8");
}

Shard take_shard(Inputs& inputs, const ShardName& shard) {
  Shard part;
  part.shard = shard.shard;
  part.of = shard.of;
  part.logs = inputs.logs.size();
  std::vector<std::string> names;
  names.reserve(inputs.logs.size());
  for (const Input& log : inputs.logs) names.push_back(log.path);
  part.list = digest_of(names);
  std::erase_if(inputs.logs,
                [&](const Input& log) { return !in_shard(log.index, shard.shard, shard.of); });
  if (shard.shard > 1) inputs.errors.clear();
  return part;
}

std::map<std::string, std::string> facts_as_options(const Facts& facts) {
  std::map<std::string, std::string> out;
  const auto text = [&](const char* name, const Fact<std::string>& fact) {
    if (fact.known()) out[name] = *fact.value;
  };
  const auto number = [&](const char* name, const Fact<std::int64_t>& fact) {
    if (fact.known()) out[name] = std::to_string(*fact.value);
  };
  text("framework", facts.framework);
  text("model", facts.model);
  text("precision", facts.precision);
  number("sequence-length", facts.sequence_length);
  number("micro-batch-size", facts.micro_batch_size);
  number("gradient-accumulation-steps", facts.gradient_accumulation_steps);
  number("nodes", facts.nodes);
  number("gpus-per-node", facts.gpus_per_node);
  return out;
}

}  // namespace bertbench
