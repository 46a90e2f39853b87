// The usual iteration line of DLLogger's JSON, read by hand.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/dll_run.h"

namespace bertbench {

/// Reads flat LOG lines of one or two step numbers, written as json.dumps does: ASCII, no escapes,
/// no nesting. What it reads is what the JSON library reads (tests/parsers/dll_fast_test.cpp), at a
/// tenth of the time.
///
/// A log's lines differ only in their values: the text between the values of the line before is
/// expected again, and where it stands the keys need not be read.
class DllReader {
 public:
  /// The object behind "DLLL ". False for any other text, right or wrong: the library decides.
  [[nodiscard]] bool read(std::string_view text, DllStep& out);

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
  struct Value {
    std::uint32_t begin = 0, end = 0;  ///< of a string: within its quotes
    bool is_string = false;
    Slot slot = nothing;
    double number = 0;
  };
  struct Part {
    std::string literal;  ///< in front of the value
    bool is_string = false;
    bool needed = false;
  };
  class Walk;

  static Slot slot_of(std::string_view key);
  bool read_by_shape(std::string_view text);
  bool read_object(std::string_view text);
  bool read_data(Walk& walk);
  bool read_step(Walk& walk);
  bool read_value(Walk& walk, Slot slot);
  void learn(std::string_view text);
  [[nodiscard]] bool is_needed(Slot slot) const;
  void result(std::string_view text, DllStep& out) const;

  std::vector<Value> values_;
  std::array<std::uint8_t, slots> place_{};  ///< in values_, plus one; 0: not on the line
  std::vector<Part> shape_;
  std::array<std::uint8_t, slots> shape_places_{};
  std::string tail_;
  bool missed_ = false;  ///< the line before was of another shape
};

}  // namespace bertbench
