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
        {"",
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
    if (!grid_.has(target)) return relations;
    std::vector<Role> roles = {target};
    for (const Factor& each : factors) roles.push_back(each.role);
    if (std::find(roles.begin(), roles.end(), Role::world_size) != roles.end()) {
      roles.insert(roles.end(), {Role::gpus, Role::gpus_per_node, Role::nodes});
    }
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

  [[nodiscard]] std::optional<CellId> cell(std::size_t row, Role role, std::string_view variant,
                                           std::size_t part) const {
    const auto place = grid_.find(role, variant);
    if (!place) return std::nullopt;
    const std::size_t count = grid_.rows[row].cells[place->column].numbers.size();
    if (count == 0) return std::nullopt;
    const std::size_t wanted = variant.empty() ? part : place->part;
    return CellId{row, place->column, wanted < count ? wanted : 0};
  }

  void add(std::vector<Relation>& relations, Role target, const std::vector<Factor>& factors,
           std::string_view rule, double factor, std::size_t row, const std::string& variant,
           std::size_t part) const {
    Relation relation;
    const auto goal = cell(row, target, variant, part);
    if (!goal) return;
    relation.target = *goal;
    relation.rule = std::string(rule);
    relation.factor = factor;
    bool own = false;  // at least one operand stands in this row
    for (const Factor& each : factors) {
      if (each.role == Role::world_size) {
        const std::size_t before = relation.terms.size();
        if (!add_world(grid_, row, each.power, relation.terms)) return;
        for (std::size_t n = before; n < relation.terms.size(); ++n) {
          own = own || relation.terms[n].cell.has_value();
        }
        continue;
      }
      if (const auto from = cell(row, each.role, variant, part)) {
        relation.terms.push_back({*from, each.power, {}, grid_.columns[from->column].heading});
        own = true;
        if (each.role == Role::step_time && in_milliseconds(from->column)) {
          relation.factor *= 1000;
        }
      } else if (const auto fact = grid_.facts.find(each.role);
                 fact != grid_.facts.end() && !grid_.has(each.role)) {
        relation.terms.push_back({std::nullopt,
                                  each.power,
                                  {fact->second, Interval::point(fact->second)},
                                  std::string(name(each.role)) + " as stated"});
      } else {
        return;
      }
    }
    if (own) relations.push_back(std::move(relation));
  }

  [[nodiscard]] bool in_milliseconds(std::size_t column) const {
    const std::string text =
        lower(grid_.columns[column].heading + " " + grid_.columns[column].unit);
    return text.find("ms") != std::string::npos || text.find("milli") != std::string::npos ||
           text.find("latency") != std::string::npos;
  }

  const Grid& grid_;
};

// FLOPs per sequence stand in the table, under `heading`.
std::vector<Reading> tflops_of_column(const std::string& heading, const RowBuilder& build) {
  const double scale = lower(heading).find("tflop") != std::string::npos ? 1 : 1e-12;
  const Factor flops{Role::flops_per_sequence};
  return {{"per GPU", build.build(Role::tflops, {{Role::throughput}, flops, {Role::world_size, -1}},
                                  "TFLOPS = throughput x FLOPs per sequence / GPUs", scale)},
          {"per GPU", build.build(Role::tflops, {{Role::per_gpu}, flops},
                                  "TFLOPS = per GPU x FLOPs per sequence", scale)},
          {"of the whole job", build.build(Role::tflops, {{Role::throughput}, flops},
                                           "TFLOPS = throughput x FLOPs per sequence", scale)}};
}

// FLOPs per sequence by the row's model and length, by each formula that is in use.
class LookedUpTflops {
 public:
  LookedUpTflops(const Grid& grid, FlopsLookup lookup) : grid_(grid), lookup_(lookup) {}

