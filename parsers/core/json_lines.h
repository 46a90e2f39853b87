// JsonLines: on which line of a JSON text each member stands. The JSON library gives values, not
// places; an error about a value needs both.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

struct JsonLines {
  std::map<std::string, int> lines;  ///< JSON pointer ("/grid/model/0") -> 1-based line
  struct Duplicate {
    std::string pointer;
    int line = 0, first_line = 0;
  };
  std::vector<Duplicate> duplicates;  ///< members named twice in one object

  /// Line of the pointer, or of its nearest parent; 1 when nothing is known.
  [[nodiscard]] int line_of(std::string pointer) const;
};

/// `text` must be JSON (with // and /* */ comments) that the JSON library accepts.
JsonLines find_json_lines(std::string_view text);

/// Member name or index appended to a pointer, with '~' and '/' escaped.
std::string child_pointer(const std::string& parent, std::string_view name);

}  // namespace bertbench
