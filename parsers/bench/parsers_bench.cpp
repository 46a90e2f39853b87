// Google Benchmark program over the parts of a log's way: the anchor pass with each kernel, whole
// logs in memory, and the readers of hot lines against the libraries that they replace. Run it
// alone on an idle machine; scripts/scan_speed times the program as a whole.
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/formats/dllogger/dll_line.h"
#include "parsers/formats/tqdm/tqdm_bar.h"
#include "parsers/generic/induced_format.h"
#include "parsers/lines/decimal.h"
#include "parsers/reader/anchor_tables.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

std::string digits(std::mt19937& random, int n) {
  std::string out;
  while (n-- > 0) out.push_back(static_cast<char>('0' + random() % 10));
  return out;
}

/// A line of words, or one in a hundred times a record.
std::string sparse_line(std::mt19937& random, std::int64_t step) {
  constexpr std::string_view kWords[] = {"loading", "shard",  "worker", "queue", "tensor", "bucket",
                                         "cache",   "batch",  "kernel", "loss",  "speed",  "step",
                                         "epoch",   "global", "local",  "rank"};
  if (random() % 100 == 0) {
    return "[timer.py:154:stop] 0/" + std::to_string(step) + ", SamplesPerSec=8" +
           digits(random, 2) + ".5\n";
  }
  std::string out = "09/13/2020 12:26:22 - INFO - __main__ -  ";
  for (auto n = 4 + random() % 10; n > 0; --n) {
    out += ' ';
    out += kWords[random() % std::size(kWords)];
  }
  return out + '\n';
}

std::string dll_line(std::mt19937& random, std::int64_t step) {
  return "DLLL {\"timestamp\": \"" + std::to_string(1600000000 + step) + "." + digits(random, 6) +
         "\", \"datetime\": \"2020-09-13 12:26:40.123456\", \"elapsedtime\": \"0.370000\", "
         "\"type\": \"LOG\", \"step\": [0, " +
         std::to_string(step) + "], \"data\": {\"average_loss\": 2." + digits(random, 12) +
         ", \"step_loss\": 2." + digits(random, 7) + ", \"learning_rate\": 0.00" +
         digits(random, 15) + "}}\n";
}

std::string bar_line(std::mt19937& random, std::int64_t step) {
  return "\rIteration:  33%|\u2588\u2588\u2588\u258e      | " + std::to_string(step / 4 + 1) +
         "/900000 [" + std::to_string(10 + step / 240) + ":00<1:00:27,  2." + digits(random, 2) +
         "it/s]";
}

/// Of no named format: what repeats becomes one.
std::string loop_line(std::mt19937& random, std::int64_t step) {
  return "epoch " + std::to_string(step / 5000 + 1) + " step " + std::to_string(step % 5000 + 1) +
         "/5000 loss 2." + digits(random, 4) + " lr 0.0001 time 0.1" + digits(random, 2) +
         "s samples/s 1" + digits(random, 2) + "." + digits(random, 1) + '\n';
}

using MakeLine = std::string (*)(std::mt19937&, std::int64_t);

std::string log_of(MakeLine make) {
  std::mt19937 random(7);
  std::string out;
  for (std::int64_t step = 0; out.size() < kBytes; ++step) out += make(random, step);
  return out;
}

void set_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

// The literals of all formats, as a log's pass looks for them.
void anchor_scan(benchmark::State& state, MakeLine make, ScanKernel kernel) {
  if (kernel > best_scan_kernel()) return state.SkipWithError("the processor has no such kernel");
  std::vector<std::string> literals;
  for (const Format* format : all_formats()) {
    for (const std::string_view literal : format->literals()) literals.emplace_back(literal);
  }
  const AnchorScanner scanner(literals, kernel);
  const std::string text = log_of(make);
  std::vector<AnchorHit> hits;
  for (auto _ : state) {
    constexpr std::size_t kBlock = std::size_t{256} << 10;  // as the reader does
    for (std::size_t at = 0; at < text.size(); at += kBlock) {
      hits.clear();
      benchmark::DoNotOptimize(scanner.scan(text, at, at + kBlock, hits));
    }
  }
  set_bytes(state, text.size());
}

void read_log_text(benchmark::State& state, MakeLine make) {
  const std::string text = log_of(make);
  for (auto _ : state) {
    LogReader reader({}, "bench.log");
    reader.feed(text);
    auto runs = reader.finish();
    benchmark::DoNotOptimize(runs.data());
  }
  set_bytes(state, text.size());
}

