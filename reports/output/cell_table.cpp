#include "reports/output/cell_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>

#include "parsers/core/step_parts.h"
#include "reports/model/cell_match.h"
#include "reports/output/value_text.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

std::string integer(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : std::string();
}

std::string rate_cell(const Cell& cell, bool note_unit) {
  if (!cell.throughput.median) return std::string(failures_of(cell).no_rate_text());
  std::string text = number_text(*cell.throughput.median);
  if (note_unit) text += " " + cell.throughput.unit;
  return text;
}

std::string interval_cell(const Cell& cell) {
  const auto shown = shown_interval(cell);
  if (!shown) return {};
  return fmt::format("{} to {}{}", number_text(shown->interval.low),
                     number_text(shown->interval.high), shown->of_mean ? " (t)" : "");
}

/// Losses and scores are published with two or three decimals; a spread may be much smaller.
std::string quality_text(double value) {
  const double size = std::fabs(value);
  return size == 0 || size >= 0.001 ? fmt::format("{:.4f}", value) : fmt::format("{:.2g}", value);
}

template <class T, class Text>
std::string maybe(const std::optional<T>& value, Text text) {
  return value ? text(*value) : std::string();
}

}  // namespace

std::string rate_heading(const ResultSet& set) {
  std::set<std::string> units;
  for (const Cell& cell : set.cells) units.insert(cell.throughput.unit);
  return units.size() == 1 ? *units.begin() : "throughput";
}

bool needs_name_of_log(const Cell& cell) {
  const Identity& id = cell.identity;
  return !id.model || !id.nodes || !id.gpus_per_node || cell.key.find('#') != std::string::npos;
}

