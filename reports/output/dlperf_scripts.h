// What the extraction scripts of Oneflow-Inc/DLPerf take from one log of BERT, to the digit, with
// their windows and their defects; and the value that they should have taken where it is another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/notice.h"

namespace bertbench {

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
