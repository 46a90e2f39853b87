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

/// Measured runs, held until all logs are read. Of a run only its span is kept beside its measure:
/// logs of a chain are read again, so memory does not grow with the logs.
class RestartJoiner {
 public:
  /// `measured` is what a builder took of the log, run `run` of its file.
  void hold(MeasuredLog measured, const RunLog& log, const Input& input, std::size_t run);
  /// Hands all on to `builder`, a chain as one trial; returns the chains, by the order of hold().
  std::vector<std::vector<std::size_t>> hand_on(ResultBuilder& builder, const ReadOptions& read);

 private:
  struct Held {
    MeasuredLog measured;
    std::string path;
    std::size_t run;
  };
  std::deque<Held> held_;
  std::vector<RunSpan> spans_;
};

}  // namespace bertbench