Table cell_table(const ResultSet& set) {
  std::set<std::string> axes;
  for (const Cell& cell : set.cells)
    for (const auto& axis : cell.identity.axes) axes.insert(axis.first);

  const std::string rate = rate_heading(set);
  Table table{
      columns_of({"result", "model", "framework", "precision", ">sequence length", ">micro batch",
                  ">accumulation", ">topology", ">GPUs", ">global batch", "kind"})};
  for (const std::string& axis : axes) table.columns.push_back({axis});
  std::ranges::move(columns_of({"stand-ins", ">n", ">" + rate, ">interval", ">cv", ">speedup",
                                ">efficiency", ">per GPU", ">TFLOPS/GPU", ">MFU", ">HFU",
                                ">peak memory", ">power", ">energy/sequence", ">time to train",
                                ">time speedup", "scaling", "failures", "log"}),
                    std::back_inserter(table.columns));

  const bool with_logs = std::ranges::any_of(set.cells, needs_name_of_log);
  const bool several_sources = memory_sources(set).size() > 1;
  for (const Cell& cell : set.cells) {
    const Identity& id = cell.identity;
    const auto percent = [](double value) { return percent_text(value); };
    std::vector<std::string> row = {cell.result,
                                    id.model.value_or(""),
                                    id.framework.value_or(""),
                                    id.precision.value_or(""),
                                    integer(id.sequence_length),
                                    integer(id.micro_batch_size),
                                    integer(id.gradient_accumulation_steps),
                                    topology_text(id),
                                    integer(cell.world_size()),
                                    integer(cell.global_batch_size()),
                                    std::string(name(cell.kind))};
    for (const std::string& axis : axes) {
      const auto found = id.axes.find(axis);
      row.push_back(found == id.axes.end() ? "" : found->second);
    }
    row.emplace_back(cell.emulated ? "yes" : "");
    row.push_back(std::to_string(cell.throughput.n));
    row.push_back(rate_cell(cell, rate == "throughput"));
    row.push_back(interval_cell(cell));
    row.push_back(maybe(cell.throughput.cv, [](double v) { return percent_text(v, 2); }));
    row.push_back(maybe(cell.speedup, [](const Ratio& r) { return ratio_text(r.value); }));
    row.push_back(maybe(cell.scaling_efficiency, percent));
    row.push_back(maybe(cell.sequences_per_second_per_gpu, number_text));
    row.push_back(maybe(cell.tflops_per_gpu, number_text));
    row.push_back(maybe(cell.mfu, percent));
    row.push_back(maybe(cell.hfu, percent));
    row.push_back(memory_text(cell.memory) +
                  (several_sources && cell.memory ? " (" + cell.memory->source + ")" : ""));
    row.push_back(maybe(cell.power_w, power_text));
    row.push_back(maybe(cell.energy_per_sequence_j, energy_text));
    row.push_back(maybe(cell.time_to_train_s, duration_text));
    row.push_back(
        maybe(cell.time_to_train_speedup, [](const Ratio& r) { return ratio_text(r.value); }));
    row.push_back(cell.scaling);
    row.push_back(failures_of(cell).text());
    row.emplace_back(with_logs && cell.trials.size() == 1 ? place_name(cell.trials.front().log)
                                                          : std::string_view());
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table stability_table(const CellSource& cells) {
  Table table{
      columns_of({"cell", "quality", ">n", ">mean", ">standard deviation", ">least", ">most"})};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell cell = cells.cell(i);
    for (const char* quality : kQualities) {
      const auto found = cell.stability.find(quality);
      if (found == cell.stability.end()) continue;
      const Spread& spread = found->second;
      const bool loss = std::string_view(quality) == kQualities[0];
      table.rows.push_back({key_with_kind(cell.key, cell.kind),
                            loss ? "final loss" : std::string(quality) + ", %",
                            std::to_string(spread.n), quality_text(spread.mean),
                            spread.stddev ? quality_text(*spread.stddev) : "",
                            quality_text(spread.min), quality_text(spread.max)});
    }
  }
  return table;
}

std::vector<CellPart> parts_of(const std::vector<Trial>& trials) {
  std::vector<double> steps;
  for (const Trial& trial : trials) {
    if (trial.step_time) steps.push_back(trial.step_time->p50);
  }
  std::vector<CellPart> out;
  for (const std::string_view name : kStepPartNames) {
    std::vector<double> seconds;
    for (const Trial& trial : trials) {
      const auto found = trial.parts.find(std::string(name));
      if (found != trial.parts.end()) seconds.push_back(found->second.p50);
    }
    if (seconds.empty()) continue;
    CellPart part{std::string(name), median(seconds), {}};
    if (!steps.empty()) part.share = part.seconds / median(steps);
    out.push_back(std::move(part));
  }
  return out;
}

namespace {

std::string time_and_share(const CellPart& part) {
  return duration_text(part.seconds) +
         (part.share ? " (" + percent_text(*part.share, 0) + ")" : "");
}

}  // namespace

std::string parts_text(const std::vector<CellPart>& parts) {
  std::string out;
  for (const CellPart& part : parts) {
    if (!out.empty()) out += ", ";
    out += part.part + " " + time_and_share(part);
  }
  return out;
}

Table parts_table(const ResultSet& set) {
  Table table{columns_of({"cell"})};
  for (const std::string_view name : kStepPartNames)
    table.columns.push_back({std::string(name), true});
  for (const Cell& cell : set.cells) {
    const std::vector<CellPart> parts = parts_of(cell.trials);
    if (parts.empty()) continue;
    auto& row = table.rows.emplace_back(table.columns.size());
    row[0] = key_with_kind(cell.key, cell.kind);
    for (const CellPart& part : parts) {
      const auto column = std::ranges::find(table.columns, part.part, &TableColumn::heading);
      row[static_cast<std::size_t>(column - table.columns.begin())] = time_and_share(part);
    }
  }
  return filled_columns(table);
}

namespace {

std::optional<double> per_gpu(const std::optional<double>& of_job, const Cell& cell) {
  const auto gpus = cell.world_size();
  if (!of_job || !gpus) return {};
  return *of_job / static_cast<double>(*gpus);
}

std::optional<double> seconds_of_iteration(const Cell& cell) {
  if (const auto rate = cell.median_in(RateUnit::iterations_per_second)) return 1 / *rate;
  const auto rate = cell.median_in(RateUnit::sequences_per_second);
  const auto batch = cell.global_batch_size();
  if (!rate || !batch) return {};
  return static_cast<double>(*batch) / *rate;
}

std::optional<double> computed_of(StatedValue what, const Cell& cell) {
  switch (what) {
    case StatedValue::tflops:
      return cell.tflops_per_gpu;
    case StatedValue::watts:
      return per_gpu(cell.power_w, cell);
    case StatedValue::joules: {
      const auto watts = per_gpu(cell.power_w, cell);
      const auto seconds = seconds_of_iteration(cell);
      return watts && seconds ? std::optional(*watts * *seconds) : std::nullopt;
    }
    case StatedValue::tokens:
      return per_gpu(cell.tokens_per_second(), cell);
  }
  return {};
}

}  // namespace

std::vector<StatedComparison> stated_of(const Cell& cell) {
  std::vector<StatedComparison> out;
  StatedByTrials values;
  for (const Trial& trial : cell.trials) add_stated(values, trial);
  for (std::size_t i = 0; i < kStatedValues; ++i) {
    const auto found = values.find(kStatedNames[i].key);
    if (found == values.end()) continue;
    out.push_back({&kStatedNames[i], median(found->second), found->second.size(),
                   computed_of(static_cast<StatedValue>(i), cell)});
  }
  return out;
}

std::string stated_text(const std::vector<StatedComparison>& values) {
  std::string out;
  for (const StatedComparison& value : values) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", number_text(value.stated),
                       value.name->unit);
    if (value.computed) out += " (computed " + number_text(*value.computed) + ")";
  }
  return out;
}

