// One run over several logs: `extract` finds the restarts among the logs that it has measured.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "harness/cli/inputs.h"
#include "parsers/log_reader.h"
#include "reports/measure.h"
#include "reports/restarts.h"

namespace bertbench {

/// What decides whether a measured run goes on from another. Threads may ask side by side.
[[nodiscard]] RunSpan restart_span(const MeasuredLog& measured, const RunLog& log,
                                   const Input& input);

/// Measured runs, held until all logs are read. Of a run only its span is kept beside its measure:
/// logs of a chain are read again, so memory does not grow with the logs.
class RestartJoiner {
 public:
  /// `measured` is the measure of run `run` of its file, `span` its restart_span.
  void hold(MeasuredLog measured, RunSpan span, std::size_t run);
  /// Hands all on to `builder`, a chain as one trial; returns the chains, by the order of hold().
  std::vector<std::vector<std::size_t>> hand_on(ResultBuilder& builder, const ReadOptions& read);

 private:
  struct Held {
    MeasuredLog measured;
    std::size_t run;
  };
  std::deque<Held> held_;
  std::vector<RunSpan> spans_;
};

}  // namespace bertbench
