// LineShapes: which lines of a log are alike. Two lines have one shape where the same labels and
// units stand at their counters, times and rates, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/generic/line_numbers.h"
#include "parsers/generic/table_rows.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {

struct ShapeLine {
  std::string text;
  std::vector<LineNumber> numbers;
  std::vector<std::size_t> key;  ///< those that make the shape: all but losses
  std::int64_t line = 0;         ///< of the log, from 1
  [[nodiscard]] const LineNumber& at(std::size_t i) const { return numbers[key[i]]; }
  /// What is printed there, without label and unit.
  [[nodiscard]] std::string_view text_of(std::size_t i) const {
    return std::string_view(text).substr(at(i).value_begin, at(i).value_end - at(i).value_begin);
  }
};

struct LineShape {
  std::string key;
  std::string plain_key;          ///< the same for other units of time and rate; of rows empty
  std::optional<TableHead> head;  ///< of rows, whose columns it names
  bool evaluation = false;        ///< words of evaluation stand before its first counter
  bool after_counter = false;     ///< a word of evaluation stands right after its first counter
  bool whole = false;             ///< its lines are read as a whole: Piece::whole
  std::int64_t lines = 0;         ///< all of them
  std::int64_t last_line = 0;     ///< of the log, of the newest of them
  std::size_t learning = 0;       ///< examples with a word that only training has
  std::vector<ShapeLine> examples;
  /// The first number that means it, as a place in ShapeLine::key.
  [[nodiscard]] std::optional<std::size_t> place_of(Meaning meaning) const;
  [[nodiscard]] bool has(Meaning meaning) const { return place_of(meaning).has_value(); }
  [[nodiscard]] bool counts() const {
    return has(Meaning::counter) || has(Meaning::epoch) || has(Meaning::place);
  }
  [[nodiscard]] bool timed() const {
    return has(Meaning::clock) || has(Meaning::duration) || has(Meaning::rate) ||
           has(Meaning::per_iteration);
  }
};

/// "Batch 4/203700" and then "Batch 4/203800": the epoch and a counter as two numbers. Nothing
/// where no place begins so. The first two changes decide, so that what comes later, as the next
/// epoch's "Batch 5/100", takes nothing back.
[[nodiscard]] std::optional<LineShape> with_growing_total_apart(const LineShape& shape);

class LineShapes {
 public:
  /// Lines of a shape that are kept: they decide what it means.
  static constexpr std::size_t kExamples = 64;

  /// Any blocks of a log.
  void feed(std::string_view bytes);
  /// The end of the log: a line without its end counts.
  void finish();

  [[nodiscard]] const std::vector<LineShape>& shapes() const { return shapes_; }
  /// Whether a shape got its last example since this was asked.
  [[nodiscard]] bool filled() { return std::exchange(filled_, false); }
  /// Some line of the log has a word that only training has.
  [[nodiscard]] bool of_training() const { return of_training_; }
  /// Of the newest line that a logger stamped and that announces a training; 0 where none does.
  [[nodiscard]] std::int64_t announced() const { return announced_; }

 private:
  void line(std::string_view text);
  void piece(std::string_view text, std::string_view whole = {});
  void head(std::string_view text);
  bool row(std::string_view text);
  void add(LineShape& shape, ShapeLine found, bool learns);
  LineShape& shape_of(std::string key);

  std::vector<LineShape> shapes_;
  std::string rest_;  ///< of the block before
  std::string ansi_;
  std::vector<Piece> pieces_;
  std::optional<TableHead> head_;  ///< newest, until a line that is no row of it comes first
  bool has_rows_ = false;
  std::int64_t number_ = 1;
  bool filled_ = false;
  bool of_training_ = false;
  std::int64_t announced_ = 0;
};

}  // namespace bertbench
