// Predictions: the cells of a result set on topologies that were not measured.
#pragma once

#include <string>
#include <vector>

#include "reports/model/result_set.h"
#include "reports/studies/predict/scaling_model.h"

namespace bertbench {

struct PredictedCell {
  Identity identity;  ///< as it would be measured
  Topology topology;
  double sequences_per_second = 0;
  Interval interval;                         ///< of sequences_per_second, coverage 0.95
  std::optional<double> scaling_efficiency;  ///< against one GPU, where that was measured
  bool measured = false;                     ///< the result holds this cell: nothing is predicted
};

/// Cells that differ in batch, accumulation and topology only, and their common model.
struct PredictedGroup {
  std::string name;        ///< "bert-base.fp32.s128"
  bool simulated = false;  ///< its cells were not measured, but simulated
  std::optional<ScalingFit> fit;
  std::string reason;  ///< why there is none
  std::vector<PredictedCell> cells;
};

/// Every micro batch and accumulation of a group keeps its size (weak scaling); where no one-GPU
/// cells are there and all cells share one global batch, that is kept (strong scaling). Training
/// cells with a throughput in sequences/s, a known batch and a known topology only.
[[nodiscard]] std::vector<PredictedGroup> predict(const ResultSet& results,
                                                  const std::vector<Topology>& topologies);

}  // namespace bertbench
