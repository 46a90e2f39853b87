// FLOPs of a cell: what each formula makes of its rate.
#pragma once

#include <optional>
#include <string_view>

#include "reports/model/result_set.h"
#include "reports/stats/flops.h"

namespace bertbench {

/// Fills Cell::flops with what every formula gives for a training cell whose model, sequence length
/// and rate per GPU are known and whose sequences are full (no axis "lengths" of bert_train), and
/// tflops_per_gpu, mfu, hfu, flops_formula and peak with what `formula` gives (empty: the one that
/// the cell names, else the default). The peak is `peak_tflops`, dense and of one GPU, else the one
/// that the cell names, else that of its GPU and precision in the list of hardware. All of these
/// fields, and warnings about an MFU, are cleared first.
void count_flops(Cell& cell, std::string_view formula = {}, std::optional<double> peak_tflops = {});

/// The model's shape; a model named by a log is never taken for a path.
[[nodiscard]] std::optional<ModelShape> shape_of(const Identity& identity);

/// The identity states that activations are computed again, by the name that bert_train,
/// transformers or NVIDIA's scripts have for it.
[[nodiscard]] bool recomputes_activations(const Identity& identity);

}  // namespace bertbench
