// nccl-tests: the table that NVIDIA's nccl-tests (and AMD's rccl-tests) print.
//
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time
//   ... #        (B)    (elements)                               (us)  (GB/s)  (GB/s) (us) ...
//     1073741824     268435456     float     sum      -1   4027.3  266.61  466.57      0   4029.1
//     ...
//   # Out of bounds values : 0 OK
//   # Avg bus bandwidth    : 448.212
//
// Builds of rccl-tests of 2025 add the columns "algo proto nchannels" after the last "#wrong".
//
// Where the table was quoted as Markdown the '#' that begin its lines are lost.
//
// What a sensible result is: collectives of different sizes have no common rate, and small ones are
// bound by latency. The one record is the largest message, its time out of place; the bus bandwidth
// of that message and the table's own mean are in a notice. It is of kind inference: no
// training. Wrong results or a bandwidth below the demanded one end it as an error.
#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_nccl_tests {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  auto out = split(text, ' ');
  std::erase(out, "");
  return out;
}

/// Whether the line begins with the handler's literal, but for its mark: " # nThread 1".
bool begins(const Line& line) { return line.text.find_first_not_of("# \t") >= line.at; }

struct NcclTests {
  // size count type redop root time algbw busbw #wrong [time algbw busbw #wrong]; before 2.10 there
  // is no root for some collectives.
  bool row(const Line& line) {
    auto cells = words(line.text);
    if (cells.size() > more) cells.resize(cells.size() - more);
    if (cells.size() < 7 || line.terminator == 0) return false;
    const auto bytes = to_double(cells[0]);
    const auto count = to_double(cells[1]);
    if (!bytes || !count || !(*bytes >= 0)) return false;
    std::size_t i = 2;
    while (i < cells.size() && i < 5 && !to_double(cells[i])) ++i;  // type, redop
    if (i == 2) return false;
    // A root is an integer; a time has a point or is followed by two bandwidths and a count.
    if (cells.size() - i == 9 || cells.size() - i == 5) ++i;
    if (cells.size() - i != 8 && cells.size() - i != 4) return false;
    const auto time = to_double(cells[i]), algbw = to_double(cells[i + 1]),
               busbw = to_double(cells[i + 2]);
    if (!time || !algbw || !busbw || !(*time > 0)) return false;
    if (!table) {
      // Of a quote without the head: a row proves itself, as its bandwidth (GB/s, two decimals) is
      // bytes over time (us, three or four digits).
      const double each = *bytes / *count, gbps = *bytes / *time / 1e3;
      constexpr double kBandwidthRounding = 0.006, kTimeRounding = 0.01;
      const bool sizes = each == 1 || each == 2 || each == 4 || each == 8;
      if (!sizes || cells.size() - i != 8 || gbps < 1 ||
          std::abs(gbps - *algbw) > kBandwidthRounding + kTimeRounding * gbps) {
        return false;
      }
      table = headless = true;
      head_line = line.number;
    }
    ++rows;
    if (largest && largest->bytes >= *bytes) return true;
    largest = Message{*bytes, *time, *algbw, *busbw, kUnknown, line.number};
    if (cells.size() - i == 8) {
      largest->in_place_busbw = to_double(cells[i + 6]).value_or(kUnknown);
    }
    return true;
  }

  void end_table(Emit emit) {
    table = false;
    if (!largest) return;
    const Message row = *std::exchange(largest, std::nullopt);
    emit(Begin{.work = WorkKind::inference, .own_facts = true, .line = head_line});
    emit(Step{.step = 1, .iterations = 1, .seconds = row.time_us * 1e-6, .line = row.line});
    emit(Note{make_notice(NoticeCode::collective_bandwidth, row.line,
                          collective.empty() ? "largest" : collective + ", largest", rows,
                          row.bytes, row.time_us, row.algbw, row.busbw,
                          std::isnan(row.in_place_busbw)
                              ? std::string()
                              : fmt::format(" (in place {:.6g})", row.in_place_busbw))});
    if (std::exchange(headless, false)) {
      emit(Note{make_notice(NoticeCode::table_head_missing, head_line)});
    }
    rows = 0;
    emit(End{.well = false, .here = false, .outcome = std::exchange(failure, std::nullopt)});
  }

  bool test(const Line& line, Emit emit) {
    if (!begins(line)) return false;
    end_table(emit);
    return another(line);
  }

