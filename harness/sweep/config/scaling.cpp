#include "harness/sweep/config/scaling.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/config/config.h"
#include "harness/sweep/config/phases.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr const char* kMicroBatch = "micro_batch_size";
constexpr const char* kAccumulation = "gradient_accumulation_steps";

void check_strong(ConfigReader& in, const SweepConfig& config) {
  if (!config.axis(kGlobalBatch) && !phases_give(config, kGlobalBatch)) {
    in.fail_at("/scaling", "\"strong\" divides the axis global_batch_size, and the grid has none",
               "give the sequences of the whole job per optimizer step as that axis");
  } else if (config.axis(kMicroBatch) && config.axis(kAccumulation)) {
    in.fail_at(child_pointer("/grid", kAccumulation),
               "follows from global_batch_size, micro_batch_size and the GPUs",
               "remove it, or remove micro_batch_size, which then follows");
  }
}

/// Axes that advance with the GPUs must leave the sequences of one GPU as they are.
void check_weak(ConfigReader& in, const SweepConfig& config) {
  for (std::size_t g = 0; g < config.zip.size(); ++g) {
    const auto holds = [&](std::string_view name) {
      return std::ranges::find(config.zip[g], name) != config.zip[g].end();
    };
    if (!holds("topology") && !holds("nodes") && !holds("gpus_per_node")) continue;
    for (const char* batch : {kMicroBatch, kAccumulation}) {
      const Axis* axis = config.axis(batch);
      const bool varies = axis && std::ranges::any_of(axis->values, [&](const auto& value) {
                            return value != axis->values.front();
                          });
      if (!holds(batch) || !varies) continue;
      in.fail_at(child_pointer("/zip", std::to_string(g)),
                 fmt::format("\"scaling\": \"weak\" keeps the sequences of one GPU, and {} changes "
                             "with the GPUs here",
                             batch),
                 "take the number of GPUs out of this group; 'exclude' leaves single cells out");
      return;
    }
  }
}

}  // namespace

void check_scaling(ConfigReader& in, const SweepConfig& config) {
  const bool strong = config.scaling == "strong";
  const bool of_phase = std::ranges::any_of(
      config.phases, [](const Phase& phase) { return phase.axes.contains(kGlobalBatch); });
  if ((config.axis(kGlobalBatch) || of_phase) && !strong) {
    in.fail_at(of_phase ? "/phases" : child_pointer("/grid", kGlobalBatch),
               "global_batch_size is an axis of \"scaling\": \"strong\" alone",
               "add that key, or give micro_batch_size and gradient_accumulation_steps");
    return;
  }
  if (!config.scaling.empty() && config.searches_batch()) {
    in.fail_at(child_pointer("/grid", kMicroBatch),
               fmt::format("must be numbers where scaling is {}", config.scaling),
               "the largest batch that fits can be another one on more GPUs");
    return;
  }
  if (strong) check_strong(in, config);
  if (config.scaling == "weak") check_weak(in, config);
}

Result<void> divide_global_batch(std::map<std::string, std::string>& point,
                                 const Topology& topology) {
  const auto number = [&](const char* axis) -> std::int64_t {
    const auto it = point.find(axis);
    return it == point.end() ? 0 : to_int(it->second).value_or(0);
  };
  const std::int64_t global = number(kGlobalBatch);
  if (global == 0) return {};
  const char* given = number(kMicroBatch) ? kMicroBatch : kAccumulation;
  const char* follows = number(kMicroBatch) ? kAccumulation : kMicroBatch;
  if (number(kMicroBatch) && number(kAccumulation)) {
    return fail("",
                "gradient_accumulation_steps follows from global_batch_size and micro_batch_size",
                "give one of the two");
  }
  const std::int64_t factor = std::max<std::int64_t>(1, number(given));
  const std::int64_t divisor = factor * topology.world_size();
  if (global % divisor != 0) {
    return fail("",
                fmt::format("global_batch_size {} is no multiple of {} GPUs x {} {}", global,
                            topology.world_size(), given, factor),
                "choose other sizes, or leave the cell out by 'exclude'");
  }
  point[follows] = std::to_string(global / divisor);
  return {};
}

}  // namespace bertbench
