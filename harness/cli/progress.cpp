#include "harness/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace bertbench {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kSilentFor{2};
constexpr milliseconds kRedrawEvery{100};
constexpr seconds kPlainLineEvery{10};

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::string format_duration(double value) {
  if (!std::isfinite(value) || value < 0) return "?";
  const auto total = static_cast<long long>(std::llround(value));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{} min {:02} s", total / 60, total % 60);
  return fmt::format("{} h {:02} min", total / 3600, total / 60 % 60);
}

std::string fit_columns(std::string_view text, int columns) {
  const auto wide = std::count_if(text.begin(), text.end(), starts_code_point);
  if (wide <= columns) return std::string(text);
  const int kept = std::max(0, columns - 3);
  int seen = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (starts_code_point(text[end]) && seen++ == kept) break;
  }
  return std::string(text.substr(0, end)) + std::string("...").substr(0, std::max(0, columns));
}

Progress::Progress(std::ostream& err, bool is_terminal, int width, Clock now)
    : err_(err), is_terminal_(is_terminal), width_(width), now_(std::move(now)) {}

void Progress::start() {
  running_ = true;
  any_ = false;
  began_ = now_();
}

void Progress::update(std::string_view text, std::optional<double> fraction,
                      std::optional<seconds> eta) {
  if (!running_) return;
  const auto now = now_();
  if (now - began_ < kSilentFor) return;
  const auto pause =
      is_terminal_ ? duration<double>(kRedrawEvery) : duration<double>(kPlainLineEvery);
  if (any_ && now - last_ < pause) return;
  any_ = true;
  last_ = now;

  const double elapsed = duration<double>(now - began_).count();
  std::string tail;
  if (fraction && *fraction > 0) tail += fmt::format(", {:.0f} %", std::min(1.0, *fraction) * 100);
  if (eta) {
    tail += ", ETA " + format_duration(static_cast<double>(eta->count()));
  } else if (fraction && *fraction > 0 && *fraction <= 1) {
    tail += ", ETA " + format_duration(elapsed / *fraction - elapsed);
  }
  if (!is_terminal_) {
    err_ << "bertbench: " << text << tail << "\n" << std::flush;
    return;
  }
  // The last column stays free: writing into it makes some terminals wrap.
  const int room = std::max(10, width_ - 1 - static_cast<int>(tail.size()));
  std::string shown = fit_columns(text, room);
  if (shown.size() < text.size()) {
    // Half a number misleads: what does not fit is left out as a whole.
    const std::size_t part = text.rfind(", ", shown.size());
    if (part != std::string_view::npos) shown = text.substr(0, part);
  }
  err_ << "\r\x1b[K" << shown << tail << std::flush;
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  err_ << "\r\x1b[K" << std::flush;
  shown_ = false;
  any_ = false;  // redraw at the next update
}

void Progress::stop() {
  clear();
  running_ = false;
}

}  // namespace bertbench
