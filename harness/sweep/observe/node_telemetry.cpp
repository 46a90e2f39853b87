#include "harness/sweep/observe/node_telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/sweep/journal/run_state.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/program.h"
#include "parsers/core/text.h"
#include "reports/model/json_put.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kScript = R"sh(
program=$1; shift
[ -x "$program" ] || program=$(command -v bertbench) || {
  echo "bertbench is not on this node"; exit 127; }
exec "$program" "$@"
)sh";

/// The JSON that begins a line; whatever the way here has printed stands before it.
Json object_of(std::string_view text) {
  const auto at = text.starts_with('{') ? 0 : text.find("\n{");
  if (at == std::string_view::npos) return nullptr;
  auto json = Json::parse(text.substr(at), nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("machine") ? json : Json(nullptr);
}

double number(const Json& json, const char* key) { return number_at(json, key).value_or(0); }

/// Adds to `sum` the numbers of `one`.
void add_numbers(Json& sum, const Json& one) {
  for (const auto& [key, value] : one.items()) {
    if (value.is_number_integer()) {
      sum[key] = sum.value(key, std::int64_t{0}) + value.get<std::int64_t>();
    } else if (value.is_number()) {
      sum[key] = sum.value(key, 0.0) + value.get<double>();
    }
  }
}

/// A copy of the array at `key` whose objects begin with the node they are of.
void append_with_node(Json& to, const Json& from, const char* key, std::int64_t node) {
  const auto it = from.find(key);
  if (it == from.end() || !it->is_array()) return;
  for (const Json& one : *it) {
    if (!one.is_object()) continue;
    Json with = {{"node", node}};
    with.update(one);
    if (const auto text = with.find("text"); text != with.end() && text->is_string()) {
      *text = fmt::format("node {}: {}", node, text->get<std::string>());
    }
    to.push_back(std::move(with));
  }
}

std::string reason_of(std::string_view text) {
  const auto lines = split(trim(text), '\n');
  const auto last = lines.empty() ? std::string_view() : trim(lines.back());
  return last.empty() ? "its sampler printed nothing" : std::string(last.substr(0, 200));
}

}  // namespace

std::string sampler_program() {
  if (const char* named = std::getenv("BERTBENCH_SAMPLER"); named != nullptr && *named != '\0') {
    return std::string_view(named) == "off" ? "" : named;
  }
  const auto self = own_program();
  // A program that links the harness must not be started anew with words it does not know.
  return self.ends_with("/bertbench") ? self : "";
}

std::string_view sampler_script() { return kScript; }

std::vector<std::string> sampler_arguments(const std::string& marker, std::int64_t gpus,
                                           const std::string& training) {
  return {"telemetry",          "--json",          "--marker", marker + "#", "--gpus",
          std::to_string(gpus), "--training-mark", training};
}

Json join_nodes(const std::vector<NodeTelemetry>& nodes) {
  Json out = {{"samples", 0}, {"seconds", 0.0}};
  Json cpu = Json::object(), gpus = Json::array(), marks = Json::array(), each = Json::array();
  std::set<std::string> machines;
  double fullest = -1, energy = 0, power = 0;
  int seen = 0, energy_known = 0, power_known = 0, cpu_energy_known = 0;
  for (const auto& [node, text] : nodes) {
    Json one = object_of(text);
    if (one.is_null()) {
      each.push_back({{"node", node}, {"missing", reason_of(text)}});
      continue;
    }
    if (!machines.insert(one["machine"].dump()).second) continue;
    ++seen;
    const auto samples = static_cast<std::int64_t>(number(one, "samples"));
    out["samples"] = seen == 1 ? samples : std::min(samples, out["samples"].get<std::int64_t>());
    out["seconds"] = std::max(out["seconds"].get<double>(), number(one, "seconds"));
    if (one.contains("cpu") && one["cpu"].is_object()) {
      add_numbers(cpu, one["cpu"]);
      cpu_energy_known += one["cpu"].contains("energy_j") ? 1 : 0;
    }
    const double capacity = number(one, "memory_bytes");
    const double full = capacity > 0 ? number(one, "resident_peak_bytes") / capacity : 0;
    if (one.contains("resident_peak_bytes") && full > fullest) {
      fullest = full;
      out["resident_peak_bytes"] = one["resident_peak_bytes"];
      if (one.contains("memory_bytes")) out["memory_bytes"] = one["memory_bytes"];
    }
    append_with_node(gpus, one, "gpus", node);
    append_with_node(marks, one, "marks", node);
    energy += number(one, "energy_j");
    energy_known += one.contains("energy_j") ? 1 : 0;
    power += number(one, "training_power_w");
    power_known += one.contains("training_power_w") ? 1 : 0;
    Json kept = {{"node", node}};
    for (const auto& [key, value] : one.items()) {
      if (key != "machine" && key != "gpus" && key != "marks") kept[key] = value;
    }
    each.push_back(std::move(kept));
  }
  if (nodes.empty()) return nullptr;
  if (seen == 0) return {{"nodes", std::move(each)}};
  // A sum that lacks a node is no sum.
  const bool whole = each.size() == static_cast<std::size_t>(seen);
  if (!whole || cpu_energy_known != seen) cpu.erase("energy_j");
  cpu.erase("seconds");  // of each node its own
  if (!cpu.empty()) out["cpu"] = std::move(cpu);
  if (!gpus.empty()) out["gpus"] = std::move(gpus);
  if (whole && energy_known == seen) out["energy_j"] = energy;
  if (whole && power_known == seen) out["training_power_w"] = power;
  if (!marks.empty()) out["marks"] = std::move(marks);
  out["nodes"] = std::move(each);
  return out;
}

std::string node_file(std::int64_t node) { return fmt::format("telemetry.{}.json", node); }

std::vector<NodeTelemetry> take_node_telemetry(const Folder& attempt,
                                               const std::vector<std::int64_t>& nodes) {
  std::vector<NodeTelemetry> all;
  for (const auto node : nodes) {
    const auto name = node_file(node);
    all.push_back({node, attempt.holds(name) ? proc::read_file(attempt.path_of(name)) : ""});
    attempt.remove(name);
  }
  attempt.remove(kTrainingMark);
  return all;
}

std::string this_machine() { return digest(boot_id()).substr(0, 8); }

std::string machine_of(const NodeTelemetry& node) {
  const Json json = object_of(node.text);
  const bool known = json.is_object() && json["machine"].is_string();
  return known ? json["machine"].get<std::string>() : std::string();
}

}  // namespace bertbench
