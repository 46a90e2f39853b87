#include "reports/output/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "reports/output/value_text.h"

namespace bertbench {
namespace {

struct Phase {
  std::string key;
  std::optional<double> steps, sequences, seconds;
};

/// Of one run.
struct Trainings {
  std::set<std::size_t> phases;  // numbers from 0 of the cells that it has
  std::map<int, std::map<std::size_t, Phase>> by_trial{};  // by number of trial, then of phase
};

std::vector<std::string> phases_of(const Cell& cell) {
  std::vector<std::string> keys;
  const auto found = cell.context->find("phases");
  if (found == cell.context->end()) return keys;
  for (const auto& key : *found) {
    if (key.is_string()) keys.push_back(key.get<std::string>());
  }
  return keys;
}

Phase phase_of(const Cell& cell, const Trial& trial) {
  Phase phase{cell.key, {}, {}, {}};
  if (!trial.reconciliation) return phase;
  const Reconciliation& its = *trial.reconciliation;
  phase.sequences = its.sequences;
  phase.seconds = its.wall_s ? its.wall_s : its.training_s;
  const auto batch = cell.global_batch_size();
  if (its.sequences && batch) phase.steps = *its.sequences / static_cast<double>(*batch);
  return phase;
}

std::string whole(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "";
}

void add_row(Table& table, const std::string& trial, const std::string& name, const Phase& phase,
             const std::optional<double>& all_seconds) {
  const bool rated = phase.sequences && phase.seconds && *phase.seconds > 0;
  const bool shared = phase.seconds && all_seconds && *all_seconds > 0;
  table.rows.push_back(
      {trial, name, phase.key, whole(phase.steps), whole(phase.sequences),
       phase.seconds ? fmt::format("{:.1f}", *phase.seconds) : "",
       rated ? number_text(*phase.sequences / *phase.seconds) : "",
       shared ? fmt::format("{:.1f} %", 100 * *phase.seconds / *all_seconds) : ""});
}

}  // namespace

Table phases_table(const CellSource& cells) {
  Table table{columns_of(
      {">trial", "phase", "cell", ">steps", ">sequences", ">seconds", ">sequences/s", ">of time"})};
  std::map<std::vector<std::string>, std::vector<Trainings>> trainings;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell cell = cells.cell(i);
    const auto keys = phases_of(cell);
    // The key of the cell may be numbered: results of several runs hold equal cells.
    const auto found = std::ranges::find(keys, cell.identity.key());
    if (found == keys.end()) continue;
    const auto number = static_cast<std::size_t>(found - keys.begin());
    // Cells of a run follow each other, so a phase that is there already is of the next run.
    auto& runs = trainings[keys];
    if (runs.empty() || runs.back().phases.contains(number)) runs.emplace_back();
    runs.back().phases.insert(number);
    cells.each_trial(i, [&](const Trial& trial) {
      runs.back().by_trial[trial.trial][number] = phase_of(cell, trial);
    });
  }
  for (const auto& [keys, runs] : trainings) {
    for (const auto& [trial, phases] :
         runs | std::views::transform(&Trainings::by_trial) | std::views::join) {
      Phase all{"", 0.0, 0.0, 0.0};
      const auto add = [](std::optional<double>& sum, const std::optional<double>& part) {
        sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
      };
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto found = phases.find(i);
        const Phase phase = found == phases.end() ? Phase{} : found->second;
        add(all.steps, phase.steps);
        add(all.sequences, phase.sequences);
        add(all.seconds, phase.seconds);
      }
      for (const auto& [i, phase] : phases) {
        add_row(table, std::to_string(trial), std::to_string(i + 1), phase, all.seconds);
      }
      add_row(table, std::to_string(trial), "together", all, all.seconds);
    }
  }
  return table;
}

}  // namespace bertbench
