// InducedFormat: lines of a log that no format knows become a format file (bertbench.format/1), as
// a person would write one after a look at the log. The engine of described formats reads the log
// by it, and `bertbench describe` prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/generic/line_shapes.h"

namespace bertbench {

inline constexpr std::string_view kGenericName = "generic";

/// Why lines that come near to a rate are no records.
enum class Lack {
  counter,   ///< a time or a rate stands there without a counter
  growth,    ///< its counter does not grow from line to line
  lines,     ///< too few lines are like it
  training,  ///< nothing shows that it is of a training
  time,      ///< its epochs go on, without a time or a rate
  text,      ///< no text of four bytes is on all of them
};
/// "has a counter that does not grow" and the like, what follows the words "line 7".
[[nodiscard]] std::string_view lack_text(Lack lack);

struct NearLine {
  std::int64_t line = 0;
  std::string text;
  Lack lack = Lack::counter;
};

/// A training of whose lines no format was made: they have losses, and something is counted.
struct UnreadTraining {
  std::int64_t last_line = 0;  ///< newest line with a loss
  bool nan = false;            ///< no loss of such lines is finite
  std::vector<NearLine> nearest;
};

struct InducedFormat {
  std::string json;           ///< the format file
  std::string example;        ///< a line of a record
  std::int64_t line = 0;      ///< where it stands
  std::int64_t lines = 0;     ///< of that shape, as far as was looked
  bool timed = false;         ///< its lines have a clock, a time or a rate
  bool timed_at_end = false;  ///< a closing line alone has a time
  bool ambiguous = false;     ///< a time was left out: of one step or of all since the line before
  bool commas_unclear = false;  ///< a number was left out: its comma may part thousands or not
};

class FormatInducer {
 public:
  /// Bytes of a log that are looked at. A loop that prints nothing in so much has no lines.
  static constexpr std::size_t kReach = std::size_t{16} << 20;
  /// Of those, bytes that show what the commas of numbers are.
  static constexpr std::size_t kCommaReach = std::size_t{256} << 10;

  /// `of_training`: as ReadOptions'.
  explicit FormatInducer(bool of_training = false) : of_training_(of_training) {}

  void feed(std::string_view bytes);
  /// The shape is fixed: more of the log changes nothing.
  [[nodiscard]] bool settled() const { return settled_; }
  /// At the end of the log, or once it is settled. Nothing where no lines count anything.
  [[nodiscard]] std::optional<InducedFormat> finish(std::string_view name = kGenericName);
  /// After finish(), where that gave nothing: the lines that come nearest to a rate, at most three.
  [[nodiscard]] std::vector<NearLine> nearest() const;
  /// Likewise, where the log shows that it is of a training.
  [[nodiscard]] std::optional<UnreadTraining> unread_training() const;

 private:
  void decide_commas();
  void look_at(std::string_view bytes);

  LineShapes shapes_;
  std::string head_;  ///< up to kCommaReach, until it is decided
  Commas commas_ = Commas::thousands;
  bool decided_ = false;
  bool of_training_ = false;
  std::size_t bytes_ = 0;
  bool settled_ = false;
};

}  // namespace bertbench
