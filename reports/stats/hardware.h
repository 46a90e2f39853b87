// Dense peaks of GPUs, and the share of them that a training run reaches (MFU, HFU).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/notice.h"
#include "reports/stats/flops.h"

namespace bertbench {

/// A vendor's dense (no structured sparsity) peak for one precision.
struct Peak {
  std::string gpu;        ///< name in configs/hardware.json: "H100 SXM"
  std::string precision;  ///< fp32 tf32 bf16 fp16 fp8
  double tflops = 0;      ///< TFLOP/s of one GPU
  std::string kind = "dense";
  std::string source;  ///< document the figure is from, or "--peak"
  /// "H200 bf16 dense 989.5 TFLOPS"
  [[nodiscard]] std::string str() const;
};
/// The peak of which Peak::str() made this text.
[[nodiscard]] std::optional<Peak> peak_from_text(std::string_view text);

/// "NVIDIA A100-SXM4-40GB": "nvidia", "a100", "sxm4", "40gb".
[[nodiscard]] std::vector<std::string> words_of_gpu(std::string_view name);

/// Words of the name that nvidia-smi prints: every one of `all` is in it and none of `none`.
struct HardwareMatch {
  std::vector<std::string> all, none;
};

/// One GPU of configs/hardware.json.
struct Hardware {
  std::string name;
  std::vector<HardwareMatch> matches;  ///< any of them
  std::vector<Peak> peaks;
  std::string source;
};

/// The built-in copy of configs/hardware.json, in its order.
[[nodiscard]] const std::vector<Hardware>& known_hardware();

/// The GPU that nvidia-smi prints as `gpu_name` ("Tesla V100-SXM2-16GB", "NVIDIA H100 80GB
/// HBM3"), or nullptr. A variant with its own peak that is not listed (RTX 3090 Ti, H100 NVL, a
/// MIG slice) matches nothing: no figure is better than a wrong one.
[[nodiscard]] const Hardware* match_hardware(std::string_view gpu_name,
                                             const std::vector<Hardware>& list = known_hardware());

/// The peak, if the GPU and its figure for `precision` are known.
[[nodiscard]] std::optional<Peak> peak_of(std::string_view gpu_name, std::string_view precision);

/// What one formula makes of a rate.
struct FormulaUse {
  /// The formula as its source states it x sequences/s per GPU: with recomputation where it counts
  /// that (Recomputation::counted), without it elsewhere.
  double tflops_per_gpu = 0;
  std::optional<double>
      mfu;  ///< without recomputation / peak, 1 = all of it; absent without a peak
  std::optional<double> hfu;  ///< with recomputation / peak; absent too where that is unknown
};

/// How much of the peak a rate uses, and what that statement rests on.
struct Utilization {
  std::map<std::string, FormulaUse> by_formula;  ///< every one of flops_formulas()
  std::string formula;                           ///< the one that was chosen
  FormulaUse chosen;                             ///< what that formula gives
  std::string counted;  ///< of masked_head: "linear, attention, head at 20 of 128 positions ..."
  std::optional<Peak> peak;
  std::vector<Notice> warnings;  ///< MFU above 1: the row cannot be what it states
};

/// `sequences_per_second_per_gpu` > 0; `formula` as of flops_formulas(), the default if it is none.
[[nodiscard]] Utilization utilization(const ModelShape& shape, std::int64_t sequence_length,
                                      bool checkpointing, double sequences_per_second_per_gpu,
                                      const std::optional<Peak>& peak,
                                      std::string_view formula = {});

}  // namespace bertbench
