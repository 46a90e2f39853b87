#include "reports/measure/deduced_facts.h"

#include <charconv>

namespace bertbench {
namespace {

using Count = Fact<std::int64_t>;

FactSource weaker(FactSource a, FactSource b) { return a > b ? a : b; }

// whole / part, when both are known and the division leaves no rest.
void divide(Count& to, const Count& whole, std::optional<std::int64_t> part, FactSource source) {
  if (to.known() || !whole.known() || !part || *part < 1 || *whole.value % *part != 0) return;
  to.set(*whole.value / *part, weaker(whole.source, source));
}

// One GPU in all is one node of one.
void place_one(Facts& facts) {
  if (facts.world_size.value != 1) return;
  if (!facts.nodes.known()) facts.nodes.set(1, facts.world_size.source);
  if (!facts.gpus_per_node.known()) facts.gpus_per_node.set(1, facts.world_size.source);
}

std::optional<std::int64_t> product(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return std::nullopt;
  std::int64_t out = 0;
  if (__builtin_mul_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}

// Of a model that is split over GPUs, as Megatron-LM prints it (corpus
// megatron/lockclock_4runs_concatenated.log): a micro-step takes a batch per replica, not per GPU.
std::optional<std::int64_t> fewer_replicas(const Facts& facts) {
  const auto axis = facts.axes.find("data_parallel");
  if (axis == facts.axes.end()) return std::nullopt;
  std::int64_t out = 0;
  const char* const end = axis->second.data() + axis->second.size();
  const auto read = std::from_chars(axis->second.data(), end, out);
  if (read.ptr != end || out < 1) return std::nullopt;
  return facts.world() && out >= *facts.world() ? std::nullopt : std::optional(out);
}

}  // namespace

Facts deduce_facts(Facts facts, std::vector<Notice>& notices) {
  place_one(facts);
  divide(facts.gpus_per_node, facts.world_size, facts.nodes.value, facts.nodes.source);
  divide(facts.nodes, facts.world_size, facts.gpus_per_node.value, facts.gpus_per_node.source);

  const auto world = facts.world();
  const FactSource world_source =
      facts.nodes.known() ? facts.nodes.source : facts.world_size.source;
  auto& micro = facts.micro_batch_size;
  auto& accumulation = facts.gradient_accumulation_steps;
  auto& global = facts.global_batch_size;
  const auto replicas = fewer_replicas(facts);
  if (!replicas) {
    divide(micro, global, product(accumulation.value, world),
           weaker(accumulation.source, world_source));
  }
  const auto batches = replicas ? replicas : world;
  divide(accumulation, global, product(micro.value, batches), weaker(micro.source, world_source));
  if (!facts.world() && !replicas) {
    if (const auto per_gpu = product(micro.value, accumulation.value)) {
      divide(facts.world_size, global, per_gpu, weaker(micro.source, accumulation.source));
      place_one(facts);
    }
  }
  const auto computed =
      product(product(micro.value, accumulation.value), replicas ? replicas : facts.world());
  if (computed && global.known() && *computed != *global.value) {
    notices.push_back(make_notice(
        NoticeCode::global_batch_contradicted, 0, *global.value, *micro.value, *accumulation.value,
        replicas ? *replicas : *facts.world(), replicas ? "replicas" : "GPUs", *computed));
    global.value = computed;
  } else if (computed && !global.known()) {
    global.set(*computed, weaker(micro.source, weaker(accumulation.source, world_source)));
  }
  return facts;
}

std::optional<std::int64_t> sequences_per_iteration(const Facts& facts, IterationUnit unit) {
  switch (unit) {
    case IterationUnit::micro_step:
      return facts.sequences_per_micro_step();
    case IterationUnit::optimizer_step:
      return facts.sequences_per_optimizer_step();
    case IterationUnit::epoch:
    case IterationUnit::token:
      return std::nullopt;
    case IterationUnit::sequence:
      return 1;
    case IterationUnit::process_sequence:
      return facts.world().value_or(1);  // each process prints the count of its own
    case IterationUnit::unknown:
      break;
  }
  if (facts.gradient_accumulation_steps.value == 1) return facts.sequences_per_micro_step();
  return std::nullopt;
}

}  // namespace bertbench
