// dllogger-json: the file of NVIDIA's DLLogger (JSONStreamBackend), "DLLL {...}" a line, spelled as
// Python's json.dumps does: ": " and ", " between, NaN and Infinity bare.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "workloads/bert/log_styles/dll_calls.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

struct JsonText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return python_json_float(value); }
  std::string operator()(const DllText& value) const { return "[" + quoted(value.text) + "]"; }
};

class JsonBackend : public DllBackend {
 public:
  explicit JsonBackend(std::ostream& out) : out_(out) {}

  void log(DllStepKind kind, std::int64_t iteration, const std::vector<DllMetric>& metrics,
           Stamp now) override {
    if (first_s_ < 0) first_s_ = now.seconds;
    std::string step = "[]";
    if (kind == DllStepKind::parameter) step = "\"PARAMETER\"";
    if (kind == DllStepKind::iteration) step = fmt::format("[0, {}]", iteration);
    std::string data;
    for (const DllMetric& metric : metrics) {
      data += fmt::format("{}\"{}\": {}", data.empty() ? "" : ", ", metric.name,
                          std::visit(JsonText{}, metric.value));
    }
    // Whole microseconds, as Python's datetime has them.
    const double stamp = std::floor(now.unix_seconds * 1e6) / 1e6;
    out_ << fmt::format(
        "DLLL {{\"timestamp\": \"{}\", \"datetime\": \"{}\", \"elapsedtime\": \"{}\", \"type\": "
        "\"LOG\", \"step\": {}, \"data\": {{{}}}}}\n",
        python_float(stamp), python_datetime(now.unix_seconds),
        python_float(std::round((now.seconds - first_s_) * 1e6) / 1e6), step, data);
  }

 private:
  std::ostream& out_;
  double first_s_ = -1;
};

}  // namespace

std::unique_ptr<LogStyle> make_dllogger_json_style(std::ostream& out) {
  return make_dll_style(out, std::make_unique<JsonBackend>(out));
}

}  // namespace bert