Table stated_table(const ResultSet& set) {
  Table table{columns_of({"cell", "of one GPU", ">stated", ">n", ">computed", ">difference"})};
  for (const Cell& cell : set.cells) {
    for (const StatedComparison& value : stated_of(cell)) {
      const bool both = value.computed && *value.computed > 0;
      table.rows.push_back(
          {key_with_kind(cell.key, cell.kind), std::string(value.name->unit),
           number_text(value.stated), std::to_string(value.n),
           value.computed ? number_text(*value.computed) : "",
           both ? fmt::format("{:+.1f} %", 100 * (value.stated / *value.computed - 1)) : ""});
    }
  }
  return filled_columns(table);
}

std::vector<std::string> cell_table_keep(const Table& table) {
  // Columns without any value still vanish: only what was measured is kept.
  const std::vector<TableColumn> filled = filled_columns(table).columns;
  std::vector<std::string> keep;
  for (auto column = std::ranges::find(filled, "n", &TableColumn::heading); column != filled.end();
       ++column) {
    if (column->heading != "scaling") keep.push_back(column->heading);
  }
  return keep;
}

std::vector<std::string> short_names(const ResultSet& set) { return short_names(SetSource(set)); }

std::vector<std::string> short_names(const CellSource& cells) {
  const auto facts = [](const Cell& cell) {
    const Identity& id = cell.identity;
    const auto with = [](const char* letter, const std::optional<std::int64_t>& value) {
      return value ? letter + std::to_string(*value) : std::string();
    };
    std::vector<std::string> out = {
        cell.result,
        id.framework.value_or(""),
        id.model.value_or(""),
        id.precision.value_or(""),
        with("s", id.sequence_length),
        with("b", id.micro_batch_size),
        with("a", id.gradient_accumulation_steps),
        topology_text(id),
        cell.kind == WorkKind::training ? "" : std::string(name(cell.kind))};
    std::string axes;
    for (const auto& [axis, value] : id.axes)
      axes += (axes.empty() ? "" : " ") + axis + "=" + value;
    out.push_back(axes);
    return out;
  };
  std::vector<std::string> first;
  std::vector<bool> varies;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto its = facts(cells.cell(i));
    if (i == 0) first = its;
    varies.resize(its.size());
    for (std::size_t f = 0; f < its.size(); ++f) varies[f] = varies[f] || its[f] != first[f];
  }
  std::vector<std::string> names;
  std::unordered_map<std::string, int> seen;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell cell = cells.cell(i);
    const auto its = facts(cell);
    std::string name;
    for (std::size_t f = 0; f < its.size(); ++f) {
      if (varies[f] && !its[f].empty()) name += (name.empty() ? "" : " ") + its[f];
    }
    names.push_back(name.empty() ? cell.key : name);
    ++seen[names.back()];
  }
  // Two cells that differ in nothing known (separate logs): only their keys distinguish them.
  for (std::size_t i = 0; i < names.size(); ++i)
    if (seen[names[i]] > 1) names[i] = cells.cell(i).key;
  return names;
}

}  // namespace bertbench
