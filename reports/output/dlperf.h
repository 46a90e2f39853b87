// The numbers as Oneflow-Inc/DLPerf publishes them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/notice.h"
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
/// precision per file; where a set holds several, the model's name holds it: "bert_b32_fp16".
[[nodiscard]] DlperfResult dlperf_result(const ResultSet& set);

/// A number as Python prints it: "150.1", "1.0", "11269.14".
[[nodiscard]] std::string python_number(double value);

// What the extraction scripts of Oneflow-Inc/DLPerf take from one log of BERT, to the digit, with
// their windows and their defects; and the value that they should have taken where it is another.

/// What the scripts read from the path of a log: ".../4n8g/bert_b32_fp32_4.log".
struct DlperfPlace {
  std::int64_t nodes = 0, gpus_per_node = 0, batch_size_per_device = 0;
};

/// --warmup_batches and --train_batches.
struct DlperfWindow {
  std::int64_t warmup = 0, train = 0;
};

struct DlperfSpeed {
  std::string_view script;     ///< its path in DLPerf
  std::string_view estimator;  ///< the estimator (estimators.h) that its formula amounts to
  DlperfWindow window;
  /// Absent where the script fails, skips the log or enters a wrong 0; a notice gives the reason.
  std::optional<double> speed;
  std::vector<Notice> notices;  ///< defects that change this number, each with the right value
};

/// One log, line by line, as Python's text mode cuts lines: at \n, \r\n and \r.
class DlperfScript {
 public:
  virtual ~DlperfScript() = default;
  virtual void read_line(std::string_view line, std::int64_t number) = 0;
  [[nodiscard]] virtual DlperfSpeed finish() = 0;
};

/// The script for logs of this format: gluonnlp (MXNet), dllogger (NGC PyTorch), tf (NGC
/// TensorFlow), timehistory (TensorFlow), paddle, mindspore, oneflow. Null for others. Without a
/// window: that of the published runs (MXNet 100:200, OneFlow 19:119, the others 20:120).
[[nodiscard]] std::unique_ptr<DlperfScript> dlperf_script(std::string_view format,
                                                          const DlperfPlace& place,
                                                          std::optional<DlperfWindow> window = {});

}  // namespace bertbench

// Reading lines and numbers as the Python of DLPerf's scripts does.
namespace bertbench::dlperf {

/// numpy's mean of a contiguous array: pairwise sums, eight lanes in blocks of 128.
[[nodiscard]] double numpy_mean(const std::vector<double>& values);

/// Python's round(x, digits) of a float: correctly rounded in decimal, ties of the exact binary
/// value to even.
[[nodiscard]] double python_round(double value, int digits);

}  // namespace bertbench::dlperf