  bool another(const Line& line) {
    head_line = line.number;
    wrong = false;
    failure.reset();
    return true;
  }

  bool name(const Line& line, Emit emit) {
    if (!begins(line)) return false;
    end_table(emit);  // of the test before, which has that one's name
    if (const auto word = Cursor::after(line).until(" \t")) collective = std::string(*word);
    return another(line);
  }

  bool head(const Line& line) {
    const auto size = line.text.find("size ");
    if (size > line.at || line.text.find_first_not_of("# \t") != size) return false;
    table = true;
    const auto last = line.text.rfind("#wrong");
    more = last == std::string_view::npos ? 0 : words(line.text.substr(last)).size() - 1;
    if (head_line == 0) head_line = line.number;
    return true;
  }

  bool out_of_bounds(const Line& line) {
    wrong = begins(line) && has(line, "FAILED");
    return table;
  }

  bool mean(const Line& line, Emit emit) {
    const auto mean = number_after(line, " :");
    if (!begins(line) || !table || !mean || !largest) return false;
    end_table(emit);
    End end;
    if (wrong || has(line, "FAILED")) {
      end.well = false;
      end.outcome = Outcome{
          Status::error,
          std::nullopt,
          line.number,
          {make_notice(wrong ? NoticeCode::results_out_of_bounds : NoticeCode::bus_bandwidth_low,
                       0)}};
    }
    emit.note_here(NoticeCode::mean_bus_bandwidth, *mean);
    emit(end);
    return true;
  }

  // "HOST: Test NCCL failure common.cu:303 '...'"
  bool fails(const Line& line) {
    if (table && !failure) {
      failure = Outcome{Status::error,
                        std::nullopt,
                        line.number,
                        {log_line(std::string(trim(line.text.substr(line.at + 2))))}};
    }
    return table;
  }

  void facts(Facts& facts) const {
    if (!collective.empty()) facts.axes["collective"] = collective;
  }

  void finish(Emit emit) { end_table(emit); }

  struct Message {
    double bytes = 0, time_us = kUnknown, algbw = kUnknown, busbw = kUnknown;
    double in_place_busbw = kUnknown;
    std::int64_t line = 0;
  };
  bool table = false;
  bool headless = false;  ///< the rows begin without the head of their table
  std::optional<Message> largest;
  std::int64_t rows = 0, head_line = 0;
  std::size_t more = 0;  ///< columns after the last "#wrong"
  std::string collective;
  bool wrong = false;
  std::optional<Outcome> failure;
};

constexpr Row kRows[] = {
    on<&NcclTests::test>("nThread "),
    on<&NcclTests::name>("# Collective test starting: "),  // 2.17
    on<&NcclTests::head>("algbw   busbw"),
    on<&NcclTests::out_of_bounds>("Out of bounds values"),
    on<&NcclTests::mean>("Avg bus bandwidth"),
    on<&NcclTests::fails>(": Test NCCL failure "),
    on<&NcclTests::fails>(": Test CUDA failure "),
    on<&NcclTests::fails>(": Test failure "),
    on<&NcclTests::row>("float     sum"),
    on<&NcclTests::row>("float   sum"),
    on<&NcclTests::row>("float    none"),
    on<&NcclTests::row>("half     sum"),
    on<&NcclTests::row>("half    none"),
    on<&NcclTests::row>("float16     sum"),
    on<&NcclTests::row>("float16    none"),
    on<&NcclTests::row>("int8     sum"),
    on<&NcclTests::row>("int8    none"),
    on<&NcclTests::row>("double     sum"),
    on<&NcclTests::row>("m3     sum"),  // f8e4m3
    on<&NcclTests::row>("m2     sum"),  // f8e5m2
    on<&NcclTests::row>("int32     sum"),
    on<&NcclTests::row>("float     avg"),
    on<&NcclTests::row>("float16     avg"),
};

constexpr Begin kRuns[] = {{.work = WorkKind::inference, .own_facts = true}};

}  // namespace

extern const Format entry{.name = "nccl-tests",
                          .title = "NVIDIA nccl-tests, AMD rccl-tests: bus bandwidth",
                          .reference = "https://github.com/NVIDIA/nccl-tests src/common.cu",
                          .table = table_of<NcclTests>(kRows, kRuns)};

}  // namespace bertbench::format_nccl_tests
