#include "parsers/lines/tf_message.h"

#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

std::optional<TfMessage> tf_message(std::string_view line) {
  constexpr std::string_view kPlain = "INFO:tensorflow:";
  if (line.starts_with(kPlain)) return TfMessage{line.substr(kPlain.size()), kUnknown, false};
  // "2020-05-01 10:00:00,123 - tensorflow - INFO - ", as the logger is often set up.
  constexpr std::string_view kNamed = " - tensorflow - INFO - ";
  constexpr std::size_t kStamp = 64;
  if (const auto at = line.substr(0, kStamp).find(kNamed); at != std::string_view::npos) {
    const auto stamp = line.substr(0, at);
    const bool fine = stamp.find_first_of(".,") != std::string_view::npos;
    return TfMessage{line.substr(at + kNamed.size()),
                     fine ? date_time(stamp).value_or(kUnknown) : kUnknown, true};
  }
  const auto time = absl_time(line);
  if (!time) return std::nullopt;
  const auto bracket = line.find("] ");
  if (bracket == std::string_view::npos || bracket > 160) return std::nullopt;
  TfMessage out{line.substr(bracket + 2), *time, true};
  if (Cursor cursor(line.substr(0, bracket), false); cursor.skip_past(" ")) {
    cursor.until(" ");
    cursor.blanks();
    out.thread = cursor.integer().value_or(0);
  }
  return out;
}

}  // namespace bertbench
