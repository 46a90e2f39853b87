// Predictions: the cells of a result set on topologies that were not measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/topology.h"
#include "reports/model/result_set.h"

namespace bertbench {

// Scaling model: step time of a topology from those that were measured. Pure.

/// One measured cell. Seconds are those of one optimizer step; `base_s` those of the same micro
/// batch and accumulation on one GPU, unknown where that was not measured.
struct ScalingCell {
  Topology topology;
  double sequences_per_gpu = 0;  ///< per optimizer step
  double step_s = 0;
  std::optional<double> base_s;
};

/// step = known + sum of coefficient x term, all coefficients >= 0, as communication takes no
/// negative time. `known` is base_s or 0.
///
/// fixed  T1 + a [n > 1]                                   (one-GPU cells measured)
/// line   T1 + a (n - 1)
/// flat   T1 + a [n > 1] + b [N > 1]
/// ring   T1 + a [n > 1] + b 2(g-1)/g + c 2(N-1)/N
/// tree   T1 + a [n > 1] + b [N > 1] + c log2 n
/// linear a x sequences per GPU + b                        (no one-GPU cells: strong scaling)
struct ScalingForm {
  std::string_view name, text;
  bool needs_base;
  std::size_t terms;
};

struct FittedModel {
  const ScalingForm* form = nullptr;
  std::vector<double> coefficients;      ///< seconds (linear: seconds per sequence, seconds)
  double mean_error = 0, max_error = 0;  ///< |predicted / measured throughput - 1| of the cells
  double left_out_error = 0;    ///< root mean square of the same, each cell predicted by the others
  std::vector<double> inverse;  ///< of the weighted normal matrix, for intervals
  double sigma = 0;             ///< relative, of the residuals
  std::size_t cells = 0;
};

struct ScalingFit {
  FittedModel chosen;
  std::vector<FittedModel> others;  ///< that fit too, best first
  /// Largest |error| of the cells with most GPUs when the model is chosen and fitted without them.
  std::optional<double> held_out_error;
};

/// Least squares of relative errors. A form is taken only when it halves the left-out error of the
/// one taken from those above it, which have fewer terms or grow less: what extrapolates must not
/// follow the noise. Nothing when no form has at least two cells more than terms.
[[nodiscard]] std::optional<ScalingFit> fit_scaling(std::span<const ScalingCell> cells);

struct Predicted {
  double step_s = 0;
  /// 95 % t interval of a new cell, widened to `held_out_error` and to the other forms whose
  /// left-out error is at most twice that of the chosen one.
  double low_s = 0, high_s = 0;
};
/// `cell.step_s` is not looked at. Nothing when the model needs a base_s that is unknown.
[[nodiscard]] std::optional<Predicted> predict_step(const ScalingFit& fit, const ScalingCell& cell);

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
  std::string reason;  ///< why there is none, or why it predicts no cell
  std::vector<PredictedCell> cells;
};

/// Every micro batch and accumulation of a group keeps its size (weak scaling); where no one-GPU
/// cells are there and all cells share one global batch, that is kept (strong scaling). Training
/// cells with a throughput in sequences/s, a known batch and a known topology only.
[[nodiscard]] std::vector<PredictedGroup> predict(const ResultSet& results,
                                                  const std::vector<Topology>& topologies);

}  // namespace bertbench
