#include "reports/studies/audit/culprits.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace bertbench::audit {
namespace {

// Beyond this the table is nonsense as a whole; each derived cell then answers for itself.
constexpr std::size_t kMostViolations = 500;

bool power_of_two(double value) {
  if (!(value >= 1) || value > 1e15 || value != std::floor(value)) return false;
  const auto whole = static_cast<std::uint64_t>(value);
  return (whole & (whole - 1)) == 0;
}

// A count must be whole: the power of two in the interval, else the whole number nearest.
std::optional<Quantity> as_count(const Quantity& value) {
  const double slack = 1e-9 * std::fabs(value.interval.high);
  const double low = std::ceil(value.interval.low - slack);
  const double high = std::floor(value.interval.high + slack);
  if (!(low <= high) || high < 1) return std::nullopt;
  double best = std::clamp(std::round(value.nominal), std::max(1.0, low), high);
  const double power = std::exp2(std::round(std::log2(std::max(1.0, value.nominal))));
  if (power >= low && power <= high) best = power;
  return Quantity{best, Interval::point(best)};
}

class Search {
 public:
  Search(const Grid& grid, const std::vector<Relation>& relations)
      : grid_(grid), relations_(relations) {
    for (std::size_t n = 0; n < relations.size(); ++n) {
      for (const CellId& cell : cells_of(relations[n])) by_cell_[cell].push_back(n);
      if (!holds(n, blame_.corrected)) violated_.insert(n);
    }
  }

  Culprits run() {
    if (violated_.size() > kMostViolations) {
      for (const std::size_t n : violated_) accuse_target(n);
      return std::move(blame_);
    }
    while (!violated_.empty()) {
      std::optional<Candidate> best;
      std::set<CellId> suspects;
      for (const std::size_t n : violated_) {
        for (const CellId& cell : cells_of(relations_[n])) suspects.insert(cell);
      }
      for (const CellId& cell : suspects) {
        if (blame_.corrected.contains(cell)) continue;
        for (const Candidate& each : candidates(cell)) {
          if (!best || each.rank() > best->rank()) best = each;
        }
      }
      if (!best) {  // contradictions left that no single cell settles
        for (const std::size_t n : violated_) accuse_target(n);
        break;
      }
      blame_.corrected[best->cell] = best->value;
      for (const std::size_t n : best->fixed) violated_.erase(n);
      blame_.culprits.push_back({best->cell, best->value, best->fixed});
      // A correction that breaks another relation must not go round in circles: cells are
      // corrected once, and `suspects` shrinks.
      for (const std::size_t n : by_cell_[best->cell]) {
        if (!holds(n, blame_.corrected)) violated_.insert(n);
      }
    }
    return std::move(blame_);
  }

 private:
  struct Candidate {
    CellId cell;
    Quantity value;
    std::vector<std::size_t> fixed;
    int score = 0, binary = 0, derived = 0;
    [[nodiscard]] std::tuple<int, int, int, std::size_t> rank() const {
      return {score, binary, derived, cell.column};
    }
  };

  static std::set<CellId> cells_of(const Relation& relation) {
    std::set<CellId> cells = {relation.target};
    for (const Term& term : relation.terms) {
      if (term.cell) cells.insert(*term.cell);
    }
    return cells;
  }

  [[nodiscard]] bool holds(std::size_t n, const Overrides& overrides) const {
    const Relation& relation = relations_[n];
    return judge(grid_, relation.target, evaluate(grid_, relation, overrides), overrides) !=
           Verdict::impossible;
  }

  // Values for `cell` that settle at least one violated relation: what all of them ask for
  // together, and what each asks for alone.
  std::vector<Candidate> candidates(const CellId& cell) {
    std::vector<std::size_t> mine;
    for (const std::size_t n : by_cell_[cell]) {
      if (violated_.contains(n)) mine.push_back(n);
    }
    std::vector<Quantity> values;
    Quantity together;
    bool first = true;
    for (const std::size_t n : mine) {
      const Quantity asked = solve(grid_, relations_[n], cell, blame_.corrected);
      if (!asked.interval.valid()) continue;
      if (values.size() < 8) values.push_back(asked);
      // The narrowest demand names the value, the intersection bounds it.
      const bool narrower = first || asked.interval.high - asked.interval.low <
                                         together.interval.high - together.interval.low;
      const Interval common = first ? asked.interval : together.interval.intersect(asked.interval);
      if (narrower) together.nominal = asked.nominal;
      together.interval = common;
      first = false;
    }
    if (mine.size() > 1 && together.interval.valid()) {
      together.nominal =
          std::clamp(together.nominal, together.interval.low, together.interval.high);
      values.insert(values.begin(), together);
    }
    std::vector<Candidate> out;
    for (Quantity value : values) {
      if (is_count(grid_.columns[cell.column].role)) {
        const auto whole = as_count(value);
        if (!whole) continue;
        value = *whole;
      }
      Candidate candidate{cell, value, {}, 0, 0, 0};
      Overrides changed = blame_.corrected;
      changed[cell] = value;
      for (const std::size_t n : by_cell_[cell]) {
        const bool held = !violated_.contains(n), holds_now = holds(n, changed);
        if (!held && holds_now) {
          candidate.fixed.push_back(n);
          if (relations_[n].target == cell) candidate.derived = 1;
        }
        candidate.score += (holds_now ? 1 : 0) - (held ? 1 : 0);
      }
      if (candidate.fixed.empty()) continue;
      if (is_count(grid_.columns[cell.column].role)) {
        candidate.binary = (power_of_two(value.nominal) ? 1 : 0) -
                           (power_of_two(quantity(grid_, cell)->nominal) ? 1 : 0);
      }
      out.push_back(std::move(candidate));
    }
    return out;
  }

  void accuse_target(std::size_t n) {
    const Relation& relation = relations_[n];
    if (relation.supporting) return;
    const Quantity value = evaluate(grid_, relation, blame_.corrected);
    blame_.culprits.push_back({relation.target, value, {n}});
  }

  const Grid& grid_;
  const std::vector<Relation>& relations_;
  std::map<CellId, std::vector<std::size_t>> by_cell_;
  std::set<std::size_t> violated_;
  Culprits blame_;
};

}  // namespace

Culprits find_culprits(const Grid& grid, const std::vector<Relation>& relations) {
  return Search(grid, relations).run();
}

}  // namespace bertbench::audit
