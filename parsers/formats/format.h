// Format: the interface of one log format. parsers/formats/<name>.cpp, or
// parsers/formats/<family>/<name>.cpp, defines one `extern const Format format_<name>;` and
// parsers/CMakeLists.txt lists its name; help, tests and docs are derived from that list.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/core/run_log.h"

namespace bertbench {

class RunBuilder;  // parsers/assemble/run_builder.h: collects what line parsers find into RunLogs

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
  /// Where the last redraw on the line ends, 0 = there is none. A bar leaves the cursor at its end:
  /// what is written next stands on its line and is one of its own for all other formats. Null: the
  /// format draws no bars.
  std::size_t (*redraw_end)(const Line& line) = nullptr;
};

/// All formats, in list order. Generated from parsers/CMakeLists.txt.
std::span<const Format* const> all_formats();

}  // namespace bertbench
