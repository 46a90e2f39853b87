// Time stamps of log lines, as seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bertbench {

/// "2023-08-02 10:01:00.756283" (also with 'T' or ',' before the fraction) at the start of `text`:
/// seconds since 1970 by that calendar, time zones not looked at.
[[nodiscard]] std::optional<double> date_time(std::string_view text);

/// absl and glog: "I0802 09:39:58.537291 ..." at the start of `text`: seconds since the start of a
/// year that the stamp does not name.
[[nodiscard]] std::optional<double> absl_time(std::string_view text);

struct Stamp {
  double seconds = 0;
  bool names_year = true, names_day = true;
  std::size_t length = 0;      ///< bytes of the text, where it was read at the start of one
  bool whole_minutes = false;  ///< "12:07", without seconds
};
/// A stamp at the start of `text`: absl's, also with the year ("I20240131 23:59:14.28"), or
/// - a year, month and day with any marks or none, joined to the time by any mark:
///   "2023-08-02 10:01:00.7", "2022/08/22 18:42:22", "2023-11-23-12:00:34", "20231123_12:00:34";
///   of whole minutes where the date has marks, "2024-06-23 02:48";
/// - C's asctime: "Thu Jun 29 05:44:10 2023", days below ten after a blank or a 0;
/// - "04/30/2025 09:15:07" and "04-30-2025 09:15:07" with the month first or, `day_first`, the day;
///   "09/19 14:39:40" and "09-19 14:39:40", which name no year: seconds since the start of one;
/// - a day and the name of a month: "May 14 15:20:15" of syslog, which names no year, "14-May-2024
///   15:20:15", "14 May 2024 15:20:15", "May 14, 2024 15:20:15".
/// They may have "AM" or "PM" after them.
[[nodiscard]] std::optional<Stamp> any_stamp(std::string_view text, bool day_first = false);

/// The stamp that is the first to begin a word in the first 64 bytes of a line: what starts a
/// program, and the loggers, put names before it. `or_time`: a time of day counts as well.
[[nodiscard]] std::optional<Stamp> front_stamp(std::string_view line, bool or_time = false);
/// Its seconds, NaN where there is none.
[[nodiscard]] double front_time(std::string_view line);

/// The same as any_stamp, a time without colons ("20231123-120034", as names of files have it), or
/// the time of day alone: "14:39:40.512". What is left of a longer stamp, where a line was cut,
/// looks like one, so that only a pattern that asks for it may take it.
[[nodiscard]] std::optional<Stamp> any_stamp_or_time(std::string_view text, bool day_first = false);

/// The month, from 1, that a whole word names: "May", "Sep", "September"; 0: it names none.
[[nodiscard]] int month_named(std::string_view word);

/// Stamps that name no year, or no day, go on where the year or the day ends.
class YearClock {
 public:
  double at(const Stamp& stamp);

 private:
  double wrap_s_ = 0, newest_s_ = 0;
  bool any_ = false;
};

}  // namespace bertbench
