// The unit of a number in a line: of the words after it, " samples/sec", or of its label,
// "step_time_ms".
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "parsers/core/run_log.h"
#include "parsers/generic/line_numbers.h"
#include "parsers/generic/loop_words.h"

namespace bertbench {

/// What a word or two after a number, or those of a label, mean for it.
struct Unit {
  Meaning meaning = Meaning::other;
  RateUnit rate = RateUnit::unknown;
  double scale = 1;         ///< makes seconds of a time, and of a rate its unit a second
  std::size_t length = 0;   ///< in the text
  bool apart = false;       ///< in brackets, or after "in": the same on each line
  std::size_t gap = 0;      ///< of `length`, before the unit: "(233.9)"
  bool other_rate = false;  ///< of a label: a rate of what is no work of a training
};

/// What a word counts, as the unit of its rate: "steps", "img", "tok"; in small letters.
[[nodiscard]] std::optional<RateUnit> work_unit(std::string_view word);
/// Of a word before a unit of work, or after it in brackets: "k tokens/s", "tokens/s (thousands)".
[[nodiscard]] std::optional<double> multiple(std::string_view word);
/// The seconds of one unit of time: "ms", "hour". Nothing of the letters m and d alone, which are
/// other units as well.
[[nodiscard]] std::optional<double> seconds_in(std::string_view word);
/// "total_timesteps" of "misc/total_timesteps": a prefix with a slash may group names. Not of
/// "steps/epoch" or "max/step", which name a plan: else all of `text`.
[[nodiscard]] std::string_view without_group(std::string_view text);
/// All its letters are of ASCII, or the sign for millionths: what a pattern for units can have.
[[nodiscard]] bool is_unit_of_latin(std::string_view text);
/// Bytes of a unit of memory, power, bandwidth or arithmetic at the start of `text`, which is that
/// of the number before it: " GB", "%", " TFLOP/s". 0: there is none, or it names the next number.
[[nodiscard]] std::size_t other_unit_at(std::string_view text);
/// A word for one sample or token: the time of that is not the time of an iteration.
[[nodiscard]] bool is_of_data(std::string_view word);
/// At the start of `text`: "it/s", " samples/sec", "ms/step", "steps per second", "s", " minutes".
[[nodiscard]] Unit unit_at(std::string_view text);
/// The time that a label names is of a part of a step: "comm_ms", "optimizer step took",
/// "compute_loss_time".
[[nodiscard]] bool names_part(std::string_view text);
/// Of a label: "steps/s", "tok_per_sec", "step_time_ms", "Time (mins)", "dt".
[[nodiscard]] Unit unit_of(const Label& label, std::string_view text);

}  // namespace bertbench
