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
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench::format_google_benchmark {
namespace {

/// Bytes of a name or message; what is longer is damaged.
constexpr std::size_t kLongestText = 512;

// Up to the quotation mark after the handler's literal.
std::optional<std::string> text_here(const Line& line) {
  const auto rest = line.text.substr(line.end);
  const auto end = rest.find('"');
  if (end == std::string_view::npos || end > kLongestText) return std::nullopt;
  return std::string(rest.substr(0, end));
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
    const std::size_t begin = text.find_last_not_of("0123456789.", at - 1) + 1;
    const auto digits = text.substr(begin, at - begin);
    const auto value = to_double(digits);
    const auto scale = seconds_of_unit(trim(unit));
    if (begin < from || !value || !scale || (begin > 0 && text[begin - 1] != ' ')) continue;
    const auto dot = digits.find('.');
    const auto decimals = dot == std::string_view::npos ? 0 : digits.size() - dot - 1;
    return Column{*value * *scale, 0.5 * std::pow(10.0, -static_cast<double>(decimals)) * *scale,
                  begin, at + unit.size()};
  }
  return std::nullopt;
}

/// Every benchmark is a track: repetitions of several may come in any order.
struct GoogleBenchmark {
  struct Entry {
    std::string name{};
    std::int64_t line = 0, iterations = 0;
    double real_time = kUnknown;
    std::string error{};
    bool iteration = false, mean = false;
  };

  // One repetition, or the mean of them where nothing else is printed; `seconds` of one iteration.
  void add(const Entry& of, double seconds, Emit emit) {
    if (of.mean && runs.contains(of.name)) return;
    const auto [run, fresh] = runs.try_emplace(of.name, static_cast<int>(runs.size()), 0);
    auto& [track, step] = run->second;
    name = of.name;
    if (fresh) {
      emit(Begin{.track = track,
                 .work = WorkKind::inference,
                 .unit = IterationUnit::optimizer_step,
                 .own_facts = true,
                 .line = of.line});
    }
    End end{.track = track, .of = Of::begun, .here = false};
    if (!of.error.empty()) {
      end.well = false;
      end.outcome = Outcome{Status::error, std::nullopt, of.line, {log_line(of.error)}};
    }
    emit(end);
    if (!of.error.empty() || of.iterations < 1) return;
    if (!(seconds > 0)) {
      emit(Note{make_notice(NoticeCode::time_shown_as_zero, of.line), track});
      return;
    }
    means |= of.mean;
    const std::int64_t iterations = of.mean ? 1 : of.iterations;
    emit(Step{.track = track,
              .step = step += iterations,
              .iterations = iterations,
              .each_s = seconds,
              .line = of.line});
  }

  // JSON: the lines of an entry. One of no unit, or far from its name, is of another program.
  template <auto read>
  bool in_entry(const Line& line, Emit emit) {
    constexpr std::int64_t kMostLinesOfEntry = 40;
    return entry && line.number - entry->line <= kMostLinesOfEntry &&
           on<read>({}).handle(this, line, emit);
  }

  void run_name(const Line& line) {
    if (auto text = text_here(line)) entry = Entry{*std::move(text), line.number};
  }

  bool run_type(const Line& line) {
    const auto type = text_here(line);
    if (!type) return false;
    entry->iteration = type == "iteration";
    return true;
  }

  bool mean(const Line&) {
    entry->mean = !entry->iteration;
    return true;
  }

  bool of_threads(const Line& line) {
    double count = 0;
    if (!Cursor::after(line).read(count)) return false;
    threads |= count > 1;
    return true;
  }

  bool iterations(const Line& line) { return Cursor::after(line).read(entry->iterations); }

  bool real_time(const Line& line) { return Cursor::after(line).read(entry->real_time); }

  bool error(const Line&) {
    entry->error = "the benchmark reports an error";
    return true;
  }

  bool error_message(const Line& line, Emit emit) {
    auto text = text_here(line);
    if (!text) return false;
    entry->error = *std::move(text);
    end_entry(1, emit);
    return true;
  }

  bool time_unit(const Line& line, Emit emit) {
    const auto text = text_here(line);
    const auto unit_s = text ? seconds_of_unit(*text) : std::nullopt;
    if (!unit_s) return false;
    end_entry(*unit_s, emit);
    return true;
  }

  void end_entry(double unit_s, Emit emit) {
    const Entry done = *std::exchange(entry, std::nullopt);
    if (done.iteration || done.mean) add(done, done.real_time * unit_s, emit);
  }

  bool head(const Line& line) {
    return table = line.text.starts_with("Benchmark ") && has(line, " Time ");
  }

  bool row_with_error(const Line& line, Emit emit) {
    if (!table) return false;
    Entry row{std::string(trim(line.text.substr(0, std::min(line.at, kLongestText)))), line.number};
    const auto what = line.text.substr(line.end);
    row.error = std::string(what.substr(0, std::min(what.rfind('\''), kLongestText)));
    if (row.error.empty()) row.error = "the benchmark reports an error";
    if (row.name.empty()) return false;
    add_held(false, emit);
    add(row, kUnknown, emit);
    return true;
  }

  bool row(const Line& line, Emit emit) {
    const auto real = table ? read_column(line.text, 0) : std::nullopt;
    if (!real) return false;
    const auto cpu = read_column(line.text, real->end - 1);
    if (!cpu || !trim(line.text.substr(real->end, cpu->begin - real->end)).empty()) return false;
    Cursor cursor(line);
    cursor.move_to(cpu->end);
    const std::string_view label = line.text.substr(0, std::min(real->begin, kLongestText));
    Entry row{std::string(trim(label)), line.number};
    if (!cursor.read(kBlanks, row.iterations) || row.iterations < 1 || row.name.empty()) {
      return false;
    }
    row.real_time = real->seconds > 0 ? real->seconds : kUnknown;  // "0.000 s"
    const auto ends = [&](std::string_view suffix) { return row.name.ends_with(suffix); };
    const std::string base = row.name.substr(0, row.name.rfind('_'));
    const bool of_held = held && held->name == base + "_mean";
    add_held(of_held, emit);
    if (ends("_median") || ends("_stddev") || ends("_cv") || ends("_mean")) {
      if (of_held || runs.contains(base)) return true;  // of repetitions
      if (ends("_mean")) {
        held = row;
        return true;
      }
    }
    threads |= label.find("/threads:") != std::string_view::npos &&
               label.find("/threads:1 ") == std::string_view::npos;
    if (real->seconds > 0) worst = std::max(worst, real->error / real->seconds);
    add(row, row.real_time, emit);
    return true;
  }

  void add_held(bool aggregate, Emit emit) {
    if (!held) return;
    Entry row = *std::exchange(held, std::nullopt);
    row.mean = aggregate;
    if (aggregate) row.name.resize(row.name.size() - std::string_view("_mean").size());
    add(row, row.real_time, emit);
  }

  void facts(Facts& facts) const {
    if (!name.empty()) facts.axes["benchmark"] = name;
  }

  void finish(Emit emit) {
    add_held(false, emit);
    emit.note(NoticeCode::kernel_benchmark);
    if (threads) emit.note(NoticeCode::threads_by_release);
    if (means) emit.note(NoticeCode::mean_of_repetitions);
    if (worst > 0.01) {
      emit.note(NoticeCode::rounded_times, "the time in the table", 100 * std::min(worst, 1.0));
    }
    if (debug) emit.note(NoticeCode::debug_build);
  }

  std::optional<Entry> entry;
  std::map<std::string, std::pair<int, std::int64_t>> runs;  ///< track and iterations so far
  std::string name;  ///< of the benchmark whose events are emitted
  bool debug = false, threads = false;
  bool table = false;         ///< the head of the console's table was seen
  std::optional<Entry> held;  ///< "X_mean" that may be a name or X's mean: the next row decides
  double worst = 0;           ///< largest relative rounding of a row's time
  bool means = false;
};

template <auto read>
constexpr auto kInEntry = &GoogleBenchmark::in_entry<read>;

constexpr Row kRows[] = {
    on<&GoogleBenchmark::debug>("Library was built as DEBUG"),
    on<&GoogleBenchmark::debug>("\"library_build_type\": \"debug\""),
    on<&GoogleBenchmark::head>(" CPU   Iterations"),
    on<&GoogleBenchmark::head>(" CPU Iterations"),  // releases to 1.4
    on<&GoogleBenchmark::run_name>("\"run_name\": \""),
    on<kInEntry<&GoogleBenchmark::run_type>>("\"run_type\": \""),
    on<kInEntry<&GoogleBenchmark::mean>>("\"aggregate_name\": \"mean\""),
    on<kInEntry<&GoogleBenchmark::of_threads>>("\"threads\": "),
    on<kInEntry<&GoogleBenchmark::iterations>>("\"iterations\": "),
    on<kInEntry<&GoogleBenchmark::real_time>>("\"real_time\": "),
    on<kInEntry<&GoogleBenchmark::error>>("\"error_occurred\": true"),
    on<kInEntry<&GoogleBenchmark::error_message>>("\"error_message\": \""),
    on<kInEntry<&GoogleBenchmark::time_unit>>("\"time_unit\": \""),
    on<&GoogleBenchmark::row_with_error>("ERROR OCCURRED: '"),
    on<&GoogleBenchmark::row>(" ns   "),
    on<&GoogleBenchmark::row>(" us   "),
    on<&GoogleBenchmark::row>(" ms   "),
    on<&GoogleBenchmark::row>(" s    "),
};

}  // namespace

extern const Format entry{.name = "google-benchmark",
                          .title = "Google Benchmark programs, JSON and console",
                          .reference = "https://github.com/google/benchmark src/json_reporter.cc",
                          .table = table_of<GoogleBenchmark>(kRows)};

}  // namespace bertbench::format_google_benchmark
