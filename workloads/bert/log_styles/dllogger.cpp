// dllogger: the terminal output of NVIDIA's DLLogger (StdOutBackend), as its PyTorch BERT prints
// it: "DLL <date> - <step> <name> : <value> <unit> ...", a blank in the place of a missing unit.
#include <fmt/format.h>

#include "workloads/bert/log_styles/dll_calls.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

struct PythonText {
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return python_float(value); }
  std::string operator()(const DllText& value) const { return "[\"" + value.text + "\"]"; }
};

class TextBackend : public DllBackend {
 public:
  explicit TextBackend(std::ostream& out) : out_(out) {}

  void log(DllStepKind kind, std::int64_t iteration, const std::vector<DllMetric>& metrics,
           Stamp now) override {
    std::string step;
    if (kind == DllStepKind::parameter) step = "PARAMETER";
    if (kind == DllStepKind::iteration) {
      step = fmt::format("Training Epoch: 0 Training Iteration: {} ", iteration);
    }
    out_ << fmt::format("DLL {} - {}", python_datetime(now.unix_seconds), step);
    for (const DllMetric& metric : metrics) {
      out_ << fmt::format(" {} : {} {}", metric.name, std::visit(PythonText{}, metric.value),
                          metric.unit);
    }
    out_ << '\n';
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<LogStyle> make_dllogger_style(std::ostream& out) {
  return make_dll_style(out, std::make_unique<TextBackend>(out));
}

}  // namespace bert
