// What a reader states about a result after it was measured, and what follows from it.
#pragma once

#include <optional>
#include <string>

#include "reports/model/result_set.h"

namespace bertbench {

struct Assumptions {
  std::optional<double> peak_tflops;      ///< dense peak of one GPU, where the list has none
  std::optional<double> train_sequences;  ///< sequences of a whole training
  std::string flops_formula = {};         ///< a key of flops_formulas(); empty: that of each cell
};

/// TFLOPS, MFU and HFU by the stated formula and against the stated peak (of every cell whose model
/// is known), time to train at the measured rate. Nothing else changes: medians and speedups stay
/// as they were measured.
void apply_assumptions(ResultSet& results, const Assumptions& what);

}  // namespace bertbench
