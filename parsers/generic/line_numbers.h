// The numbers of a line and what they are by the words and units around them, whatever
// program printed them: "Epoch: [3][ 40/391]  loss=2.31 (12.5 it/s, 0:01:02)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/described/field.h"

namespace bertbench {

enum class Meaning {
  other,
  epoch,          ///< a counter of epochs
  counter,        ///< of steps, iterations, batches, updates, episodes
  place,          ///< "N/M" without a word
  rate,           ///< something a second
  per_iteration,  ///< seconds a step
  duration,       ///< seconds of or since something
  clock,          ///< date and time
  loss,
  left,    ///< "ETA 0:12:31": seconds until the total is reached, as the loop reckons
  mean,    ///< "0.310 (0.325)": of a meter of single iterations, after its newest value
  rank,    ///< of the process that prints the line
  span,    ///< "100 steps take 0.73 seconds": the iterations that the next number, a time, is of
  amount,  ///< a counter of data, "seen 9600 imgs", or a rounded one of iterations, "iter 0.250k"
};

/// One number, and the stretch of the line from its label to its unit.
struct LineNumber {
  Meaning meaning = Meaning::other;
  std::size_t begin = 0, end = 0;              ///< of the stretch
  std::size_t value_begin = 0, value_end = 0;  ///< of the number
  std::size_t total_begin = 0, total_end = 0;  ///< of M in "N/M"; equal where there is none
  double value = 0, total = 0;
  double scale = 1;                   ///< makes seconds of a time, the unit of a rate
  RateUnit unit = RateUnit::unknown;  ///< of a rate, or of what an amount would be a second
  int column = -1;                    ///< of a table, whose head names it
  bool whole = false;                 ///< digits only
  bool rounded = false;               ///< to "1.05M"
  bool own_unit = false;              ///< of a time: its unit is part of the number, "1m2.3s"
  bool no_unit = false;               ///< a time of a table whose column names no unit
  bool of_one_gpu = false;            ///< a rate, by its label or unit
  bool of_part = false;               ///< a rate, by its label: of rollouts and the like
  std::size_t gap = 0;                ///< bytes between it and its unit: " (233.9)", " +- 4.1"
  bool since_start = false;           ///< by its label it counts from the start
  bool of_interval = false;           ///< "12 s since last print", "time_since_last 12"
  bool of_bar = false;                ///< a time of a bar since it began: "[00:12<01:40]"
  bool names_total = false;           ///< a counter of all epochs: "global_step"
  bool of_sequences = false;          ///< "[640/60000 (1%)]", as PyTorch's examples print samples
  bool begins = false;                ///< "Starting epoch 3/6": what it counts is not done yet
  [[nodiscard]] bool has_total() const { return total_end > total_begin; }
  /// Of the same text after `bytes` more, or fewer.
  void move(std::ptrdiff_t bytes) {
    for (auto* at : {&begin, &end, &value_begin, &value_end, &total_begin, &total_end}) {
      *at += static_cast<std::size_t>(bytes);
    }
  }
  [[nodiscard]] bool counts() const {
    return meaning == Meaning::epoch || meaning == Meaning::counter || meaning == Meaning::place;
  }
};

/// Decimal where more numbers show that than have a decimal point: 0,099, 2,6884 and 12345,678 part
/// no thousands. A decimal point, 1,234,567 and a counter 1,000 show the other.
[[nodiscard]] Commas commas_of(std::string_view text);

/// In the order of the line. Numbers that mean nothing known are left out, as are those of
/// evaluations ("val_loss"), plans ("batch size") and time left. Of unclear commas those alone are
/// taken that count; where another number has one, `*left_out` is set.
[[nodiscard]] std::vector<LineNumber> numbers_of(std::string_view line,
                                                 Commas commas = Commas::thousands,
                                                 bool* left_out = nullptr);

}  // namespace bertbench
