// Rules that tie the cells of one row together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "reports/studies/audit/relation.h"

namespace bertbench::audit {
namespace {

struct Factor {
  Role role;
  int power = 1;
};

struct RowReading {
  std::string_view name;
  std::string_view rule;
  std::vector<Factor> factors;
};

struct RowRule {
  Role target;
  bool definitional;
  std::vector<RowReading> readings;
};

// World size stands for total GPUs, however the table gives them. The usual reading comes first.
const std::vector<RowRule>& table_of_rules() {
  using enum Role;
  static const std::vector<RowRule> rules = {
      {throughput,
       false,
       {{"an iteration is a micro-step",
         "throughput = it/s x batch size x GPUs",
         {{iterations_per_second}, {batch_size}, {world_size}}},
        {"an iteration is an optimizer step",
         "throughput = it/s x global batch",
         {{iterations_per_second}, {global_batch}}},
        {"an iteration is an optimizer step",
         "throughput = it/s x batch size x accumulation x GPUs",
         {{iterations_per_second}, {batch_size}, {accumulation}, {world_size}}},
        {"the batch size is that of all GPUs",
         "throughput = it/s x batch size",
         {{iterations_per_second}, {batch_size}}}}},
      {throughput,
       false,
       {{"a step is a micro-step",
         "throughput = batch size x GPUs / step time",
         {{batch_size}, {world_size}, {step_time, -1}}},
        {"a step is an optimizer step",
         "throughput = global batch / step time",
         {{global_batch}, {step_time, -1}}},
        {"a step is an optimizer step",
         "throughput = batch size x accumulation x GPUs / step time",
         {{batch_size}, {accumulation}, {world_size}, {step_time, -1}}},
        {"the batch size is that of all GPUs",
         "throughput = batch size / step time",
         {{batch_size}, {step_time, -1}}}}},
      {per_gpu, true, {{"", "per GPU = throughput / GPUs", {{throughput}, {world_size, -1}}}}},
      {per_gpu,
       false,
       {{"an iteration is a micro-step",
         "per GPU = it/s x batch size",
         {{iterations_per_second}, {batch_size}}},
        {"an iteration is an optimizer step",
         "per GPU = it/s x batch size x accumulation",
         {{iterations_per_second}, {batch_size}, {accumulation}}}}},
      {accumulated_batch,
       true,
       {{"", "accumulated batch = batch size x accumulation", {{batch_size}, {accumulation}}}}},
      {global_batch,
       true,
       {{"",
         "global batch = batch size x GPUs x accumulation",
         {{batch_size}, {world_size}, {accumulation}}}}},
      {global_batch,
       true,
       {{"", "global batch = accumulated batch x GPUs", {{accumulated_batch}, {world_size}}},
        {"the accumulated batch is that of all GPUs",
         "global batch = accumulated batch",
         {{accumulated_batch}}}}},
      {sequences,
       false,
       {{"", "sequences = steps x global batch", {{steps}, {global_batch}}},
        {"by the batch size of a GPU",
         "sequences = steps x batch size x GPUs x accumulation",
         {{steps}, {batch_size}, {world_size}, {accumulation}}}}},
      {calculated_time,
       false,
       {{"iterations are micro-steps",
         "time = steps x accumulation / it/s",
         {{steps}, {accumulation}, {iterations_per_second, -1}}},
        {"iterations are optimizer steps",
         "time = steps / it/s",
         {{steps}, {iterations_per_second, -1}}}}},
      {tokens_per_second,
       false,
       {{"of the whole job",
         "tokens/s = throughput x sequence length",
         {{throughput}, {sequence_length}}},
        {"per GPU", "tokens/s = per GPU x sequence length", {{per_gpu}, {sequence_length}}},
        {"per GPU",
         "tokens/s = throughput x sequence length / GPUs",
         {{throughput}, {sequence_length}, {world_size, -1}}}}},
      {mfu, true, {{"", "MFU = TFLOPS / peak TFLOPS", {{tflops}, {peak_tflops, -1}}}}},
  };
  return rules;
}

class RowBuilder {
 public:
  explicit RowBuilder(const Grid& grid) : grid_(grid) {}

  // One relation for each row, variant and part; empty when a role is not in the table.
  std::vector<Relation> build(Role target, const std::vector<Factor>& factors,
                              std::string_view rule, double factor = 1) const {
    std::vector<Relation> relations;
    std::vector<Role> roles = {target};
    for (const Factor& each : factors) roles.push_back(each.role);
    for (const std::string& variant : grid_.variants_of(roles)) {
      for (std::size_t row = 0; row < grid_.rows.size(); ++row) {
        const std::size_t parts = variant.empty() ? parts_of(row, roles) : 1;
        for (std::size_t part = 0; part < parts; ++part) {
          add(relations, target, factors, rule, factor, row, variant, part);
        }
      }
    }
    return relations;
  }

