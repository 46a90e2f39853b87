#include "harness/cli/follow.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "harness/cli/number_text.h"
#include "harness/cli/progress.h"
#include "harness/cli/result_view.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/stop_signals.h"
#include "parsers/core/text.h"
#include "parsers/input/arrivals_file.h"
#include "parsers/input/log_tail.h"
#include "reports/measure/deduced_facts.h"

namespace bertbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPollInterval = std::chrono::milliseconds(200);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr double kDeletedGrace = 3;  ///< s; a rotation may leave no file for a moment
constexpr std::size_t kMostOfOneLog = std::size_t{64} << 20;  ///< bytes before the next log's turn

std::string window_text(const LiveView& view, const WindowRule& rule) {
  const auto part = [](std::int64_t done, std::int64_t all) {
    const std::int64_t shown = std::clamp<std::int64_t>(done, 0, all);
    return fmt::format("window {} of {}", shown, all) + (shown == all ? " (full)" : "");
  };
  switch (rule.kind) {
    case WindowRule::Kind::records:
      return part(view.records - rule.begin, rule.end - rule.begin);
    case WindowRule::Kind::steps:
      return part(view.last_step.value_or(0) - rule.begin, rule.end - rule.begin);
    case WindowRule::Kind::last:
      return part(view.records, rule.begin);
    default:
      return fmt::format("{} records", view.records);
  }
}

double stall_limit(const Quiet& quiet, double after_s) {
  return std::max(after_s, 2 * quiet.longest_before_s);
}

/// Logs are distinguished by the ends of their paths.
std::string short_path(const std::string& path) {
  constexpr std::size_t kLength = 32;
  if (path.size() <= kLength) return path;
  std::string_view tail = std::string_view(path).substr(path.size() - kLength + 4);
  if (const auto slash = tail.find('/'); slash != std::string_view::npos) {
    tail.remove_prefix(slash);
  }
  return "..." + std::string(tail);
}

/// One log while it is followed.
class Follower {
 public:
  Follower(std::string path, LogTail tail, const FollowOptions& options)
      : path_(std::move(path)),
        tail_(std::move(tail)),
        options_(&options),
        reader_(options.read, path_) {}

  struct Event {
    std::string text;
    Style style = Style::yellow;
  };
  /// Takes what is new; returns what else happened to it.
  std::vector<Event> step();
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::string line() const;
  /// True when something worth a plain line has come since the last call.
  bool news() { return std::exchange(news_, false); }
  [[nodiscard]] Result<std::vector<RunLog>> finish();

 private:
  void report(const std::string& text, Style style = Style::yellow) {
    events_.push_back({fmt::format("{}: {}", path_, text), style});
  }
  void look_for_trouble();
  void look_for_stall();

  std::string path_;
  LogTail tail_;
  const FollowOptions* options_;
  LogReader reader_;
  ArrivalRecorder arrivals_;
  std::int64_t bytes_ = 0;  ///< that the reader was given
  std::string buffer_;
  std::vector<Event> events_;
  Clock::time_point last_byte_ = Clock::now();
  std::optional<Clock::time_point> deleted_at_;  ///< no file has come in its place since
  double longest_quiet_s_ = 0;                   ///< between bytes that came while we watched
  bool caught_up_ = false, any_ = false, over_ = false, news_ = false, stalled_ = false;
  std::optional<Status> reported_;
};

std::vector<Follower::Event> Follower::step() {
  bool grew = false, all_taken = false;
  for (std::size_t taken = 0; taken < kMostOfOneLog && !over_;) {
    const LogTail::Event event = tail_.next(buffer_);
    if (event == LogTail::Event::nothing) {
      all_taken = true;
      break;
    }
    if (event == LogTail::Event::bytes) {
      reader_.feed(buffer_);
      taken += buffer_.size();
      bytes_ += std::ssize(buffer_);
      grew = any_ = true;
    } else if (event == LogTail::Event::rotated) {
      report("was rotated: the new file is read on");
      deleted_at_.reset();
    } else if (event == LogTail::Event::truncated) {
      report("was truncated: read again from its beginning");
      reader_ = LogReader(options_->read, path_);
      arrivals_.restart();
      bytes_ = 0;
      reported_.reset();
    } else if (event == LogTail::Event::deleted) {
      deleted_at_ = Clock::now();
    } else {
      over_ = true;
    }
  }
  // What stood there when the log was opened is read first: nobody watched it come.
  if (all_taken || over_) arrivals_.look(seconds_since({}), bytes_);
  if (grew) {
    if (caught_up_) longest_quiet_s_ = std::max(longest_quiet_s_, seconds_since(last_byte_));
    last_byte_ = Clock::now();
    news_ = true;
    if (stalled_) report("goes on", Style::green);
    stalled_ = false;
    look_for_trouble();
  }
  caught_up_ = true;
  if (deleted_at_ && tail_.gone() && seconds_since(*deleted_at_) > kDeletedGrace) {
    report("was deleted: what was read of it counts");
    over_ = true;
  }
  if (!over_) look_for_stall();
  return std::exchange(events_, {});
}

void Follower::look_for_trouble() {
  const LiveView view = reader_.live();
  if (!view.trouble || view.trouble->status == reported_) return;
  reported_ = view.trouble->status;
  std::string text = outcome_text(*view.trouble);
  if (!view.trouble->details.empty()) text += ": " + detail_text(*view.trouble);
  report(text, Style::red);
}

