// The usual iteration line of DLLogger's JSON, parsed without a JSON library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "parsers/formats/dllogger/dll_run.h"

namespace bertbench {

class DllWalk;

/// Parses flat LOG lines of one or two step numbers, written as json.dumps does: ASCII, no escapes,
/// no nesting. What it gives is what the JSON library gives (tests/parsers/dll_line_test.cpp), in a
/// fraction of the time.
class DllLineReader {
 public:
  /// The object after "DLLL ". False for any other text, right or wrong: the library decides.
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

  static Slot slot_of(std::string_view key);
  bool read_object(std::string_view text);
  bool read_data(DllWalk& walk);
  bool read_step(DllWalk& walk);
  bool read_value(DllWalk& walk, Slot slot);
  [[nodiscard]] DllStep result(std::string_view text) const;

  std::vector<Value> values_;
  std::array<std::uint8_t, slots> place_{};  ///< in values_, plus one; 0: not on the line
};

}  // namespace bertbench
