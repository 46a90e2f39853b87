// google-benchmark: the output of Google Benchmark programs, JSON and console.
//
//       "name": "BM_Gelu/1024/manual_time",
//       "run_type": "iteration",      (or "aggregate": mean, median, stddev)
//       "iterations": 4096,
//       "real_time": 1.7e+02,
//       "cpu_time": 1.6e+02,
//       "time_unit": "us",
//
//   Benchmark                  Time             CPU   Iterations UserCounters...
//   BM_Sum/1024              822 ns          821 ns        84241 items_per_second=1.24677G/s
//   BM_Sum/1024_mean         807 ns          806 ns            3 items_per_second=1.26991G/s
//   BM_Err/2              ERROR OCCURRED: 'no device'
//
// Each benchmark is a run of kind inference: a kernel, no training. Its repetitions are the
// records: iterations by their real time; where only aggregates are printed, their mean is the one
// record. Rates stay iterations/s: what an iteration does is the program's affair.
#include <fmt/core.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

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
                                         "\"threads\": ",
                                         "\"aggregate_name\": \"mean\"",
                                         " CPU   Iterations",
                                         " CPU Iterations",
                                         " ns   ",
                                         " us   ",
                                         " ms   ",
                                         " s    ",
                                         "ERROR OCCURRED: '",
                                         "Library was built as DEBUG"};

class GoogleBenchmarkParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  struct Entry {
    std::string name, error;
    bool iteration = false, mean = false;
    std::int64_t line = 0, iterations = 0;
    double real_time = kUnknown;
  };
  void put(double unit_s, RunBuilder& out);
  void add(const Entry& entry, double seconds, RunBuilder& out);
  bool see_row(const Line& line, RunBuilder& out);
  bool see_json(const Line& line, RunBuilder& out);
  void put_held(bool aggregate, RunBuilder& out);

  std::optional<Entry> entry_;
  std::map<std::string, RunDraft*> runs_;
  bool context_ = false, debug_ = false, threads_ = false;
  bool table_ = false;         ///< the head of the console's table was seen
  std::optional<Entry> held_;  ///< "X_mean" that may be a name or X's mean: the next row tells
  double worst_ = 0;           ///< largest relative rounding of a row's time
  bool means_ = false;
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

// One repetition, or the mean of them where nothing else is printed; `seconds` of one iteration.
void GoogleBenchmarkParser::add(const Entry& entry, double seconds, RunBuilder& out) {
  if (entry.mean && runs_.contains(entry.name)) return;
  RunDraft*& run = runs_[entry.name];
  if (run == nullptr) {
    run = &out.extra(WorkKind::inference, entry.line);
    run->own_facts = true;
    run->log.facts.axes["benchmark"] = entry.name;
    run->log.iteration_unit = IterationUnit::optimizer_step;
  }
  run->last_line = entry.line;
  if (!entry.error.empty()) {
    run->stated_outcome = Outcome{Status::error, std::nullopt, entry.line, {log_line(entry.error)}};
    return;
  }
  run->ended_well = true;
  if (entry.iterations < 1) return;
  if (!(seconds > 0)) {
    run->log.notices.push_back(make_notice(NoticeCode::time_shown_as_zero, entry.line));
    return;
  }
  means_ |= entry.mean;
  Sample sample;
  sample.iterations = entry.mean ? 1 : entry.iterations;
  sample.step = (run->last() != nullptr ? run->last()->step : 0) + sample.iterations;
  sample.seconds = seconds * static_cast<double>(sample.iterations);
  sample.line = entry.line;
  run->add(sample);
}

void GoogleBenchmarkParser::put(double unit_s, RunBuilder& out) {
  const Entry entry = *entry_;
  entry_.reset();
  if (entry.iteration || entry.mean) add(entry, entry.real_time * unit_s, out);
}

