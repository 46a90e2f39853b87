#include "reports/studies/reconcile/training_plan.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"

namespace bertbench {
namespace {

using nlohmann::json;

constexpr std::array kPlanCounts{"steps", "gradient_accumulation_steps", "micro_batch_size",
                                 "world_size"};
constexpr std::array kNumbers{"iterations_per_second", "measured_s"};
constexpr std::string_view kShape =
    "a phase has name, steps, gradient_accumulation_steps, iterations_per_second and, if known, "
    "micro_batch_size, world_size, measured_s";

Result<PlanPhase> phase_from(const json& value, const std::string& where) {
  if (!value.is_object()) return fail(where, "is not an object", std::string(kShape));
  PlanPhase phase;
  std::map<std::string, std::int64_t> counts;
  std::map<std::string, double> numbers;
  for (const auto& [key, field] : value.items()) {
    const std::string at = where + "." + key;
    if (key == "name") {
      if (!field.is_string()) return fail(at, "is not a text", "for example \"phase 1\"");
      phase.name = field.get<std::string>();
    } else if (std::ranges::find(kPlanCounts, key) != kPlanCounts.end()) {
      // Unsigned values above 2^63 would wrap round to negative ones, which the bound refuses too.
      if (!field.is_number_integer() || field.get<std::int64_t>() < 1) {
        return fail(at, "is not a whole number of at least 1", "for example 7038");
      }
      counts[key] = field.get<std::int64_t>();
    } else if (std::ranges::find(kNumbers, key) != kNumbers.end()) {
      if (!field.is_number() || !(field.get<double>() > 0)) {
        return fail(at, "is not a number above 0", "for example 3.14");
      }
      numbers[key] = field.get<double>();
    } else {
      return fail(at, "is not a key of a phase", std::string(kShape));
    }
  }
  for (const char* needed : {"steps", "gradient_accumulation_steps"}) {
    if (!counts.contains(needed)) return fail(where, fmt::format("lacks {}", needed), "");
  }
  if (!numbers.contains("iterations_per_second")) {
    return fail(where, "lacks iterations_per_second", "");
  }
  phase.steps = counts["steps"];
  phase.gradient_accumulation_steps = counts["gradient_accumulation_steps"];
  phase.iterations_per_second = numbers["iterations_per_second"];
  if (counts.contains("micro_batch_size")) phase.micro_batch_size = counts["micro_batch_size"];
  if (counts.contains("world_size")) phase.world_size = counts["world_size"];
  if (numbers.contains("measured_s")) phase.measured_s = numbers["measured_s"];
  return phase;
}

}  // namespace

PlanReckoning reckon(const std::vector<PlanPhase>& phases) {
  PlanReckoning plan;
  double clocked_calculated = 0;
  double clocked_measured = 0;
  for (const PlanPhase& phase : phases) {
    PhaseReckoning& out = plan.phases.emplace_back();
    out.phase = phase;
    const double micro_steps =
        static_cast<double>(phase.steps) * static_cast<double>(phase.gradient_accumulation_steps);
    out.calculated_s = micro_steps / phase.iterations_per_second;
    plan.calculated_s += out.calculated_s;
    if (phase.measured_s) {
      out.overhead = *phase.measured_s / out.calculated_s - 1;
      clocked_calculated += out.calculated_s;
      clocked_measured += *phase.measured_s;
    }
    if (phase.micro_batch_size && phase.world_size) {
      const double per_micro_step =
          static_cast<double>(*phase.micro_batch_size) * static_cast<double>(*phase.world_size);
      out.sequences = micro_steps * per_micro_step;
      out.global_batch_size =
          per_micro_step * static_cast<double>(phase.gradient_accumulation_steps);
    }
  }
  if (clocked_measured > 0) {
    plan.overhead = clocked_measured / clocked_calculated - 1;
    plan.overhead_of_measured = 1 - clocked_calculated / clocked_measured;
  }
  plan.sequences = phases.empty() ? std::nullopt : std::optional(0.0);
  for (PhaseReckoning& out : plan.phases) {
    out.corrected = !out.phase.measured_s && plan.overhead;
    out.expected_s = out.phase.measured_s.value_or(
        out.calculated_s * (plan.overhead ? clocked_measured / clocked_calculated : 1));
    plan.expected_s += out.expected_s;
    if (!out.sequences) plan.sequences.reset();
    if (plan.sequences) *plan.sequences += *out.sequences;
  }
  for (PhaseReckoning& out : plan.phases) {
    out.share_of_time = out.expected_s / plan.expected_s;
    if (plan.sequences) out.share_of_sequences = *out.sequences / *plan.sequences;
  }
  return plan;
}

Result<std::vector<PlanPhase>> plan_from_json(std::string_view text, const std::string& where) {
  json document;
  try {
    document = json::parse(text, nullptr, true, true);
  } catch (const json::parse_error& error) {
    return fail(where, fmt::format("is not JSON (byte {})", error.byte), "check the plan file");
  }
  if (!document.is_object() || document.size() != 1 || !document.contains("phases") ||
      !document["phases"].is_array() || document["phases"].empty()) {
    return fail(where, "is not {\"phases\": [...]} with at least one phase", std::string(kShape));
  }
  std::vector<PlanPhase> phases;
  for (const json& value : document["phases"]) {
    auto phase = phase_from(value, fmt::format("{}: phases[{}]", where, phases.size()));
    if (!phase) return tl::unexpected(phase.error());
    if (phase->name.empty()) phase->name = fmt::format("phase {}", phases.size() + 1);
    phases.push_back(std::move(*phase));
  }
  return phases;
}

Result<std::vector<PlanPhase>> read_plan(const std::string& path) {
  const auto text = read_whole_file(path, 1, "give a plan file");
  if (!text) return tl::unexpected(text.error());
  return plan_from_json(*text, path);
}

}  // namespace bertbench
