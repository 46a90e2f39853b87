// TfSeries: the lines of one TensorFlow run come in up to three series; the best becomes its
// RunLog.
#pragma once

#include <array>
#include <cstdint>

#include "parsers/assemble/run_builder.h"

namespace bertbench {

class TfSeries {
 public:
  /// Losses with their step; global_step/sec and examples/sec alone; NVIDIA's lines of a step.
  enum class Kind { loss_step, rate_only, dle };

  /// The run of that series, begun at `line` if there is none.
  RunDraft& at(Kind kind, std::int64_t line, RunBuilder& out);
  /// Null if there is none.
  [[nodiscard]] RunDraft* find(Kind kind) const { return runs_[static_cast<std::size_t>(kind)]; }
  /// Some line of a step was seen.
  [[nodiscard]] bool begun() const { return best() != nullptr; }
  /// A loss that is no number, said after the run: of every series that has records.
  void set_loss(double loss, std::int64_t line);

  /// What is said about the whole run; it becomes a run itself where no line of a step stands.
  RunDraft& statements(std::int64_t line, RunBuilder& out);
  /// Null if nothing was said.
  [[nodiscard]] RunDraft* statements() const { return statements_; }

  /// The run ends: all series but the best are discarded, which takes over what was said. Null if
  /// there was nothing. `samples`: NVIDIA's lines are of single iterations, so that a closing mean
  /// is better than they are.
  RunDraft* end(bool samples);

 private:
  [[nodiscard]] RunDraft* best() const;

  std::array<RunDraft*, 3> runs_{};
  RunDraft* statements_ = nullptr;
};

}  // namespace bertbench
