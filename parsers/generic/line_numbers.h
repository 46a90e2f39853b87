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

/// It has a word of evaluation: "Validation: [10/100]".
[[nodiscard]] bool names_evaluation(std::string_view text);
/// The first word of evaluation, as it stands in `text`; empty where there is none.
[[nodiscard]] std::string_view word_of_evaluation(std::string_view text);
/// The next word from `at` on is of evaluation: "Epoch 3: testing psnr = 34.4".
[[nodiscard]] bool evaluation_follows(std::string_view line, std::size_t at);
/// The sequences of the training set, where a line states them: "Train dataset size: 67349",
/// "[train] 23560 samples"; else 0.
[[nodiscard]] double training_set_of(std::string_view line);
/// The iterations of an epoch, where a line states them: "391 iters per epoch", "312 batches of 256
/// rows", "steps per epoch: 391"; else 0.
[[nodiscard]] double epoch_steps_of(std::string_view line);
/// The GPUs of the job, where a line states them: "Using 4 GPUs", "DDP on 4 processes"; else 0.
[[nodiscard]] double gpus_of(std::string_view line);
/// The line has a word of work on data: processed, loading, tokenizing ...
[[nodiscard]] bool names_other_work(std::string_view line);
/// The line has a word or mark by which the head of a table names a counter, also in another sense.
[[nodiscard]] bool may_name_counter(std::string_view line);
/// The line has the name of a score: precision, a confusion matrix ...
[[nodiscard]] bool names_score(std::string_view line);
/// The line has a word that only training has: loss, learning rate, train ... `by_accuracy`: also
/// an accuracy, which an inference has as well.
[[nodiscard]] bool names_training(std::string_view line, bool by_accuracy = true);

}  // namespace bertbench
