// nccl-tests: the table that NVIDIA's nccl-tests (and AMD's rccl-tests) print.
//
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time
//   ... #        (B)    (elements)                               (us)  (GB/s)  (GB/s) (us) ...
//     1073741824     268435456     float     sum      -1   4027.3  266.61  466.57      0   4029.1
//     ...
//   # Out of bounds values : 0 OK
//   # Avg bus bandwidth    : 448.212
//
// Builds of rccl-tests of 2025 add the columns "algo proto nchannels" behind the last "#wrong".
//
// Where the table was quoted as Markdown the '#' that begin its lines are lost.
//
// What a sensible result is: collectives of different sizes have no common rate, and small ones are
// bound by latency. The one record is the largest message, its time out of place; the bus bandwidth
// of that message and the table's own mean are said in a notice. It is of kind inference: no
// training. Wrong results or a bandwidth below the demanded one end it as an error.
#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    "nThread ", "algbw   busbw", "Out of bounds values", "Avg bus bandwidth",
    "# Collective test starting: ", ": Test NCCL failure ", ": Test CUDA failure ",
    ": Test failure ", "float     sum", "float   sum", "float    none", "half     sum",
    "half    none", "float16     sum", "float16    none", "int8     sum", "int8    none",
    "double     sum",
    // f8e4m3 and f8e5m2.
    "m3     sum", "m2     sum", "int32     sum", "float     avg", "float16     avg"};

class NcclTestsParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  struct Row {
    double bytes = 0, time_us = kUnknown, algbw = kUnknown, busbw = kUnknown;
    double in_place_busbw = kUnknown;
    std::int64_t line = 0;
  };
  bool see_row(const Line& line);
  void end_table(RunBuilder& out);

  bool table_ = false;
  bool headless_ = false;  ///< the rows begin without the head of their table
  std::optional<Row> largest_;
  std::int64_t rows_ = 0, table_line_ = 0;
  std::size_t more_ = 0;  ///< columns behind the last "#wrong"
  std::string collective_;
  bool wrong_ = false;
  std::optional<Outcome> failure_;  ///< "HOST: Test NCCL failure common.cu:303 '...'"
};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < text.size();) {
    while (i < text.size() && (text[i] == ' ' || text[i] == '\t')) ++i;
    std::size_t end = i;
    while (end < text.size() && text[end] != ' ' && text[end] != '\t') ++end;
    if (end > i) out.push_back(text.substr(i, end - i));
    if (out.size() > 16) break;
    i = end;
  }
  return out;
}

// size count type redop root time algbw busbw #wrong [time algbw busbw #wrong]; before 2.10 there
// is no root for some collectives.
bool NcclTestsParser::see_row(const Line& line) {
  auto cells = words(line.text);
  if (cells.size() > more_) cells.resize(cells.size() - more_);
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
  if (!table_) {
    // Of a quote without the head: a row proves itself, as its bandwidth is bytes over time.
    const double each = *bytes / *count, gbps = *bytes / *time / 1e3;
    constexpr double kHalfDigit = 0.006, kNear = 0.01;
    const bool sizes = each == 1 || each == 2 || each == 4 || each == 8;
    if (!sizes || cells.size() - i != 8 || gbps < 1 ||
        std::abs(gbps - *algbw) > kHalfDigit + kNear * gbps) {
      return false;
    }
    table_ = headless_ = true;
    table_line_ = line.number;
  }
  ++rows_;
  if (largest_ && largest_->bytes >= *bytes) return true;
  Row row;
  row.bytes = *bytes;
  row.time_us = *time;
  row.algbw = *algbw;
  row.busbw = *busbw;
  if (cells.size() - i == 8) row.in_place_busbw = to_double(cells[i + 6]).value_or(kUnknown);
  row.line = line.number;
  largest_ = row;
  return true;
}

