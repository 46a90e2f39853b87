// The global_step/sec and examples/sec lines of TensorFlow's Estimators as a series of records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/tf_message.h"

namespace bertbench {

/// The lines carry no step: how many steps one covers follows from the clock. A line waits for its
/// examples/sec line, and the first one for the number of steps of the second.
class TfRates {
 public:
  using DraftAt = std::function<RunDraft&(std::int64_t line)>;

  void see_steps(const TfMessage& message, double rate, double time_s, std::int64_t line,
                 std::int64_t end_byte, const DraftAt& draft);
  void see_examples(double rate);
  /// The run has ended: what waits is put, and the next line begins anew.
  void end(const DraftAt& draft);
  /// examples/sec over global_step/sec: TPUEstimator prints the product of its batch, the global
  /// one, and the other. Nothing where the lines do not agree on one whole number.
  [[nodiscard]] std::optional<std::int64_t> batch() const;

 private:
  struct Line {
    bool set = false;
    double rate = kUnknown, examples = kUnknown, time_s = kUnknown;
    std::string text;  ///< the message, to recognise its second copy
    bool absl = false, twice = false;
    std::int64_t line = 0, end_byte = -1;
  };
  void put(const Line& from, std::int64_t steps, bool first, const DraftAt& draft);
  void put_waiting(const DraftAt& draft);

  Line waiting_, first_;
  double time_s_ = kUnknown;  ///< clock of the record before
  std::int64_t step_ = 0;
  double least_batch_ = 1, most_batch_ = 0;  ///< what all lines so far allow
  bool rated_ = false;
};

}  // namespace bertbench
