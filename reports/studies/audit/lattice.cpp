#include <algorithm>
#include <cmath>
#include <set>

#include "reports/studies/audit/series.h"

namespace bertbench::audit {
namespace {

struct KnownSet {
  std::int64_t examples;
  std::string_view name;
};
// Sizes of the GLUE development sets, and of SQuAD v1.1's.
constexpr KnownSet kKnownSets[] = {
    {872, "SST-2 dev"}, {408, "MRPC dev"},    {277, "RTE dev"},      {1043, "CoLA dev"},
    {5463, "QNLI dev"}, {9815, "MNLI-m dev"}, {9832, "MNLI-mm dev"}, {10570, "SQuAD v1.1 dev"}};

constexpr std::int64_t kLargest = 20000;
constexpr double kByChance = 1e-3;

}  // namespace

std::optional<Lattice> find_lattice(const std::vector<double>& percentages, double unit) {
  const std::set<double> distinct(percentages.begin(), percentages.end());
  if (distinct.size() < 3 || *distinct.begin() < 0 || *distinct.rbegin() > 100) return std::nullopt;
  double by_chance = 0;  // expected number of sizes up to n that fit any such values
  for (std::int64_t n = 2; n <= kLargest; ++n) {
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