/// "822 ns   ": a time of the console's table, and half a unit of its last digit.
struct Column {
  double seconds = 0, error = 0;
  std::size_t begin = 0, end = 0;
};
std::optional<Column> read_column(std::string_view text, std::size_t from) {
  for (const std::string_view unit : {" ns   ", " us   ", " ms   ", " s    "}) {
    const auto at = text.find(unit, from);
    if (at == std::string_view::npos || at == 0) continue;
    std::size_t begin = at;
    while (begin > from && (is_digit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
    const auto digits = text.substr(begin, at - begin);
    const auto value = to_double(digits);
    const auto scale = seconds_of(trim(unit));
    if (!value || !scale || !(*value >= 0) || (begin > 0 && text[begin - 1] != ' ')) continue;
    const auto dot = digits.find('.');
    const auto decimals = dot == std::string_view::npos ? 0 : digits.size() - dot - 1;
    return Column{*value * *scale, 0.5 * std::pow(10.0, -static_cast<double>(decimals)) * *scale,
                  begin, at + unit.size()};
  }
  return std::nullopt;
}

void GoogleBenchmarkParser::put_held(bool aggregate, RunBuilder& out) {
  if (!held_) return;
  Entry entry = *std::move(held_);
  held_.reset();
  entry.mean = aggregate;
  if (aggregate) entry.name.resize(entry.name.size() - std::string_view("_mean").size());
  add(entry, entry.real_time, out);
}

bool GoogleBenchmarkParser::see_row(const Line& line, RunBuilder& out) {
  constexpr std::string_view kError = "ERROR OCCURRED: '";
  constexpr std::size_t kLongestName = 512;
  const std::string_view text = line.text;
  if (!table_) return false;
  Entry entry;
  entry.line = line.number;
  if (const auto error = text.find(kError); error != std::string_view::npos) {
    entry.name = std::string(trim(text.substr(0, std::min(error, kLongestName))));
    const auto what = text.substr(error + kError.size());
    entry.error = std::string(what.substr(0, std::min(what.rfind('\''), kLongestName)));
    if (entry.error.empty()) entry.error = "the benchmark reports an error";
    if (entry.name.empty()) return false;
    put_held(false, out);
    add(entry, kUnknown, out);
    return true;
  }
  const auto real = read_column(text, 0);
  if (!real) return false;
  const auto cpu = read_column(text, real->end - 1);
  if (!cpu || !trim(text.substr(real->end, cpu->begin - real->end)).empty()) return false;
  Cursor cursor(line);
  cursor.move_to(cpu->end);
  cursor.blanks();
  const auto count = cursor.integer();
  entry.name = std::string(trim(text.substr(0, std::min(real->begin, kLongestName))));
  if (!count || *count < 1 || *count > 1'000'000'000'000'000 || entry.name.empty()) return false;
  entry.iterations = *count;
  entry.real_time = real->seconds > 0 ? real->seconds : kUnknown;  // "0.000 s"
  const auto ends = [&](std::string_view suffix) { return entry.name.ends_with(suffix); };
  const auto base = std::string_view(entry.name).substr(0, entry.name.rfind('_'));
  const bool of_held = held_ && held_->name == std::string(base) + "_mean";
  if (held_) put_held(of_held, out);
  if (ends("_median") || ends("_stddev") || ends("_cv") || ends("_mean")) {
    if (of_held || runs_.contains(std::string(base))) return true;  // of repetitions
    if (ends("_mean")) {
      held_ = entry;
      return true;
    }
  }
  threads_ |= text.substr(0, real->begin).find("/threads:") != std::string_view::npos &&
              text.substr(0, real->begin).find("/threads:1 ") == std::string_view::npos;
  if (real->seconds > 0) worst_ = std::max(worst_, real->error / real->seconds);
  add(entry, entry.real_time, out);
  return true;
}

bool GoogleBenchmarkParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.find("Library was built as DEBUG") != std::string_view::npos) {
    debug_ = true;
    return false;
  }
  if (line.text.find(" CPU   Iterations") != std::string_view::npos ||
      line.text.find(" CPU Iterations") != std::string_view::npos) {  // releases to 1.4
    table_ =
        line.text.starts_with("Benchmark ") && line.text.find(" Time ") != std::string_view::npos;
    return table_;
  }
  return see_json(line, out) || see_row(line, out);
}

bool GoogleBenchmarkParser::see_json(const Line& line, RunBuilder& out) {
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
  if (line.text.find("\"aggregate_name\": \"mean\"") != std::string_view::npos) {
    entry_->mean = !entry_->iteration;
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
  put_held(false, out);
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(make_notice(NoticeCode::kernel_benchmark, 0));
    if (threads_) {
      draft->log.notices.push_back(make_notice(NoticeCode::threads_by_release, 0));
    }
    if (means_) {
      draft->log.notices.push_back(make_notice(NoticeCode::mean_of_repetitions, 0));
    }
    if (worst_ > 0.01) {
      draft->log.notices.push_back(make_notice(
          NoticeCode::rounded_times, 0, "the time in the table", 100 * std::min(worst_, 1.0)));
    }
    if (debug_) {
      draft->log.notices.push_back(make_notice(NoticeCode::debug_build, 0));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<GoogleBenchmarkParser>(); }

}  // namespace

extern const Format format_google_benchmark;
const Format format_google_benchmark = {
    "google-benchmark", "Google Benchmark programs, JSON and console",
    "https://github.com/google/benchmark src/json_reporter.cc", kAnchors, make};

}  // namespace bertbench
