// Means, medians and standard deviations over replicates (seeds, trials), from rounded values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/studies/audit/relation.h"

namespace bertbench::audit {

[[nodiscard]] Quantity evaluate_series(Relation::Kind kind, const std::vector<Quantity>& values);

/// Accuracies over N examples can only be k/N. The smallest N <= 20000 for which every value
/// (in per cent, rounded to `unit`) is such a fraction, if finding one by chance is unlikely
/// (less than one in a thousand), and the values without their rounding.
struct Lattice {
  std::int64_t examples = 0;
  std::vector<double> values;
  std::string known_as;  ///< "SST-2 dev" when a well-known set has that size
};
[[nodiscard]] std::optional<Lattice> find_lattice(const std::vector<double>& percentages,
                                                  double unit);

/// For a printed deviation that differs from the recomputed one: what to think of it. Empty when
/// the difference is within twice the rounding error.
[[nodiscard]] std::string doubt_about_deviation(const Grid& grid, const Relation& relation,
                                                const Quantity& computed);

}  // namespace bertbench::audit
