#include "parsers/core/facts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "parsers/core/each_fact.h"

namespace bertbench {
namespace {

std::string_view source_name(FactSource source) {
  switch (source) {
    case FactSource::command_line:
      return "the command line";
    case FactSource::log:
      return "the log";
    case FactSource::path:
      return "the path";
    case FactSource::unknown:
      return "nowhere";
  }
  return "nowhere";
}

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::int64_t value) { return std::to_string(value); }

template <class T>
void merge_fact(const char* name, Fact<T>& better, const Fact<T>& worse,
                std::vector<Notice>& notices) {
  if (!worse.known()) return;
  if (!better.known()) {
    better = worse;
  } else if (*better.value != *worse.value) {
    notices.push_back(make_notice(NoticeCode::facts_disagree, 0, name, text_of(*better.value),
                                  source_name(better.source), text_of(*worse.value),
                                  source_name(worse.source)));
  }
}

bool disagree(const Fact<std::int64_t>& a, const Fact<std::int64_t>& b) {
  return a.known() && b.known() && *a.value != *b.value;
}

/// The same of the number of GPUs, where one source has it and the other nodes or GPUs per node
/// that do not make it: `--nodes 2` for a log of one GPU, a log of one GPU in the folder 4n8g.
void merge_worlds(const Facts& better, const Facts& worse, Facts& out,
                  std::vector<Notice>& notices) {
  if (disagree(better.nodes, worse.nodes) || disagree(better.gpus_per_node, worse.gpus_per_node) ||
      disagree(better.world_size, worse.world_size) || !out.world_size.known()) {
    return;  // reported, or nothing to compare with
  }
  const auto states_ranks = [](const Facts& facts) {
    return facts.nodes.known() || facts.gpus_per_node.known() || facts.world_size.known();
  };
  if (!states_ranks(better) || !states_ranks(worse)) return;
  const std::int64_t stated = *out.world_size.value;
  const std::string_view source = source_name(out.world_size.source);
  const auto add = [&](const auto&... values) {
    notices.push_back(make_notice(NoticeCode::facts_disagree, 0, values...));
  };
  if (out.nodes.known() && out.gpus_per_node.known()) {
    const std::int64_t product = out.world().value_or(stated);
    if (product == stated) return;
    const auto of = std::min(out.nodes.source, out.gpus_per_node.source);
    if (better.world_size.known() && of > better.world_size.source) {
      add("world_size", text_of(stated), source, text_of(product), source_name(of));
      out.nodes = better.nodes;
      out.gpus_per_node = better.gpus_per_node;
    } else {
      add("world_size", text_of(product), source_name(of), text_of(stated), source);
    }
    return;
  }
  for (const auto& [name, part] :
       {std::pair{"nodes", &out.nodes}, std::pair{"gpus_per_node", &out.gpus_per_node}}) {
    if (!part->known() || stated % *part->value == 0) continue;
    add(name, text_of(*part->value), source_name(part->source),
        "of " + text_of(stated) + " GPUs in all", source);
  }
}

}  // namespace

std::optional<std::int64_t> product_of_counts(std::initializer_list<std::int64_t> counts) {
  constexpr std::int64_t kMostExactInADouble = std::int64_t{1} << 53;
  std::int64_t product = 1;
  for (const std::int64_t count : counts) {
    if (__builtin_mul_overflow(product, count, &product)) return std::nullopt;
    if (product > kMostExactInADouble || product < -kMostExactInADouble) return std::nullopt;
  }
  return product;
}

std::optional<std::int64_t> Facts::world() const {
  if (nodes.known() && gpus_per_node.known()) {
    return product_of_counts({*nodes.value, *gpus_per_node.value});
  }
  return world_size.value;
}

std::optional<std::int64_t> Facts::sequences_per_micro_step() const {
  if (micro_batch_size.known() && world()) {
    return product_of_counts({*micro_batch_size.value, *world()});
  }
  if (global_batch_size.known() && gradient_accumulation_steps.known() &&
      *global_batch_size.value % *gradient_accumulation_steps.value == 0) {
    return *global_batch_size.value / *gradient_accumulation_steps.value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Facts::sequences_per_optimizer_step() const {
  if (global_batch_size.known()) return global_batch_size.value;
  if (micro_batch_size.known() && world() && gradient_accumulation_steps.known()) {
    return product_of_counts(
        {*micro_batch_size.value, *world(), *gradient_accumulation_steps.value});
  }
  return std::nullopt;
}

Facts merge_facts(const Facts& better, const Facts& worse, std::vector<Notice>& notices) {
  Facts out = better;
  for_each_fact(out, worse, [&](const char* name, auto& ours, const auto& theirs) {
    merge_fact(name, ours, theirs, notices);
  });
  merge_fact("world_size", out.world_size, worse.world_size, notices);
  merge_worlds(better, worse, out, notices);
  merge_fact("global_batch_size", out.global_batch_size, worse.global_batch_size, notices);
  for (const auto& [name, value] : worse.axes) {
    const auto [at, fresh] = out.axes.emplace(name, value);
    if (fresh || at->second == value) continue;
    notices.push_back(make_notice(NoticeCode::facts_disagree, 0, name, at->second, "one source",
                                  value, "a less trusted one"));
  }
  for (const auto& [name, value] : worse.versions) out.versions.emplace(name, value);
  return out;
}

Facts merge_facts(const Facts& better, const Facts& worse) {
  std::vector<Notice> unused;
  return merge_facts(better, worse, unused);
}

}  // namespace bertbench
