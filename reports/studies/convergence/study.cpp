#include "reports/studies/convergence/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr double kHour = 3600;

/// Phases by sequence length, shortest first, where no row names a phase.
void number_phases(std::vector<Checkpoint>& rows) {
  if (std::ranges::any_of(rows, [](const Checkpoint& row) { return row.phase.has_value(); }))
    return;
  std::set<std::int64_t> lengths;
  for (const Checkpoint& row : rows) {
    if (row.sequence_length) lengths.insert(*row.sequence_length);
  }
  for (Checkpoint& row : rows) {
    if (!row.sequence_length) continue;
    row.phase = 1 + std::distance(lengths.begin(), lengths.find(*row.sequence_length));
  }
}

void find_parents(std::vector<Checkpoint>& rows) {
  std::optional<std::int64_t> above;
  for (Checkpoint& row : rows) {
    if (row.phase == 1) above = row.step;
    if (row.phase > 1 && !row.from_step && above < row.step) row.from_step = above;
  }
}

const Checkpoint* parent_of(const Study& study, const Checkpoint& row) {
  const auto found = std::ranges::find_if(study.checkpoints, [&](const Checkpoint& other) {
    return row.from_step && other.phase == 1 && other.step == row.from_step;
  });
  return found == study.checkpoints.end() ? nullptr : &*found;
}

void calculate_hours(Study& study, const std::map<std::int64_t, double>& rates) {
  // Phase 1 first: the others are reckoned from its rows.
  for (const bool first : {true, false}) {
    for (Checkpoint& row : study.checkpoints) {
      if (row.hours || !row.step || !row.sequence_length || (row.phase == 1) != first) continue;
      const auto rate = rates.find(*row.sequence_length);
      if (rate == rates.end()) continue;
      const Checkpoint* parent = first ? nullptr : parent_of(study, row);
      const auto steps = *row.step - (parent != nullptr ? *parent->step : 0);
      if (!first && (parent == nullptr || !parent->hours || steps < 0)) {
        study.notices.push_back(make_notice(
            NoticeCode::hours_not_calculated, 0, row.source,
            steps < 0 ? "its step lies before that of the checkpoint that it went on from"
                      : "those of the phase-1 checkpoint that it went on from are unknown"));
        continue;
      }
      row.hours = (first ? 0 : *parent->hours) + static_cast<double>(steps) * rate->second / kHour;
      row.hours_calculated = true;
    }
  }
}

void imply_seconds(Study& study) {
  for (Checkpoint& row : study.checkpoints) {
    if (!row.hours || !row.step || row.hours_calculated) continue;
    const Checkpoint* parent = parent_of(study, row);
    if (row.phase != 1 && (parent == nullptr || !parent->hours)) continue;
    const auto steps = *row.step - (parent != nullptr ? *parent->step : 0);
    const double hours = *row.hours - (parent != nullptr ? *parent->hours : 0);
    if (steps > 0 && hours > 0) row.seconds_per_step = hours * kHour / static_cast<double>(steps);
  }
}

void summarize_seeds(Study& study) {
  using Rows = std::vector<const Checkpoint*>;
  std::map<std::string, std::map<std::string, Rows>> groups;  // by checkpoint and seed
  std::vector<std::string> order;
  for (const Checkpoint& row : study.checkpoints) {
    if (!row.seed) continue;
    const std::string key = fmt::format("{}|{}|{}|{}|{}", row.step.value_or(-1),
                                        row.phase.value_or(-1), row.sequence_length.value_or(-1),
                                        row.from_step.value_or(-1), row.epochs.value_or(-1));
    auto& group = groups[key];
    if (group.empty()) order.push_back(key);
    Rows& of_seed = group[*row.seed];
    of_seed.push_back(&row);
    if (of_seed.size() == 2) {
      study.notices.push_back(make_notice(NoticeCode::seed_stands_twice, 0, row.source, *row.seed));
    }
  }
  for (const std::string& key : order) {
    const auto& group = groups[key];
    if (group.size() < 2) continue;
    Stability out;
    out.of = *group.begin()->second.front();
    out.of.seed.reset();
    out.of.source.clear();
    out.n = static_cast<int>(group.size());
    const auto spread = [&](auto member, std::optional<double>& average,
                            std::optional<double>& deviation) {
      std::vector<double> values;
      for (const auto& [seed, rows] : group) {
        std::vector<double> of_seed;
        for (const Checkpoint* row : rows) {
          if (row->*member) of_seed.push_back(*(row->*member));
        }
        if (!of_seed.empty()) values.push_back(mean(of_seed));
      }
      if (values.size() != group.size()) return;
      average = mean(values);
      deviation = standard_deviation(values);
    };
    spread(&Checkpoint::exact_match, out.exact_match_mean, out.exact_match_stddev);
    spread(&Checkpoint::f1, out.f1_mean, out.f1_stddev);
    study.stability.push_back(std::move(out));
  }
}

}  // namespace

void derive(Study& study, const std::map<std::int64_t, double>& seconds_per_step) {
  number_phases(study.checkpoints);
  find_parents(study.checkpoints);
  calculate_hours(study, seconds_per_step);
  imply_seconds(study);
  summarize_seeds(study);
  for (const Checkpoint& row : study.checkpoints) {
    if (!row.exact_match && !row.f1) {
      study.notices.push_back(make_notice(NoticeCode::no_score, 0, row.source));
    }
    if (row.f1 && row.exact_match > row.f1) {
      study.notices.push_back(
          make_notice(NoticeCode::exact_match_above_f1, 0, row.source, *row.exact_match, *row.f1));
    }
  }
}

}  // namespace bertbench
