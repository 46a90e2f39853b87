#include "parsers/lines/part_timers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

// With the reduction in it, which most lines print apart: then both have timers of their own.
constexpr std::string_view kWholeBackward[] = {"backward", "bwd"};

constexpr std::pair<std::string_view, StepPart> kTimers[] = {
    // Megatron-LM since 2021, and its blocks of lines since 2022
    {"forward-compute", StepPart::forward},
    {"backward-compute", StepPart::backward},
    {"backward-params-all-reduce", StepPart::reduce},
    {"backward-embedding-all-reduce", StepPart::reduce},
    {"all-grads-sync", StepPart::reduce},
    {"layernorm-grads-all-reduce", StepPart::reduce},
    {"embedding-grads-all-reduce", StepPart::reduce},
    {"grads-all-reduce", StepPart::reduce},
    {"grads-reduce-scatter", StepPart::reduce},
    {"optimizer", StepPart::optimizer},
    {"batch-generator", StepPart::data},
    // Megatron-LM before
    {"forward", StepPart::forward},
    {"backward-backward", StepPart::backward},
    {"backward-allreduce", StepPart::reduce},
    {"batch generator", StepPart::data},
    // DeepSpeed, old names and new
    {"backward_inner", StepPart::backward},
    {"backward_allreduce", StepPart::reduce},
    {"step", StepPart::optimizer},
    {"fwd", StepPart::forward},
    {"bwd_inner", StepPart::backward},
    {"bwd_allreduce", StepPart::reduce},
};

}  // namespace

std::optional<StepPart> part_of_timer(std::string_view name) {
  for (const auto& [timer, part] : kTimers) {
    if (timer == name) return part;
  }
  return std::nullopt;
}

PartTimes part_times(const Line& line) {
  PartTimes out;
  std::optional<double> whole_backward;
  std::string_view rest = line.text.substr(line.end);
  // The last field may be cut where the input ends, or run into what another process wrote.
  for (bool last = false; !last;) {
    const auto bar = rest.find(" | ");
    last = bar == std::string_view::npos;
    if (last && line.terminator == 0) break;
    const std::string_view field = trim(rest.substr(0, bar));
    if (!last) rest.remove_prefix(bar + 3);
    const auto colon = field.rfind(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view name = field.substr(0, colon);
    if (name == "train_batch") return {};
    const auto ms = to_double(field.substr(colon + 2));
    if (!ms || !(*ms > 0) || !std::isfinite(*ms)) continue;  // 0.00: it was not started
    if (std::ranges::find(kWholeBackward, name) != std::end(kWholeBackward)) {
      whole_backward = *ms / 1000;
    }
    if (const auto part = part_of_timer(name)) out.add(*part, *ms / 1000);
  }
  if (std::isnan(out.of(StepPart::backward)) && whole_backward) {
    out.add(StepPart::backward, *whole_backward);
  }
  return out;
}

}  // namespace bertbench
