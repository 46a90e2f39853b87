// dllogger: the terminal output of NVIDIA's DLLogger (StdOutBackend), as its PyTorch BERT prints
// it: "DLL <date> - <step> <name> : <value> <unit> ...", a blank in the place of a missing unit.
#include "workloads/bert/log/dll_calls.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

struct PythonText {
  std::string operator()(bool value) const { return python_bool(value); }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return python_float(value); }
  std::string operator()(const DllText& value) const { return "[\"" + value.text + "\"]"; }
};

class DllTextStyle : public DllStyle {
 public:
  using DllStyle::DllStyle;

 private:
  void log(DllStepKind kind, std::int64_t iteration, const std::vector<DllMetric>& metrics,
           Stamp now) override {
    std::string step;
    if (kind == DllStepKind::parameter) step = "PARAMETER";
    if (kind == DllStepKind::iteration) {
      step = fmt::format("Training Epoch: 0 Training Iteration: {} ", iteration);
    }
    print("DLL {} - {}", python_datetime(now.unix_seconds), step);
    for (const DllMetric& metric : metrics) {
      print(" {} : {} {}", metric.name, std::visit(PythonText{}, metric.value), metric.unit);
    }
    out_ << '\n';
  }
};

}  // namespace

extern const LogStyleEntry dllogger_style{"dllogger", make_style<DllTextStyle>};

}  // namespace bert
