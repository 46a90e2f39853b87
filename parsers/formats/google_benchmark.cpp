// google-benchmark: the JSON of Google Benchmark programs (--benchmark_format=json, or _out).
//
//       "name": "BM_Gelu/1024/manual_time",
//       "run_type": "iteration",      (or "aggregate": mean, median, stddev, of no use here)
//       "iterations": 4096,
//       "real_time": 1.7e+02,
//       "cpu_time": 1.6e+02,
//       "time_unit": "us",
//
// Each benchmark is a run of kind inference: a kernel, no training. Its repetitions are the
// records: iterations by their real time. Rates stay iterations/s: what an iteration does is the
// program's affair.
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "parsers/core/text.h"
#include "parsers/format.h"
#include "parsers/runs/run_builder.h"
#include "parsers/text/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"\"run_name\": \"",
                                         "\"run_type\": \"",
                                         "\"iterations\": ",
                                         "\"real_time\": ",
                                         "\"time_unit\": \"",
                                         "\"json_schema_version\": ",
                                         "\"error_occurred\": true",
                                         "\"error_message\": \"",
                                         "\"library_build_type\": \"debug\"",
                                         "\"threads\": "};

class GoogleBenchmarkParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  struct Entry {
    std::string name, error;
    bool iteration = false;
    std::int64_t line = 0, iterations = 0;
    double real_time = kUnknown;
  };
  void put(double unit_s, RunBuilder& out);

  std::optional<Entry> entry_;
  std::map<std::string, RunDraft*> runs_;
  bool context_ = false, debug_ = false, threads_ = false;
};

std::optional<std::string> text_after(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  const auto rest = cursor.rest();
  const auto end = rest.find('"');
  if (end == std::string_view::npos || end > 512) return std::nullopt;
  return std::string(rest.substr(0, end));
}

std::optional<double> seconds_of(std::string_view unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1.0;
  return std::nullopt;
}

void GoogleBenchmarkParser::put(double unit_s, RunBuilder& out) {
  const Entry entry = *entry_;
  entry_.reset();
  if (!entry.iteration) return;
  RunDraft*& run = runs_[entry.name];
  if (run == nullptr) {
    run = &out.extra(WorkKind::inference, entry.line);
    run->own_facts = true;
    run->log.facts.axes["benchmark"] = entry.name;
    run->log.iteration_unit = IterationUnit::optimizer_step;
  }
  run->last_line = entry.line;
  if (!entry.error.empty()) {
    run->stated_outcome = Outcome{Status::error, std::nullopt, entry.line, entry.error};
    return;
  }
  if (entry.iterations < 1 || !(entry.real_time >= 0)) return;
  Sample sample;
  sample.step = (run->last() != nullptr ? run->last()->step : 0) + entry.iterations;
  sample.iterations = entry.iterations;
  sample.seconds = entry.real_time * unit_s * static_cast<double>(entry.iterations);
  sample.line = entry.line;
  run->add(sample);
  run->ended_well = true;
}

bool GoogleBenchmarkParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("\"json_schema_version\": ") != std::string_view::npos ||
      line.text.find("\"library_build_type\": \"debug\"") != std::string_view::npos) {
    debug_ = debug_ || line.text.find("debug") != std::string_view::npos;
    context_ = true;
    return false;
  }
  if (const auto name = text_after(line, "\"run_name\": \"")) {
    entry_ = Entry{};
    entry_->name = *name;
    entry_->line = line.number;
    return false;
  }
  if (!entry_ || line.number - entry_->line > 40) return false;
  if (const auto type = text_after(line, "\"run_type\": \"")) {
    entry_->iteration = *type == "iteration";
    return true;
  }
  if (const auto threads = number_after(line, "\"threads\":")) {
    threads_ |= *threads > 1;
    return true;
  }
  if (const auto count = number_after(line, "\"iterations\":")) {
    if (*count >= 1 && *count < 1e15) entry_->iterations = static_cast<std::int64_t>(*count);
    return true;
  }
  if (const auto time = number_after(line, "\"real_time\":")) {
    entry_->real_time = *time;
    return true;
  }
  if (line.text.find("\"error_occurred\": true") != std::string_view::npos) {
    entry_->error = "the benchmark reports an error";
    return true;
  }
  if (const auto error = text_after(line, "\"error_message\": \"")) {
    entry_->error = *error;
    put(1, out);
    return true;
  }
  if (const auto unit = text_after(line, "\"time_unit\": \"")) {
    const auto seconds = seconds_of(*unit);
    if (seconds) put(*seconds, out);
    return seconds.has_value();
  }
  return false;
}

void GoogleBenchmarkParser::finish(RunBuilder& out) {
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(
        {0, "a kernel benchmark: iterations/s of one function by its real time, no training"});
    if (threads_) {
      draft->log.notices.push_back(
          {0,
           "with several threads real_time is that of one thread from release 1.9 on, and was "
           "divided by their number before: iterations/s are of one thread or of all, by release"});
    }
    if (debug_) {
      draft->log.notices.push_back(
          {0, "the benchmark library is a debug build: its own overhead may show in short times"});
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<GoogleBenchmarkParser>(); }

}  // namespace

extern const Format format_google_benchmark;
const Format format_google_benchmark = {"google-benchmark", "Google Benchmark programs, JSON",
                                        "https://github.com/google/benchmark src/json_reporter.cc",
                                        kAnchors, make};

}  // namespace bertbench
