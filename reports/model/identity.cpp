#include "reports/model/identity.h"

#include "parsers/core/each_fact.h"
#include "parsers/core/trainer_options.h"

namespace bertbench {
namespace {

std::string text_of(const std::optional<std::string>& value) { return value.value_or("?"); }
std::string text_of(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : std::string("?");
}

}  // namespace

bool Identity::simulated() const {
  const auto axis = axes.find(kSimulatedAxis);
  return axis != axes.end() && axis->second == "true";
}

bool Identity::complete() const {
  return framework && model && precision && sequence_length && micro_batch_size &&
         gradient_accumulation_steps && nodes && gpus_per_node;
}

std::string Identity::key() const {
  std::string key = text_of(model) + "." + text_of(precision) + ".s" + text_of(sequence_length) +
                    ".b" + text_of(micro_batch_size) + ".a" + text_of(gradient_accumulation_steps) +
                    "." + text_of(nodes) + "n" + text_of(gpus_per_node) + "g";
  for (const auto& [axis, value] : axes) {
    key += "+" + axis + (axis == kSimulatedAxis && value == "true" ? "" : "=" + value);
  }
  return key;
}

std::optional<std::int64_t> Identity::world_size() const {
  if (!nodes || !gpus_per_node) return std::nullopt;
  return product_of_counts({*nodes, *gpus_per_node});
}

std::optional<std::int64_t> Identity::global_batch_size() const {
  const auto world = world_size();
  if (!world || !micro_batch_size || !gradient_accumulation_steps) return std::nullopt;
  return product_of_counts({*micro_batch_size, *gradient_accumulation_steps, *world});
}

Identity identity_of(const Facts& facts) {
  Identity identity;
  for_each_fact(identity, facts, [](const char*, auto& to, const auto& fact) { to = fact.value; });
  identity.axes = facts.axes;
  return identity;
}

}  // namespace bertbench
