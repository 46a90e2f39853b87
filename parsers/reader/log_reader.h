// LogReader: bytes of a log in, RunLogs out. The one way from a log to numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/outcome.h"
#include "parsers/core/record.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"
#include "parsers/generic/induced_format.h"

namespace bertbench {

class AnchorTables;
class DescribedFormat;

struct ReadOptions {
  /// Or "generic", or a name of all_formats(): see check_format_name.
  std::string format = "auto";
  WindowRule window;  ///< the records of a fixed window are never merged to save memory
  /// A format next to the built-in ones, of --format-file. It gives the runs of a log in which it
  /// finds a record or a statement, whatever the others find.
  std::shared_ptr<const DescribedFormat> user_format{};
  /// Threads that one log may use: a large file is scanned in chunks, a compressed one unpacked
  /// next to the scan. The result is the same for any number.
  std::size_t threads = 1;
  std::size_t chunk = 0;  ///< bytes of a chunk; 0 = as suits, and only for files that are worth it
  std::optional<std::int64_t> world{};  ///< the user's, for formats that print rates of one GPU
  /// The log is known to be a training's, as its command was given to be measured: lines that count
  /// are steps even if no word of the log is one that only a training prints.
  bool of_training = false;
};

/// Where a log that is still growing stands: a copy, cheap enough for every redraw of a status
/// line.
struct LiveView {
  std::int64_t records = 0;  ///< of the current training run (of any run while it has none)
  std::optional<std::int64_t> last_step;  ///< the log's own counter
  double recent_rate = kUnknown;  ///< over the last few records, of the whole job, in `unit`
  RateUnit unit = RateUnit::unknown;
  IterationUnit iteration_unit = IterationUnit::unknown;
  double iterations_per_second = kUnknown;  ///< over the same records, where they have it
  double last_loss = kUnknown;
  Facts facts;                          ///< of the log so far
  std::optional<std::int64_t> planned;  ///< last counter value that the run aims at
  bool ended_well = false;              ///< a closing statement was seen
  std::optional<Outcome> trouble;  ///< NaN loss, out of memory, error ... as soon as it is seen
};

struct Explanation;

/// What one format found in a log.
struct FormatFinding {
  std::string format;
  std::int64_t lines = 0;    ///< that are of the format
  std::int64_t records = 0;  ///< of training
  bool timed = false;        ///< they have times, a clock or rates
  bool used = false;         ///< its runs are those that the log gives
};

/// Streaming and bounded: at most 2^18 records (of all runs together) and one line of 64 KiB are
/// held. Blocks may be cut anywhere; the result does not depend on the cuts. Bytes are decompressed
/// text: gzip and zstd are read_log's affair. Not for use by several threads at once; different
/// objects are independent.
class LogReader {
 public:
  /// `options.format` must have passed check_format_name (an unknown name reads as "auto").
  /// `path_for_messages` becomes RunLog::path.
  LogReader(ReadOptions options, std::string path_for_messages);
  /// With other formats than the built-in ones.
  LogReader(std::shared_ptr<const AnchorTables> tables, ReadOptions options,
            std::string path_for_messages);
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;
  ~LogReader();

  void feed(std::string_view bytes);
  [[nodiscard]] LiveView live() const;

  /// End of input: the runs in order of their first lines, training, evaluation and inference
  /// apart. Where no line was of a known format: one run without records, of format `unknown`, when
  /// the log names a failure or an end, else none. The reader is empty afterwards. `whole`: a path
  /// of the file of which all was fed: lines that first come after its first MiB and are of no
  /// known format are read by their shape as well, as read_log() does.
  [[nodiscard]] std::vector<RunLog> finish(const std::string& whole = {});

 private:
  friend Result<std::vector<RunLog>> read_log(const std::string& path, const ReadOptions& options);
  friend Result<Explanation> explain_log(const std::string& path);
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a file, a pipe or, for "-", stdin; gzip and zstd (also several members or frames) are
/// recognised by their magic bytes. A truncated member gives what was decoded, with a notice.
/// Errors: not readable, a directory, empty, of no known format.
[[nodiscard]] Result<std::vector<RunLog>> read_log(const std::string& path,
                                                   const ReadOptions& options);

struct Explanation {
  /// All formats that lines of the log are of, the one that gives the runs first; `generic` last,
  /// where the lines have a shape.
  std::vector<FormatFinding> formats;
  std::vector<NearLine> nearest;  ///< to a rate, where no format has one
};
/// Errors: not readable, a directory, empty.
[[nodiscard]] Result<Explanation> explain_log(const std::string& path);

/// "auto", a name of all_formats() or that of `user_format` (may be null); else an Error that lists
/// them and the nearest.
[[nodiscard]] Result<void> check_format_name(const std::string& name,
                                             const DescribedFormat* user_format = nullptr);

}  // namespace bertbench
