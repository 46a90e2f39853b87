#include "parsers/described/format_keys.h"

#include <array>
#include <nlohmann/json.hpp>

#include "parsers/described/field.h"
#include "parsers/described/line_pattern.h"
#include "parsers/described/stated_facts.h"

namespace bertbench {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kText = R"({"type": "string"})", kFlag = R"({"type": "boolean"})";
constexpr std::string_view kIteration =
    R"({"enum": ["unknown", "micro_step", "optimizer_step", "epoch", "sequence", "process_sequence", "token"]})";

constexpr auto kFormatKeys = std::to_array<FormatKey>({
    {"schema", R"({"const": "bertbench.format/1"})", "the version of this description", true},
    {"name", R"({"type": "string", "pattern": "^[a-z0-9-]{1,40}$"})",
     "shown as the format, and what --format names; that of a built-in format takes its place",
     true},
    {"title", kText, "one line: whose trainer it is"},
    {"reference", kText, "where the program that prints the lines is"},
    {"iteration", kIteration, "what step counts; without it, iterations never become sequences"},
    {"rate", R"({"$ref": "#/$defs/rate"})", "what rate and average_rate are"},
    {"facts", R"({"$ref": "#/$defs/facts"})", "what holds for every run of this trainer"},
    {"own_facts", kFlag,
     "batches and GPUs are those of the lines here, whatever else the log prints"},
    {"date_order", R"({"enum": ["month_first", "day_first"]})",
     "of dates with slashes that end with the year or name none"},
    {"commas", R"({"enum": ["thousands", "decimal", "unclear"]})",
     "of numbers that do not count: 1,234 is 1234 or 1.234; unclear: one with a comma is left out"},
    {"notes", R"({"type": "array", "items": {"type": "string"}})",
     "what a reader of the numbers should know"},
    {"yields", kFlag, "a line that another format takes is none of its own"},
    {"lines",
     R"({"type": "array", "minItems": 1, "maxItems": 64, "items": {"$ref": "#/$defs/line"}})",
     "the rules", true},
});

constexpr auto kLineKeys = std::to_array<FormatKey>({
    {"literal",
     R"({"type": ["string", "array"], "items": {"type": "string", "minLength": 1, "maxLength": 200}, "minLength": 1, "maxLength": 200})",
     "text that is on every such line, the rarer the better; of several in a list one is", true},
    {"pattern", R"({"type": "string", "maxLength": 1000})",
     "an RE2 pattern whose named groups are fields; without it, json and after the literal itself"},
    {"json", R"({"$ref": "#/$defs/keys"})",
     "the line holds a JSON object: member (a.b for one in another) to field"},
    {"after", R"({"$ref": "#/$defs/keys"})",
     "text to field: the number or word after it, where the line has it"},
    {"example",
     R"({"type": ["string", "array"], "items": {"type": "string", "minLength": 1}, "minLength": 1})",
     "a line that the rule reads; for a list of literals a list", true},
    {"kind", R"({"enum": ["training", "evaluation", "inference"]})", "they never mix"},
    {"iteration", kIteration, "what step counts, where it differs from the file's"},
    {"rate", R"({"$ref": "#/$defs/rate"})",
     "what its rates are, where they differ from the file's"},
    {"facts", R"({"$ref": "#/$defs/facts"})", "what such a line states by being there"},
    {"scale", R"({"$ref": "#/$defs/scale"})",
     "factors of fields, of members or texts of json and after, or of each unit that the group "
     "unit names"},
    {"least", R"({"$ref": "#/$defs/factors"})",
     "values below it are left out, and all seconds of a run whose median is: too coarse"},
    {"counts_from", R"({"enum": ["one", "zero", "first"]})",
     "the number of the first step; first: what the first line of a run prints"},
    {"step_iterations", R"({"type": "integer", "minimum": 1, "maximum": 1000000000})",
     "iterations that one step of the counter stands for, as where it counts epochs"},
    {"wraps", kFlag,
     "step begins again after epoch_steps, without them wherever it goes back, and the line names "
     "no epoch"},
    {"mean_through_epochs", kFlag,
     "a mean of all so far is of those of earlier epochs too, though step begins again with each"},
    {"own_step", kFlag,
     "seconds are of the step that the line names, not of all since the line before"},
    {"own_epoch", kFlag, "elapsed begins again with each epoch, as that of a bar does"},
    {"continues", kFlag, "the line adds to the record of the line with step before it"},
    {"fallback", kFlag, "its records count only in a run of which no other rule gives records"},
    {"begins_run", kFlag, "what follows is another run"},
    {"rows", kFlag,
     "the literal is on the head of a table, and the pattern reads the rows below it, whose "
     "counter grows; the example is a head, a line break and a row"},
    {"within_run", kFlag, "the line means nothing where no run is open"},
    {"interrupts", kFlag,
     "the line is of an evaluation, whose time is taken off the clock of the training"},
    {"parts_runs", kFlag,
     "where step begins again after such a line, another run does, and not its next epoch"},
    {"whole_line", kFlag,
     "the pattern reads the line with the ISO stamp or the number that a container or a launcher "
     "may have put before it"},
    {"outcome", R"({"$ref": "#/$defs/outcome"})", "the line states how the run ended"},
    {"note", R"({"$ref": "#/$defs/note"})", "what a reader of numbers from such lines should know"},
});

ordered_json object_of(std::span<const FormatKey> keys) {
  ordered_json out = {{"type", "object"},
                      {"required", ordered_json::array()},
                      {"additionalProperties", false},
                      {"properties", ordered_json::object()}};
  for (const FormatKey& key : keys) {
    if (key.required) out["required"].push_back(key.name);
    ordered_json value = ordered_json::parse(key.schema);
    value["description"] = key.meaning;
    out["properties"][std::string(key.name)] = std::move(value);
  }
  return out;
}

/// A value that fits on a line is on one.
std::string lines_of(const ordered_json& value, std::size_t indent) {
  constexpr std::size_t kWidth = 130;
  const std::string flat = value.dump();
  if (!value.is_object() || indent + flat.size() <= kWidth) return flat;
  std::string out;
  for (const auto& [name, member] : value.items()) {
    out += out.empty() ? "{\n" : ",\n";
    out += std::string(indent + 2, ' ') + ordered_json(name).dump() + ": " +
           lines_of(member, indent + 2);
  }
  return out + "\n" + std::string(indent, ' ') + "}";
}

ordered_json facts_schema() {
  ordered_json out = {{"type", "object"}, {"additionalProperties", false}, {"properties", {}}};
  for (const std::string& name : fact_names()) {
    const bool text = info(*parse_field(name)).kind == FieldKind::text;
    out["properties"][name] =
        text ? ordered_json{{"type", "string"}} : ordered_json{{"$ref", "#/$defs/count"}};
  }
  return out;
}

}  // namespace

std::span<const FormatKey> format_keys() { return kFormatKeys; }
std::span<const FormatKey> line_keys() { return kLineKeys; }

std::vector<std::string> names_of(std::span<const FormatKey> keys) {
  std::vector<std::string> out;
  for (const FormatKey& key : keys) out.emplace_back(key.name);
  return out;
}

std::vector<std::string> outcome_names() {
  return {"completed", "nan",     "out_of_memory", "error",
          "killed",    "timeout", "stalled",       "truncated"};
}

std::string format_schema() {
  ordered_json out = object_of(kFormatKeys);
  ordered_json head = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"$id", kFormatSchema},
      {"title", "Log format of bertbench"},
      {"description",
       "What --format-file reads; docs/formats.md explains it. The file may hold // and /* */ "
       "comments. Unknown keys are errors."}};
  const ordered_json factor = {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1e18}};
  const ordered_json factors = {{"type", "object"},
                                {"additionalProperties", {{"$ref", "#/$defs/factor"}}}};
  head["$defs"] = {
      {"count", {{"type", "integer"}, {"minimum", 1}, {"maximum", kLargestFact}}},
      {"factor", factor},
      {"factors", factors},
      {"scale",
       {{"type", "object"},
        {"additionalProperties",
         {{"anyOf", {{{"$ref", "#/$defs/factor"}}, {{"$ref", "#/$defs/factors"}}}}}}}},
      {"field", {{"enum", field_names()}}},
      {"keys", {{"type", "object"}, {"additionalProperties", {{"$ref", "#/$defs/field"}}}}},
      {"rate", ordered_json::parse(
                   R"({"type": "object", "required": ["unit"], "additionalProperties": false,
         "properties": {"unit": {"enum": ["sequences/s", "tokens/s", "iterations/s"]},
                        "per": {"enum": ["job", "gpu"]}}})")},
      {"facts", facts_schema()},
      {"note", ordered_json::parse(R"({"anyOf": [{"type": "string"},
         {"type": "object", "required": ["text"], "additionalProperties": false,
          "properties": {"text": {"type": "string"},
                         "when": {"enum": ["used", "gaps", "no_gaps", "too_coarse"]}}}]})")},
      {"outcome", {{"enum", outcome_names()}}},
      {"line", object_of(kLineKeys)}};
  head.update(out);
  return lines_of(head, 0) + "\n";
}

}  // namespace bertbench
