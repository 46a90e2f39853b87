// Arrivals: when the bytes of a growing log came, by the clock of whoever watched it grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/record.h"

namespace bertbench {

/// One look at a log that had grown. Seconds are of a monotonic clock, from the first look on.
struct Arrival {
  std::int64_t from = 0,
               to = 0;  ///< bytes of the log that the look before had not found: [from, to)
  double look_s = 0;    ///< when it was looked
  /// How long before the look the last byte was written, by the file's time of change; unknown
  /// where that does not lie between the two looks (a wall clock that was set meanwhile).
  double age_s = kUnknown;
  double gap_s = 0;    ///< since the look before
  double quiet_s = 0;  ///< since the look before that found the log grown, or since the first look
  bool operator==(const Arrival&) const = default;

  /// When the last byte came, and how much earlier it may have been, as far as is known.
  [[nodiscard]] double time_s() const { return age_s >= 0 ? look_s - age_s : look_s; }
  [[nodiscard]] double width_s() const;
};

/// Keeps the arrivals of one log in bounded memory: beyond `most` every second one is dropped, and
/// of those to come as many, so that they stay evenly spaced. The first and the newest are always
/// kept. What a dropped one stood for has no arrival; what the others stand for stays as it was.
class ArrivalRecorder {
 public:
  static constexpr std::size_t kMostArrivals = 4096;

  explicit ArrivalRecorder(std::size_t most = kMostArrivals);

  /// The log has `size` bytes at `now_s`, the last of which were written `age_s` before. What the
  /// first look finds came at an unknown time.
  void look(double now_s, std::int64_t size, double age_s = kUnknown);
  /// The log begins anew: all before the next look is forgotten.
  void restart();

  /// Those that will stay until the next thinning, without the newest where that may yet be
  /// dropped.
  [[nodiscard]] const std::vector<Arrival>& kept() const { return kept_; }
  /// All of them, in order, the newest included.
  [[nodiscard]] std::vector<Arrival> all() const;
  /// Grows when kept() changed otherwise than by new ones at its end.
  [[nodiscard]] std::int64_t version() const { return version_; }

 private:
  std::size_t most_;
  std::vector<Arrival> kept_;
  Arrival newest_;
  std::int64_t seen_ = 0;    ///< looks that found it grown
  std::int64_t stride_ = 1;  ///< of those every stride-th is kept
  std::int64_t version_ = 0;
  bool looked_ = false;
  double begin_s_ = 0, looked_s_ = 0, grew_s_ = 0;
  std::int64_t size_ = 0;
};

/// The file of a log's arrivals, next to it: PATH.arrivals.csv, a header and one line for each.
inline constexpr std::string_view kArrivalsSuffix = ".arrivals.csv";
inline constexpr std::string_view kArrivalsHeader =
    "from_byte,to_byte,look_s,age_s,gap_s,quiet_s\n";
[[nodiscard]] std::string arrival_line(const Arrival& arrival);
/// Of the text of such a file as far as it is one: up to the first line that is damaged, torn or
/// not after the one before. Nothing without the header.
[[nodiscard]] std::vector<Arrival> parse_arrivals(std::string_view text);

}  // namespace bertbench
