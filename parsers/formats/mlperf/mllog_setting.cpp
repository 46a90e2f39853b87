#include "parsers/formats/mlperf/mllog_setting.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "parsers/core/record.h"

namespace bertbench {

std::optional<double> MllogSetting::*MllogSetting::number_of(std::string_view key) {
  using Setting = MllogSetting;
  static constexpr std::pair<std::string_view, std::optional<double> Setting::*> kNumbers[] = {
      {"gradient_accumulation_steps", &Setting::accumulation},
      {"opt_gradient_accumulation_steps", &Setting::accumulation},
      {"gradient_accumulation_frequency", &Setting::accumulation},
      {"max_sequence_length", &Setting::sequence_length},
      {"samples_per_epoch", &Setting::epoch_samples},
      {"number_of_ranks", &Setting::ranks},
      {"number_of_nodes", &Setting::nodes},
      {"accelerators_per_node", &Setting::accelerators},
      {"local_batch_size", &Setting::local_batch},
      {"micro_batch_size", &Setting::micro_batch},
      {"tensor_parallelism", &Setting::tensor},
      {"pipeline_parallelism", &Setting::pipeline},
      {"context_parallelism", &Setting::context}};
  for (const auto& [name, setting] : kNumbers) {
    if (key == name) return setting;
  }
  return nullptr;
}

bool MllogSetting::names_precision(std::string_view key) {
  return key == "lowest_numerical_precision_linear" ||
         key == "lowest_numerical_precision_in_linear";
}

void MllogSetting::see_precision(std::string_view name) {
  static constexpr std::string_view kNames[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
  const bool known = std::ranges::find(kNames, name) != std::end(kNames);
  precision = known ? name : std::string_view();
}

// Each process of SSD has a GPU. A micro batch is that of a replica of the model, which takes one
// where nothing splits it.
std::optional<double> MllogSetting::batch_of_one() const {
  if (is_ssd()) return local_batch;
  const bool whole = tensor == 1 && pipeline == 1 && context == 1;
  return whole ? micro_batch : std::nullopt;
}

std::optional<double> MllogSetting::processes() const {
  const auto one = batch_of_one();
  if (!global_batch || !one) return std::nullopt;
  const double many = *global_batch / (*one * accumulation.value_or(1));
  return many >= 1 && many == std::floor(many) ? std::optional(many) : std::nullopt;
}

Facts MllogSetting::facts() const {
  Facts facts;
  const auto set = [](Fact<std::int64_t>& fact, const std::optional<double>& value) {
    if (value && *value >= 1 && *value < 1e12) {
      fact.set(static_cast<std::int64_t>(*value), FactSource::log);
    }
  };
  if (!in_tokens()) set(facts.global_batch_size, global_batch);
  set(facts.gradient_accumulation_steps, accumulation);
  set(facts.sequence_length, sequence_length);
  if (accelerators) {  // else the ranks may be of CPUs
    const double all = nodes.value_or(kUnknown) * *accelerators;
    set(facts.world_size, ranks ? ranks : all);
    if (all == ranks.value_or(all)) {
      set(facts.nodes, nodes);
      set(facts.gpus_per_node, accelerators);
    }
  } else if (processes()) {
    set(facts.world_size, processes());
    set(facts.micro_batch_size, batch_of_one());
  }
  if (benchmark == "bert") facts.model.set("bert-large", FactSource::log);
  if (!benchmark.empty()) facts.axes["benchmark"] = benchmark;
  if (!precision.empty()) facts.precision.set(precision, FactSource::log);
  return facts;
}

}  // namespace bertbench
