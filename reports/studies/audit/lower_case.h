// Headings and words of tables are compared without regard to case.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace bertbench::audit {

/// ASCII letters in lower case; other bytes as they are.
[[nodiscard]] inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace bertbench::audit
