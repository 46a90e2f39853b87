// What NVIDIA's run_pretraining.py (DeepLearningExamples, PyTorch BERT, 2022) logs through
// DLLogger, and when. DLLogger hands every call to its backends: text to the terminal (dllogger),
// one JSON object a line to a file (dllogger-json).
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "workloads/bert/log_styles/log_style.h"

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

class DllBackend {
 public:
  virtual ~DllBackend() = default;
  /// `iteration` is the optimizer step; of kind iteration only.
  virtual void log(DllStepKind kind, std::int64_t iteration, const std::vector<DllMetric>& metrics,
                   Stamp now) = 0;
};

/// The script's side: calls the backend, prints what the script prints itself to `out`.
[[nodiscard]] std::unique_ptr<LogStyle> make_dll_style(std::ostream& out,
                                                       std::unique_ptr<DllBackend> backend);

}  // namespace bert
