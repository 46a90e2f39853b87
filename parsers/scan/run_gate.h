// RunGate: whether the lines behind a candidate may be left to the format of that candidate alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parsers/scan/digit_template.h"
#include "parsers/scan/number_blind.h"

namespace bertbench {

/// A line that differs from another in its numbers only holds the same literals, but for those that
/// have a digit, a point or a minus sign in them. A number may have an exponent where the other
/// line's has none.
class RunGate {
 public:
  /// `text`: the last candidate, whose literals are all of one format.
  void set(std::string_view text) { text_ = text; }
  /// True when lines at the front of `after` that are the last candidate but for their numbers hold
  /// no literal that it does not hold. `numbered`: number_blind() of the literals that may. False
  /// also when a run is unlikely.
  [[nodiscard]] bool opens(std::string_view after, std::span<const std::string> numbered);
  /// How many lines were taken after that.
  void took(std::int64_t lines);

 private:
  std::string_view text_;
  std::string blind_;    ///< text for which apart_ was found out
  DigitTemplate alike_;  ///< texts that are blind_ as well
  bool apart_ = false;
  int missed_ = 0, pause_ = 0;
};

}  // namespace bertbench
