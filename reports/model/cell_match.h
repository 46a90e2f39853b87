// Which cells of two result sets are the same, and whether their context allows a comparison.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench {

/// Cells by what they are. The key serves only where the identity is not unique or not complete:
/// "#2" is given in order of appearance, so it is no name to rely on.
class CellIndex {
 public:
  /// `results` must outlive this.
  explicit CellIndex(const ResultSet& results);
  [[nodiscard]] const ResultSet& results() const { return results_; }
  /// The cell of the same identity and kind; else that of the same key and kind. Null if none.
  [[nodiscard]] const Cell* find(const Cell& cell) const;
  /// A cell that differs only in that one of the two was simulated, or in that and the topology:
  /// one number must not be taken for the other. Null if there is none.
  [[nodiscard]] const Cell* simulated_twin(const Cell& cell) const;

 private:
  const ResultSet& results_;
  bool simulated_ = false, measured_ = false;  ///< holds such cells
  std::map<std::string, std::vector<const Cell*>> by_identity_;
  std::map<std::string, const Cell*> by_key_;
};

/// Values of the trials that count, in one unit, with what they rest on.
struct CellSample {
  std::vector<double> values;
  std::string unit;  ///< "sequences/s", else "tokens/s" or "iterations/s" when only that is known
  std::string estimator;  ///< of all trials, or a list "printed, step_time"
  std::string window;     ///< rule without the numbers that `auto` found
};
[[nodiscard]] CellSample sample_of(const Cell& cell);

/// What logs state of one GPU (kStatedNames): a value for each trial that has it.
using StatedByTrials = std::map<std::string, std::vector<double>, std::less<>>;
void add_stated(StatedByTrials& values, const Trial& trial);

/// One difference of context. Hardware and system (cpu, gpu, driver, kernel ...) make results
/// incomparable; versions of software (compiler, libraries ...) are reported as a notice.
struct ContextDifference {
  std::string key, a, b;  ///< values as text; empty = absent on that side
  bool blocking = false;  ///< known on both sides, differs, and makes results incomparable
};
[[nodiscard]] std::vector<ContextDifference> context_differences(const nlohmann::ordered_json& a,
                                                                 const nlohmann::ordered_json& b);
/// The same for Cell::context: every difference that is known on both sides is blocking. Of two
/// lists of words, those that the other side lacks are named. The rule by which a sweep ended its
/// pairs ("stopping") is left out.
[[nodiscard]] std::vector<ContextDifference> context_differences(const Cell& a, const Cell& b);

}  // namespace bertbench
