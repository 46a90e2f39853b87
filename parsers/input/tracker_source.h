// Files of experiment trackers become lines of text, as gzip becomes what was compressed: console
// lines as they are, and what was logged of a step as one line with a JSON object, which the format
// `jsonl` reads. Memory is bounded by kLongestRecord a record; a database is held as a whole,
// twice, up to 256 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "parsers/input/input.h"

namespace bertbench {

enum class Tracker { none, tensorboard, wandb, database };
inline constexpr std::size_t kTrackerHead = 16;  ///< bytes from which tracker_of knows a file
inline constexpr std::size_t kLongestRecord = std::size_t{64} << 20;  ///< bytes
/// By the first bytes alone; TensorBoard's have no magic, but a checksum.
[[nodiscard]] Tracker tracker_of(std::string_view head);
/// The lines of `raw`, whose first bytes gave `tracker`; `raw` itself for Tracker::none. Damage
/// ends or shortens them, and problem() reports it.
[[nodiscard]] std::unique_ptr<ByteSource> open_tracker(Tracker tracker,
                                                       std::unique_ptr<ByteSource> raw);

/// Values that a tracker has by name and step, one by one, become a line for each time that
/// something of a step was logged: what an evaluation after it gives has a later time.
class LoggedSteps {
 public:
  /// `decimals`: those of its times.
  explicit LoggedSteps(int decimals) : decimals_(decimals) {}
  /// `wall_time`: seconds since 1970, the first of a line is the line's. `value` is JSON.
  void add(std::string_view name, std::int64_t step, double wall_time, std::string_view value,
           std::string& out);
  /// The line that waits for more values.
  void flush(std::string& out);

 private:
  static constexpr std::size_t kMostNames = 10'000, kLongestName = 4096;
  static constexpr std::size_t kLongestLine = std::size_t{1}
                                              << 20;  ///< bytes: values without a step
  struct Series {
    std::int64_t last = -1;
    std::size_t restarts = 0;  ///< of the run, when it was logged last
    bool other_counter = false;
  };
  std::map<std::string, Series, std::less<>> series_;
  std::int64_t step_ = -1, newest_ = -1;
  double wall_time_ = 0;  ///< of the line
  int decimals_;
  std::size_t restarts_ = 0;
  std::string line_;
};

/// Appends a row that a tracker numbers: `members` are those of a JSON object.
void add_row(std::int64_t number, std::string_view members, std::string& out);

/// As JSON: text in quotes, numbers plain, and in quotes where they are not finite.
[[nodiscard]] std::string json_string(std::string_view text);
[[nodiscard]] std::string json_number(double value);
[[nodiscard]] std::string json_number(float value);

[[nodiscard]] bool begins_tensorboard(std::string_view head);
[[nodiscard]] std::unique_ptr<ByteSource> open_tensorboard(std::unique_ptr<ByteSource> raw);
[[nodiscard]] std::unique_ptr<ByteSource> open_wandb(std::unique_ptr<ByteSource> raw);
[[nodiscard]] std::unique_ptr<ByteSource> open_database(std::unique_ptr<ByteSource> raw);

}  // namespace bertbench
