// LinePattern: an RE2 pattern whose named groups are fields. RE2 has no backtracking, so that no
// log can make one run away. Compiled when the first line asks for it.
#pragma once

#include <re2/re2.h>

#include <array>
#include <cstddef>
#include <cstdint>
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

  /// An empty one is that of the literal.
  LinePattern(std::string pattern, const std::string& literal);
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

  /// What patterns gave on the lines before: lines of a loop differ in their digits, and nearly all
  /// patterns take all digits alike. Of one reader.
  class Memo {
   private:
    friend class LinePattern;
    static constexpr std::size_t kWord = sizeof(std::uint64_t), kLongest = 64 * kWord;  ///< bytes
    struct Entry {
      const LinePattern* of = nullptr;
      std::size_t size = 0;              ///< of the line
      std::vector<std::uint64_t> shape;  ///< its bytes, all digits alike
      bool matched = false;
      struct Place {
        Field field = Field::step;
        std::size_t begin = 0, size = 0;
      };
      std::vector<Place> groups;
    };
    /// Of a line like it, where `known`; else it is to be filled in. Nullptr where none is kept.
    Entry* entry_of(const LinePattern& pattern, std::string_view line, bool& known);

    std::vector<Entry> entries_;
    std::array<std::uint64_t, kLongest / kWord> shape_{};
    int lines_ = 0;  ///< before there were entries
  };
  /// Appends the groups that matched. False where the line is not of the pattern.
  bool match(std::string_view line, std::vector<Group>& out, Memo& memo) const;

 private:
  struct Compiled;
  const Compiled& compiled() const;
  bool search(std::string_view line, std::vector<Group>& out) const;

  std::string pattern_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Compiled> compiled_;
};

}  // namespace bertbench
