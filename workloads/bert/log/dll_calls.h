// What NVIDIA's run_pretraining.py (DeepLearningExamples, PyTorch BERT, 2022) logs through
// DLLogger, and when. DLLogger hands every call to its backends: text to the terminal (dllogger),
// one JSON object a line to a file (dllogger-json).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "workloads/bert/log/interval_style.h"

namespace bert {

/// Text in a list of its own, as the script wraps its arguments.
struct DllText {
  std::string text;
};

struct DllMetric {
  std::string_view name;
  std::variant<bool, std::int64_t, double, DllText> value;
  const char* unit = "";  ///< "None" where the script names no unit
};

enum class DllStepKind { parameter, iteration, summary };

/// The script's side: calls the backend, prints what the script prints itself.
class DllStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 protected:
  /// The backend. `iteration` is the optimizer step; of kind iteration only.
  virtual void log(DllStepKind kind, std::int64_t iteration, const std::vector<DllMetric>& metrics,
                   Stamp now) = 0;

 private:
  void header(Stamp now) override;
  [[nodiscard]] bool is_due(std::int64_t step) const override;
  void line(const StepFacts& facts, Stamp now) override;
  void footer(const RunEnd& end, Stamp now) override;
  void parameter(DllMetric metric, Stamp now);

  double final_loss_ = 0;
};

}  // namespace bert
