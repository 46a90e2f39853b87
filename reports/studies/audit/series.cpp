#include "reports/studies/audit/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "parsers/core/median.h"

namespace bertbench::audit {
namespace {

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double sum_of_squares(const std::vector<double>& values) {  // about the mean, two passes
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

// Minimum over c of a convex function, by golden section.
template <class F>
double least(F f, double low, double high) {
  constexpr double kGolden = 0.6180339887498949;
  for (int n = 0; n < 200 && high - low > 1e-15 * std::max(1.0, std::fabs(high)); ++n) {
    const double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
    (f(a) < f(b) ? high : low) = f(a) < f(b) ? b : a;
  }
  return f((low + high) / 2);
}

// Sum of squares about the mean is min over c of sum (x - c)^2, so its least value over the boxes
// is exact below; its greatest is bounded from above (minimum and maximum exchanged), which can
// only widen the interval, never raise a false alarm.
Interval sum_of_squares(const std::vector<Quantity>& values) {
  double low = values.front().interval.low, high = values.front().interval.high;
  for (const Quantity& value : values) {
    low = std::min(low, value.interval.low);
    high = std::max(high, value.interval.high);
  }
  const auto nearest = [&](double c) {
    double sum = 0;
    for (const Quantity& value : values) {
      const double d = std::max({value.interval.low - c, c - value.interval.high, 0.0});
      sum += d * d;
    }
    return sum;
  };
  const auto farthest = [&](double c) {
    double sum = 0;
    for (const Quantity& value : values) {
      const double d =
          std::max(std::fabs(value.interval.low - c), std::fabs(value.interval.high - c));
      sum += d * d;
    }
    return sum;
  };
  return {least(nearest, low, high), least(farthest, low, high)};
}

}  // namespace

Quantity evaluate_series(Relation::Kind kind, const std::vector<Quantity>& values) {
  std::vector<double> nominal, low, high;
  for (const Quantity& value : values) {
    nominal.push_back(value.nominal);
    low.push_back(value.interval.low);
    high.push_back(value.interval.high);
  }
  const double n = static_cast<double>(values.size());
  switch (kind) {
    case Relation::Kind::mean:
      return {mean(nominal), {mean(low), mean(high)}};
    case Relation::Kind::median:
      return {median(nominal), {median(low), median(high)}};
    case Relation::Kind::deviation:
    case Relation::Kind::deviation_population: {
      const double freedom = kind == Relation::Kind::deviation ? n - 1 : n;
      const Interval squares = sum_of_squares(values);
      return {std::sqrt(sum_of_squares(nominal) / freedom),
              {std::sqrt(squares.low / freedom), std::sqrt(squares.high / freedom)}};
    }
    case Relation::Kind::product:
      break;
  }
  return {};
}

std::string doubt_about_deviation(const Grid& grid, const Relation& relation,
                                  const Quantity& computed) {
  std::vector<Quantity> values;
  std::vector<double> nominal;
  double unit = 0;
  for (const Term& term : relation.terms) {
    values.push_back(value_of(grid, term, {}));
    nominal.push_back(values.back().nominal);
    unit = std::max(unit, values.back().interval.high - values.back().interval.low);
  }
  const Printed& printed = grid.number(relation.target);
  // The spread that the rounding of the n inputs and of the print cause. d sd / d x_i =
  // (x_i - mean) / ((n-1) sd); summed in quadrature that is 1/sqrt(n-1). A uniform error of
  // half-width h has the standard deviation h/sqrt(3).
  const double inputs = unit / 2 / std::sqrt(3 * (static_cast<double>(values.size()) - 1));
  const double error = std::hypot(inputs, printed.unit / 2 / std::sqrt(3.0));
  const double off = std::fabs(printed.value - computed.nominal) / error;
  if (!(off > 2)) return {};
  const int digits = decimals_of(printed.unit);
  std::string text = fmt::format(
      "the printed values give {}; rounding them seldom moves it that far ({:.1f} standard errors)",
      fixed_digits(computed.nominal, digits + 1), off);
  if (const auto lattice = find_lattice(nominal, unit)) {
    std::vector<Quantity> exact;
    for (const double value : lattice->values) exact.push_back({value, Interval::point(value)});
    const double deviation = evaluate_series(relation.kind, exact).nominal;
    const bool agrees = std::fabs(deviation - printed.value) <= printed.unit / 2 * (1 + 1e-9);
    text += fmt::format(
        "; as accuracies over {} examples{} they give {}, so the print is {}", lattice->examples,
        lattice->known_as.empty() ? "" : fmt::format(" ({})", lattice->known_as),
        fixed_digits(deviation, digits + 1), agrees ? "right" : "wrong all the same");
  }
  return text;
}

std::vector<RuleReadings> series_rules(const Grid& grid) {
  using Kind = Relation::Kind;
  struct Way {
    Role role;
    Kind kind;
    const char *name, *rule;
  };
  constexpr Way kWays[] = {
      {Role::mean, Kind::mean, "mean", "mean of the replicates"},
      {Role::median, Kind::median, "median", "median of the replicates"},
      {Role::deviation, Kind::deviation, "n - 1", "standard deviation (n-1) of the replicates"},
      {Role::deviation, Kind::deviation_population, "population",
       "standard deviation (n) of the replicates"}};
  std::vector<RuleReadings> rules(grid.columns.size());
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    for (const Way& way : kWays) {
      if (way.role != grid.columns[column].role) continue;
      Reading& reading = rules[column].readings.emplace_back(Reading{way.name, {}});
      for (std::size_t row = 0; row < grid.rows.size(); ++row) {
        const auto& cells = grid.rows[row].cells;
        Relation relation{
            .kind = way.kind, .target = {row, column, 0}, .terms = {}, .rule = way.rule};
        for (std::size_t n = 0; n < cells.size(); ++n) {
          if (grid.columns[n].role != Role::replicate || cells[n].numbers.empty()) continue;
          relation.terms.push_back({CellId{row, n, 0}, 1, {}, grid.columns[n].heading});
        }
        if (cells[column].numbers.empty() || relation.terms.size() < 2) continue;
        reading.relations.push_back(std::move(relation));
      }
    }
  }
  return rules;
}

namespace {

struct KnownSet {
  std::int64_t examples;
  std::string_view name;
};
// Sizes of the GLUE development sets, and of SQuAD v1.1's.
constexpr KnownSet kKnownSets[] = {
    {872, "SST-2 dev"}, {408, "MRPC dev"},    {277, "RTE dev"},      {1043, "CoLA dev"},
    {5463, "QNLI dev"}, {9815, "MNLI-m dev"}, {9832, "MNLI-mm dev"}, {10570, "SQuAD v1.1 dev"}};

constexpr std::int64_t kLargestDivisor = 20000;
constexpr double kByChance = 1e-3;

}  // namespace

std::optional<Lattice> find_lattice(const std::vector<double>& percentages, double unit) {
  const std::set<double> distinct(percentages.begin(), percentages.end());
  if (*distinct.rbegin() > 100) return std::nullopt;
  double by_chance = 0;  // expected number of sizes up to n that fit any such values
  for (std::int64_t n = 2; n <= kLargestDivisor; ++n) {
    const double size = static_cast<double>(n);
    by_chance += std::pow(std::min(1.0, size * unit / 100), static_cast<double>(distinct.size()));
    if (by_chance > kByChance) return std::nullopt;
    const bool fits = std::all_of(distinct.begin(), distinct.end(), [&](double value) {
      const double whole = std::round(value / 100 * size);
      return std::fabs(whole / size * 100 - value) <= unit / 2 * (1 + 1e-6);
    });
    if (!fits) continue;
    Lattice lattice;
    lattice.examples = n;
    for (const double value : percentages) {
      lattice.values.push_back(std::round(value / 100 * size) / size * 100);
    }
    for (const KnownSet& known : kKnownSets) {
      if (known.examples == n) lattice.known_as = known.name;
    }
    return lattice;
  }
  return std::nullopt;
}

}  // namespace bertbench::audit
