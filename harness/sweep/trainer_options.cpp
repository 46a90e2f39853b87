#include "harness/sweep/trainer_options.h"

#include <algorithm>

namespace bertbench {
namespace {
using enum OptionOwner;

constexpr TrainerOption kOptions[] = {
    {"model", grid, false, ""},
    {"precision", grid, false, "fp32 tf32 bf16 fp16 fp8"},
    {"micro-batch-size", grid, false, ""},
    {"gradient-accumulation-steps", grid, false, ""},
    {"sequence-length", grid, false, ""},
    {"steps", harness, false, ""},
    {"timings", harness, false, ""},
    {"expect-world-size", harness, false, ""},
    {"threads", user, false, ""},
    {"backend", user, false, "cpu cuda"},
    {"comm", user, false, "auto self tcp mpi nccl sim"},
    {"optimizer", user, false, "adamw lamb"},
    {"seed", user, false, ""},
    {"data", user, false, ""},
    {"activation-checkpointing", user, true, ""},
    {"log-style", user, false,
     "native tqdm tf dllogger dllogger-json gluonnlp deepspeed huggingface mlperf megatron"},
    {"log-every", user, false, ""},
    {"checkpoint", user, false, ""},
    {"resume", user, false, ""},
    {"deterministic", user, true, ""},
};
}  // namespace

std::span<const TrainerOption> trainer_options() { return kOptions; }

std::string axis_name(std::string_view option) {
  std::string text(option);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

const TrainerOption* find_trainer_option(std::string_view name) {
  for (const auto& option : kOptions) {
    if (axis_name(option.name) == axis_name(name)) return &option;
  }
  return nullptr;
}

std::vector<std::string> axis_option_names() {
  std::vector<std::string> names;
  for (const auto& option : kOptions) {
    if (option.owner != harness) names.push_back(axis_name(option.name));
  }
  return names;
}

}  // namespace bertbench