 private:
  // "a and b" cells under a heading that does not name two variants.
  std::size_t parts_of(std::size_t row, const std::vector<Role>& roles) const {
    std::size_t parts = 1;
    for (std::size_t n = 0; n < grid_.columns.size(); ++n) {
      if (std::find(roles.begin(), roles.end(), grid_.columns[n].role) != roles.end()) {
        parts = std::max(parts, grid_.rows[row].cells[n].numbers.size());
      }
    }
    return std::min<std::size_t>(parts, 4);
  }

  void add(std::vector<Relation>& relations, Role target, const std::vector<Factor>& factors,
           std::string_view rule, double factor, std::size_t row, const std::string& variant,
           std::size_t part) const {
    Relation relation;
    const auto goal = grid_.cell(row, target, variant, part);
    if (!goal) return;
    relation.target = *goal;
    relation.rule = std::string(rule);
    relation.factor = factor;
    for (const Factor& each : factors) {
      if (each.role == Role::world_size) {
        if (!add_world(grid_, row, each.power, relation.terms)) return;
        continue;
      }
      auto term = term_of(grid_, row, each.role, each.power, variant, part);
      if (!term) return;
      if (each.role == Role::step_time && in_milliseconds(lower(term->label))) {
        relation.factor *= 1000;
      }
      relation.terms.push_back(std::move(*term));
    }
    const bool own =
        std::ranges::any_of(relation.terms, [](const Term& term) { return term.cell.has_value(); });
    if (own) relations.push_back(std::move(relation));
  }

  static bool in_milliseconds(const std::string& heading) {
    return has_text(heading, "ms") || has_text(heading, "milli");
  }

