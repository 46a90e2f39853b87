// The second look at a log that no format reads: the lines that repeat become a format (parsers/
// generic), and the log is read by that.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/generic/induced_format.h"
#include "parsers/input/input.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {

/// The format that the lines of a log make, or, where they make none, the lines that come near.
struct Induced {
  std::optional<InducedFormat> format;
  std::vector<NearLine> nearest;
  std::optional<UnreadTraining> training;  ///< of which nothing was read
};
[[nodiscard]] Induced induced_from(ByteSource& source, std::string_view name = kGenericName,
                                   bool of_training = false);
/// That nothing of a log was read, and what stands nearest to a rate.
[[nodiscard]] Error unread_error(const std::string& path, const std::vector<NearLine>& nearest);

/// One record is all epochs, as of Ultralytics' last line: any line of an epoch is finer
/// (quoted/generic.all_epochs_in_hours).
[[nodiscard]] bool all_epochs_in_one(IterationUnit unit, const std::vector<Record>& records);

/// Whether the generic reader found what the named formats did not: a training, or the stamps of
/// its lines.
[[nodiscard]] bool reads_more(const std::vector<RunLog>& generic, const std::vector<RunLog>& named);

using OpenSource = std::function<std::unique_ptr<ByteSource>()>;
/// Reads a log by its own lines: once to find their shape, once more for the runs. Empty where
/// there is no such shape; then `induced` holds what came near.
[[nodiscard]] std::vector<RunLog> second_look(const std::string& path, const ReadOptions& options,
                                              const OpenSource& open, Induced& induced);
/// Adds to the run of a training that nothing was read of what came nearest to a rate.
void note_unread(RunLog& run, const UnreadTraining& training);

/// The same of a log that comes piece by piece: it is decided when the log has twice the bytes of
/// the last decision, for the last time at kHead.
class GrowingLook {
 public:
  static constexpr std::size_t kHead = std::size_t{1} << 20;

  GrowingLook(ReadOptions options, std::string path);
  ~GrowingLook();
  /// `claimed`: a named format has a training so far. Where it still has at kHead, nothing more of
  /// the log is kept.
  void feed(std::string_view bytes, bool claimed);
  /// Nullptr while its lines show nothing.
  [[nodiscard]] LogReader* reader();
  [[nodiscard]] std::vector<RunLog> finish();
  /// After finish(), where that gave nothing: the training that the log shows.
  [[nodiscard]] const std::optional<UnreadTraining>& training() const { return training_; }

 private:
  void decide();
  void give_up();

  ReadOptions options_;
  std::string path_;
  std::string head_;
  std::size_t decided_ = 0;  ///< bytes of the newest decision
  bool given_up_ = false;
  std::optional<InducedFormat> induced_;
  std::optional<UnreadTraining> training_;
  std::unique_ptr<LogReader> reader_;
};

}  // namespace bertbench
