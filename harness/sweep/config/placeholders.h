// Placeholders: the names in braces that the words, variables and files of a template or a command
// may hold. Each axis of the grid is one as well.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace bertbench {

struct Placeholder {
  std::string_view name;
  std::string_view meaning;  ///< a clause, with its unit
};

/// Those that need no axis of that name, and the axes of every grid. {file:NAME} is another.
std::span<const Placeholder> known_placeholders();
bool is_known_placeholder(std::string_view name);

/// Names in braces in `text`; "{{" and "}}" stand for braces.
std::set<std::string> placeholders_in(std::string_view text);

}  // namespace bertbench
