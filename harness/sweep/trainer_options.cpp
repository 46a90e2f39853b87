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
    {"seed", user, false, ""},
    {"data", user, false, ""},
    {"variable-lengths", user, true, ""},
    {"dropout", user, false, ""},
    {"activation-checkpointing", user, true, ""},
    {"gelu", user, false, "erf tanh"},
    {"unpadded", user, true, ""},
    {"inference", user, true, ""},
    {"optimizer", user, false, "adamw lamb"},
    {"learning-rate", user, false, ""},
    {"warmup-steps", user, false, ""},
    {"decay-steps", user, false, ""},
    {"decay-power", user, false, ""},
    {"weight-decay", user, false, ""},
    {"beta1", user, false, ""},
    {"beta2", user, false, ""},
    {"epsilon", user, false, ""},
    {"no-bias-correction", user, true, ""},
    {"gradient-clipping", user, false, ""},
    {"loss-scale", user, false, ""},
    {"loss-scale-initial", user, false, ""},
    {"loss-scale-growth-interval", user, false, ""},
    {"lamb-pre-normalization", user, true, ""},
    {"lamb-trust-without-decay", user, true, ""},
    {"lamb-min-trust", user, false, ""},
    {"lamb-max-trust", user, false, ""},
    {"log-style", user, false, ""},
    {"log-every", user, false, ""},
    {"checkpoint", user, false, ""},
    {"checkpoint-every", user, false, ""},
    {"resume", user, false, ""},
    {"deterministic", user, true, ""},
    {"comm-timeout", user, false, ""},
    {"bucket-mb", user, false, ""},
    {"zero", user, false, "0 1"},
    {"algorithm-cache", user, false, ""},
    {"matmul-epilogues", user, false, "auto off"},
    {"memory-limit-mb", user, false, ""},
    {"sim-topology", user, false, ""},
    {"sim-node-gbps", user, false, ""},
    {"sim-cross-gbps", user, false, ""},
    {"sim-node-us", user, false, ""},
    {"sim-cross-us", user, false, ""},
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