  /// FLOPs differ from row to row with the model, so each becomes a constant of its relation.
  void add(const std::vector<Relation>& bases, const std::string& who) {
    for (const Relation& base : bases) {
      for (const NamedFlops& each : flops_of(base.target.row)) {
        Relation relation = base;
        relation.terms.push_back(
            {std::nullopt,
             1,
             {each.flops, Interval::point(each.flops)},
             fmt::format("{} FLOPs a sequence ({})", each.flops, each.formula)});
        reading(fmt::format("{}, formula {}", who, each.formula))
            .relations.push_back(std::move(relation));
      }
    }
  }
  [[nodiscard]] std::vector<Reading> readings() && { return std::move(readings_); }

 private:
  [[nodiscard]] std::vector<NamedFlops> flops_of(std::size_t row) const {
    const double length = sequence_length(row);
    const std::string model = text(row, Role::model);
    if (model.empty() || !(length >= 1)) return {};
    const std::string recompute = lower(text(row, Role::checkpointing));
    const bool checkpointing = recompute == "true" || recompute == "yes" || recompute == "1" ||
                               recompute == "on" || recompute == "full";
    return lookup_(model, length, checkpointing);
  }
  [[nodiscard]] std::string text(std::size_t row, Role role) const {
    if (const auto place = grid_.find(role, "")) return grid_.rows[row].cells[place->column].text;
    const auto word = grid_.words.find(role);
    return word == grid_.words.end() ? std::string() : word->second;
  }
  /// 0 when unknown.
  [[nodiscard]] double sequence_length(std::size_t row) const {
    if (const auto place = grid_.find(Role::sequence_length, "")) {
      const auto& numbers = grid_.rows[row].cells[place->column].numbers;
      if (!numbers.empty()) return numbers[0].value;
    }
    const auto fact = grid_.facts.find(Role::sequence_length);
    return fact == grid_.facts.end() ? 0 : fact->second;
  }
  Reading& reading(const std::string& name) {
    const auto there = std::find_if(readings_.begin(), readings_.end(),
                                    [&](const Reading& r) { return r.name == name; });
    return there == readings_.end() ? readings_.emplace_back(Reading{name, {}}) : *there;
  }

  const Grid& grid_;
  FlopsLookup lookup_;
  std::vector<Reading> readings_;
};

RuleReadings tflops_rule(const Grid& grid, const RowBuilder& build, FlopsLookup lookup) {
  RuleReadings rule{"tflops", false, {}};
  if (!grid.has(Role::tflops)) return rule;
  if (const auto flops = grid.find(Role::flops_per_sequence, "")) {
    rule.readings = tflops_of_column(grid.columns[flops->column].heading, build);
    return rule;
  }
  if (lookup == nullptr) return rule;
  LookedUpTflops looked_up(grid, lookup);
  looked_up.add(build.build(Role::tflops, {{Role::throughput}, {Role::world_size, -1}},
                            "TFLOPS = throughput x FLOPs per sequence / GPUs", 1e-12),
                "per GPU");
  looked_up.add(
      build.build(Role::tflops, {{Role::per_gpu}}, "TFLOPS = per GPU x FLOPs per sequence", 1e-12),
      "per GPU, from the rate per GPU");
  looked_up.add(build.build(Role::tflops, {{Role::throughput}},
                            "TFLOPS = throughput x FLOPs per sequence", 1e-12),
                "of the whole job");
  rule.readings = std::move(looked_up).readings();
  return rule;
}

