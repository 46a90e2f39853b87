// One run over several logs: `extract` finds the restarts among the logs that it has measured.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/cli/inputs.h"
#include "parsers/reader/log_reader.h"
#include "reports/cells/measured_logs.h"
#include "reports/cells/result_builder.h"
#include "reports/measure/measure.h"
#include "reports/measure/restarts.h"

namespace bertbench {

/// What decides whether a measured run goes on from another. Threads may ask side by side.
[[nodiscard]] RunSpan restart_span(const MeasuredLog& measured, const RunLog& log,
                                   const Input& input);

/// The spans of measured runs, held until all logs are read. Logs of a chain are read again, so
/// that memory does not grow with their records.
class RestartJoiner {
 public:
  /// `log` is the run's number in the builder, `run` its number in its file.
  void hold(std::size_t log, RunSpan span, std::size_t run);
  /// In `logs` a chain becomes one trial in the place of its first part; returns the chains.
  std::vector<std::vector<std::size_t>> join(MeasuredLogs& logs, const ReadOptions& read,
                                             const MeasureOptions& measure);

 private:
  struct Held {
    std::uint32_t log, run;
  };
  std::vector<Held> held_;  ///< one for each of spans_, in their order
  std::vector<RunSpan> spans_;
  std::unordered_map<std::string, std::size_t> groups_;  ///< their numbers, which spans_ name
};

}  // namespace bertbench
