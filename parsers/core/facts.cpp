#include "parsers/core/facts.h"

#include <string_view>

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