// Nobody states the accumulation: any whole one is right, but not the 1.1 of 143 sequences on 4
// GPUs with 32 each. Where this explains few rows (GPUs that share a model), nothing is claimed.
RuleReadings any_accumulation(const Grid& grid, const RowBuilder& build) {
  constexpr double kLeastShare = 2.0 / 3;  // of the rows
  RuleReadings rule{"global batch", true, {}};
  if (grid.has(Role::accumulation) || grid.facts.contains(Role::accumulation) ||
      grid.has(Role::accumulated_batch)) {
    return rule;
  }
  const auto holds = [&](const Relation& relation) {
    return judge(grid, relation.target, evaluate(grid, relation, {}), {}) != Verdict::impossible;
  };
  const auto add = [&](std::string_view name, std::vector<Relation> relations) {
    const auto right = static_cast<double>(std::ranges::count_if(relations, holds));
    if (relations.empty() || right < kLeastShare * static_cast<double>(relations.size())) return;
    rule.readings.push_back({std::string(name), std::move(relations)});
  };
  auto relations = build.build(Role::global_batch, {{Role::batch_size}, {Role::world_size}},
                               "global batch = batch size x GPUs x accumulation");
  for (Relation& relation : relations) {
    const double ratio =
        quantity(grid, relation.target)->nominal / evaluate(grid, relation, {}).nominal;
    const double nearest = std::isfinite(ratio) ? std::max(1.0, std::round(ratio)) : 1;
    relation.terms.push_back(
        {std::nullopt, 1, {nearest, Interval::point(nearest)}, "accumulation, the nearest whole"});
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
    if (pair.size() < 2 && !time) pair = grid.variants_of({Role::per_gpu});
    if (pair.size() < 2) continue;
    const auto& named = grid.columns[column].variants;
    if (named.size() >= 2) pair = named;
    std::stable_sort(pair.begin(), pair.end(),
                     [](const auto& a, const auto& b) { return speed_rank(a) < speed_rank(b); });
    const std::string slow = pair.front(), fast = pair.back();
    RuleReadings rule{"precision speedup", true, {}};
    for (const bool inverse : {false, true}) {
      const std::string& over = time != inverse ? slow : fast;
      const std::string& under = time != inverse ? fast : slow;
      Reading reading{inverse ? "inverse" : "", {}};
      for (std::size_t row = 0; row < grid.rows.size(); ++row) {
        const auto top = grid.find(source, over), bottom = grid.find(source, under);
        if (!top || !bottom || top->column == bottom->column) continue;
        const auto& cells = grid.rows[row].cells;
        if (cells[column].numbers.empty() || cells[top->column].numbers.empty() ||
            cells[bottom->column].numbers.empty()) {
          continue;
        }
        Relation relation;
        relation.target = {row, column, 0};
        relation.rule =
            fmt::format("speedup = {} {} / {}", time ? "time" : "throughput", over, under);
        relation.terms = {
            {CellId{row, top->column, 0}, 1, {}, grid.columns[top->column].heading},
            {CellId{row, bottom->column, 0}, -1, {}, grid.columns[bottom->column].heading}};
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
    RuleReadings rule{std::string(name(row.target)), row.definitional, {}};
    for (const RowReading& reading : row.readings) {
      auto relations = build.build(row.target, reading.factors, reading.rule);
      if (!relations.empty()) {
        rule.readings.push_back({std::string(reading.name), std::move(relations)});
      }
    }
    if (!rule.readings.empty()) rules.push_back(std::move(rule));
  }
  // The overhead seen in one phase, stated by the user, carried over to another.
  if (const auto overhead = grid.facts.find(Role::corrected_time); overhead != grid.facts.end()) {
    auto relations =
        build.build(Role::corrected_time, {{Role::calculated_time}},
                    "corrected time = calculated time x stated overhead", overhead->second);
    if (!relations.empty()) rules.push_back({"corrected time", true, {{"", std::move(relations)}}});
  }
  if (RuleReadings tflops = tflops_rule(grid, build, flops); !tflops.readings.empty()) {
    std::erase_if(tflops.readings, [](const Reading& r) { return r.relations.empty(); });
    if (!tflops.readings.empty()) rules.push_back(std::move(tflops));
  }
  if (RuleReadings any = any_accumulation(grid, build); !any.readings.empty()) {
    rules.push_back(std::move(any));
  }
  precision_rules(grid, rules);
  return rules;
}

}  // namespace bertbench::audit
