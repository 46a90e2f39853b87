#include "parsers/described/field.h"

#include <algorithm>
#include <array>

namespace bertbench {
namespace {

using enum FieldKind;

constexpr auto kInfos = std::to_array<FieldInfo>({
    {"step", index, false, "the number of the iteration: a line with it is a record"},
    {"epoch", index, false, "the epoch, where `step` begins again with each"},
    {"epoch_steps", count, false, "the iterations of an epoch"},
    {"iterations", count, true, "those in this record; else the counter's difference"},
    {"seconds", time, true, "of those iterations together, or, with `own_step`, of one"},
    {"seconds_per_iteration", time, true, "the mean of those iterations"},
    {"mean_so_far", time, true,
     "the mean of all iterations since the counter, or its epoch, began"},
    {"elapsed", duration, true, "since the run began: seconds or `[[h:]mm:]ss`"},
    {"time_left", duration, true,
     "until the line's `epoch_steps` or `planned`: over the steps until then the time of one"},
    {"clock", clock, true, "date and time, or seconds since 1970"},
    {"rate", positive, true, "in the unit of the key `rate`"},
    {"rate_so_far", positive, true,
     "the mean of all work since the counter, or its epoch, began, in the same unit"},
    {"rate_per_gpu", positive, true,
     "the rate of one GPU next to `rate`: their ratio is the world size"},
    {"work", positive, true, "what `rate` counts, done since the line before"},
    {"loss", number, true, "also nan"},
    {"rank", index, true, "of the process that prints the line"},
    {"updates", index, false,
     "optimizer steps done where `step` counts micro-steps: two lines give the accumulation"},
    {"micro_steps", count, false, "micro-steps done at `updates`: their ratio is the accumulation"},
    {"sequences_done", index, true, "sequences done so far: two lines give the global batch"},
    {"planned", count, false, "the last step of the plan"},
    {"epochs", count, false, "the epochs of the plan"},
    {"framework", text, false, "a fact"},
    {"model", text, false, "a fact"},
    {"precision", text, false, "a fact"},
    {"micro_batch_size", count, false, "a fact: sequences of one GPU in a micro-step"},
    {"global_batch_size", count, false, "a fact: sequences of the job in an optimizer step"},
    {"gradient_accumulation_steps", count, false, "a fact"},
    {"sequence_length", count, false, "a fact"},
    {"world_size", count, false, "a fact: all GPUs of the job; `4, 8` are 32"},
    {"nodes", count, false, "a fact"},
    {"gpus_per_node", count, false, "a fact"},
    {"data_parallel", count, false, "replicas of the model, where one takes several GPUs"},
    {"total_seconds", time, false, "of the whole training"},
    {"counted_seconds", time, false,
     "of all iterations since the epoch began, or of all where lines name no epoch: with their "
     "number a closing rate"},
    {"wall_seconds", time, false, "of the whole process"},
    {"total_sequences", count, false, "of the whole training"},
    {"total_iterations", count, false,
     "of the whole training: with `total_seconds` on its line a closing rate"},
    {"average_rate", positive, false, "the closing rate, in the unit of the key `rate`"},
    {"skipped_steps", index, false, "skipped since the line before"},
    {"peak_memory", count, false, "bytes of one GPU"},
    {"began", clock, false, "when the training began; with `ended` its total seconds"},
    {"ended", clock, false, "when it ended"},
    {"setting", text, false, "of a run: of a rule with `parts_runs`, which then wants another one"},
    {"unit", text, false, "which factor of `scale` holds"},
});

}  // namespace

std::span<const FieldInfo> field_infos() { return kInfos; }

const FieldInfo& info(Field field) { return kInfos[static_cast<std::size_t>(field)]; }

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const FieldInfo& field : kInfos) out.emplace_back(field.name);
    return out;
  }();
  return names;
}

std::optional<Field> parse_field(std::string_view name) {
  const auto at = std::ranges::find(kInfos, name, &FieldInfo::name);
  if (at == kInfos.end()) return std::nullopt;
  return static_cast<Field>(at - kInfos.begin());
}

}  // namespace bertbench