// The look for lines that repeat, where none do.
void look_for_shapes(benchmark::State& state) {
  const std::string text = log_of(sparse_line);
  for (auto _ : state) {
    FormatInducer inducer;
    inducer.feed(text);
    benchmark::DoNotOptimize(inducer.finish());
  }
  set_bytes(state, text.size());
}

// What opening one more small file costs.
void read_short_log(benchmark::State& state) {
  std::mt19937 random(7);
  const std::string text = dll_line(random, 1);
  for (auto _ : state) {
    LogReader reader({}, "bench.log");
    reader.feed(text);
    auto runs = reader.finish();
    benchmark::DoNotOptimize(runs.data());
  }
}

void build_tables(benchmark::State& state) {
  for (auto _ : state) {
    const AnchorTables tables(all_formats(), nullptr);
    benchmark::DoNotOptimize(tables.literals().data());
  }
}

std::vector<std::string> objects_of_dll_lines() {
  std::mt19937 random(7);
  std::vector<std::string> out;
  for (int step = 0; step < 1000; ++step) {
    std::string line = dll_line(random, step).substr(5);
    line.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

void dll_line_by_hand(benchmark::State& state) {
  const auto lines = objects_of_dll_lines();
  std::size_t i = 0;
  for (auto _ : state) {
    DllStep step;
    benchmark::DoNotOptimize(read_dll_line(lines[i++ % lines.size()], step));
    benchmark::DoNotOptimize(step);
  }
}

void dll_line_by_library(benchmark::State& state) {
  const auto lines = objects_of_dll_lines();
  std::size_t i = 0;
  for (auto _ : state) {
    const auto json = nlohmann::json::parse(lines[i++ % lines.size()]);
    benchmark::DoNotOptimize(json["data"]["step_loss"].get<double>());
  }
}

void tqdm_bar(benchmark::State& state) {
  std::mt19937 random(7);
  const std::string text = bar_line(random, 4711).substr(1);
  std::vector<TqdmBar> bars;
  for (auto _ : state) {
    find_bars(text, {true, true, false}, bars);
    benchmark::DoNotOptimize(bars.data());
  }
}

std::vector<std::string> numbers() {
  std::mt19937 random(7);
  std::vector<std::string> out;
  for (int i = 0; i < 1000; ++i) {
    out.push_back(std::to_string(random() % 100) + "." + digits(random, 2 + random() % 10));
  }
  return out;
}

void number_by_read_decimal(benchmark::State& state) {
  const auto texts = numbers();
  std::size_t i = 0;
  for (auto _ : state) {
    const std::string& text = texts[i++ % texts.size()];
    benchmark::DoNotOptimize(read_decimal(text.data(), text.data() + text.size()).value);
  }
}

void number_by_from_chars(benchmark::State& state) {
  const auto texts = numbers();
  std::size_t i = 0;
  for (auto _ : state) {
    const std::string& text = texts[i++ % texts.size()];
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    benchmark::DoNotOptimize(value);
  }
}

BENCHMARK_CAPTURE(anchor_scan, sparse / avx512vbmi, sparse_line, ScanKernel::avx512vbmi);
BENCHMARK_CAPTURE(anchor_scan, sparse / avx2, sparse_line, ScanKernel::avx2);
BENCHMARK_CAPTURE(anchor_scan, sparse / portable, sparse_line, ScanKernel::portable);
BENCHMARK_CAPTURE(anchor_scan, dll / avx512vbmi, dll_line, ScanKernel::avx512vbmi);
BENCHMARK_CAPTURE(anchor_scan, tqdm / avx512vbmi, bar_line, ScanKernel::avx512vbmi);
BENCHMARK_CAPTURE(read_log_text, sparse, sparse_line);
BENCHMARK_CAPTURE(read_log_text, dll, dll_line);
BENCHMARK_CAPTURE(read_log_text, tqdm, bar_line);
BENCHMARK_CAPTURE(read_log_text, loop, loop_line);
BENCHMARK(look_for_shapes);
BENCHMARK(read_short_log);
BENCHMARK(build_tables);
BENCHMARK(dll_line_by_hand);
BENCHMARK(dll_line_by_library);
BENCHMARK(tqdm_bar);
BENCHMARK(number_by_read_decimal);
BENCHMARK(number_by_from_chars);

}  // namespace
}  // namespace bertbench

BENCHMARK_MAIN();
