#include "reports/gate/comparison.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "reports/model/cell_match.h"
#include "reports/stats/multiple_testing.h"
#include "reports/stats/rank_test.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

constexpr std::size_t kTrialsForInterval = 4;  // a side: below it no 95 % interval exists

std::optional<double> variation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  return standard_deviation(values) / mean(values);
}

void note_difference(CellComparison& out, const char* what, const std::string& a,
                     const std::string& b) {
  if (a != b) out.notes.push_back(fmt::format("{} differs: {} and {}", what, a, b));
}

std::optional<double> peak_memory(const Cell& cell) {
  return cell.memory ? std::optional(static_cast<double>(cell.memory->peak_bytes)) : std::nullopt;
}

/// Of a cell that is on one side only the other is null.
std::vector<StatedSides> stated_sides(const Cell* a, const Cell* b) {
  StatedByTrials of_a, of_b;
  for (const auto& [cell, values] : {std::pair(a, &of_a), std::pair(b, &of_b)}) {
    if (cell == nullptr) continue;
    for (const Trial& trial : cell->trials) add_stated(*values, trial);
  }
  const auto median_of = [](const StatedByTrials& values, std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(median(found->second));
  };
  std::vector<StatedSides> out;
  for (const StatedName& name : kStatedNames) {
    const StatedSides sides{&name, median_of(of_a, name.key), median_of(of_b, name.key)};
    if (sides.a || sides.b) out.push_back(sides);
  }
  return out;
}

CellComparison compare_cells(const Cell& cell_a, const Cell& cell_b) {
  CellComparison out;
  out.key = cell_a.key;
  out.kind = cell_a.kind;
  const CellSample a = sample_of(cell_a);
  const CellSample b = sample_of(cell_b);
  out.unit = a.values.empty() ? b.unit : a.unit;
  out.n_a = static_cast<int>(a.values.size());
  out.n_b = static_cast<int>(b.values.size());
  if (!a.values.empty()) out.median_a = median(a.values);
  if (!b.values.empty()) out.median_b = median(b.values);
  out.cv_a = variation(a.values);
  out.cv_b = variation(b.values);
  out.peak_memory_a = peak_memory(cell_a);
  out.peak_memory_b = peak_memory(cell_b);
  out.stated = stated_sides(&cell_a, &cell_b);
  if (out.peak_memory_a && out.peak_memory_b) {
    note_difference(out, "source of memory", cell_a.memory->source, cell_b.memory->source);
  }
  if (a.values.empty() || b.values.empty()) {
    out.notes.push_back(a.values.empty() ? "no number in A" : "no number in B");
    return out;
  }
  if (a.unit != b.unit) {
    out.notes.push_back("not comparable: " + a.unit + " and " + b.unit);
    return out;
  }
  note_difference(out, "estimator", a.estimator, b.estimator);
  note_difference(out, "window", a.window, b.window);
  for (const auto& difference : context_differences(cell_a, cell_b)) {
    if (difference.blocking) {
      note_difference(out, difference.key.c_str(), difference.a, difference.b);
    } else {
      out.notes.push_back(difference.key + " is known only for " +
                          (difference.a.empty() ? "B" : "A"));
    }
  }
  const Shift shift = relative_shift(a.values, b.values);
  out.change = shift.change;
  out.interval = shift.interval;
  out.p = mann_whitney(a.values, b.values).p_two_sided;
  if (a.values.size() < kTrialsForInterval || b.values.size() < kTrialsForInterval) {
    out.notes.push_back(
        fmt::format("need >= {} trials a side for an interval", kTrialsForInterval));
  }
  return out;
}

CellComparison only_in(const Cell& cell, bool in_a, const CellIndex& other) {
  CellComparison out;
  out.key = cell.key;
  out.kind = cell.kind;
  const CellSample sample = sample_of(cell);
  out.unit = sample.unit;
  (in_a ? out.n_a : out.n_b) = static_cast<int>(sample.values.size());
  if (!sample.values.empty()) {
    (in_a ? out.median_a : out.median_b) = median(sample.values);
    (in_a ? out.cv_a : out.cv_b) = variation(sample.values);
  }
  (in_a ? out.peak_memory_a : out.peak_memory_b) = peak_memory(cell);
  out.stated = stated_sides(in_a ? &cell : nullptr, in_a ? nullptr : &cell);
  out.notes.push_back(in_a ? "only in A" : "only in B");
  if (const Cell* twin = other.simulated_twin(cell)) {
    out.notes.push_back(fmt::format(
        "{}, {} in {}: not comparable", cell.identity.simulated() ? "simulated" : "measured",
        twin->identity.simulated() ? "simulated" : "measured", in_a ? "B" : "A"));
  }
  return out;
}

}  // namespace

std::vector<CellComparison> compare(const ResultSet& a, const ResultSet& b, double alpha) {
  const CellIndex index(b), index_a(a);
  std::set<const Cell*> matched;
  std::vector<CellComparison> out;
  for (const Cell& cell : a.cells) {
    const Cell* other = index.find(cell);
    if (other == nullptr) {
      out.push_back(only_in(cell, true, index));
    } else {
      matched.insert(other);
      out.push_back(compare_cells(cell, *other));
    }
  }
  for (const Cell& cell : b.cells) {
    if (!matched.contains(&cell)) out.push_back(only_in(cell, false, index_a));
  }
  std::vector<double> p;
  for (const CellComparison& row : out) {
    if (row.p) p.push_back(*row.p);
  }
  const auto adjusted = holm(p);
  // The first step of Holm: no cell can be significant with so few trials that not even this is
  // met.
  const double level = p.empty() ? alpha : alpha / static_cast<double>(p.size());
  const std::string over = p.size() > 1 ? fmt::format(" over {} cells", p.size()) : "";
  std::size_t i = 0;
  for (CellComparison& row : out) {
    if (!row.p) continue;
    row.p_adjusted = adjusted[i++];
    row.significant = *row.p_adjusted <= alpha;
    const double least =
        2 * smallest_p(static_cast<std::size_t>(row.n_a), static_cast<std::size_t>(row.n_b));
    if (least > level && !row.significant) {
      row.notes.push_back(fmt::format("need >= {} trials a side to see a difference at {}{}",
                                      trials_needed(level / 2), alpha, over));
    }
  }
  return out;
}

}  // namespace bertbench
