// The numbers as Oneflow-Inc/DLPerf publishes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench {

struct DlperfCell {
  double average_speed = 0, median_speed = 0;
  std::optional<std::int64_t> batch_size_per_device;
  std::optional<double> speedup;  ///< absent without a 1n1g cell of the same model
};

/// One log that counts, in the order of the result set.
struct DlperfLog {
  std::string model, topology, log;
  int trial = 0;
  double speed = 0;  ///< rounded
};

struct DlperfResult {
  std::map<std::string, std::map<std::string, DlperfCell>> models;  ///< model -> topology
  std::vector<DlperfLog> logs;
};

/// Each trial is rounded to two decimals before mean and median are taken, and those are rounded
/// again; speedup = ratio of the rounded medians, rounded. Trials that do not count and cells
/// without topology or rate are left out (DLPerf would enter 0). DLPerf has one batch size and
/// precision per file; where a set holds several, the model's name says which: "bert_b32_fp16".
[[nodiscard]] DlperfResult dlperf_result(const ResultSet& set);

/// A number as Python prints it: "150.1", "1.0", "11269.14".
[[nodiscard]] std::string python_number(double value);

}  // namespace bertbench
