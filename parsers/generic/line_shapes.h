// LineShapes: which lines of a log are alike. Two lines have one shape where the same labels and
// units stand at their counters, times and rates, in the same order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parsers/core/run_log.h"
#include "parsers/generic/line_numbers.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {

// Tables whose columns are named once, in a head, with the numbers in the rows below it:
// "epoch  train_loss  time", "| Epoch | Train Loss | Time |", "epoch,loss,time".

struct TableHead {
  std::string text;  ///< as it stands on the line, from the first name to the last
  std::vector<std::string> names;
  char mark = ' ';     ///< what parts the columns: a blank, a tab, '|', ';' or ','
  bool lists = false;  ///< cells may be lists with blanks: "[1.2e-01, 3.4e-01]"
  /// Where each column begins and ends by the dashes of the line below the head; empty without.
  std::vector<std::pair<std::size_t, std::size_t>> places;
  std::vector<bool> blank;        ///< columns of which some row has an empty cell; empty without
  bool varies = false;            ///< it was printed again with other blanks between the names
  bool amounts = false;           ///< a column of samples or tokens done is all that counts
  bool ends_in_brackets = false;  ///< the last cell of a row does: "(00:18)"
};

/// The head on a line; nothing where its parts are not names or none of them counts.
[[nodiscard]] std::optional<TableHead> table_head(std::string_view line);

/// Lines of dashes and empty lines, which may stand between a head and its rows.
[[nodiscard]] bool is_rule_of_table(std::string_view line);

/// "-----  ------  --" below a head of as many names shows where its cells stand, also empty ones.
void take_places(TableHead& head, std::string_view rule);

/// "|       |  Accuracy  |  (hh:mm:ss)  |" below a head of as many cells goes on with its names:
/// MATLAB prints two rows. False: the line is none.
bool join_second_row(TableHead& head, std::string_view line);

/// The numbers of a row by the names above them: each begins at its value, and `column` is where it
/// stands in the table. A time without a unit has `no_unit`: columns of hours have such names as
/// well. Empty where the line is no row. Marks the columns of `head` in which its cells are empty,
/// and adds one for a time in brackets that fastai's first releases put at the end of a row alone.
[[nodiscard]] std::vector<LineNumber> row_numbers(TableHead& head, std::string_view line);

/// An RE2 pattern of the rows; `groups` has that of the value of each column, empty where it is not
/// taken.
[[nodiscard]] std::string row_pattern(const TableHead& head,
                                      const std::vector<std::string>& groups);

struct ShapeLine {
  std::string text;
  std::string coloured;  ///< the line with its terminal sequences, where it has any
  std::vector<LineNumber> numbers;
  std::vector<std::size_t> key;  ///< those that make the shape: all but losses
  std::int64_t line = 0;         ///< of the log, from 1
  [[nodiscard]] const LineNumber& at(std::size_t i) const { return numbers[key[i]]; }
  [[nodiscard]] bool has_time_of_bar() const {
    return std::ranges::any_of(numbers, &LineNumber::of_bar);
  }
  /// Number i is a meter of single iterations, "0.310 (0.325)": its mean is the next number.
  [[nodiscard]] bool is_meter(std::size_t i) const {
    const std::size_t next = key[i] + 1;
    return next < numbers.size() && numbers[next].meaning == Meaning::mean;
  }
  /// What stands before the number, from its name on.
  [[nodiscard]] std::string_view label_of(const LineNumber& number) const {
    return std::string_view(text).substr(number.begin, number.value_begin - number.begin);
  }
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
  int rank = -1;               ///< of the process that the examples are of, by its label; -1: none
  bool of_ranks = false;       ///< others label such lines as well
  std::int64_t lines = 0;      ///< all of them
  std::int64_t last_line = 0;  ///< of the log, of the newest of them
  std::size_t learning = 0;    ///< examples with a word that only training has
  std::vector<ShapeLine> examples;
  /// The first number that means it, as a place in ShapeLine::key.
  [[nodiscard]] std::optional<std::size_t> place_of(Meaning meaning) const;
  [[nodiscard]] bool has(Meaning meaning) const { return place_of(meaning).has_value(); }
  /// "0.1 images/sec" or "3 samples/sec" on each line: what that was rounded from may be half as
  /// much more.
  [[nodiscard]] bool is_coarse(std::size_t place) const;
  [[nodiscard]] bool counts() const {
    return has(Meaning::counter) || has(Meaning::epoch) || has(Meaning::place);
  }
  [[nodiscard]] bool has_counter() const { return counts() || has(Meaning::amount); }
  [[nodiscard]] bool timed() const {
    return has(Meaning::clock) || has(Meaning::duration) || has(Meaning::rate) ||
           has(Meaning::per_iteration);
  }
};

