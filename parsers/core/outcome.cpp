#include "parsers/core/outcome.h"

#include <array>
#include <utility>

namespace bertbench {
namespace {
constexpr std::array<std::pair<Status, std::string_view>, 9> kNames{{
    {Status::completed, "completed"},
    {Status::nan, "nan"},
    {Status::out_of_memory, "out_of_memory"},
    {Status::error, "error"},
    {Status::killed, "killed"},
    {Status::timeout, "timeout"},
    {Status::stalled, "stalled"},
    {Status::truncated, "truncated"},
    {Status::no_data, "no_data"},
}};
}  // namespace

std::string_view name(Status status) {
  for (const auto& [value, text] : kNames) {
    if (value == status) return text;
  }
  return "error";
}

std::optional<Status> parse_status(std::string_view text) {
  for (const auto& [value, word] : kNames) {
    if (word == text) return value;
  }
  return std::nullopt;
}

std::string detail_text(const Outcome& outcome) {
  std::string out;
  for (const Notice& detail : outcome.details) {
    // What failed, by the harness, then the log's own words.
    const bool quote = detail.code == NoticeCode::log_line;
    if (!out.empty()) out += quote ? ": " : "; ";
    out += text_of(detail);
  }
  return out;
}

Notice log_line(std::string text) { return make_notice(NoticeCode::log_line, 0, std::move(text)); }

std::string_view quoted_line(const Outcome& outcome) {
  for (const Notice& detail : outcome.details) {
    if (detail.code == NoticeCode::log_line) return std::get<std::string>(detail.values.at(0));
  }
  return {};
}

}  // namespace bertbench