void NcclTestsParser::end_table(RunBuilder& out) {
  table_ = false;
  if (!largest_) return;
  const Row row = *largest_;
  largest_.reset();
  RunDraft& draft = out.extra(WorkKind::inference, table_line_);
  draft.own_facts = true;
  draft.log.iteration_unit = IterationUnit::unknown;
  if (!collective_.empty()) draft.log.facts.axes["collective"] = collective_;
  Sample sample;
  sample.step = 1;
  sample.iterations = 1;
  sample.seconds = row.time_us * 1e-6;
  sample.line = row.line;
  draft.add(sample);
  draft.log.notices.push_back(make_notice(
      NoticeCode::collective_bandwidth, row.line, rows_, row.bytes, row.time_us, row.algbw,
      row.busbw,
      std::isnan(row.in_place_busbw) ? std::string()
                                     : fmt::format(" (in place {:.6g})", row.in_place_busbw)));
  if (std::exchange(headless_, false)) {
    draft.log.notices.push_back(make_notice(NoticeCode::table_head_missing, table_line_));
  }
  rows_ = 0;
  draft.stated_outcome = std::exchange(failure_, std::nullopt);
}

// A line of the head or the foot without the "# " that begins it.
std::string_view told(std::string_view text) {
  text = trim(text);
  if (text.starts_with('#')) text.remove_prefix(1);
  return trim(text);
}

bool NcclTestsParser::parse(const Line& line, RunBuilder& out) {
  const std::string_view text = told(line.text);
  if (text.starts_with("nThread ") || text.starts_with("Collective test starting")) {
    if (text.starts_with("nThread ") && largest_) end_table(out);
    Cursor cursor(line);
    if (cursor.skip_past("starting: ")) {
      if (const auto name = cursor.until(" \t")) collective_ = std::string(*name);
    }
    table_line_ = line.number;
    wrong_ = false;
    failure_.reset();
    return true;
  }
  if (text.starts_with("size ") && text.find("algbw   busbw") != std::string_view::npos) {
    table_ = true;
    const auto last = line.text.rfind("#wrong");
    more_ = last == std::string_view::npos ? 0 : words(line.text.substr(last)).size() - 1;
    if (table_line_ == 0) table_line_ = line.number;
    return true;
  }
  if (text.starts_with("Out of bounds values")) {
    wrong_ = line.text.find("FAILED") != std::string_view::npos;
    return table_;
  }
  if (text.starts_with("Avg bus bandwidth")) {
    const auto mean = number_after(line, " :");
    if (!table_ || !mean || !largest_) return false;
    const bool low = line.text.find("FAILED") != std::string_view::npos;
    end_table(out);
    RunDraft& draft = *out.drafts().back();
    draft.last_line = line.number;
    draft.log.notices.push_back(make_notice(NoticeCode::mean_bus_bandwidth, line.number, *mean));
    draft.ended_well = !wrong_ && !low;
    if (wrong_ || low) {
      draft.stated_outcome = Outcome{
          Status::error,
          std::nullopt,
          line.number,
          {make_notice(wrong_ ? NoticeCode::results_out_of_bounds : NoticeCode::bus_bandwidth_low,
                       0)}};
    }
    return true;
  }
  for (const std::string_view key :
       {": Test NCCL failure ", ": Test CUDA failure ", ": Test failure "}) {
    const auto at = line.text.find(key);
    if (at == std::string_view::npos) continue;
    if (table_ && !failure_) {
      failure_ = Outcome{Status::error,
                         std::nullopt,
                         line.number,
                         {log_line(std::string(trim(line.text.substr(at + 2))))}};
    }
    return table_;
  }
  return see_row(line);
}

void NcclTestsParser::finish(RunBuilder& out) { end_table(out); }

std::unique_ptr<LineParser> make() { return std::make_unique<NcclTestsParser>(); }

}  // namespace

extern const Format format_nccl_tests;
const Format format_nccl_tests = {"nccl-tests", "NVIDIA nccl-tests, AMD rccl-tests: bus bandwidth",
                                  "https://github.com/NVIDIA/nccl-tests src/common.cu", kAnchors,
                                  make};

}  // namespace bertbench
