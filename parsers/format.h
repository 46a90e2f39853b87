// Format: the interface of one log format. parsers/formats/<name>.cpp defines one
// `extern const Format format_<name>;` and parsers/CMakeLists.txt lists its name; help, tests and
// docs are derived from that list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench {

class RunBuilder;  // parsers/runs/run_builder.h: collects what line parsers find into RunLogs

/// One candidate line: a line (ended by \n, \r, \r\n or the end of input) that holds an anchor.
struct Line {
  std::string_view text;    ///< without terminator, ANSI sequences and launcher prefix
  std::int64_t number = 0;  ///< 1-based count of '\n' in front, plus one
  char terminator = '\n';   ///< '\n', '\r' (a redraw) or 0 (cut by the end of input)
  int rank = -1;            ///< from a launcher prefix ("[1,3]<stdout>:", "3: ", "[rank3]:")
  /// Bit i: Format::anchors[i] stands on the line, other pieces of it included (bit 63: any from
  /// the 64th on). A bit that is not set spares a search; all are set where nobody looked.
  std::uint64_t anchors = ~std::uint64_t{0};
};

/// State of one format over one log.
class LineParser {
 public:
  virtual ~LineParser() = default;
  /// Looks at a candidate line. Returns true when the line is of this format (not merely like it).
  virtual bool parse(const Line& line, RunBuilder& out) = 0;
  /// True when the line parsed last, were it parsed again at once, would change nothing and match
  /// again. Many ranks redraw one bar: their copies of a redraw are then counted, not parsed.
  [[nodiscard]] virtual bool settled() const { return false; }
  /// End of input: hands over what waits for a line that did not come.
  virtual void finish(RunBuilder&) {}
};

struct Format {
  std::string_view name;
  std::string_view title;                     ///< one line: who prints it
  std::string_view reference;                 ///< where the format is defined
  std::span<const std::string_view> anchors;  ///< a line without any of these is never parsed
  std::unique_ptr<LineParser> (*make)();
};

/// All formats, in list order. Generated from parsers/CMakeLists.txt.
std::span<const Format* const> all_formats();

}  // namespace bertbench
