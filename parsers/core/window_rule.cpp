#include "parsers/core/window_rule.h"

#include "parsers/core/text.h"

namespace bertbench {

std::string WindowRule::str() const {
  switch (kind) {
    case Kind::automatic:
      return "auto";
    case Kind::all:
      return "all";
    case Kind::records:
      return std::to_string(begin) + ":" + std::to_string(end);
    case Kind::steps:
      return "steps:" + std::to_string(begin) + ":" + std::to_string(end);
    case Kind::last:
      return "last:" + std::to_string(begin);
  }
  return "auto";
}

Result<WindowRule> parse_window(std::string_view text) {
  WindowRule rule;
  rule.chosen_by_user = true;
  if (text == "auto") return rule;
  if (text == "all") {
    rule.kind = WindowRule::Kind::all;
    return rule;
  }
  std::string_view rest = text;
  rule.kind = WindowRule::Kind::records;
  if (rest.starts_with("last:")) {
    const auto n = to_int(rest.substr(5));
    if (n && *n >= 1) {
      rule.kind = WindowRule::Kind::last;
      rule.begin = *n;
      return rule;
    }
  } else {
    if (rest.starts_with("steps:")) {
      rule.kind = WindowRule::Kind::steps;
      rest.remove_prefix(6);
    }
    const auto colon = rest.find(':');
    if (colon != std::string_view::npos) {
      const auto a = to_int(rest.substr(0, colon));
      const auto b = to_int(rest.substr(colon + 1));
      if (a && b && *a >= 0 && *b > *a) {
        rule.begin = *a;
        rule.end = *b;
        return rule;
      }
    }
  }
  return fail(
      "--window", "'" + std::string(text) + "' is no window",
      "use A:B (drop A records, use up to the B-th; B > A >= 0), steps:A:B, last:N, auto or "
      "all");
}

}  // namespace bertbench
