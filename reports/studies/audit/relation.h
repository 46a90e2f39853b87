// Relation: one cell of a table that follows from others, e.g. speedup = throughput / throughput of
// the base.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/studies/audit/grid.h"

namespace bertbench::audit {

/// What a printed number is worth against the recomputed one.
enum class Verdict {
  exact,       ///< recomputing from the printed numbers gives the printed digits
  possible,    ///< it does for some numbers that round to the printed inputs
  truncated,   ///< only if digits were cut off instead of rounded
  impossible,  ///< for no inputs that round to the printed ones
};
[[nodiscard]] std::string_view name(Verdict verdict);

/// A number with the interval its print leaves open; counts are exact.
struct Quantity {
  double nominal = 0;
  Interval interval;
};

struct Term {
  std::optional<CellId> cell;  ///< none: a constant, named by `label`
  int power = 1;               ///< or -1
  Quantity constant;
  std::string label;
};

struct Relation {
  enum class Kind { product, mean, median, deviation, deviation_population };
  Kind kind = Kind::product;
  CellId target;
  std::vector<Term> terms;
  double factor = 1;        ///< of a product
  std::string rule;         ///< "speedup = throughput / throughput of the base row"
  bool base = false;        ///< the base row itself: 1 by definition
  bool supporting = false;  ///< evidence for blame only, never reported
};

/// Values put in place of printed ones while looking for the culprit.
using Overrides = std::map<CellId, Quantity>;

[[nodiscard]] Quantity quantity(const Grid& grid, const CellId& cell);
[[nodiscard]] Quantity value_of(const Grid& grid, const Term& term, const Overrides& overrides);

/// The recomputed target. The interval is invalid where nothing follows (division by zero).
[[nodiscard]] Quantity evaluate(const Grid& grid, const Relation& relation,
                                const Overrides& overrides);

/// What `cell` must be for the relation to hold, by the other cells; invalid when it cannot be
/// solved for (means and deviations can be solved for their target only).
[[nodiscard]] Quantity solve(const Grid& grid, const Relation& relation, const CellId& cell,
                             const Overrides& overrides);

[[nodiscard]] Verdict judge(const Grid& grid, const CellId& target, const Quantity& computed,
                            const Overrides& overrides);

/// One way to understand a column, and all that follows from it.
struct Reading {
  std::string name;  ///< "base row of the same batch size"
  std::vector<Relation> relations;
};

/// The readings of one rule, the usual one first; some may have no relations.
struct RuleReadings {
  bool definitional = true;  ///< false: dropped with a notice where hardly a row follows it
  std::vector<Reading> readings;
};

/// FLOPs of one training sequence by each formula, for the tflops rule; empty = unknown model.
struct NamedFlops {
  std::string formula;
  double flops = 0;
};
using FlopsLookup = std::vector<NamedFlops> (*)(const std::string& model, double sequence_length,
                                                bool checkpointing);

/// Rules within one row, between rows, and over replicates.
[[nodiscard]] std::vector<RuleReadings> row_rules(const Grid& grid, FlopsLookup flops);
[[nodiscard]] std::vector<RuleReadings> rules_between_rows(const Grid& grid);
[[nodiscard]] std::vector<RuleReadings> series_rules(const Grid& grid);

[[nodiscard]] Term stated(double value, int power, std::string label);
/// The number of a role in a row (Grid::cell), else what is stated of the whole table.
[[nodiscard]] std::optional<Term> term_of(const Grid& grid, std::size_t row, Role role, int power,
                                          std::string_view variant = "", std::size_t part = 0);

/// The GPUs of a row's job as a product of terms (total, or nodes x GPUs per node), each with
/// `power`; false when unknown.
bool add_world(const Grid& grid, std::size_t row, int power, std::vector<Term>& terms);

/// Their number, for choosing base rows.
[[nodiscard]] std::optional<double> world_of(const Grid& grid, std::size_t row);

}  // namespace bertbench::audit