/// Number i of the lines, in seconds where it is a time.
[[nodiscard]] std::vector<double> values_of(const LineShape& shape, std::size_t i);

// What the numbers of a shape mean, by how they go on from line to line: a counter grows, an
// elapsed time grows with it, the time of a step does not.

/// Which numbers give time and rate, as places in ShapeLine::key. They are the fields of a format
/// file of the same names.
struct ShapeTimes {
  std::optional<std::size_t> clock, elapsed, seconds, seconds_per_iteration, mean_so_far, rate,
      rate_so_far;
  std::optional<std::size_t> iterations;  ///< that the line states for its `seconds`
  [[nodiscard]] bool any_time() const {
    return clock || elapsed || seconds || seconds_per_iteration || mean_so_far;
  }
  [[nodiscard]] bool any() const { return any_time() || rate || rate_so_far; }
};

/// Places in ShapeLine::key.
struct ShapeMeaning {
  std::size_t step = 0;
  std::optional<std::size_t> epoch;
  std::optional<std::size_t> rank;  ///< where several processes print their lines
  bool step_is_epoch = false;       ///< nothing finer is counted
  bool total_is_of_epoch = false;   ///< M of "N/M" is the iterations of an epoch, not of the run
  bool counts_sequences = false;    ///< "[ 6464/60000]": sequences done, and not iterations
  /// What a counter of data or a rounded one would be a second; unknown of any other.
  RateUnit amount = RateUnit::unknown;
  bool wraps = false;  ///< it begins again with each epoch, which the line does not name
  bool mean_through_epochs = false;  ///< a mean of all so far is of those of earlier epochs too
  bool of_one_line = false;          ///< no process prints another line like it
  bool of_processes = false;  ///< several that do not name themselves print the lines of each step
  ShapeTimes times;
  bool day_first = false;          ///< in dates with slashes
  bool time_is_ambiguous = false;  ///< a time of one step or of all since the line before
  /// An ambiguous time that is followed by the time of its data, as that of one iteration is. It
  /// counts where no line of the log has another time.
  std::optional<std::size_t> before_data_time;
  double stride = 0;            ///< iterations from line to line; nan where they are not known
  double clock_interval_s = 0;  ///< by the clock, from line to line; 0 or nan where none shows it
  bool rate_is_of_batches = false;  ///< the lines count epochs, `rate` their iterations
  bool called_of_one = false;  ///< `seconds` are of an iteration by their name, not by the clock
  bool clock_without_unit = false;  ///< of a column: it grows as seconds since the start do
  bool time_without_unit = false;   ///< of a column, left out: nothing shows that it is in seconds
  bool too_short_for_seconds = false;  ///< a time of each in whole seconds was left out
  double outlasts_clock = 0;           ///< times the clock's time, of one that was left out
};

/// Nothing where no number of its lines counts, or a process has a single line that does not name
/// what it counts and the rate or time of that.
[[nodiscard]] std::optional<ShapeMeaning> meaning_of(const LineShape& shape);

/// No loop prints its next line of steps later: a time that would make it so is of all steps since
/// the line before.
inline constexpr double kLongestInterval_s = 3600;

