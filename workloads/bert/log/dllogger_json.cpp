// dllogger-json: the file of NVIDIA's DLLogger (JSONStreamBackend), "DLLL {...}" a line, spelled as
// Python's json.dumps does: ": " and ", " between, NaN and Infinity bare.
#include <cmath>

#include "workloads/bert/log/dll_calls.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

struct JsonText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return python_json_float(value); }
  std::string operator()(const DllText& value) const { return "[" + json_text(value.text) + "]"; }
};

class DllJsonStyle : public DllStyle {
 public:
  using DllStyle::DllStyle;

 private:
  void log(DllStepKind kind, std::int64_t iteration, const std::vector<DllMetric>& metrics,
           Stamp now) override {
    std::string step = "[]";
    if (kind == DllStepKind::parameter) step = "\"PARAMETER\"";
    if (kind == DllStepKind::iteration) step = fmt::format("[0, {}]", iteration);
    std::string data;
    for (const DllMetric& metric : metrics) {
      data += fmt::format("{}\"{}\": {}", data.empty() ? "" : ", ", metric.name,
                          std::visit(JsonText{}, metric.value));
    }
    // Whole microseconds, as Python's datetime has them. The first line is that of started_.
    print(
        "DLLL {{\"timestamp\": \"{}\", \"datetime\": \"{}\", \"elapsedtime\": \"{}\", \"type\": "
        "\"LOG\", \"step\": {}, \"data\": {{{}}}}}\n",
        python_float(std::floor(now.unix_seconds * 1e6) / 1e6), python_datetime(now.unix_seconds),
        python_float(std::round((now.seconds - started_.seconds) * 1e6) / 1e6), step, data);
  }
};

}  // namespace

extern const LogStyleEntry dllogger_json_style{"dllogger-json", make_style<DllJsonStyle>};

}  // namespace bert
