#include "harness/sweep/config/placeholders.h"

#include <algorithm>

namespace bertbench {
namespace {

constexpr Placeholder kPlaceholders[] = {
    {"topology", "of the job, as 2n8g"},
    {"nodes", "of the job"},
    {"gpus_per_node", "GPUs of a node"},
    {"world_size", "GPUs of the job"},
    {"model", "of the grid"},
    {"precision", "of the grid"},
    {"sequence_length", "tokens of a sequence, of the grid"},
    {"micro_batch_size", "sequences of one GPU and one micro-step, of the grid"},
    {"gradient_accumulation_steps", "micro-steps of an optimizer step"},
    {"accumulated_batch_size", "sequences of one GPU and all micro-steps"},
    {"micro_batch_size_all", "sequences of all GPUs and one micro-step"},
    {"global_batch_size", "sequences of all GPUs and all micro-steps"},
    {"steps", "optimizer steps of a trial"},
    {"warmup_steps", "a tenth of them"},
    {"trial", "1, 2, 3 ..."},
    {"seed", "of the trial, where the sweep has the key seed"},
    {"variant", "its name, where the sweep has variants"},
    {"threads", "cores of a rank"},
    {"master_addr", "host of rank 0"},
    {"master_port", "a free port, another for each trial"},
    {"host_slots", "h1:8,h2:8"},
    {"host_lines", "h1 slots=8, a line for each host"},
    {"gpu_list", "GPUs of a node, as 0,1"},
    {"dir", "folder of the attempt"},
    {"output", "an empty folder below it, for what the trainer writes"},
    {"rank", "each rank; in logs only"},
};

}  // namespace

std::span<const Placeholder> known_placeholders() { return kPlaceholders; }

bool is_known_placeholder(std::string_view name) {
  return std::ranges::any_of(kPlaceholders, [&](const auto& one) { return one.name == name; });
}

std::set<std::string> placeholders_in(std::string_view text) {
  std::set<std::string> names;
  for (std::size_t at = text.find('{'); at < text.size(); at = text.find('{', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] == '{') {
      ++at;
      continue;
    }
    const auto end = text.find_first_of("{}", at + 1);
    if (end < text.size() && text[end] == '}') names.emplace(text.substr(at + 1, end - at - 1));
  }
  return names;
}

}  // namespace bertbench