  const Grid& grid_;
};

// FLOPs of a sequence: of a column, or by a formula.
struct SequenceFlops {
  std::string formula;
  Term term;
  double scale = 1e-12;  ///< to TFLOPs
};

std::vector<SequenceFlops> flops_of(const Grid& grid, std::size_t row, FlopsLookup lookup) {
  if (auto own = term_of(grid, row, Role::flops_per_sequence, 1)) {
    const double scale = has_text(lower(own->label), "tflop") ? 1 : 1e-12;
    return {{"", std::move(*own), scale}};
  }
  const auto text = [&](Role role) {
    if (const auto place = grid.find(role, "")) return grid.rows[row].cells[place->column].text;
    const auto word = grid.words.find(role);
    return word == grid.words.end() ? std::string() : word->second;
  };
  const auto length = term_of(grid, row, Role::sequence_length, 1);
  if (!length || lookup == nullptr) return {};
  constexpr std::string_view kYes[] = {"true", "yes", "1", "on", "full"};
  const bool checkpointing = std::ranges::count(kYes, lower(text(Role::checkpointing))) > 0;
  std::vector<SequenceFlops> out;
  for (const NamedFlops& each :
       lookup(text(Role::model), value_of(grid, *length, {}).nominal, checkpointing)) {
    out.push_back(
        {", formula " + each.formula,
         stated(each.flops, 1, fmt::format("{} FLOPs a sequence ({})", each.flops, each.formula))});
  }
  return out;
}

RuleReadings tflops_rule(const Grid& grid, const RowBuilder& build, FlopsLookup lookup) {
  RuleReadings rule{false, {}};
  const auto reading = [&](const std::string& name) -> Reading& {
    const auto there = std::ranges::find(rule.readings, name, &Reading::name);
    return there == rule.readings.end() ? rule.readings.emplace_back(Reading{name, {}}) : *there;
  };
  const auto add = [&](const std::string& who, std::string_view text,
                       const std::vector<Factor>& factors) {
    for (const Relation& base : build.build(Role::tflops, factors, text)) {
      // FLOPs differ from row to row with the model, so each becomes a constant of its relation.
      for (const SequenceFlops& flops : flops_of(grid, base.target.row, lookup)) {
        Relation relation = base;
        relation.factor *= flops.scale;
        relation.terms.push_back(flops.term);
        reading(who + flops.formula).relations.push_back(std::move(relation));
      }
    }
  };
  add("per GPU", "TFLOPS = throughput x FLOPs per sequence / GPUs",
      {{Role::throughput}, {Role::world_size, -1}});
  add("per GPU, from the rate per GPU", "TFLOPS = per GPU x FLOPs per sequence", {{Role::per_gpu}});
  add("of the whole job", "TFLOPS = throughput x FLOPs per sequence", {{Role::throughput}});
  return rule;
}

// Nobody states the accumulation: any whole one is right, but not the 1.1 of 143 sequences on 4
// GPUs with 32 each. Where this explains few rows (GPUs that share a model), nothing is claimed.
RuleReadings any_accumulation(const Grid& grid, const RowBuilder& build) {
  constexpr double kLeastShare = 2.0 / 3;  // of the rows
  RuleReadings rule;
  if (grid.has(Role::accumulation) || grid.facts.contains(Role::accumulation) ||
      grid.has(Role::accumulated_batch)) {
    return rule;
  }
  const auto holds = [&](const Relation& relation) {
    return judge(grid, relation.target, evaluate(grid, relation, {}), {}) != Verdict::impossible;
  };
  const auto add = [&](std::string_view name, std::vector<Relation> relations) {
    const auto right = static_cast<double>(std::ranges::count_if(relations, holds));
    if (right < kLeastShare * static_cast<double>(relations.size())) return;
    rule.readings.push_back({std::string(name), std::move(relations)});
  };
  auto relations = build.build(Role::global_batch, {{Role::batch_size}, {Role::world_size}},
                               "global batch = batch size x GPUs x accumulation");
  for (Relation& relation : relations) {
    const double ratio =
        quantity(grid, relation.target).nominal / evaluate(grid, relation, {}).nominal;
    const double nearest = std::isfinite(ratio) ? std::max(1.0, std::round(ratio)) : 1;
    relation.terms.push_back(stated(nearest, 1, "accumulation, the nearest whole"));
  }
  add("", std::move(relations));
  add("the batch size is that of all GPUs",
      build.build(Role::global_batch, {{Role::batch_size}}, "global batch = batch size"));
  return rule;
}

int speed_rank(std::string_view variant) {
  constexpr std::string_view kOrder[] = {"fp32", "tf32", "bf16", "mixed", "fp8"};
  const auto at = std::find(std::begin(kOrder), std::end(kOrder), variant);
  return static_cast<int>(at - std::begin(kOrder));
}

// Mixed over TF32 throughput, or TF32 over mixed time.
void precision_rules(const Grid& grid, std::vector<RuleReadings>& rules) {
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    const Role role = grid.columns[column].role;
    if (role != Role::precision_speedup && role != Role::time_speedup) continue;
    const bool time = role == Role::time_speedup;
    const Role source = time ? Role::train_time : Role::throughput;
    std::vector<std::string> pair = grid.variants_of({source});
    if (pair.size() < 2) continue;
    const auto& named = grid.columns[column].variants;
    if (named.size() >= 2) pair = named;
    std::stable_sort(pair.begin(), pair.end(),
                     [](const auto& a, const auto& b) { return speed_rank(a) < speed_rank(b); });
    const std::string slow = pair.front(), fast = pair.back();
    RuleReadings rule;
    for (const bool inverse : {false, true}) {
      const std::string& over = time != inverse ? slow : fast;
      const std::string& under = time != inverse ? fast : slow;
      Reading reading{inverse ? "inverse" : "", {}};
      for (std::size_t row = 0; row < grid.rows.size(); ++row) {
        auto top = term_of(grid, row, source, 1, over);
        auto bottom = term_of(grid, row, source, -1, under);
        if (grid.rows[row].cells[column].numbers.empty() || !top || !bottom) continue;
        Relation relation;
        relation.target = {row, column, 0};
        relation.rule =
            fmt::format("speedup = {} {} / {}", time ? "time" : "throughput", over, under);
        relation.terms = {std::move(*top), std::move(*bottom)};
        reading.relations.push_back(std::move(relation));
      }
      rule.readings.push_back(std::move(reading));
    }
    rules.push_back(std::move(rule));
  }
}

}  // namespace

std::vector<RuleReadings> row_rules(const Grid& grid, FlopsLookup flops) {
  const RowBuilder build(grid);
  std::vector<RuleReadings> rules;
  for (const RowRule& row : table_of_rules()) {
    RuleReadings rule{row.definitional, {}};
    for (const RowReading& reading : row.readings) {
      rule.readings.push_back(
          {std::string(reading.name), build.build(row.target, reading.factors, reading.rule)});
    }
    rules.push_back(std::move(rule));
  }
  // The overhead seen in one phase, stated by the user, carried over to another.
  if (const auto overhead = grid.facts.find(Role::corrected_time); overhead != grid.facts.end()) {
    auto relations =
        build.build(Role::corrected_time, {{Role::calculated_time}},
                    "corrected time = calculated time x stated overhead", overhead->second);
    rules.push_back({true, {{"", std::move(relations)}}});
  }
  rules.push_back(tflops_rule(grid, build, flops));
  rules.push_back(any_accumulation(grid, build));
  precision_rules(grid, rules);
  return rules;
}

}  // namespace bertbench::audit