/// Whether number i of the lines is a meter, "Time 0.31 (0.33)": on lines of each tenth step its
/// time is of one step, where a clock measures all ten. `interval_s`: from line to line, by that.
[[nodiscard]] bool is_meter_of_single_steps(const LineShape& shape, std::size_t i,
                                            double interval_s);

/// The times of a shape without a counter, whose lines follow those of one with a counter.
/// `of_each`: one iteration lies between two of those, so that a time which does not grow is its
/// `seconds`. `first_step`: the counter of the first one. A stamp alone on its line is the `clock`,
/// of the record before or after it alike: from line to line the same time goes by.
[[nodiscard]] ShapeTimes companion_times(const LineShape& shape, bool of_each, double first_step);

class LineShapes {
 public:
  /// Lines of a shape that are kept: they decide what it means.
  static constexpr std::size_t kExamples = 64;

  LineShapes() = default;
  LineShapes(const LineShapes&) = delete;
  LineShapes& operator=(const LineShapes&) = delete;

  /// Before the first line: what the commas of the log's numbers are.
  void set_commas(Commas commas) { commas_ = commas; }
  /// A number was left out as its comma is unclear.
  [[nodiscard]] bool left_out() const { return left_out_; }
  /// Any blocks of a log.
  void feed(std::string_view bytes);
  /// The end of the log: a line without its end counts.
  void finish();

  [[nodiscard]] const std::list<LineShape>& shapes() const { return shapes_; }
  /// Whether a shape got its last example since this was asked.
  [[nodiscard]] bool filled() { return std::exchange(filled_, false); }
  /// Some line of the log has a word that only training has.
  [[nodiscard]] bool of_training() const { return of_training_; }
  /// Of the newest line that a logger stamped and that announces a training or saves its model once
  /// more; 0 where none does.
  [[nodiscard]] std::int64_t announced() const { return announced_; }
  /// Sequences of the training set, where the first lines state one number of them; else 0.
  [[nodiscard]] double training_set() const { return set_.value_or(0); }
  /// Iterations of an epoch, likewise.
  [[nodiscard]] double epoch_steps() const { return epoch_steps_.value_or(0); }
  /// GPUs of the job, likewise, where no line names a world or nodes.
  [[nodiscard]] double gpus() const { return gpus_.value_or(0); }

 private:
  void line(std::string_view text, bool redrawn);
  void note_counts(std::string_view text);
  void piece(std::string_view text, std::string_view whole = {});
  bool row(std::string_view text, std::string_view whole = {});
  void stamp_row(ShapeLine& found, std::string_view all) const;
  void add(LineShape& shape, ShapeLine found, bool learns);
  LineShape& shape_of(std::string key);

  std::list<LineShape> shapes_;
  std::unordered_map<std::string_view, LineShape*> by_key_;
  std::string rest_;  ///< of the block before
  bool returned_ =
      false;              ///< a carriage return ended it: what follows shows whether that of a line
  bool redrawn_ = false;  ///< the line that is looked at was written over
  int rank_ = -1;         ///< by its label, -1: none
  std::string_view coloured_;  ///< the same with its terminal sequences; empty where it has none
  std::string ansi_;
  std::vector<Piece> pieces_;
  std::optional<TableHead> head_;  ///< newest, until a line that is no row of it comes first
  bool has_rows_ = false;
  std::int64_t number_ = 1;
  bool filled_ = false;
  Commas commas_ = Commas::thousands;
  bool left_out_ = false;
  bool of_training_ = false;
  bool infers_ = false;  ///< a line before the first of a training names inference
  std::int64_t announced_ = 0;
  /// The training set, the iterations of an epoch and the GPUs; 0: lines state several.
  std::optional<double> set_, epoch_steps_, gpus_;
  int saves_ = 0;  ///< lines that a logger stamped on which a model is saved
};

}  // namespace bertbench
