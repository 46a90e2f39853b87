#include "parsers/text/gluon_text.h"

#include "parsers/text/clock.h"
#include "parsers/text/cursor.h"

namespace bertbench {

GluonStamp gluon_stamp(std::string_view text) {
  if (const auto time = date_time(text)) return {*time, 1e-3, true};
  const auto start = text.find(':', text.starts_with("INFO:") ? 5 : std::string_view::npos);
  if (start == std::string_view::npos) return {};
  Cursor cursor(text.substr(start + 1), false);
  const std::string_view digits = cursor.rest().substr(0, 8);
  if (digits.size() < 8 || digits[2] != ':' || digits[5] != ':') return {};
  const auto time = cursor.duration();
  return time ? GluonStamp{*time, 1, false} : GluonStamp{};
}

std::optional<double> last_of_sum(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  auto value = cursor.number();
  while (value && cursor.literal("/")) value = cursor.number();
  return value;
}

}  // namespace bertbench
