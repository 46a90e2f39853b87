// The usual iteration line of DLLogger's JSON, read by hand.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/formats/dllogger/byte_maps.h"
#include "parsers/formats/dllogger/dll_layouts.h"
#include "parsers/formats/dllogger/dll_run.h"

namespace bertbench {

class DllWalk;

/// Reads flat LOG lines of one or two step numbers, written as json.dumps does: ASCII, no escapes,
/// no nesting. What it reads is what the JSON library reads (tests/parsers/dll_fast_test.cpp), at a
/// tenth of the time.
///
/// A log's lines differ only in their values: the text between the values of the line before is
/// expected again, and where it stands the keys need not be read. Of such a line only the values
/// that count are read; a bitmap of its digits and one of its quotes tell where each value ends,
/// and up to the first value that is longer or shorter than before even that is known. Nearly all
/// lines have numbers as long as those of one of the last few layouts: of them only the digits that
/// count are looked at.
class DllReader {
 public:
  /// The object behind "DLLL ". False for any other text, right or wrong: the library decides.
  [[nodiscard]] bool read(std::string_view text, DllStep& out);
  /// Lines at the front of `text`, whole with kDllFront and each in front of a '\n', for as long
  /// as their objects are the one read before but for their numbers and `out` has room: how many.
  /// Of the first that is not, read() decides, as if nobody had asked.
  [[nodiscard]] std::size_t read_lines(std::string_view text, std::span<DllLine> out);
  /// What the lines that read_lines() takes are without their numbers; empty when that is not known
  /// yet.
  [[nodiscard]] std::string_view kind() const {
    return alike_ ? std::string_view(kind_) : std::string_view();
  }
  [[nodiscard]] static DllStep step_of(const DllValues& values);

 private:
  enum Slot : std::uint8_t {
    nothing,
    timestamp,
    own_timestamp,
    step,
    skipped,
    step_loss,
    average_loss,
    final_loss,
    dotted_loss,
    train_loss,
    rate,
    slots
  };
  /// What counts, the first that stands on the line.
  static constexpr std::initializer_list<Slot> kTimes = {timestamp, own_timestamp};
  static constexpr std::initializer_list<Slot> kLosses = {step_loss, average_loss, final_loss,
                                                          dotted_loss, train_loss};
  struct Value {
    std::uint32_t begin = 0, end = 0;  ///< of a string: within its quotes
    bool is_string = false;
    Slot slot = nothing;
    double number = 0;
  };
  /// What a line of the known shape must show, and what is done with the value behind it.
  struct Part {
    std::string literal;  ///< up to the value; of strings, the quotes included
    std::string text;     ///< a string that does not count, but for its numbers
    bool is_string = false;
    double DllValues::*use = nullptr;  ///< null: the value does not count
    // Of the value on the line before: a string's size, a number's digits, where they begin, where
    // the value ends.
    std::size_t size = 0, whole = 0, fraction = 0, first = 0, end = 0;
    bool negative = false;
  };

  static Slot slot_of(std::string_view key);
  bool find_number(std::string_view text, Part& part, std::size_t& at);
  static void read_number(std::string_view text, const Part& part, DllValues& values);
  std::size_t read_alike(std::string_view text, DllValues& out);
  bool read_by_shape(std::string_view text, bool alike_only, DllValues& out);
  bool read_object(std::string_view text);
  bool read_data(DllWalk& walk);
  bool read_step(DllWalk& walk);
  bool read_value(DllWalk& walk, Slot slot);
  void learn(std::string_view text);
  [[nodiscard]] double DllValues::*use_of(Slot slot) const;
  void result(std::string_view text, DllStep& out) const;
  void remember(std::string_view text, bool alike);

  std::vector<Value> values_;
  std::array<std::uint8_t, slots> place_{};  ///< in values_, plus one; 0: not on the line
  std::vector<Part> shape_;
  std::string tail_;         ///< behind the last value
  bool shape_last_ = false;  ///< lines of this shape have the final loss
  bool placed_ = false;      ///< the parts' places are those of the text in maps_
  std::size_t size_ = 0;     ///< of that text
  ByteMaps maps_;
  bool missed_ = false;  ///< the line before was of another shape
  DllLayouts layouts_;
  std::string kind_;        ///< lines of these layouts without their numbers
  std::size_t shaped_ = 0;  ///< lines read by their shape
  bool alike_ = false;      ///< the line that was read last is of that kind
};

}  // namespace bertbench