// A run that has printed its end does not stall.
void Follower::look_for_stall() {
  const Quiet quiet{seconds_since(last_byte_), longest_quiet_s_, deleted_at_.has_value()};
  if (stalled_ || !any_ || !is_stalled(quiet, options_->stall_after_s)) return;
  const LiveView view = reader_.live();
  if (view.ended_well || view.trouble) return;
  stalled_ = true;
  report(fmt::format("stalled: no output for {}",
                     format_duration(stall_limit(quiet, options_->stall_after_s))),
         Style::red);
}

std::string Follower::line() const {
  std::string text = live_text(reader_.live(), *options_);
  if (stalled_) {
    text += fmt::format(", stalled for {}", format_duration(seconds_since(last_byte_)));
  }
  return fmt::format("{}: {}", escape_for_terminal(short_path(path_)), text);
}

Result<std::vector<RunLog>> Follower::finish() {
  std::vector<RunLog> runs = reader_.finish();
  if (runs.empty()) {
    return fail(
        path_, any_ ? "no line is of any known format so far" : "is empty",
        any_ ? "see the formats with `bertbench list formats`" : "was anything written to it yet?");
  }
  give_arrivals(runs, arrivals_.all());
  Outcome& outcome = runs.back().outcome;
  if (stalled_ && !deleted_at_ && outcome.status == Status::truncated) {
    outcome.status = Status::stalled;
    outcome.details = {
        make_notice(NoticeCode::no_output, 0, format_duration(seconds_since(last_byte_)))};
  }
  return runs;
}

/// The lines of all logs, redrawn in place.
class Screen {
 public:
  explicit Screen(Console& console) : console_(console) {}
  ~Screen() { clear(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void clear() {
    if (shown_ > 0) console_.redraw(fmt::format("\r\x1b[{}A\x1b[J", shown_));
    shown_ = 0;
  }
  void draw(const std::vector<Follower>& logs) {
    std::string text;
    for (const Follower& log : logs) {
      text += "\x1b[2K" + fit_columns(log.line(), console_.terminal().width - 1) + "\n";
    }
    if (shown_ > 0) text = fmt::format("\r\x1b[{}A", shown_) + text;
    shown_ = logs.size();
    console_.redraw(text);
  }

 private:
  Console& console_;
  std::size_t shown_ = 0;
};

}  // namespace

bool is_stalled(const Quiet& quiet, double after_s) {
  return !quiet.deleted && quiet.seconds >= stall_limit(quiet, after_s);
}

std::string live_text(const LiveView& view, const FollowOptions& options) {
  if (view.records == 0 && !view.last_step) {
    return view.trouble ? outcome_text(*view.trouble) : "no record yet";
  }
  std::string text = "step " + std::to_string(view.last_step.value_or(0));
  if (view.planned) text += fmt::format("/{}", *view.planned);
  const Facts facts = merge_facts(options.given, view.facts);
  const auto sequences = sequences_per_iteration(facts, view.iteration_unit);
  double rate = view.recent_rate;
  RateUnit unit = view.unit;
  if (unit == RateUnit::iterations_per_second && sequences) {
    rate *= static_cast<double>(*sequences);
    unit = RateUnit::sequences_per_second;
  }
  if (unit == RateUnit::unknown) unit = RateUnit::iterations_per_second;
  if (unit == RateUnit::iterations_per_second) {
    if (view.iteration_unit == IterationUnit::epoch) unit = RateUnit::epochs_per_second;
    if (view.iteration_unit == IterationUnit::token) unit = RateUnit::tokens_per_second;
  }
  if (!std::isnan(rate)) text += fmt::format(", {} {}", rate_text(rate), name(unit));
  if (!std::isnan(view.last_loss)) text += fmt::format(", loss {}", rate_text(view.last_loss));
  text += ", " + window_text(view, options.read.window);
  if (view.trouble) {
    text += ", " + outcome_text(*view.trouble);
  } else if (view.ended_well || (view.planned && view.last_step >= view.planned)) {
    text += ", done";
  } else if (view.planned && view.last_step && view.iterations_per_second > 0) {
    const auto left = static_cast<double>(*view.planned - *view.last_step);
    text += fmt::format(", {} left", format_duration(left / view.iterations_per_second));
  }
  return text;
}

Result<Followed> follow(const std::vector<std::string>& paths, const FollowOptions& options,
                        Console& console) {
  std::vector<Follower> logs;
  for (const std::string& path : paths) {
    auto tail = LogTail::open(path);
    if (!tail) return tl::unexpected(tail.error());
    logs.emplace_back(path, std::move(*tail), options);
  }
  StopSignals signals(true);
  const bool terminal = console.terminal().err_is_terminal;
  Clock::time_point last_plain = Clock::now();
  Followed out;
  {
    Screen screen(console);
    for (;;) {
      // Before the logs: what was written before the signal is read.
      out.interrupted = signals.count() > 0;
      for (Follower& log : logs) {
        for (const Follower::Event& event : log.step()) {
          screen.clear();
          console.status(event.text, event.style);
        }
      }
      if (terminal) {
        screen.draw(logs);
      } else if (Clock::now() - last_plain >= kPlainInterval) {
        for (Follower& log : logs) {
          if (log.news()) console.status(log.line());
        }
        last_plain = Clock::now();
      }
      // Of a pipe, as in `| head`: nobody reads what would be printed at the end.
      pollfd reader{STDOUT_FILENO, 0, 0};
      const bool read_no_more = ::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0;
      if (out.interrupted || read_no_more || std::ranges::all_of(logs, &Follower::over)) break;
      pollfd woken{signals.wake_fd(), POLLIN, 0};
      (void)::poll(&woken, 1, static_cast<int>(kPollInterval.count()));
    }
  }
  for (Follower& log : logs) out.logs.push_back(log.finish());
  return out;
}

}  // namespace bertbench
