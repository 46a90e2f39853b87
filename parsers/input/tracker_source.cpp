#include "parsers/input/tracker_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace bertbench {
namespace {

using namespace std::string_view_literals;

template <class T>
std::string number_text(T value) {
  return std::isfinite(value) ? fmt::format("{}", value) : fmt::format("\"{}\"", value);
}

}  // namespace

Tracker tracker_of(std::string_view head) {
  if (head.starts_with(":W&B\xe1\xbe\0"sv)) return Tracker::wandb;
#ifdef BB_HAVE_SQLITE
  if (head.starts_with("SQLite format 3\0"sv)) return Tracker::database;
#endif
  return begins_tensorboard(head) ? Tracker::tensorboard : Tracker::none;
}

std::unique_ptr<ByteSource> open_tracker(Tracker tracker, std::unique_ptr<ByteSource> raw) {
  switch (tracker) {
    case Tracker::tensorboard:
      return open_tensorboard(std::move(raw));
    case Tracker::wandb:
      return open_wandb(std::move(raw));
    case Tracker::database:
#ifdef BB_HAVE_SQLITE
      return open_database(std::move(raw));
#endif
    case Tracker::none:
      break;
  }
  return raw;
}

// One counter leads. A name that is logged at smaller numbers than the newest has another counter
// (epochs, not steps), unless it goes back itself: then the run began again.
void LoggedSteps::add(std::string_view name, std::int64_t step, double wall_time,
                      std::string_view value, std::string& out) {
  constexpr double kOneCall_s = 0.01;  // the values of one call of a logger are no further apart
  if (name.size() > kLongestName) return;
  auto at = series_.find(name);
  if (at == series_.end()) {
    if (series_.size() >= kMostNames) return;
    at = series_.emplace(name, Series{}).first;
  }
  Series& of = at->second;
  if (of.other_counter) return;
  if (std::exchange(of.restarts, restarts_) != restarts_) of.last = -1;  // of a run before
  if (step < of.last) {
    of.restarts = ++restarts_;
    newest_ = step;
  } else if (step < newest_) {
    of.other_counter = true;
    return;
  }
  newest_ = step;
  const bool again = std::exchange(of.last, step) == step;
  const bool later = !(wall_time - wall_time_ < kOneCall_s);
  if (step != step_ || again || later || line_.size() > kLongestLine) flush(out);
  if (line_.empty()) {
    line_ = fmt::format("{{\"step\": {}, \"wall_time\": {:.{}f}", step, wall_time, decimals_);
    step_ = step;
    wall_time_ = wall_time;
  }
  line_ += fmt::format(", {}: {}", json_string(name), value);
}

void LoggedSteps::flush(std::string& out) {
  if (line_.empty()) return;
  out += line_ + "}\n";
  line_.clear();
}

void add_row(std::int64_t number, std::string_view members, std::string& out) {
  constexpr std::int64_t kMostRows = 1'000'000'000'000'000;
  if (number < 0 || number >= kMostRows) return;
  out += fmt::format("{{\"_step\": {}{}{}}}\n", number, members.empty() ? "" : ", ", members);
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string json_number(double value) { return number_text(value); }
std::string json_number(float value) { return number_text(value); }

}  // namespace bertbench
