// LinePattern: an RE2 pattern whose named groups are fields. RE2 has no backtracking, so that no
// log can make one run away. Compiled when the first line asks for it.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/described/field.h"

namespace bertbench {

class LinePattern {
 public:
  static constexpr std::size_t kMaxBytes = 1000;

  /// `literal` is on every line that it is tried on.
  LinePattern(std::string pattern, std::string literal);
  ~LinePattern();

  struct Problem {
    std::string what, hint;
  };
  /// Why it cannot be used, if it cannot.
  [[nodiscard]] std::optional<Problem> problem() const;
  /// Whether it has a group of this name; needs no compiled pattern.
  [[nodiscard]] bool has_group(std::string_view name) const;

  struct Group {
    Field field = Field::step;
    std::string_view text;
    double factor = 1;
  };
  /// Appends the groups that matched. False where the line is not of the pattern.
  bool match(std::string_view line, std::vector<Group>& out) const;

 private:
  struct Compiled;
  const Compiled& compiled() const;

  std::string pattern_, literal_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Compiled> compiled_;
};

}  // namespace bertbench
