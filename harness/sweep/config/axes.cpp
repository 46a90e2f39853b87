#include "harness/sweep/config/axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/core/config_reader.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "parsers/core/trainer_options.h"

namespace bertbench {
namespace {

constexpr std::string_view kPrecisions = "fp32 tf32 bf16 fp16 fp8";

std::vector<std::string> words_of(std::string_view text) {
  const auto words = split(text, ' ');
  return {words.begin(), words.end()};
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

Result<void> one_of(const std::string& value, const std::vector<std::string>& names) {
  if (contains(names, value)) return {};
  const auto near = nearest_name(value, names);
  return fail("", fmt::format("'{}' is not one of {}", value, fmt::join(names, ", ")),
              near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

const std::vector<std::string>& fact_axes() {
  static const std::vector<std::string> kNames = words_of(
      "topology model precision micro_batch_size sequence_length "
      "gradient_accumulation_steps nodes gpus_per_node global_batch_size");
  return kNames;
}

std::vector<std::string> known_axes(const Workload& workload) {
  std::vector<std::string> names = fact_axes();
  for (const auto& name : workload.is_bert_train ? axis_option_names() : workload.own_axes()) {
    if (!contains(names, name)) names.push_back(name);
  }
  return names;
}

std::string canonical_axis(const std::string& name) {
  return name.starts_with("env.") ? name : axis_name(name);
}

bool is_count_axis(const std::string& axis) {
  return axis == "nodes" || axis == "gpus_per_node" || axis == "micro_batch_size" ||
         axis == "sequence_length" || axis == "gradient_accumulation_steps" || axis == kGlobalBatch;
}

Json axis_json(const std::string& axis, const std::string& value) {
  const auto number = is_count_axis(axis) ? to_int(value) : std::nullopt;
  return number ? Json(*number) : Json(value);
}

Result<void> check_axis_name(const std::string& name, const Workload& workload) {
  if (name.starts_with("env.")) {
    if (is_variable_name(name.substr(4))) return {};
    return fail("", fmt::format("'{}' cannot name an environment variable", name.substr(4)),
                "use letters, digits and _, no digit first");
  }
  const auto known = known_axes(workload);
  if (contains(known, name)) return {};
  if (workload.is_command && workload.placeholders.contains(name)) {
    return fail("", fmt::format("{{{}}} is given by the harness and is no axis", name),
                name == "steps" || name == "seed" ? fmt::format("use --set {}=N", name)
                                                  : "choose another name for the axis");
  }
  if (workload.is_command) {
    const auto near = nearest_name(name, known);
    return fail("", fmt::format("no word of the command holds {{{}}}", name),
                near.empty() ? fmt::format("write {{{}}} where the program takes it", name)
                             : fmt::format("write it there, or did you mean '{}'?", near));
  }
  return fail("", fmt::format("unknown axis '{}' of workload {}", name, workload.name),
              name_hint(name, known, "known: ", ", env.NAME"));
}

Result<void> check_axis_is_used(const std::string& axis, std::size_t values,
                                const Workload& workload) {
  if (values < 2 || axis.starts_with("env.")) return {};
  std::vector<std::string> holders{axis};
  const bool whole = axis == kGlobalBatch;
  if (whole) holders.insert(holders.end(), {"micro_batch_size", "gradient_accumulation_steps"});
  if (axis == "micro_batch_size" || axis == "gradient_accumulation_steps" || whole) {
    holders.insert(holders.end(), {"accumulated_batch_size", "global_batch_size"});
    if (axis != "gradient_accumulation_steps") holders.emplace_back("micro_batch_size_all");
  }
  // Variables, and the number of processes started, give a program its topology.
  const bool used = axis == "topology" || axis == "nodes" || axis == "gpus_per_node" ||
                    std::ranges::any_of(holders, [&](const std::string& name) {
                      return workload.placeholders.contains(name);
                    });
  if (used) return {};
  return fail(
      "", fmt::format("no word of the command holds {{{}}}, so its values change nothing", axis),
      fmt::format("write {{{}}} where the program takes it, or give one value", axis));
}

Result<void> check_axis_value(const std::string& axis, const std::string& value,
                              const Workload& workload) {
  if (axis == "topology" || (axis == "sim_topology" && workload.is_bert_train)) {
    if (parse_topology(value)) return {};
    return fail("", fmt::format("'{}' is an impossible topology", value),
                "write NnGg: N nodes of G GPUs, both at least 1, as 1n8g or 4n8g");
  }
  if (axis == "micro_batch_size" && value == kLargestBatch) return {};
  if (is_count_axis(axis)) {
    const auto number = to_int(value);
    if (number && *number >= 1 && *number <= 999999) return {};
    return fail("", fmt::format("'{}' is impossible", value),
                "use a whole number from 1 to 999999");
  }
  if (axis == "precision") {
    if (auto good = one_of(value, words_of(kPrecisions)); !good) return good;
  }
  if (axis == "model" && value.empty()) return fail("", "a model needs a name");
  if (const auto allowed = workload.values_of(axis); !allowed.empty()) {
    if (auto good = one_of(value, allowed); !good) return good;
  }
  if (workload.is_bert_train && !axis.starts_with("env.")) {
    const auto* option = find_trainer_option(axis);
    if (option != nullptr && !option->values.empty())
      return one_of(value, words_of(option->values));
  }
  return {};
}

}  // namespace bertbench
