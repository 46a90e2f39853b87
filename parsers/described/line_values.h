// LineValues: what a rule reads from one line.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/record.h"
#include "parsers/described/description.h"
#include "parsers/lines/clock.h"

namespace bertbench {

class LineValues {
 public:
  /// False where the line is not of the rule. A value that touches the end of a line which was cut
  /// by the end of input is none. Values refer to `line` and to this object.
  bool read(const DescribedRule& rule, std::string_view line, bool cut, bool day_first,
            Commas commas = Commas::thousands);

  [[nodiscard]] bool has(Field field) const { return (has_ & bit(field)) != 0; }
  [[nodiscard]] std::optional<double> number(Field field) const;
  [[nodiscard]] std::optional<std::int64_t> count(Field field) const;
  [[nodiscard]] std::string_view text(Field field) const;
  [[nodiscard]] std::optional<Stamp> stamp(Field field) const;
  /// What its last digit stands for.
  [[nodiscard]] double digit(Field field) const;
  /// What stands on the line, read or not.
  [[nodiscard]] const std::vector<LinePattern::Group>& groups() const { return groups_; }
  /// The keys of the first JSON object with a step.
  [[nodiscard]] const std::vector<std::string>& members() const { return members_; }
  /// A value was below `least`: too coarse to measure with, and left out.
  [[nodiscard]] bool too_coarse() const { return too_coarse_; }

 private:
  struct Value {
    Field field = Field::step;
    std::string_view text;
    double number = kUnknown, factor = 1;
    int thousandths = 0;  ///< how often it was divided by 1000
    bool names_year = true, names_day = true, whole_minutes = false;  ///< of a stamp
  };
  static std::uint64_t bit(Field field) { return std::uint64_t{1} << static_cast<unsigned>(field); }
  static_assert(static_cast<unsigned>(Field::unit) < 64);
  [[nodiscard]] const Value* at(Field field) const;
  void put(const Value& value);
  bool read_json(const DescribedRule& rule, std::string_view line);
  bool read_after(const DescribedRule& rule, std::string_view line, bool cut, Commas commas);
  void settle_commas(Commas commas);
  void make_value(const DescribedRule& rule, LinePattern::Group group, bool day_first);

  std::vector<LinePattern::Group> groups_;  ///< as they stand on the line
  std::vector<Value> values_;
  std::uint64_t has_ = 0;  ///< their fields, a bit each
  LinePattern::Memo memo_;
  std::deque<std::string> owned_;  ///< texts that JSON made
  bool too_coarse_ = false;
  std::vector<std::string> members_;
};

}  // namespace bertbench
