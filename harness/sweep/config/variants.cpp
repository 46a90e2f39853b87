#include "harness/sweep/config/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "harness/sweep/config/axes.h"
#include "harness/sweep/config/config.h"
#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"

namespace bertbench {
namespace {

/// Names are words of keys, of command lines and of tables.
bool is_variant_name(const std::string& name) {
  return !name.empty() && name.size() <= 40 &&
         std::ranges::all_of(name, [](char c) { return is_name_char(c) || c == '-' || c == '.'; });
}

void check_env(ConfigReader& in, const std::string& at, const Variant& variant,
               const SweepConfig& config) {
  for (const auto& [name, value] : variant.env) {
    if (config.axis("env." + name)) {
      in.fail_at(child_pointer(at, name), fmt::format("env.{} is an axis of this grid", name),
                 "keep one of them");
    }
  }
}

void read_variant(ConfigReader& in, const std::string& name, const Json& value,
                  SweepConfig& config) {
  const std::string at = child_pointer("/variants", name);
  if (!is_variant_name(name)) {
    in.fail_at(at, fmt::format("'{}' is no name of a variant", name),
               "use letters, digits, '.', '-' and '_', as in base and new");
    return;
  }
  if (!value.is_object()) {
    in.fail_at(at, "must be an object of what the variant has of its own",
               R"(as {"args": ["--gelu", "tanh"]}; {} changes nothing)");
    return;
  }
  in.check_keys(value, at, "key of a variant");
  Variant variant;
  variant.name = name;
  in.texts(value, at, "args", variant.args);
  in.variables(value, at, "env", variant.env);
  in.text(value, at, "trainer", variant.trainer);
  check_env(in, child_pointer(at, "env"), variant, config);
  if (simulated_topology(given_options(variant.args))) {
    in.fail_at(child_pointer(at, "args"), "a variant cannot be simulated next to one that is not",
               "put --comm sim into args");
  }
  config.variants.push_back(std::move(variant));
}

}  // namespace

void read_variants(ConfigReader& in, SweepConfig& config) {
  const auto& root = in.root();
  if (!root.contains("variants")) {
    for (const char* key : {"order_seed", "turn_s"}) {
      if (root.contains(key)) {
        in.fail_at(child_pointer("", key), "is only for a sweep with variants", "remove it");
      }
    }
    return;
  }
  in.integer(root, "", "order_seed", config.order_seed);
  in.seconds(root, "", "turn_s", config.turn_s);
  const auto& variants = root["variants"];
  if (!variants.is_object() || variants.size() < 2) {
    in.fail_at("/variants", "must be an object of two or more variants",
               R"(as {"base": {}, "new": {"args": ["--gelu", "tanh"]}})");
    return;
  }
  for (const auto& [name, value] : variants.items()) {
    read_variant(in, name, value, config);
  }
  for (const char* key : {"trials_min", "trials_interval"}) {
    if (root.contains(key)) {
      in.fail_at(child_pointer("", key), "is not for a sweep with variants",
                 "remove it: \"trials\": \"auto\" ends pairs by a rule, after trials_max at most");
    }
  }
  if (config.searches_batch()) {
    in.fail_at("/grid/micro_batch_size", "must be numbers in a sweep with variants",
               "variants of which each has another largest batch cannot be compared");
  }
}

void add_variants(const SweepConfig& config, Json& json) {
  if (config.variants.empty()) return;
  Json variants = Json::object();
  for (const Variant& variant : config.variants) {
    Json& one = variants[variant.name] = Json::object();
    if (!variant.args.empty()) one["args"] = variant.args;
    if (!variant.env.empty()) one["env"] = variant.env;
    if (!variant.trainer.empty()) one["trainer"] = variant.trainer;
  }
  json["variants"] = std::move(variants);
  json["order_seed"] = config.order_seed;
  if (config.turn_s > 0) json["turn_s"] = config.turn_s;
}

std::vector<std::size_t> order_in_block(std::int64_t seed, std::size_t point, int block,
                                        std::size_t variants) {
  std::vector<std::size_t> order(variants);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto low = [](auto value) { return static_cast<std::uint32_t>(value); };
  std::seed_seq mixed{low(seed), low(seed >> 32), low(point), low((block + 1) / 2)};
  std::mt19937 random(mixed);
  for (std::size_t i = variants; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  if (block % 2 == 0) std::ranges::reverse(order);
  return order;
}

}  // namespace bertbench
